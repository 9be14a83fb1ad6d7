use std::path::Path;

use hashbrown::HashMap;
use kernel_symbols::FileBytes;

use crate::function_stacks::{FunctionStacks, Tree};
use crate::{script, Error, Result};

/// A function as text names it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct TextFunction {
    pub(crate) name: String,
    pub(crate) object: String,
    pub(crate) in_kernel: bool,
    pub(crate) unresolved: bool,
}

/// Stacks that came as text, of perf script or folded.
#[derive(Debug, Default)]
pub struct TextProfile {
    /// `perf script` or `folded stacks`.
    pub format: &'static str,
    /// What was counted; empty for folded stacks, which do not say.
    pub events: Vec<String>,
    /// Per function: its name.
    pub function_name: Vec<String>,
    /// Per function: `vmlinux`, a module, the file name of a program; empty if unknown.
    pub function_object: Vec<String>,
    /// Per function: whether it is the kernel's.
    pub function_in_kernel: Vec<bool>,
    /// Per function: whether it stands for addresses without a symbol.
    pub function_unresolved: Vec<bool>,
    /// Whether the text tells the kernel's functions from others.
    pub sides_known: bool,
    /// The stacks, with the entries below.
    pub stacks: FunctionStacks,
    /// Per entry: the event.
    pub entry_event: Vec<u32>,
    /// Per entry: the sum of the periods (the count, for folded stacks).
    pub entry_weight: Vec<u64>,
    /// Per entry: how many samples; 0 if unknown.
    pub entry_samples: Vec<u64>,
    /// Lines that were not understood.
    pub unknown_lines: u64,
}

/// Builds a [`TextProfile`], each function and stack once.
#[derive(Default)]
pub(crate) struct Builder {
    pub(crate) out: TextProfile,
    tree: Tree,
    functions: HashMap<TextFunction, i64>,
    events: HashMap<String, u32>,
    entries: HashMap<(i64, u32), usize>,
}

impl Builder {
    pub(crate) fn event(&mut self, name: &str) -> u32 {
        if let Some(event) = self.events.get(name) {
            return *event;
        }
        let event = self.out.events.len() as u32;
        self.out.events.push(name.into());
        self.events.insert(name.into(), event);
        event
    }

    /// The function's number.
    pub(crate) fn function(&mut self, function: TextFunction) -> i64 {
        if let Some(number) = self.functions.get(&function) {
            return *number;
        }
        let number = self.out.function_name.len() as i64;
        self.out.function_name.push(function.name.clone());
        self.out.function_object.push(function.object.clone());
        self.out.function_in_kernel.push(function.in_kernel);
        self.out.function_unresolved.push(function.unresolved);
        self.functions.insert(function, number);
        number
    }

    /// Add to the stack with these (function, inlined), root first. An empty one is nothing.
    pub(crate) fn add(
        &mut self,
        frames: impl Iterator<Item = (i64, bool)>,
        event: u32,
        weight: u64,
        samples: u64,
    ) {
        let tree = &mut self.tree;
        let stack = frames.fold(-1, |stack, (function, inlined)| {
            tree.child(stack, function, inlined)
        });
        if stack < 0 {
            return;
        }
        let out = &mut self.out;
        let row = *self.entries.entry((stack, event)).or_insert_with(|| {
            tree.out.entry_stack.push(stack);
            out.entry_event.push(event);
            out.entry_weight.push(0);
            out.entry_samples.push(0);
            out.entry_event.len() - 1
        });
        out.entry_weight[row] = out.entry_weight[row].saturating_add(weight);
        out.entry_samples[row] += samples;
    }

    pub(crate) fn finish(mut self) -> TextProfile {
        self.out.stacks = self.tree.out;
        self.out
    }
}

/// A sparse file of a few blocks may say that it has any length.
const MOST_TEXT: usize = 4 << 30;

/// Read text of `perf script`, or folded stacks (`a;b;c 12`), known by their content. The file may
/// be packed as .gz, .zst or .xz.
///
/// An error where it is neither, or a folded stack has no count of zero or more.
pub fn parse_text(path: &Path) -> Result<TextProfile> {
    let bytes = FileBytes::open(path)?;
    if bytes.len() > MOST_TEXT {
        let most = MOST_TEXT >> 30;
        let what = format!("it has more than {most} GiB of text: fold its stacks, or cut it");
        return Err(Error::unsupported(path, what));
    }
    let text = String::from_utf8_lossy(&bytes);
    let mut lines = text.lines().filter(|line| !line.trim().is_empty());
    let first = lines.find(|line| !line.starts_with('#'));
    match first {
        None => Err(kind(path, "it is empty")),
        Some(line) if script::is_header(line) => Ok(script::parse(&text)),
        Some(line) if looks_folded(line) => folded(path, &text),
        Some(line) => Err(kind(
            path,
            format!(
                "its first line begins {:?}",
                line.chars().take(40).collect::<String>()
            ),
        )),
    }
}

fn kind(path: &Path, found: impl ToString) -> Error {
    Error::Kind {
        path: path.into(),
        found: found.to_string(),
    }
}

/// Whether a line can be a folded stack, perhaps one whose count is missing.
fn looks_folded(line: &str) -> bool {
    let binary = line.chars().any(|c| c.is_control() && c != '\t') || line.contains('\u{fffd}');
    let counted = line
        .rsplit_once(' ')
        .is_some_and(|(_, count)| count.parse::<f64>().is_ok());
    !binary && (line.contains(';') || counted)
}

fn folded(path: &Path, text: &str) -> Result<TextProfile> {
    let mut builder = Builder::default();
    builder.out.format = "folded stacks";
    let mut frames: Vec<(i64, bool)> = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let line = line.trim_end();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let wrong = |what: &str| Error::damaged(path, format!("line {}: {what}", number + 1));
        let (stack, count) = line.rsplit_once(' ').ok_or_else(|| wrong("no count"))?;
        let Ok(count) = count.parse::<u64>() else {
            return Err(wrong(match count.parse::<f64>() {
                Ok(number) if number < 0.0 => "a negative count",
                Ok(_) => "the count is no whole number",
                Err(_) => "no count",
            }));
        };
        let stack = stack.trim_end();
        // What difffolded.pl writes ends with two counts.
        let last = stack.rsplit_once(' ').map(|(_, last)| last);
        if last.is_some_and(|last| last.parse::<u64>().is_ok()) {
            return Err(wrong(
                "two counts: give the folded stacks before difffolded.pl",
            ));
        }
        frames.clear();
        for frame in stack.split(';').filter(|frame| !frame.is_empty()) {
            let (function, inlined) = folded_frame(frame);
            builder.out.sides_known |= function.in_kernel;
            frames.push((builder.function(function), inlined));
        }
        if frames.is_empty() {
            return Err(wrong("no stack"));
        }
        builder.add(frames.iter().copied(), 0, count, 0);
    }
    Ok(builder.finish())
}

/// A frame, with the marks that stackcollapse-perf.pl --all puts behind a name.
fn folded_frame(frame: &str) -> (TextFunction, bool) {
    let (name, mark) = ["_[k]", "_[i]", "_[j]", "_[w]"]
        .iter()
        .find_map(|mark| Some((frame.strip_suffix(mark)?, *mark)))
        .unwrap_or((frame, ""));
    let in_kernel = mark == "_[k]";
    let function = TextFunction {
        name: name.into(),
        object: if in_kernel { "vmlinux" } else { "" }.into(),
        in_kernel,
        unresolved: name == "[unknown]" || name.starts_with("[unresolved: "),
    };
    (function, mark == "_[i]")
}

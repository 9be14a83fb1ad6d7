use hashbrown::HashMap;
use stacks::{FunctionStacks, Tree};

use crate::strings::Strings;

/// A function as text names it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct TextFunction {
    pub(crate) name: String,
    pub(crate) object: String,
    pub(crate) in_kernel: bool,
    pub(crate) unresolved: bool,
}

/// What perf calls user memory that is no file, besides vDSOs.
const USER_MEMORY: [&str; 7] = [
    "heap", "stack", "uprobes", "vectors", "vsyscall", "vvar", "sigpage",
];

/// The module that a file is, or that perf names in brackets, as `scripts/Makefile.lib` names it:
/// `nf_nat` for `nf-nat.ko.xz`.
fn module(owner: &str, file: &str) -> Option<String> {
    let bracketed = owner
        .strip_prefix('[')
        .and_then(|owner| owner.strip_suffix(']'));
    let name = match (file.split_once(".ko"), bracketed) {
        (Some((name, "" | ".gz" | ".xz" | ".zst" | "]")), _) => name.trim_start_matches('['),
        (_, Some(name)) => name,
        _ => return None,
    };
    let word = name
        .bytes()
        .all(|b| b.is_ascii_alphanumeric() || b"_-".contains(&b));
    let user = USER_MEMORY.contains(&name) || name.starts_with("vdso") || name == "unknown";
    (word && !user).then(|| name.replace('-', "_"))
}

impl Default for TextFunction {
    /// What stands for a sample without a frame.
    fn default() -> Self {
        TextFunction::named("", "", false)
    }
}

impl TextFunction {
    /// The function of that name in `owner`, as perf names it; `high` in the half of the kernel's
    /// addresses.
    pub(crate) fn named(name: &str, owner: &str, high: bool) -> Self {
        let path = owner.strip_suffix(" (deleted)").unwrap_or(owner);
        let file = path.rsplit_once('/').map_or(path, |(_, file)| file);
        let image = owner.starts_with("[kernel") || file.starts_with("vmlinux") || file == "kcore";
        let module = module(owner, file).filter(|_| !image);
        let user =
            owner.starts_with('/') || owner.starts_with("[vsyscall") || owner.starts_with("[vdso");
        let in_kernel = image || module.is_some() || (high && !user);
        let object = match module {
            Some(name) => name,
            None if image => "vmlinux".into(),
            // A whole name: the kernel calls all memory files deleted.
            None if owner.starts_with("/memfd:") => owner.into(),
            None if owner == "[unknown]" => String::new(),
            None => file.into(),
        };
        // simpleperf says where code without a symbol lies.
        let placed = name
            .strip_suffix(']')
            .and_then(|name| name.rsplit_once("[+"));
        let offset = |(_, at): (&str, &str)| at.bytes().all(|b| b.is_ascii_hexdigit());
        let unresolved = matches!(name, "" | "[unknown]") || placed.is_some_and(offset);
        TextFunction {
            name: name.into(),
            object,
            in_kernel,
            unresolved,
        }
    }
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
    /// Samples that the text gives no function for; they are unresolved.
    pub frameless: u64,
    /// Samples that were lost, as the text says.
    pub lost: u64,
    /// Lines that were not understood.
    pub unknown_lines: u64,
    /// How the first of them begins.
    pub unknown_line: String,
}

/// How a line begins, in quotes, without what a terminal would obey.
pub(crate) fn beginning(line: &str) -> String {
    let start: String = line.trim_start().chars().take(40).collect();
    format!("{start:?}")
}

/// Builds a [`TextProfile`], each function and stack once.
#[derive(Default)]
pub(crate) struct Builder {
    pub(crate) out: TextProfile,
    tree: Tree,
    functions: HashMap<TextFunction, u32>,
    events: Strings,
    entries: HashMap<(i64, u32), usize>,
}

impl Builder {
    pub(crate) fn event(&mut self, name: &str) -> u32 {
        self.events.intern(name)
    }

    pub(crate) fn not_understood(&mut self, line: &str) {
        if self.out.unknown_lines == 0 {
            self.out.unknown_line = beginning(line);
        }
        self.out.unknown_lines += 1;
    }

    /// The function's number.
    pub(crate) fn function(&mut self, function: TextFunction) -> u32 {
        if let Some(number) = self.functions.get(&function) {
            return *number;
        }
        let number = self.out.function_name.len() as u32;
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
        frames: impl Iterator<Item = (u32, bool)>,
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
        self.out.events = self.events.list;
        self.out
    }
}

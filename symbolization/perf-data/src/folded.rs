use std::path::Path;

use crate::text_profile::{Builder, TextFunction, TextProfile};
use crate::{Error, Result};

/// Whether a line can be a folded stack, perhaps one whose count is missing.
pub(crate) fn is_line(line: &str) -> bool {
    let binary = line.chars().any(|c| c.is_control() && c != '\t') || line.contains('\u{fffd}');
    let counted = line
        .rsplit_once(' ')
        .is_some_and(|(_, count)| count.parse::<f64>().is_ok());
    !binary && (line.contains(';') || counted)
}

/// Read all stacks; an error where one has no count of zero or more.
pub(crate) fn parse(path: &Path, text: &str) -> Result<TextProfile> {
    let mut builder = Builder::default();
    builder.out.format = "folded stacks";
    let mut frames: Vec<(u32, bool)> = Vec::new();
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
                Ok(_) => "the count is not a whole number",
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
        for name in stack.split(';').filter(|name| !name.is_empty()) {
            let (function, inlined) = frame(name);
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
fn frame(text: &str) -> (TextFunction, bool) {
    let (name, mark) = ["_[k]", "_[i]", "_[j]", "_[w]"]
        .iter()
        .find_map(|mark| Some((text.strip_suffix(mark)?, *mark)))
        .unwrap_or((text, ""));
    let in_kernel = mark == "_[k]";
    let function = TextFunction {
        name: name.into(),
        object: if in_kernel { "vmlinux" } else { "" }.into(),
        in_kernel,
        unresolved: name == "[unknown]" || name.starts_with("[unresolved: "),
    };
    (function, mark == "_[i]")
}

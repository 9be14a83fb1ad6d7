use std::path::Path;

use hashbrown::HashSet;

use crate::text_profile::{Builder, TextFunction, TextProfile};
use crate::{Error, Result};

/// A line without its last word, and that word.
fn split(line: &str) -> Option<(&str, &str)> {
    let (stack, last) = line.trim_end().rsplit_once(char::is_whitespace)?;
    Some((stack.trim_end(), last))
}

/// Whether a word is a count, perhaps with a fraction: `10`, `10.0`, `10.`
fn is_count(word: &str) -> bool {
    let (whole, fraction) = word.split_once('.').unwrap_or((word, ""));
    !whole.is_empty()
        && [whole, fraction]
            .concat()
            .bytes()
            .all(|b| b.is_ascii_digit())
}

pub(crate) fn is_counted(line: &str) -> bool {
    is_text(line) && split(line).is_some_and(|(_, count)| is_count(count))
}

fn is_text(line: &str) -> bool {
    !line.chars().any(|c| c.is_control() && c != '\t') && !line.contains('\u{fffd}')
}

/// Whether a line can be a folded stack, perhaps one whose count is missing.
pub(crate) fn is_line(line: &str) -> bool {
    is_text(line) && (line.contains(';') || is_counted(line))
}

/// The lines with stacks, and their numbers. A `#` begins a remark if no count ends it.
fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let all = text.lines().enumerate();
    all.map(|(number, line)| (number + 1, line.trim_end()))
        .filter(|(_, line)| !line.is_empty() && (!line.starts_with('#') || is_counted(line)))
}

/// Whether each line ends with two counts, as difffolded.pl writes them: then no stack is there
/// twice. A function's name may end with a number, too.
fn has_two_counts(text: &str) -> bool {
    let mut seen = HashSet::new();
    lines(text).all(|(_, line)| {
        let two = split(line).filter(|(_, last)| is_count(last));
        let one = two
            .and_then(|(line, _)| split(line))
            .filter(|(_, last)| is_count(last));
        one.is_some_and(|(stack, _)| seen.insert(stack))
    })
}

/// Read all stacks; an error where one has no count of zero or more.
pub(crate) fn parse(path: &Path, text: &str) -> Result<TextProfile> {
    let mut builder = Builder::default();
    builder.out.format = "folded stacks";
    let mut frames: Vec<(u32, bool)> = Vec::new();
    if has_two_counts(text) {
        let what = "line 1: two counts: give the folded stacks before difffolded.pl";
        return Err(Error::unsupported(path, what));
    }
    for (number, line) in lines(text) {
        let wrong = |what: &str| Error::damaged(path, format!("line {number}: {what}"));
        let (stack, last) = split(line).ok_or_else(|| wrong("no count"))?;
        let whole = last.trim_end_matches('0').strip_suffix('.');
        let whole = whole.filter(|_| last.contains('.')).unwrap_or(last);
        let Ok(count) = whole.parse::<u64>() else {
            return Err(match last.parse::<f64>() {
                Ok(number) if number < 0.0 => wrong("a negative count"),
                Ok(_) => {
                    let what = "the count is not a whole number: multiply all counts";
                    Error::unsupported(path, format!("line {number}: {what}"))
                }
                Err(_) => wrong("no count"),
            });
        };
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

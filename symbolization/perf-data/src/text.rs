use std::path::Path;

use kernel_symbols::FileBytes;

use crate::text_profile::{beginning, TextProfile};
use crate::{folded, script, simpleperf, Error, Result};

/// A sparse file of a few blocks may say that it has any length.
const MOST_TEXT: usize = 4 << 30;

/// In so many lines is one that tells what the text is; before it may stand warnings.
const TELLING: usize = 1000;

/// Read text of `perf script` or `simpleperf report-sample`, or folded stacks (`a;b;c 12`), known by
/// their content. The file may be packed as .gz, .zst or .xz.
///
/// An error where it is none of them, or a folded stack has no count of zero or more.
pub fn parse_text(path: &Path) -> Result<TextProfile> {
    let bytes = FileBytes::open(path)?;
    if bytes.len() > MOST_TEXT {
        let most = MOST_TEXT >> 30;
        let what = format!("it has more than {most} GiB of text: fold its stacks, or cut it");
        return Err(Error::unsupported(path, what));
    }
    if bytes.starts_with(b"SIMPLEPERF") {
        let what = "it is simpleperf's protobuf: give the text of simpleperf report-sample --show-callchain, without --protobuf";
        return Err(Error::unsupported(path, what));
    }
    let text = String::from_utf8_lossy(&bytes);
    let lines = || text.lines().filter(|line| !line.trim().is_empty());
    for line in lines().take(TELLING) {
        if simpleperf::is_certain(line) {
            return Ok(simpleperf::parse(&text));
        }
        let stack = line.contains(';') && folded::is_counted(line);
        if script::is_certain(line, stack) {
            return Ok(script::parse(&text));
        }
        if stack {
            return folded::parse(path, &text);
        }
    }
    match lines().find(|line| !line.starts_with('#') || folded::is_counted(line)) {
        None => Err(kind(path, "it is empty")),
        Some(line) if folded::is_line(line) => folded::parse(path, &text),
        Some(line) => Err(kind(
            path,
            format!("its first line begins {}", beginning(line)),
        )),
    }
}

fn kind(path: &Path, found: impl ToString) -> Error {
    Error::Kind {
        path: path.into(),
        found: found.to_string(),
    }
}

use std::path::Path;

use kernel_symbols::FileBytes;

use crate::text_profile::TextProfile;
use crate::{folded, script, Error, Result};

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
        Some(line) if folded::is_line(line) => folded::parse(path, &text),
        Some(line) => {
            let start: String = line.chars().take(40).collect();
            Err(kind(path, format!("its first line begins {start:?}")))
        }
    }
}

fn kind(path: &Path, found: impl ToString) -> Error {
    Error::Kind {
        path: path.into(),
        found: found.to_string(),
    }
}

use std::borrow::Cow;
use std::path::Path;

use crate::elf::Elf;
use crate::file::FileBytes;
use crate::{Error, Result, Svma};

/// How often one byte of a file may be asked for.
const MOST_COPIES: u64 = 16;

/// The code of the ELF file at `path` (plain, `.zst`, `.xz`, `.gz`) in ranges of (start, size);
/// empty for a range that no executable section has all of.
///
/// Addresses of a relocatable file (a module) are those of [`crate::SymbolIndex::sections`]. Its
/// relocations are applied, with what lies in other files at address 0.
pub fn elf_code(path: &Path, ranges: &[(Svma, u64)]) -> Result<Vec<Vec<u8>>> {
    let bytes = FileBytes::open(path)?;
    let elf = Elf::parse(path, &bytes)?;
    let sections = elf.code_sections(&bytes)?;
    let mut left = MOST_COPIES.saturating_mul(bytes.len() as u64);
    let mut out = Vec::with_capacity(ranges.len());
    for (start, size) in ranges {
        let code = code(&sections, *start, *size).unwrap_or_default();
        left = left
            .checked_sub(code.len() as u64)
            .ok_or_else(|| Error::damaged(path, "its symbols overlap too often"))?;
        out.push(code.to_vec());
    }
    Ok(out)
}

fn code<'c>(sections: &'c [(u64, Cow<'_, [u8]>)], start: Svma, size: u64) -> Option<&'c [u8]> {
    let after = sections.partition_point(|(first, _)| *first <= start.0);
    let (first, bytes) = sections.get(after.checked_sub(1)?)?;
    let from = usize::try_from(start.0 - first).ok()?;
    bytes.get(from..from.checked_add(usize::try_from(size).ok()?)?)
}

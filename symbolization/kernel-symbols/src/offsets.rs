use std::path::Path;

use crate::elf::Elf;
use crate::file::FileBytes;
use crate::{Result, Svma};

/// Where the loader puts the bytes at `offsets` in the ELF file at `path`; none for those that it
/// puts nowhere.
pub fn file_offsets_to_svma(path: &Path, offsets: &[u64]) -> Result<Vec<Option<Svma>>> {
    let bytes = FileBytes::open(path)?;
    let loaded = Elf::parse(path, &bytes)?.loaded();
    let svma = |offset: u64| {
        let part = loaded.iter().find(|part| {
            offset
                .checked_sub(part.offset)
                .is_some_and(|at| at < part.size)
        });
        part.map(|part| Svma(part.svma.wrapping_add(offset - part.offset)))
    };
    Ok(offsets.iter().map(|offset| svma(*offset)).collect())
}

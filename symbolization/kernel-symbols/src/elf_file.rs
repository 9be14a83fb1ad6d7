//! What is asked of an ELF file without an index of it.

use std::path::Path;

use crate::build_id::{streamed_build_id, BuildId};
use crate::compression::Compression;
use crate::elf::Elf;
use crate::file::FileBytes;
use crate::{Error, Result, Svma};

/// The GNU build id of the ELF file at `path` (plain, `.zst`, `.xz`). A packed file is unpacked
/// only as far as its notes.
pub fn elf_build_id(path: &Path) -> Result<Option<BuildId>> {
    let bytes = FileBytes::map(path)?;
    if let Some(kind) = Compression::of(&bytes) {
        let mut reader = kind
            .reader(&bytes)
            .map_err(|error| Error::damaged(path, error))?;
        if let Ok(Some(id)) = streamed_build_id(&mut reader) {
            return Ok(Some(id));
        }
        // Without program headers (modules) or cut short: the whole file says more.
        return Ok(Elf::parse(path, &FileBytes::open(path)?)?.build_id());
    }
    Ok(Elf::parse(path, &bytes)?.build_id())
}

/// What an ELF file says of its debug information.
pub struct DebugInfo {
    /// Whether it is in the file itself.
    pub is_inside: bool,
    /// The name of the file that has it, without a folder, and the CRC-32 of that file's content.
    pub link: Option<(String, u32)>,
}

/// Where the debug information of the ELF file at `path` is.
pub fn elf_debug_info(path: &Path) -> Result<DebugInfo> {
    let bytes = FileBytes::open(path)?;
    let elf = Elf::parse(path, &bytes)?;
    Ok(DebugInfo {
        is_inside: elf.has_debug_info(),
        link: elf.debug_link(),
    })
}

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

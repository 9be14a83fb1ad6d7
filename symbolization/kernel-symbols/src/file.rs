use std::ops::Deref;
use std::path::Path;

use crate::compression::{self, Compression};
use crate::{Error, Result};

/// What the kernel maps at once, or a multiple of it.
const PAGE: usize = 1 << 16;

/// The bytes of a file: mapped, or unpacked into memory.
#[derive(Debug)]
pub enum FileBytes {
    /// The file itself.
    Mapped(memmap2::Mmap),
    /// What it unpacks to.
    Owned(Vec<u8>),
}

impl Deref for FileBytes {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        match self {
            FileBytes::Mapped(map) => map,
            FileBytes::Owned(bytes) => bytes,
        }
    }
}

impl FileBytes {
    /// Map a file as it is.
    pub fn map(path: &Path) -> Result<Self> {
        let failed = |error| Error::read(path, error);
        let file = std::fs::File::open(path).map_err(failed)?;
        let metadata = file.metadata().map_err(failed)?;
        if metadata.is_dir() {
            return Err(failed(std::io::ErrorKind::IsADirectory.into()));
        }
        if metadata.len() == 0 {
            return Ok(FileBytes::Owned(Vec::new())); // mmap(2) refuses a length of 0
        }
        // SAFETY: the mapping is private and only read. Whoever truncates the file meanwhile ends
        // this process by SIGBUS, as with every linker and debugger; the cache's own files are
        // only ever replaced by rename, never written in place.
        let map = unsafe { memmap2::Mmap::map(&file) }.map_err(failed)?;
        Ok(FileBytes::Mapped(map))
    }

    /// Let the kernel take back the memory of a part that has been read; it stays readable.
    pub fn release(&self, part: std::ops::Range<usize>) {
        let FileBytes::Mapped(map) = self else { return };
        let start = part.start.next_multiple_of(PAGE);
        let end = part.end.min(map.len()) / PAGE * PAGE;
        if start < end {
            // SAFETY: the mapping is of a file and never written: its pages come back unchanged
            // from there when they are read again.
            let advised = unsafe {
                map.unchecked_advise_range(memmap2::UncheckedAdvice::DontNeed, start, end - start)
            };
            drop(advised); // that it was not taken changes nothing
        }
    }

    /// Map a file, or unpack it if it is a `.zst` or `.xz` (known by content, not by name).
    pub fn open(path: &Path) -> Result<Self> {
        let bytes = Self::map(path)?;
        match Compression::of(&bytes) {
            Some(kind @ (Compression::Zstd | Compression::Xz | Compression::Gzip)) => Ok(
                FileBytes::Owned(compression::unpack(kind, &bytes, path, "the file")?),
            ),
            _ => Ok(bytes),
        }
    }
}

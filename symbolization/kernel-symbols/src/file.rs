use std::fmt;
use std::fs::{Metadata, OpenOptions};
use std::io::Read;
use std::ops::Deref;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::time::{Duration, SystemTime};

use crate::compression::{self, Compression};
use crate::{Error, Result};

/// What the kernel maps at once, or a multiple of it.
const PAGE: usize = 1 << 16;

/// The most of a file that cannot be mapped.
const MOST_READ: u64 = 1 << 28;

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
        Ok(Self::map_identified(path)?.0)
    }

    /// Map a file as it is; also which file that is.
    pub(crate) fn map_identified(path: &Path) -> Result<(Self, FileIdentity)> {
        let failed = |error| Error::read(path, error);
        // Without O_NONBLOCK, opening a FIFO waits for its writer.
        let file = OpenOptions::new()
            .read(true)
            .custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY)
            .open(path)
            .map_err(failed)?;
        let metadata = file.metadata().map_err(failed)?;
        if metadata.is_dir() {
            return Err(failed(std::io::ErrorKind::IsADirectory.into()));
        }
        if !metadata.is_file() {
            return Err(failed(std::io::Error::other("it is not a regular file")));
        }
        if metadata.len() == 0 {
            // mmap(2) refuses a length of 0.
            return Ok((FileBytes::Owned(Vec::new()), FileIdentity(metadata)));
        }
        // SAFETY: the mapping is private and only read. Whoever truncates the file meanwhile ends
        // this process by SIGBUS, as with every linker and debugger; the cache's own files are
        // only ever replaced by rename, never written in place.
        let mapped = match unsafe { memmap2::Mmap::map(&file) } {
            // Files of sysfs (/sys/kernel/btf), which before Linux 6.16 could only be read.
            Err(error) if matches!(error.raw_os_error(), Some(libc::ENODEV | libc::EACCES)) => {
                let mut bytes = Vec::new();
                let most = metadata.len().min(MOST_READ);
                file.take(most).read_to_end(&mut bytes).map_err(failed)?;
                FileBytes::Owned(bytes)
            }
            mapped => FileBytes::Mapped(mapped.map_err(failed)?),
        };
        Ok((mapped, FileIdentity(metadata)))
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

    /// Map a file, or unpack it if it is a `.zst`, `.xz` or `.gz` (known by content, not by name).
    pub fn open(path: &Path) -> Result<Self> {
        let bytes = Self::map(path)?;
        let unpacked = bytes.unpacked(path)?;
        Ok(unpacked.map_or(bytes, FileBytes::Owned))
    }

    /// What the file at `path`, which has these bytes, unpacks to; none if it is not packed.
    pub(crate) fn unpacked(&self, path: &Path) -> Result<Option<Vec<u8>>> {
        match Compression::of(self) {
            Some(kind @ (Compression::Zstd | Compression::Xz | Compression::Gzip)) => {
                compression::unpack(kind, self, path, "the file").map(Some)
            }
            _ => Ok(None),
        }
    }
}

/// Which file this is on this machine, and in which state.
///
/// Nobody but the kernel sets the time of the last change (ctime): whoever writes to a file, or puts
/// another one in its place, gets another identity, even if he sets back its size and mtime.
pub(crate) struct FileIdentity(Metadata);

impl FileIdentity {
    /// The identity of what is at `path` now.
    pub(crate) fn of(path: &Path) -> Option<Self> {
        std::fs::metadata(path).ok().map(FileIdentity)
    }

    /// Whether the next change of the file gets another time than the last one had.
    pub(crate) fn is_settled(&self) -> bool {
        /// File systems keep times by the kernel's tick (up to 10 ms) or by the second.
        const COARSEST: Duration = Duration::from_secs(2);
        let seconds = u64::try_from(self.0.ctime()).unwrap_or(u64::MAX);
        let changed = SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(seconds));
        let age = changed.and_then(|changed| SystemTime::now().duration_since(changed).ok());
        age.is_some_and(|age| age > COARSEST)
    }
}

impl fmt::Display for FileIdentity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (m, c) = (
            (self.0.mtime(), self.0.mtime_nsec()),
            (self.0.ctime(), self.0.ctime_nsec()),
        );
        let (device, inode, size) = (self.0.dev(), self.0.ino(), self.0.size());
        write!(f, "{device:x}-{inode:x}-{size:x}-")?;
        write!(f, "{}.{:09}-{}.{:09}", m.0, m.1, c.0, c.1)
    }
}

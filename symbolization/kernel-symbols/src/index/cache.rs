use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::build_id::BuildId;
use crate::file::FileBytes;

/// A folder of index files, each named after the build id of the ELF file that it was made from.
pub(crate) struct Cache<'p>(pub(crate) &'p Path);

impl Cache<'_> {
    fn file(&self, id: &BuildId, size: usize) -> PathBuf {
        // The stripped and the unstripped file of one build have the same id, but not the same
        // length; a packed one is told from an unpacked one, which costs an index at most.
        self.0.join(format!("{id}-{size:x}.symbols"))
    }

    /// The bytes of an index; whether they are whole is for the caller to check.
    pub(crate) fn load(&self, id: &BuildId, size: usize) -> Option<FileBytes> {
        FileBytes::map(&self.file(id, size)).ok()
    }

    /// Keep an index. A cache that cannot be written is no error: the next run converts again.
    ///
    /// Each writer has a file of its own until it renames it, so that readers see the old index or
    /// the new one, whole. Without fsync, because a checksum tells after a power cut.
    pub(crate) fn store(&self, id: &BuildId, size: usize, bytes: &[u8]) {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let part = self
            .0
            .join(format!(".{id}.{}-{count}.part", std::process::id()));
        let written = std::fs::create_dir_all(self.0)
            .and_then(|()| File::create_new(&part))
            .and_then(|mut file| file.write_all(bytes))
            .and_then(|()| std::fs::rename(&part, self.file(id, size)));
        if written.is_err() {
            let _ = std::fs::remove_file(&part);
        }
    }
}

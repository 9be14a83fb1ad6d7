use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use blake3::Hash;

use crate::file::{FileBytes, FileIdentity};

/// A folder of index files, each named after the hash of the file that it was made from.
///
/// Not after the build id, which anybody can write into any file: an index is found by nothing but
/// the content. So that a large file is not hashed each time, the folder also remembers the hashes of
/// files by their identity on this machine, of which the kernel itself writes a part.
pub(crate) struct Cache<'p>(pub(crate) &'p Path);

impl Cache<'_> {
    /// The hash of a file's content, remembered or computed.
    pub(crate) fn content(&self, identity: &FileIdentity, bytes: &[u8]) -> Hash {
        let name = self.0.join(format!("{identity}.content"));
        let known = FileBytes::map(&name).ok();
        if let Some(hash) = known.and_then(|text| Hash::from_hex(&*text).ok()) {
            return hash;
        }
        let hash = blake3::Hasher::new().update_rayon(bytes).finalize();
        if identity.is_settled() {
            self.write(&name, hash.to_hex().as_bytes());
        }
        hash
    }

    fn index(&self, content: &Hash) -> PathBuf {
        self.0.join(format!("{content}.symbols"))
    }

    /// The bytes of an index; whether they are whole is for the caller to check.
    pub(crate) fn load(&self, content: &Hash) -> Option<FileBytes> {
        FileBytes::map(&self.index(content)).ok()
    }

    /// Keep an index.
    pub(crate) fn store(&self, content: &Hash, bytes: &[u8]) {
        self.write(&self.index(content), bytes);
    }

    /// Write a file. A cache that cannot be written is not an error: the next run converts again.
    ///
    /// Each writer has a file of its own until it renames it, so that readers see the old one or
    /// the new one, whole. Without fsync, because a checksum tells after a power cut.
    fn write(&self, name: &Path, bytes: &[u8]) {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let part = self.0.join(format!(".{}-{count}.part", std::process::id()));
        let written = std::fs::create_dir_all(self.0)
            .and_then(|()| File::create_new(&part))
            .and_then(|mut file| file.write_all(bytes))
            .and_then(|()| std::fs::rename(&part, name));
        if written.is_err() {
            let _ = std::fs::remove_file(&part);
        }
    }
}

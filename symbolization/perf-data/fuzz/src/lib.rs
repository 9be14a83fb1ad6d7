//! What the targets share.

use std::path::PathBuf;

/// A file of this process with that content, for readers that take a path.
pub fn file(name: &str, content: &[u8]) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("profdiff-fuzz-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder for the input");
    let path = folder.join(name);
    std::fs::write(&path, content).expect("a file for the input");
    path
}

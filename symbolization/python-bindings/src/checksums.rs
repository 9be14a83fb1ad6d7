//! What the crate checksums knows.

use std::fmt::Write;
use std::path::PathBuf;

use checksums::{Checksum, Found, Wanted};
use pyo3::prelude::*;

use crate::threads::parallel;

/// The checksum of some bytes, hexadecimal.
#[pyfunction]
pub(crate) fn checksum(data: &[u8]) -> String {
    hex(&checksums::of_bytes(data))
}

/// Of each of some files in a folder, its length and its checksum, "" where it has not the
/// length that it should have; or why it cannot be read.
#[pyfunction]
pub(crate) fn file_checksums(
    py: Python<'_>,
    folder: PathBuf,
    files: Vec<(String, Option<u64>)>,
) -> Vec<(u64, String, Option<String>)> {
    let wanted: Vec<_> = files
        .into_iter()
        .map(|(name, length)| Wanted { name, length })
        .collect();
    let found = py.detach(|| parallel(|| checksums::of_files(&folder, &wanted)));
    found
        .into_iter()
        .map(|one| match one {
            Found::Read(length, checksum) => (length, hex(&checksum), None),
            Found::OtherLength(length) => (length, String::new(), None),
            Found::Unreadable(why) => (0, String::new(), Some(why)),
        })
        .collect()
}

fn hex(checksum: &Checksum) -> String {
    checksum.iter().fold(String::new(), |mut text, byte| {
        // Writing to a String does not fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

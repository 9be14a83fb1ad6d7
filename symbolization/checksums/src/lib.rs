//! Lengths and checksums of the files in a folder, many at a time: BLAKE3, of which 128 bits are
//! enough to tell what a disk or a copy did to a file.

use std::collections::HashMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rayon::prelude::*;

/// The first bytes of BLAKE3's output.
pub type Checksum = [u8; 16];

/// What is read at once.
const BLOCK: usize = 1 << 18;
/// From this length on, several threads hash one file.
const LARGE: u64 = 1 << 24;
const LARGE_BLOCK: usize = 1 << 23;

/// What is found of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    /// It was read.
    Read(u64, Checksum),
    /// It has not the length that it should have, and was not read.
    OtherLength(u64),
    /// It cannot be read: why.
    Unreadable(String),
}

/// A file to look at.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// Its path in the folder.
    pub name: String,
    /// The length that it should have; nothing where that is not known.
    pub length: Option<u64>,
}

/// The checksum of some bytes.
#[must_use]
pub fn of_bytes(bytes: &[u8]) -> Checksum {
    first(&blake3::hash(bytes))
}

/// What is found of each of some files in `folder`. A file with several names is read once. Nothing
/// outside of the folder is read, whatever links lead there, and no FIFO or device.
#[must_use]
pub fn of_files(folder: &Path, wanted: &[Wanted]) -> Vec<Found> {
    let folder = match fs::canonicalize(folder) {
        Ok(folder) => folder,
        Err(error) => return vec![Found::Unreadable(said(&error)); wanted.len()],
    };
    let placed: Vec<_> = wanted.par_iter().map(|one| place(&folder, one)).collect();
    let mut every: HashMap<(u64, u64), &Path> = HashMap::new();
    for (path, identity) in placed.iter().flatten() {
        every.entry(*identity).or_insert(path);
    }
    let read: HashMap<_, _> = every
        .into_par_iter()
        .map(|(identity, path)| (identity, read(path)))
        .collect();
    placed
        .into_iter()
        .map(|one| match one {
            Ok((_, identity)) => read[&identity].clone(),
            Err(found) => found,
        })
        .collect()
}

/// Where a file is, and which one; or what is found of it unread.
fn place(folder: &Path, wanted: &Wanted) -> Result<(PathBuf, (u64, u64)), Found> {
    let unreadable = |error: io::Error| Found::Unreadable(said(&error));
    let path = fs::canonicalize(folder.join(&wanted.name)).map_err(unreadable)?;
    if !path.starts_with(folder) {
        return Err(Found::Unreadable("it leads out of the folder".into()));
    }
    let metadata = fs::metadata(&path).map_err(unreadable)?;
    if !metadata.is_file() {
        return Err(Found::Unreadable("it is not a regular file".into()));
    }
    if wanted.length.is_some_and(|length| length != metadata.len()) {
        return Err(Found::OtherLength(metadata.len()));
    }
    Ok((path, (metadata.dev(), metadata.ino())))
}

fn read(path: &Path) -> Found {
    match checksum(path) {
        Ok((length, checksum)) => Found::Read(length, checksum),
        Err(error) => Found::Unreadable(said(&error)),
    }
}

fn checksum(path: &Path) -> io::Result<(u64, Checksum)> {
    // Without O_NONBLOCK, opening what became a FIFO waits for its writer.
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY)
        .open(path)?;
    let length = file.metadata()?.len();
    let mut hasher = blake3::Hasher::new();
    let block = if length < LARGE { BLOCK } else { LARGE_BLOCK };
    let mut block = vec![0; block.min(usize::try_from(length + 1).unwrap_or(block))];
    // What grows meanwhile is not followed.
    let mut file = file.take(length);
    let mut whole = 0;
    loop {
        let part = fill(&mut file, &mut block)?;
        if part.is_empty() {
            return Ok((whole, first(&hasher.finalize())));
        }
        whole += part.len() as u64;
        if length < LARGE {
            hasher.update(part);
        } else {
            hasher.update_rayon(part);
        }
    }
}

/// As much of a file as `block` holds.
fn fill<'b>(file: &mut io::Take<File>, block: &'b mut [u8]) -> io::Result<&'b [u8]> {
    let mut filled = 0;
    while filled < block.len() {
        match file.read(&mut block[filled..]) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(&block[..filled])
}

fn first(hash: &blake3::Hash) -> Checksum {
    let mut found = Checksum::default();
    found.copy_from_slice(&hash.as_bytes()[..16]);
    found
}

/// `No such file or directory`, without the number.
fn said(error: &io::Error) -> String {
    let told = error.to_string();
    told.split(" (os error").next().unwrap_or(&told).to_owned()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn folder(name: &str) -> PathBuf {
        let path = std::env::temp_dir().join(format!("checksums-{}-{name}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        path
    }

    fn wanted(name: &str, length: Option<u64>) -> Wanted {
        Wanted {
            name: name.into(),
            length,
        }
    }

    #[test]
    fn files_are_read_and_links_are_not_followed_out() {
        let folder = folder("links");
        let large: Vec<u8> = (0..LARGE + 5).map(|at| ((at * at) >> 7) as u8).collect();
        fs::write(folder.join("empty"), b"").unwrap();
        fs::write(folder.join("large"), &large).unwrap();
        fs::hard_link(folder.join("large"), folder.join("again")).unwrap();
        std::os::unix::fs::symlink("large", folder.join("inside")).unwrap();
        std::os::unix::fs::symlink("/etc/passwd", folder.join("outside")).unwrap();
        fs::create_dir(folder.join("sub")).unwrap();
        let names = [
            "empty",
            "large",
            "again",
            "inside",
            "outside",
            "sub",
            "sub/../../x",
            "none",
        ];
        let found = of_files(&folder, &names.map(|name| wanted(name, None)));
        assert_eq!(found[0], Found::Read(0, of_bytes(b"")));
        for one in &found[1..4] {
            assert_eq!(*one, Found::Read(large.len() as u64, of_bytes(&large)));
        }
        for one in &found[4..] {
            assert!(matches!(one, Found::Unreadable(_)), "{one:?}");
        }
        let found = of_files(
            &folder,
            &[wanted("large", Some(3)), wanted("empty", Some(0))],
        );
        assert_eq!(found[0], Found::OtherLength(large.len() as u64));
        assert_eq!(found[1], Found::Read(0, of_bytes(b"")));
        fs::remove_dir_all(folder).unwrap();
    }
}

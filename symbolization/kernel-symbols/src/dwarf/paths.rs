use std::sync::OnceLock;

use super::{Failure, Slice};
use crate::budget::Account;

type Unit<'d> = gimli::Unit<Slice<'d>>;

/// Where a unit's files are, and how to name them relative to the source tree.
///
/// Kernels built in different folders, or beside their source (`O=`), must give equal names:
/// - what lies below the compilation folder, or is stated relative to it, loses the folder;
/// - `../` at the start (an output folder inside the tree) goes too;
/// - an absolute name elsewhere loses the source root, which is the folder in which the unit found
///   `include/linux`. Without one (the compiler's own headers) the name stays absolute.
pub(crate) struct Paths<'d> {
    folder: &'d [u8],
    program: Option<gimli::IncompleteLineProgram<Slice<'d>>>,
    /// The source root, sought once.
    root: OnceLock<Option<&'d [u8]>>,
}

impl<'d> Paths<'d> {
    /// Take the line program of `unit`, whose header names the files.
    pub(crate) fn new(unit: &mut Unit<'d>) -> Self {
        Paths {
            folder: unit.comp_dir.map_or(&[], |folder| folder.slice()),
            program: unit.line_program.take(),
            root: OnceLock::new(),
        }
    }

    /// The unit's line program, if it has one.
    pub(crate) fn program(&self) -> Option<&gimli::IncompleteLineProgram<Slice<'d>>> {
        self.program.as_ref()
    }

    /// What the tables of files and folders took to read and take to keep.
    pub(crate) fn cost(&self) -> usize {
        const FOLDER: usize = size_of::<gimli::AttributeValue<Slice<'_>>>();
        const FILE: usize = size_of::<gimli::FileEntry<Slice<'_>>>();
        self.program.as_ref().map_or(0, |program| {
            let header = program.header();
            let kept = header.include_directories().len() * FOLDER;
            header.header_length() + kept + header.file_names().len() * FILE
        })
    }

    /// The name of file `index` of the unit's line table; empty if there is none.
    pub(crate) fn name(
        &self,
        dwarf: &gimli::Dwarf<Slice<'d>>,
        unit: &Unit<'d>,
        index: u64,
        account: &mut Account<'_>,
    ) -> Result<Vec<u8>, Failure> {
        let header = self.program.as_ref().map(|program| program.header());
        let file = header.and_then(|header| Some((header, header.file(index)?)));
        let Some((header, file)) = file else {
            return Ok(Vec::new());
        };
        let text = |value| {
            dwarf
                .attr_string(unit, value)
                .map_or(&[][..], |text| text.slice())
        };
        let name = text(file.path_name());
        let folder = match file.directory_index() {
            0 => &[][..], // the compilation folder itself, which is stripped anyway
            _ => file.directory(header).map_or(&[][..], text),
        };
        account.spend(folder.len() + name.len())?;
        let path = normal(&[folder, name]);
        if !path.starts_with(b"/") {
            return Ok(path);
        }
        if let Some(rest) = below(&path, self.folder) {
            return Ok(rest.to_vec());
        }
        let root = match self.root.get() {
            Some(root) => *root,
            None => {
                let mut root = None;
                for value in header.include_directories() {
                    let folder = text(*value);
                    account.spend(1 + folder.len())?;
                    if folder.starts_with(b"/") {
                        root = folder.strip_suffix(b"/include/linux");
                    }
                    if root.is_some() {
                        break;
                    }
                }
                *self.root.get_or_init(|| root)
            }
        };
        match root.and_then(|root| below(&path, root)) {
            Some(rest) => Ok(rest.to_vec()),
            None => Ok(path),
        }
    }
}

fn below<'p>(path: &'p [u8], folder: &[u8]) -> Option<&'p [u8]> {
    let folder = folder.strip_suffix(b"/").unwrap_or(folder);
    if folder.is_empty() {
        return None;
    }
    path.strip_prefix(folder)?.strip_prefix(b"/")
}

/// Join parts, a later absolute one replacing the earlier; collapse `.`, `..` and double slashes;
/// drop `..` that lead out of the start.
fn normal(parts: &[&[u8]]) -> Vec<u8> {
    let start = parts.iter().rposition(|part| part.starts_with(b"/"));
    let absolute = start.is_some();
    let mut names: Vec<&[u8]> = Vec::new();
    for name in parts[start.unwrap_or(0)..]
        .iter()
        .flat_map(|part| part.split(|b| *b == b'/'))
    {
        match name {
            b"" | b"." => {}
            b".." => {
                names.pop();
            }
            _ => names.push(name),
        }
    }
    let mut out = Vec::with_capacity(parts.iter().map(|part| part.len() + 1).sum());
    for (i, name) in names.iter().enumerate() {
        if i > 0 || absolute {
            out.push(b'/');
        }
        out.extend_from_slice(name);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_collapsed() {
        let normal = |parts: &[&str]| {
            let parts: Vec<&[u8]> = parts.iter().map(|part| part.as_bytes()).collect();
            String::from_utf8(super::normal(&parts)).unwrap_or_default()
        };
        assert_eq!(normal(&["", "mm/mprotect.c"]), "mm/mprotect.c");
        assert_eq!(normal(&["./include//linux/", "mm.h"]), "include/linux/mm.h");
        assert_eq!(normal(&["../mm", "a/../b.c"]), "mm/b.c");
        assert_eq!(normal(&["x", "/usr/lib/./y.h"]), "/usr/lib/y.h");
        assert_eq!(normal(&["..", ".."]), "");
    }

    #[test]
    fn a_folder_is_stripped_whole() {
        assert_eq!(
            below(b"/src/linux/mm/a.c", b"/src/linux/"),
            Some(&b"mm/a.c"[..])
        );
        assert_eq!(below(b"/src/linux-next/mm/a.c", b"/src/linux"), None);
        assert_eq!(below(b"/a", b""), None);
    }
}

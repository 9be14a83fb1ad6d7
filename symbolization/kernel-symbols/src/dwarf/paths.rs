use std::borrow::Cow;

use super::Slice;

/// Where a unit's files are, and how to name them relative to the source tree.
///
/// Kernels built in different folders, or beside their source (`O=`), must give equal names:
/// - what lies below the compilation folder, or is stated relative to it, loses the folder;
/// - `../` at the start (an output folder inside the tree) goes too;
/// - an absolute name elsewhere loses the source root, which is the folder in which the unit found
///   `include/linux`. Without one (the compiler's own headers) the name stays absolute.
pub(crate) struct Paths<'d> {
    folder: &'d [u8],
    header: Option<gimli::LineProgramHeader<Slice<'d>>>,
}

impl<'d> Paths<'d> {
    pub(crate) fn new(unit: &gimli::Unit<Slice<'d>>) -> Self {
        Paths {
            folder: unit.comp_dir.map_or(&[], |folder| folder.slice()),
            header: unit
                .line_program
                .as_ref()
                .map(|program| program.header().clone()),
        }
    }

    /// The name of file `index` of the unit's line table; empty if there is none.
    pub(crate) fn name(
        &self,
        dwarf: &gimli::Dwarf<Slice<'d>>,
        unit: &gimli::Unit<Slice<'d>>,
        index: u64,
    ) -> Cow<'d, [u8]> {
        let Some(header) = &self.header else {
            return Cow::Borrowed(&[]);
        };
        let Some(file) = header.file(index) else {
            return Cow::Borrowed(&[]);
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
        let mut path = normal(&[folder, name]);
        if !path.starts_with(b"/") {
            return Cow::Owned(path);
        }
        if let Some(rest) = below(&path, self.folder) {
            return Cow::Owned(rest.to_vec());
        }
        let root = header.include_directories().iter().find_map(|value| {
            let folder = text(*value);
            if folder.starts_with(b"/") {
                folder.strip_suffix(b"/include/linux")
            } else {
                None
            }
        });
        if let Some(rest) = root.and_then(|root| below(&path, root)) {
            path = rest.to_vec();
        }
        Cow::Owned(path)
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

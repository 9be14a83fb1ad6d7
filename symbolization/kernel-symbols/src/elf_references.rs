//! What the code of an object file refers to, as its relocations say it.

use std::collections::HashMap;
use std::path::Path;

use object::read::elf::SectionHeader;
use object::{LittleEndian, Object, ObjectSection, ObjectSymbol, RelocationTarget, SymbolKind};

use crate::compression::limit;
use crate::elf::Elf;
use crate::file::FileBytes;
use crate::relocation::width;
use crate::{Error, Result, Svma};

/// A place in the code of an object file whose value the linker writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reference {
    /// Where it is, as in [`crate::SymbolIndex::sections`].
    pub field: Svma,
    /// Its bytes; 0 for a kind of relocation that writes a part of an instruction.
    pub width: u8,
    /// Whether the value is relative to `field`.
    pub relative: bool,
    /// The number of the name of what it refers to: of a symbol, or of a section.
    pub name: u32,
    /// The number of the section, where `name` is that of a section.
    pub section: u32,
    /// Where that lies, if it is in the code of this file; else 0.
    pub target: Svma,
    /// What is added to it.
    pub addend: i64,
}

/// The code's references of an object file, and what names them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct References {
    /// As QEMU calls it: `x86_64`; "" for one that nothing here knows.
    pub architecture: &'static str,
    /// Names of symbols and sections, demangled by nobody.
    pub names: Vec<String>,
    /// By address; none of a file that is linked.
    pub references: Vec<Reference>,
    /// Variables as (section, offset in it, size, name): what a section's name hides.
    pub variables: Vec<(u32, u64, u64, String)>,
}

/// The references of the ELF file at `path` (plain, `.zst`, `.xz`, `.gz`).
pub fn elf_references(path: &Path) -> Result<References> {
    let bytes = FileBytes::open(path)?;
    let elf = Elf::parse(path, &bytes)?;
    let mut found = References {
        architecture: match elf.file.architecture() {
            object::Architecture::X86_64 => "x86_64",
            object::Architecture::Aarch64 => "aarch64",
            object::Architecture::Riscv64 => "riscv64",
            _ => "",
        },
        ..References::default()
    };
    if !elf.bases.relocatable() {
        return Ok(found);
    }
    // Names may be ends of one long string.
    let mut left = limit(bytes.len());
    let mut named = |name: &[u8]| -> Result<String> {
        left = left
            .checked_sub(name.len() as u64 + 1)
            .ok_or_else(|| Error::damaged(path, "the names of its symbols overlap too often"))?;
        Ok(String::from_utf8_lossy(name).into_owned())
    };
    for symbol in elf.file.symbols().filter(|one| one.size() > 0) {
        if let (SymbolKind::Data, Some(section)) = (symbol.kind(), symbol.section_index()) {
            let name = named(symbol.name_bytes().unwrap_or_default())?;
            let section = u32::try_from(section.0).unwrap_or_default();
            found
                .variables
                .push((section, symbol.address(), symbol.size(), name));
        }
    }
    let mut numbers: HashMap<usize, u32> = HashMap::new();
    for section in elf.file.sections() {
        let flags = section.elf_section_header().sh_flags(LittleEndian);
        if !flags.contains(object::elf::SHF_ALLOC | object::elf::SHF_EXECINSTR) {
            continue;
        }
        let base = elf.bases.of(section.index().0);
        for (offset, relocation) in section.relocations() {
            let RelocationTarget::Symbol(index) = relocation.target() else {
                continue;
            };
            let symbol = elf
                .file
                .symbol_by_index(index)
                .map_err(|error| Error::damaged(path, format!("a relocation: {error}")))?;
            let of = symbol
                .section_index()
                .and_then(|index| elf.file.section_by_index(index).ok());
            let name = match numbers.get(&index.0) {
                Some(number) => *number,
                None => {
                    let mut name = symbol.name_bytes().unwrap_or_default();
                    if let (true, Some(of)) = (symbol.kind() == SymbolKind::Section, &of) {
                        name = of.name_bytes().unwrap_or_default();
                    }
                    let number = u32::try_from(found.names.len()).unwrap_or(u32::MAX);
                    found.names.push(named(name)?);
                    numbers.insert(index.0, number);
                    number
                }
            };
            let in_code = of.as_ref().is_some_and(|of| {
                let flags = of.elf_section_header().sh_flags(LittleEndian);
                flags.contains(object::elf::SHF_EXECINSTR)
            });
            let number = of.map_or(0, |of| of.index().0);
            let (size, relative) = match relocation.flags() {
                object::RelocationFlags::Elf { r_type } => width(&elf.file, r_type),
                _ => None,
            }
            .unwrap_or((0, false));
            found.references.push(Reference {
                field: Svma(base.wrapping_add(offset)),
                width: size as u8,
                relative,
                name,
                section: if symbol.kind() == SymbolKind::Section {
                    u32::try_from(number).unwrap_or_default()
                } else {
                    0
                },
                target: Svma(if in_code {
                    elf.bases.of(number).wrapping_add(symbol.address())
                } else {
                    0
                }),
                addend: relocation.addend(),
            });
        }
    }
    found.references.sort_by_key(|one| one.field);
    Ok(found)
}

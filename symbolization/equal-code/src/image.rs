use std::path::Path;

use kernel_symbols::{Error, Result};
use object::elf::{
    SHF_ALLOC, SHF_EXECINSTR, SHF_WRITE, SHN_ABS, SHN_UNDEF, SHT_NOBITS, STB_GLOBAL, STB_LOCAL,
    STB_WEAK, STT_FILE, STT_FUNC, STT_GNU_IFUNC, STT_NOTYPE, STT_OBJECT,
};
use object::read::elf::{ElfFile64, SectionHeader};
use object::{Architecture, LittleEndian, Object, ObjectSection, ObjectSymbol, ObjectSymbolTable};

use crate::sections::{Kind, Section, Sections};
use crate::symbols::{Symbol, Symbols};

/// How many bytes of names are read for each byte of a file: they may be ends of one long string.
const MOST_NAMES: u64 = 8;

/// A kernel's ELF file: what is in memory when it runs.
pub(crate) struct Image<'d> {
    pub(crate) architecture: Architecture,
    pub(crate) sections: Sections<'d>,
    pub(crate) symbols: Symbols<'d>,
}

impl<'d> Image<'d> {
    pub(crate) fn parse(path: &Path, data: &'d [u8]) -> Result<Self> {
        if !data.starts_with(b"\x7fELF") || data.get(4..6) != Some(&[2, 1]) {
            return Err(not_a_kernel(
                path,
                "it is not a 64-bit little-endian ELF file",
            ));
        }
        let file = ElfFile64::<LittleEndian>::parse(data).map_err(|error| Error::Damaged {
            path: path.into(),
            what: error.to_string(),
        })?;
        let mut sections = Sections::new(sections(&file));
        let names = symbols(path, &file, &mut sections)?;
        let symbols = Symbols::new(names, &sections);
        Ok(Image {
            architecture: file.architecture(),
            sections,
            symbols,
        })
    }

    /// The pointer at an address, as it is when the kernel runs.
    pub(crate) fn pointer(&self, address: u64) -> Option<u64> {
        let bytes = self.sections.bytes(address, 8)?;
        Some(u64::from_le_bytes(bytes.as_ref().try_into().ok()?))
    }

    /// Whether an address is one of this kernel's, in the kernel's half.
    pub(crate) fn holds(&self, address: u64) -> bool {
        self.sections.knows(address)
    }

    /// Whether variables for each processor start at 0 (x86-64 before 6.15).
    pub(crate) fn starts_at_zero(&self) -> bool {
        self.sections.iter().any(|section| section.start >> 63 == 0)
    }
}

fn not_a_kernel(path: &Path, found: &str) -> Error {
    Error::Kind {
        path: path.into(),
        expected: "the ELF file of a kernel",
        found: found.into(),
        advice: "give a vmlinux, plain or as .zst or .xz",
    }
}

fn sections<'d>(file: &ElfFile64<'d, LittleEndian>) -> Vec<Section<'d>> {
    let mut out = Vec::new();
    for section in file.sections() {
        let header = section.elf_section_header();
        let flags = header.sh_flags(LittleEndian);
        let (start, size) = (section.address(), section.size());
        if !flags.contains(SHF_ALLOC) || size == 0 || start.checked_add(size).is_none() {
            continue;
        }
        let name = section.name_bytes().unwrap_or_default();
        let zeros = header.sh_type(LittleEndian) == SHT_NOBITS;
        let bytes = match zeros {
            true => None,
            false => match section.data() {
                Ok(data) if data.len() as u64 == size => Some(data),
                _ => continue,
            },
        };
        let kind = if flags.contains(SHF_EXECINSTR) {
            Kind::Code
        } else if !flags.contains(SHF_WRITE) || name.starts_with(b".rodata") {
            // What is written at boot makes .rodata writable for the linker.
            Kind::Constant
        } else {
            Kind::Data
        };
        out.push(Section {
            name,
            start,
            size,
            bytes,
            kind,
        });
    }
    out
}

fn symbols<'d>(
    path: &Path,
    file: &ElfFile64<'d, LittleEndian>,
    sections: &mut Sections<'d>,
) -> Result<Vec<Symbol<'d>>> {
    let mut out = Vec::new();
    let Some(table) = file.symbol_table() else {
        return Ok(out);
    };
    let limit = (file.data().len() as u64).saturating_mul(MOST_NAMES);
    let mut left = limit;
    let mut source: &[u8] = &[];
    for symbol in table.symbols() {
        let raw = symbol.elf_symbol();
        let kind = raw.st_type();
        let name = symbol.name_bytes().unwrap_or_default();
        left = left
            .checked_sub(name.len() as u64)
            .ok_or_else(|| Error::TooCostly {
                path: path.into(),
                limit,
            })?;
        if kind == STT_FILE {
            source = name;
            continue;
        }
        let function = matches!(kind, STT_FUNC | STT_GNU_IFUNC);
        if !function && !matches!(kind, STT_NOTYPE | STT_OBJECT) {
            continue;
        }
        let local = raw.st_bind() == STB_LOCAL;
        // Labels of the compiler.
        if name.is_empty() || name.starts_with(b".L") {
            continue;
        }
        let address = symbol.address();
        if matches!(raw.st_shndx.get(LittleEndian), SHN_UNDEF | SHN_ABS) {
            continue;
        }
        if sections.at(address).is_none() {
            sections.add_edge(address, name);
            continue;
        }
        let binding = match raw.st_bind() {
            STB_GLOBAL => 0,
            STB_WEAK => 1,
            _ => 2,
        };
        out.push(Symbol {
            address,
            size: symbol.size(),
            sized: symbol.size() > 0,
            name,
            file: if local { source } else { &[] },
            rank: u8::from(kind == STT_NOTYPE) * 3 + binding,
        });
    }
    Ok(out)
}

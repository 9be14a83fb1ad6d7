use object::elf::{ET_REL, SHF_ALLOC};
use object::read::elf::{ElfFile64, FileHeader, SectionHeader};
use object::{LittleEndian, Object, ObjectSection, ObjectSymbol};

use crate::debug_file::DebugFile;
use crate::relocation::SectionBases;
use crate::Result;

/// What a section or a symbol takes in memory, without its name.
const ENTRY: usize = 64;

/// A section that is loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SectionPlace {
    /// `.data`, `.data..percpu`.
    pub name: String,
    /// Where it starts; of a relocatable file, in this crate's own layout.
    pub start: u64,
    /// Its length in bytes.
    pub size: u64,
    /// Whether it holds no bytes in the file (`.bss`).
    pub is_empty: bool,
}

/// A symbol of a section that is loaded: a function, a variable, a label.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Symbol<'f> {
    /// Where it starts; of a relocatable file, in this crate's own layout.
    pub start: u64,
    /// Its length in bytes, 0: unknown.
    pub size: u64,
    /// Its name.
    pub name: &'f [u8],
    /// Whether it is a variable's.
    pub is_object: bool,
}

impl DebugFile {
    /// The sections that are loaded, in the file's order.
    pub fn parts(&self) -> Result<Vec<SectionPlace>> {
        let (file, bases) = self.parsed()?;
        let mut out = Vec::new();
        for section in file.sections() {
            let header = section.elf_section_header();
            if !header.sh_flags(LittleEndian).contains(SHF_ALLOC) {
                continue;
            }
            let name = section.name_bytes().unwrap_or_default();
            self.spend(ENTRY + name.len())?;
            let start = match bases.relocatable() {
                true => bases.of(section.index().0),
                false => section.address(),
            };
            out.push(SectionPlace {
                name: String::from_utf8_lossy(name).into_owned(),
                start,
                size: section.size().min(u64::MAX - start),
                is_empty: header.sh_type(LittleEndian) == object::elf::SHT_NOBITS,
            });
        }
        Ok(out)
    }

    /// The symbols of sections that are loaded, by address; those that name code or data at an
    /// address before mere labels there.
    pub fn symbols(&self) -> Result<Vec<Symbol<'_>>> {
        let (file, bases) = self.parsed()?;
        let mut out = Vec::new();
        for symbol in file.symbols() {
            let kind = object::read::elf::Sym::st_type(symbol.elf_symbol());
            let is_object = kind == object::elf::STT_OBJECT;
            let is_code = matches!(kind, object::elf::STT_FUNC | object::elf::STT_GNU_IFUNC);
            let Some(section) = symbol.section_index() else {
                continue;
            };
            let name = symbol.name_bytes().unwrap_or_default();
            let label = kind == object::elf::STT_NOTYPE && !name.starts_with(b"$");
            if name.is_empty() || name.starts_with(b".L") || !(is_object || is_code || label) {
                continue;
            }
            let start = symbol.address().wrapping_add(bases.of(section.0));
            out.push(Symbol {
                start,
                size: symbol.size().min(u64::MAX - start),
                name,
                is_object,
            });
        }
        self.spend(out.len() * ENTRY)?;
        out.sort_by_key(|one| (one.start, one.size == 0));
        Ok(out)
    }

    /// Whether it is a module or another object file, whose sections have no addresses yet.
    pub fn is_relocatable(&self) -> Result<bool> {
        Ok(self.parsed()?.1.relocatable())
    }

    fn parsed(&self) -> Result<(ElfFile64<'_, LittleEndian>, SectionBases)> {
        let parsed = ElfFile64::<LittleEndian>::parse(self.whole());
        let file = parsed.map_err(|error| self.damaged(error))?;
        let relocatable = file.elf_header().e_type(LittleEndian) == ET_REL;
        let bases = SectionBases::new(&file, relocatable);
        Ok((file, bases))
    }
}

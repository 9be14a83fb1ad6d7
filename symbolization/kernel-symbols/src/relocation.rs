use std::borrow::Cow;
use std::path::Path;

use object::read::elf::{ElfFile64, ElfSection64, SectionHeader};
use object::{
    Architecture, LittleEndian, Object, ObjectSection, ObjectSymbol, RelocationFlags,
    RelocationTarget,
};

use crate::{Error, Result};

/// Where the sections of a relocatable file are put, so that no two of them overlap.
///
/// Sections that are not executable lie far above: an address in them is never taken for code.
pub(crate) struct SectionBases(Option<Vec<u64>>);

impl SectionBases {
    pub(crate) fn new(file: &ElfFile64<'_, LittleEndian>, relocatable: bool) -> Self {
        if !relocatable {
            return SectionBases(None);
        }
        const FIRST: u64 = 0x1_0000;
        const GAP: u64 = 0x1000;
        const NOT_CODE: u64 = 1 << 46;
        let mut next = FIRST;
        let mut bases = vec![0];
        for section in file.sections() {
            let flags = section.elf_section_header().sh_flags(LittleEndian);
            let alloc = flags.contains(object::elf::SHF_ALLOC);
            let code = flags.contains(object::elf::SHF_EXECINSTR);
            let index = section.index().0;
            if bases.len() <= index {
                bases.resize(index + 1, 0);
            }
            bases[index] = match (alloc, code) {
                (true, true) => {
                    let base = next;
                    let size = section.size().min(1 << 32);
                    next = (next + size + GAP).next_multiple_of(GAP);
                    base
                }
                (true, false) => NOT_CODE,
                (false, _) => 0,
            };
        }
        SectionBases(Some(bases))
    }

    pub(crate) fn relocatable(&self) -> bool {
        self.0.is_some()
    }

    /// The base of a section by its index; 0 for one that is not loaded or not there.
    pub(crate) fn of(&self, index: usize) -> u64 {
        self.0
            .as_ref()
            .and_then(|bases| bases.get(index))
            .copied()
            .unwrap_or(0)
    }
}

/// Apply a section's relocations, as the kernel's module loader and every debugger do. What is in
/// other files is taken to be at address 0.
pub(crate) fn relocate(
    path: &Path,
    file: &ElfFile64<'_, LittleEndian>,
    section: &ElfSection64<'_, '_, LittleEndian>,
    bases: &SectionBases,
    data: &mut Cow<'_, [u8]>,
) -> Result<()> {
    let start = bases.of(section.index().0);
    for (offset, relocation) in section.relocations() {
        let value = match relocation.target() {
            RelocationTarget::Symbol(index) => {
                let symbol = file
                    .symbol_by_index(index)
                    .map_err(|error| Error::damaged(path, format!("a relocation: {error}")))?;
                let base = symbol
                    .section_index()
                    .map_or(0, |section| bases.of(section.0));
                base.wrapping_add(symbol.address())
            }
            RelocationTarget::Absolute => 0,
            RelocationTarget::Section(index) => bases.of(index.0),
            _ => continue,
        };
        let RelocationFlags::Elf { r_type } = relocation.flags() else {
            continue;
        };
        let value = value.wrapping_add_signed(relocation.addend());
        let Some((size, relative)) = width(file, r_type) else {
            continue; // of no meaning for debug information
        };
        let value = if relative {
            value.wrapping_sub(start.wrapping_add(offset))
        } else {
            value
        };
        let bytes = value.to_le_bytes();
        let range = usize::try_from(offset)
            .ok()
            .and_then(|at| Some(at..at.checked_add(size)?));
        let Some(place) = range.and_then(|range| data.to_mut().get_mut(range)) else {
            return Err(Error::damaged(
                path,
                format!("a relocation outside its section, at {offset:#x}"),
            ));
        };
        place.copy_from_slice(&bytes[..size]);
    }
    Ok(())
}

/// Bytes that a relocation writes, and whether the value is relative to its place.
pub(crate) fn width(
    file: &ElfFile64<'_, LittleEndian>,
    kind: object::elf::RelocationType,
) -> Option<(usize, bool)> {
    use object::elf;
    match (file.architecture(), kind) {
        (Architecture::X86_64, elf::R_X86_64_64) => Some((8, false)),
        (Architecture::X86_64, elf::R_X86_64_32 | elf::R_X86_64_32S) => Some((4, false)),
        (Architecture::X86_64, elf::R_X86_64_PC32 | elf::R_X86_64_PLT32) => Some((4, true)),
        (Architecture::X86_64, elf::R_X86_64_PC64) => Some((8, true)),
        (Architecture::Aarch64, elf::R_AARCH64_ABS64) => Some((8, false)),
        (Architecture::Aarch64, elf::R_AARCH64_ABS32) => Some((4, false)),
        (Architecture::Aarch64, elf::R_AARCH64_PREL32) => Some((4, true)),
        (Architecture::Riscv64, elf::R_RISCV_64) => Some((8, false)),
        (Architecture::Riscv64, elf::R_RISCV_32) => Some((4, false)),
        (Architecture::Riscv64, elf::R_RISCV_32_PCREL) => Some((4, true)),
        _ => None,
    }
}

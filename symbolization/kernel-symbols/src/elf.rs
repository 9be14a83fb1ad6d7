use std::borrow::Cow;
use std::ops::Range;
use std::path::{Path, PathBuf};

use object::elf::{ET_REL, PF_X, PT_LOAD, SHF_ALLOC, SHF_EXECINSTR, SHT_NOTE};
use object::read::elf::{ElfFile64, FileHeader, ProgramHeader, SectionHeader};
use object::{CompressionFormat, LittleEndian, Object, ObjectSection, ObjectSymbol};

use crate::budget::{Account, Budget, Exhausted};
use crate::build_id::BuildId;
use crate::compression::{limit, unpack_section};
use crate::relocation::{relocate, SectionBases};
use crate::{Error, Result, Svma};

/// An executable section of an ELF file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextSection {
    /// `.text`, `.init.text`.
    pub name: String,
    /// Where it starts. In a relocatable file that is this crate's own layout.
    pub svma: Svma,
    /// Its length in bytes.
    pub size: u64,
}

/// A parsed ELF file: its executable sections, symbols and debug sections.
pub(crate) struct Elf<'d> {
    path: PathBuf,
    pub(crate) file: ElfFile64<'d, LittleEndian>,
    pub(crate) bases: SectionBases,
    text: Vec<(usize, TextSection)>,
}

/// An executable part of the file as it is loaded.
pub(crate) struct CodeSegment<'d> {
    pub(crate) svma: u64,
    pub(crate) bytes: &'d [u8],
}

/// A part of the file and where it is loaded.
pub(crate) struct LoadedPart {
    pub(crate) offset: u64,
    pub(crate) size: u64,
    pub(crate) svma: u64,
}

impl<'d> Elf<'d> {
    /// Whether `data` starts as an ELF file that can be read.
    pub(crate) fn check(path: &Path, data: &[u8]) -> Result<()> {
        if !data.starts_with(b"\x7fELF") {
            return Err(Error::not_elf(path, "it does not start with an ELF header"));
        }
        if data.get(4..6) != Some(&[2, 1]) {
            return Err(Error::not_elf(path, "a 32-bit or big-endian ELF file"));
        }
        Self::check_size(path, data.len())
    }

    /// Whether a file is small enough to be read: a sparse one may say that it has any length.
    pub(crate) fn check_size(path: &Path, size: usize) -> Result<()> {
        const MOST: u64 = 8 << 30;
        let declared = size as u64;
        if declared > MOST {
            return Err(Error::TooLarge {
                path: path.into(),
                what: "the whole file".into(),
                declared,
                limit: MOST,
            });
        }
        Ok(())
    }

    pub(crate) fn parse(path: &Path, data: &'d [u8]) -> Result<Self> {
        Self::check(path, data)?;
        let file =
            ElfFile64::<LittleEndian>::parse(data).map_err(|error| Error::damaged(path, error))?;
        let relocatable = file.elf_header().e_type(LittleEndian) == ET_REL;
        let bases = SectionBases::new(&file, relocatable);
        let mut text = Vec::new();
        // Names may be ends of one long string, which all are sought again and again.
        let most = limit(data.len());
        let mut names = 0;
        for section in file.sections() {
            names += section.name_bytes().map_or(0, |name| name.len() as u64);
            if names > most {
                return Err(Error::TooLarge {
                    path: path.into(),
                    what: "the names of sections".into(),
                    declared: names,
                    limit: most,
                });
            }
            let header = section.elf_section_header();
            let flags = header.sh_flags(LittleEndian);
            if flags.contains(SHF_ALLOC | SHF_EXECINSTR) && section.size() > 0 {
                let index = section.index().0;
                let svma = if relocatable {
                    bases.of(index)
                } else {
                    section.address()
                };
                let name = String::from_utf8_lossy(section.name_bytes().unwrap_or_default());
                // Nothing may wrap around the address space.
                let size = section.size().min(u64::MAX - svma);
                text.push((
                    index,
                    TextSection {
                        name: name.into_owned(),
                        svma: Svma(svma),
                        size,
                    },
                ));
            }
        }
        let mut elf = Elf {
            path: path.into(),
            file,
            bases,
            text,
        };
        if elf.text.is_empty() && !relocatable {
            for segment in elf.load_segments() {
                let (svma, size) = (segment.p_vaddr(LittleEndian), segment.p_memsz(LittleEndian));
                let size = size.min(u64::MAX - svma);
                let section = TextSection {
                    name: "LOAD".into(),
                    svma: Svma(svma),
                    size,
                };
                elf.text.push((usize::MAX, section));
            }
        }
        elf.text.sort_by_key(|(_, section)| section.svma);
        Ok(elf)
    }

    /// The sections that take memory where the file is loaded, in the order of the file.
    pub(crate) fn allocated(&self) -> impl Iterator<Item = (String, u64)> + '_ {
        let sections = self.file.sections().filter(|section| {
            let flags = section.elf_section_header().sh_flags(LittleEndian);
            flags.contains(SHF_ALLOC) && section.size() > 0
        });
        sections.map(|section| {
            let name = String::from_utf8_lossy(section.name_bytes().unwrap_or_default());
            (name.into_owned(), section.size())
        })
    }

    fn load_segments(
        &self,
    ) -> impl Iterator<Item = &'d object::elf::ProgramHeader64<LittleEndian>> {
        let segments = self.file.elf_program_headers();
        segments.iter().filter(|segment| {
            segment.p_type(LittleEndian) == PT_LOAD && segment.p_flags(LittleEndian).contains(PF_X)
        })
    }

    /// The parts of the file that the loader maps.
    pub(crate) fn loaded(&self) -> Vec<LoadedPart> {
        let segments = self.file.elf_program_headers().iter();
        segments
            .filter(|segment| segment.p_type(LittleEndian) == PT_LOAD)
            .map(|segment| LoadedPart {
                offset: segment.p_offset(LittleEndian),
                size: segment.p_filesz(LittleEndian),
                svma: segment.p_vaddr(LittleEndian),
            })
            .collect()
    }

    /// Whether the file has a fixed address (ET_EXEC).
    pub(crate) fn is_fixed(&self) -> bool {
        self.file.elf_header().e_type(LittleEndian) == object::elf::ET_EXEC
    }

    /// Executable sections by address.
    pub(crate) fn text(&self) -> impl Iterator<Item = &TextSection> {
        self.text.iter().map(|(_, section)| section)
    }

    /// Executable segments with their bytes, together no more than the file has.
    pub(crate) fn code(&self, data: &'d [u8]) -> Result<Vec<CodeSegment<'d>>> {
        let code: Vec<_> = self
            .load_segments()
            .filter_map(|segment| {
                let bytes = segment.data(LittleEndian, data).ok()?;
                Some(CodeSegment {
                    svma: segment.p_vaddr(LittleEndian),
                    bytes,
                })
            })
            .collect();
        let total: u128 = code.iter().map(|part| part.bytes.len() as u128).sum();
        if total > data.len() as u128 {
            return Err(Error::damaged(&self.path, "its segments overlap"));
        }
        Ok(code)
    }

    /// Executable sections, or segments where there are no sections, by address, with their bytes;
    /// those of a relocatable file are relocated. Together they have no more than the file.
    pub(crate) fn code_sections(&self, data: &'d [u8]) -> Result<Vec<(u64, Cow<'d, [u8]>)>> {
        let mut out: Vec<(u64, Cow<'d, [u8]>)> = Vec::new();
        let mut left = data.len();
        for (index, text) in &self.text {
            let Ok(section) = self.file.section_by_index(object::SectionIndex(*index)) else {
                continue; // a segment
            };
            let bytes = section.data().unwrap_or_default();
            left = left
                .checked_sub(bytes.len())
                .ok_or_else(|| Error::damaged(&self.path, "its sections overlap"))?;
            let mut bytes = Cow::Borrowed(bytes);
            if self.bases.relocatable() {
                relocate(&self.path, &self.file, &section, &self.bases, &mut bytes)?;
            }
            out.push((text.svma.0, bytes));
        }
        if out.is_empty() {
            let segments = self.code(data)?.into_iter();
            out.extend(segments.map(|code| (code.svma, Cow::Borrowed(code.bytes))));
            out.sort_by_key(|(svma, _)| *svma);
        }
        Ok(out)
    }

    pub(crate) fn build_id(&self) -> Option<BuildId> {
        // Sections and segments name the same notes; each more often than once no file needs.
        let mut left = 2 * self.file.data().len();
        self.file
            .sections()
            .filter(|section| section.elf_section_header().sh_type(LittleEndian) == SHT_NOTE)
            .filter_map(|section| section.data().ok())
            .chain(
                self.file
                    .elf_program_headers()
                    .iter()
                    .filter_map(|segment| {
                        let notes = segment.p_type(LittleEndian) == object::elf::PT_NOTE;
                        notes.then(|| segment.data(LittleEndian, self.file.data()).ok())?
                    }),
            )
            .take_while(|notes| {
                let rest = left.checked_sub(notes.len());
                left = rest.unwrap_or(0);
                rest.is_some()
            })
            .find_map(BuildId::in_notes)
    }

    /// Whether the file has DWARF of its own.
    pub(crate) fn has_debug_info(&self) -> bool {
        self.file.section_by_name(".debug_info").is_some()
    }

    /// The name and the CRC of the file with what was stripped off (`.gnu_debuglink`): the name of a
    /// file, without a folder.
    pub(crate) fn debug_link(&self) -> Option<(String, u32)> {
        const LONGEST: usize = 255;
        let (name, crc) = self.file.gnu_debuglink().ok()??;
        let name = std::str::from_utf8(name).ok()?;
        let one_file = !matches!(name, "" | "." | "..") && !name.contains('/');
        (one_file && name.len() <= LONGEST).then(|| (name.into(), crc))
    }

    /// A debug section by name: unpacked and relocated as far as it needs to be; empty if absent.
    pub(crate) fn debug_section(&self, name: &str, budget: &Budget) -> Result<Cow<'d, [u8]>> {
        let Some(section) = self.file.section_by_name(name) else {
            return Ok(Cow::Borrowed(&[]));
        };
        let damaged = |error| Error::damaged(&self.path, format!("{name}: {error}"));
        let packed = section.compressed_data().map_err(damaged)?;
        let size = packed.uncompressed_size;
        if packed.format != CompressionFormat::None || self.bases.relocatable() {
            budget.spend(size).map_err(|_| budget.error())?;
        }
        let mut data = match packed.format {
            CompressionFormat::Zlib => {
                Cow::Owned(unpack_section(true, packed.data, size, &self.path, name)?)
            }
            CompressionFormat::Zstandard => {
                Cow::Owned(unpack_section(false, packed.data, size, &self.path, name)?)
            }
            CompressionFormat::None => Cow::Borrowed(packed.data),
            other => {
                return Err(Error::damaged(
                    &self.path,
                    format!("{name}: packed as {other:?}"),
                ))
            }
        };
        if self.bases.relocatable() {
            relocate(&self.path, &self.file, &section, &self.bases, &mut data)?;
        }
        Ok(data)
    }

    /// Symbols of executable sections: (svma, size, name, rank), unsorted. The lowest rank is the
    /// one that a person means: functions before labels, global before local.
    pub(crate) fn symbols(
        &self,
        account: &mut Account<'_>,
    ) -> std::result::Result<Vec<ElfSymbol<'d>>, Exhausted> {
        /// What a symbol takes until the index is made.
        const SYMBOL: usize = 192;
        let mut out = Vec::new();
        let mut table = self.file.symbol_table();
        if table.is_none() {
            table = self.file.dynamic_symbol_table();
        }
        let Some(table) = table else { return Ok(out) };
        let ranges: Vec<Range<u64>> = self
            .text()
            .map(|text| text.svma.0..text.svma.0 + text.size)
            .collect();
        for symbol in object::ObjectSymbolTable::symbols(&table) {
            let raw = symbol.elf_symbol();
            let kind = object::read::elf::Sym::st_type(raw);
            let kind = match kind {
                object::elf::STT_FUNC | object::elf::STT_GNU_IFUNC => 0,
                object::elf::STT_NOTYPE => 1,
                _ => continue,
            };
            let Some(section) = symbol.section_index() else {
                continue;
            };
            let base = if self.bases.relocatable() {
                self.bases.of(section.0)
            } else {
                0
            };
            let address = base.wrapping_add(symbol.address());
            let at = ranges.partition_point(|range| range.start <= address);
            if at == 0 || !ranges[at - 1].contains(&address) {
                continue;
            }
            let binding = match object::read::elf::Sym::st_bind(raw) {
                object::elf::STB_GLOBAL => 0,
                object::elf::STB_WEAK => 1,
                _ => 2,
            };
            let name = symbol.name_bytes().unwrap_or_default();
            // Names may be ends of one long string.
            account.spend(SYMBOL + name.len())?;
            // Mapping symbols ($x, $d) tell arm64's code from data ("ELF for the Arm 64-bit
            // Architecture", 5.5.4): labels that name nothing.
            let mapping = kind == 1 && binding == 2 && name.starts_with(b"$");
            if name.is_empty() || name.starts_with(b".L") || mapping {
                continue;
            }
            let limit = ranges[at - 1].end - address;
            out.push(ElfSymbol {
                address,
                size: symbol.size().min(limit),
                limit,
                name,
                rank: kind * 3 + binding,
            });
        }
        Ok(out)
    }
}

/// A symbol in an executable section.
pub(crate) struct ElfSymbol<'d> {
    pub(crate) address: u64,
    pub(crate) size: u64,
    /// Bytes to the end of its section.
    pub(crate) limit: u64,
    pub(crate) name: &'d [u8],
    pub(crate) rank: u8,
}

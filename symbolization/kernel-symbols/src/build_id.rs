use std::fmt;
use std::io::{self, Read};

use object::elf::{FileHeader64, ET_REL, PT_NOTE};
use object::read::elf::{FileHeader, ProgramHeader};
use object::LittleEndian;

use crate::little_endian::u32_at;

/// A GNU build id: the linker's hash of what it wrote.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct BuildId(Vec<u8>);

impl BuildId {
    /// The longest id that is believed; linkers write 20 bytes, `--build-id=0x…` may write others.
    pub const MOST_BYTES: usize = 64;

    pub(crate) fn new(bytes: &[u8]) -> Option<Self> {
        (!bytes.is_empty() && bytes.len() <= Self::MOST_BYTES).then(|| BuildId(bytes.to_vec()))
    }

    /// The raw bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// The id in ELF notes, if it is among them.
    pub(crate) fn in_notes(mut notes: &[u8]) -> Option<Self> {
        const NT_GNU_BUILD_ID: u32 = 3;
        loop {
            let word = |at| u32_at(notes, at);
            let (name_size, size, kind) = (word(0)? as usize, word(4)? as usize, word(8)?);
            let rest = notes.get(12..)?;
            let name = rest.get(..name_size)?;
            let start = name_size.checked_next_multiple_of(4)?;
            let description = rest.get(start..start.checked_add(size)?)?;
            if kind == NT_GNU_BUILD_ID && name == b"GNU\0" {
                return BuildId::new(description);
            }
            let next = start.checked_add(size.checked_next_multiple_of(4)?)?;
            notes = rest.get(next..)?;
        }
    }
}

impl fmt::Display for BuildId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// The build id of an ELF file that can only be read forwards, found by its program headers.
pub(crate) fn streamed_build_id(reader: &mut dyn Read) -> io::Result<Option<BuildId>> {
    const HEADERS: usize = 64 << 10;
    const MOST_NOTES: u64 = 1 << 20;
    let mut start = Vec::new();
    reader.take(HEADERS as u64).read_to_end(&mut start)?;
    let Ok(header) = FileHeader64::<LittleEndian>::parse(start.as_slice()) else {
        return Ok(None);
    };
    if header.e_type(LittleEndian) == ET_REL {
        return Ok(None);
    }
    let Ok(segments) = header.program_headers(LittleEndian, start.as_slice()) else {
        return Ok(None);
    };
    let mut notes: Vec<(u64, u64)> = segments
        .iter()
        .filter(|segment| segment.p_type(LittleEndian) == PT_NOTE)
        .map(|segment| {
            (
                segment.p_offset(LittleEndian),
                segment.p_filesz(LittleEndian),
            )
        })
        .filter(|(_, size)| *size <= MOST_NOTES)
        .collect();
    notes.sort_unstable();
    let mut position = start.len() as u64;
    for (offset, size) in notes {
        let mut data = Vec::new();
        let (from, to) = (
            offset.min(position),
            offset.saturating_add(size).min(position),
        );
        if let (Ok(from), Ok(to)) = (usize::try_from(from), usize::try_from(to)) {
            if position == start.len() as u64 {
                data.extend_from_slice(start.get(from..to).unwrap_or_default());
            }
        }
        let skip = offset.saturating_sub(position);
        position += io::copy(&mut reader.take(skip), &mut io::sink())?;
        position += reader
            .take(size - data.len() as u64)
            .read_to_end(&mut data)? as u64;
        if let Some(id) = BuildId::in_notes(&data) {
            return Ok(Some(id));
        }
    }
    Ok(None)
}

use std::borrow::Cow;
use std::collections::HashSet;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};

use gimli::{EndianSlice, LittleEndian, SectionId};
use rayon::prelude::*;

use super::unit::UnitReader;
use super::{Slice, UnitTable};
use crate::elf::Elf;
use crate::{Error, Result};

/// The debug sections of a file, unpacked and relocated.
pub(crate) struct DebugData<'d> {
    path: PathBuf,
    sections: Vec<(SectionId, Cow<'d, [u8]>)>,
}

impl<'d> DebugData<'d> {
    pub(crate) fn load(path: &Path, elf: &Elf<'d>) -> Result<Self> {
        const WANTED: [SectionId; 9] = [
            SectionId::DebugInfo,
            SectionId::DebugLine,
            SectionId::DebugStr,
            SectionId::DebugAbbrev,
            SectionId::DebugRngLists,
            SectionId::DebugRanges,
            SectionId::DebugLineStr,
            SectionId::DebugAddr,
            SectionId::DebugStrOffsets,
        ];
        let sections = WANTED
            .par_iter()
            .map(|id| Ok((*id, elf.debug_section(id.name())?)))
            .collect::<Result<_>>()?;
        Ok(DebugData {
            path: path.into(),
            sections,
        })
    }

    fn section(&self, id: SectionId) -> Slice<'_> {
        let found = self.sections.iter().find(|(name, _)| *name == id);
        EndianSlice::new(found.map_or(&[], |(_, data)| data), LittleEndian)
    }
}

/// All compilation units of a file.
pub(crate) struct Debug<'d> {
    path: &'d Path,
    dwarf: gimli::Dwarf<Slice<'d>>,
    headers: Vec<gimli::UnitHeader<Slice<'d>>>,
    /// Units that other units refer to (link-time optimisation, dwz), parsed when first needed.
    referred: Vec<OnceLock<Option<gimli::Unit<Slice<'d>>>>>,
    /// Line programs that a unit has decoded or is decoding.
    programs: Mutex<HashSet<usize>>,
}

impl<'d> Debug<'d> {
    pub(crate) fn new(data: &'d DebugData<'_>) -> Result<Self> {
        let mut dwarf = gimli::Dwarf::load(|id| Ok::<_, gimli::Error>(data.section(id)))
            .map_err(|error| Error::damaged(&data.path, error))?;
        dwarf.populate_abbreviations_cache(gimli::AbbreviationsCacheStrategy::Duplicates);
        let mut headers = Vec::new();
        let mut units = dwarf.units();
        while let Some(header) = units.next().map_err(|error| {
            Error::damaged(
                &data.path,
                format!("unit {} of .debug_info: {error}", headers.len()),
            )
        })? {
            headers.push(header);
        }
        let referred = headers.iter().map(|_| OnceLock::new()).collect();
        Ok(Debug {
            path: &data.path,
            dwarf,
            headers,
            referred,
            programs: Mutex::default(),
        })
    }

    /// Whether there is anything to expand inlined functions from.
    pub(crate) fn is_empty(&self) -> bool {
        self.headers.is_empty()
    }

    /// Convert all units, in parallel; the result is in the order of the file.
    pub(crate) fn convert(&self, text: &[Range<u64>]) -> Result<Vec<UnitTable<'d>>> {
        // Units differ in size by a factor of 100: one at a time keeps both cores busy.
        self.headers
            .par_iter()
            .with_max_len(1)
            .map(|header| {
                UnitReader::convert(self, *header, text).map_err(|error| {
                    let at = header.debug_info_offset().map_or(0, |offset| offset.0);
                    Error::damaged(
                        self.path,
                        format!("unit at {at:#x} of .debug_info: {error}"),
                    )
                })
            })
            .collect()
    }

    /// Whether nobody asked for this line program before.
    pub(crate) fn first_use(&self, program: gimli::DebugLineOffset) -> bool {
        self.programs
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(program.0)
    }

    pub(crate) fn dwarf(&self) -> &gimli::Dwarf<Slice<'d>> {
        &self.dwarf
    }

    /// The unit that holds an offset of `.debug_info`, and the offset within it.
    pub(crate) fn unit_at(
        &self,
        offset: gimli::DebugInfoOffset,
    ) -> Option<(&gimli::Unit<Slice<'d>>, gimli::UnitOffset)> {
        let start = |header: &gimli::UnitHeader<Slice<'d>>| {
            header.debug_info_offset().map_or(0, |offset| offset.0)
        };
        let index = self
            .headers
            .partition_point(|header| start(header) <= offset.0);
        let index = index.checked_sub(1)?;
        let unit = self.referred[index]
            .get_or_init(|| self.dwarf.unit(self.headers[index]).ok())
            .as_ref()?;
        let within = gimli::UnitOffset(offset.0 - start(&self.headers[index]));
        within.is_in_bounds(&unit.header).then_some((unit, within))
    }
}

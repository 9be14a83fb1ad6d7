use std::borrow::Cow;
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};

use gimli::{EndianSlice, LittleEndian, SectionId};
use rayon::prelude::*;

use super::abbreviations;
use super::paths::Paths;
use super::{Failure, Slice};
use crate::budget::{Account, Budget};
use crate::elf::Elf;
use crate::{Error, Result};

/// The debug sections of a file, unpacked and relocated.
pub(crate) struct DebugData<'d> {
    path: PathBuf,
    sections: Vec<(SectionId, Cow<'d, [u8]>)>,
}

impl<'d> DebugData<'d> {
    pub(crate) fn load(path: &Path, elf: &Elf<'d>, budget: &Budget) -> Result<Self> {
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
            .map(|id| Ok((*id, elf.debug_section(id.name(), budget)?)))
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

/// A compilation unit, and where its files are.
pub(crate) struct OpenUnit<'d> {
    pub(crate) unit: gimli::Unit<Slice<'d>>,
    pub(crate) paths: Paths<'d>,
}

/// All compilation units of a file.
pub(crate) struct Debug<'d> {
    pub(crate) path: &'d Path,
    pub(crate) budget: &'d Budget,
    pub(crate) dwarf: gimli::Dwarf<Slice<'d>>,
    pub(crate) headers: Vec<gimli::UnitHeader<Slice<'d>>>,
    /// Units that other units refer to (link-time optimisation, dwz), parsed when first needed.
    referred: Vec<OnceLock<Option<Box<OpenUnit<'d>>>>>,
    /// Line programs that a unit has decoded or is decoding.
    programs: Mutex<HashSet<usize>>,
}

impl<'d> Debug<'d> {
    pub(crate) fn new(data: &'d DebugData<'_>, budget: &'d Budget) -> Result<Self> {
        let mut dwarf = gimli::Dwarf::load(|id| Ok::<_, gimli::Error>(data.section(id)))
            .map_err(|error| Error::damaged(&data.path, error))?;
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
        let tables = headers.iter().map(|header| header.debug_abbrev_offset().0);
        let section = data.section(SectionId::DebugAbbrev).slice();
        abbreviations::pay(section, tables.collect(), budget).map_err(|_| budget.error())?;
        dwarf.populate_abbreviations_cache(gimli::AbbreviationsCacheStrategy::Duplicates);
        let referred = headers.iter().map(|_| OnceLock::new()).collect();
        Ok(Debug {
            path: &data.path,
            budget,
            dwarf,
            headers,
            referred,
            programs: Mutex::default(),
        })
    }

    pub(crate) fn open(
        &self,
        header: gimli::UnitHeader<Slice<'d>>,
        account: &mut Account<'_>,
    ) -> std::result::Result<OpenUnit<'d>, Failure> {
        let mut unit = self.dwarf.unit(header)?;
        let paths = Paths::new(&mut unit);
        let texts = [unit.name, unit.comp_dir].into_iter().flatten();
        let length: usize = texts.map(|text| text.len()).sum();
        let root = unit.entries_raw(None)?.read_abbreviation()?;
        let attributes = root.map_or(0, |root| root.attributes().len());
        account.spend(size_of::<OpenUnit<'_>>() + paths.cost() + length + attributes)?;
        Ok(OpenUnit { unit, paths })
    }

    /// Whether nobody asked for this line program before.
    pub(crate) fn first_use(&self, program: gimli::DebugLineOffset) -> bool {
        self.programs
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(program.0)
    }

    /// The unit that holds an offset of `.debug_info`, and the offset within it.
    pub(crate) fn unit_at(
        &self,
        offset: gimli::DebugInfoOffset,
    ) -> Option<(&OpenUnit<'d>, gimli::UnitOffset)> {
        let start = |header: &gimli::UnitHeader<Slice<'d>>| {
            header.debug_info_offset().map_or(0, |offset| offset.0)
        };
        let index = self
            .headers
            .partition_point(|header| start(header) <= offset.0);
        let index = index.checked_sub(1)?;
        let unit = self.referred[index]
            .get_or_init(|| {
                // A budget that is exhausted here stays so: the reader's next step fails.
                let mut account = Account::new(self.budget);
                let unit = self.open(self.headers[index], &mut account).ok()?;
                account.settle().ok()?;
                Some(Box::new(unit))
            })
            .as_ref()?;
        let within = gimli::UnitOffset(offset.0 - start(&self.headers[index]));
        within
            .is_in_bounds(&unit.unit.header)
            .then_some((&**unit, within))
    }
}

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};

use gimli::{EndianSlice, LittleEndian, SectionId};
use rayon::prelude::*;

use super::abbreviations;
use super::paths::Paths;
use super::place::Place;
use super::scopes::{self, Scopes};
use super::{Failure, Slice};
use crate::budget::{Account, Budget};
use crate::elf::Elf;
use crate::names::is_mangled;
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
    /// Where its code is, as far as it can be read.
    pub(crate) place: Place<'d>,
    /// It is written in C or assembly, whose functions are declared in nothing.
    pub(crate) is_c: bool,
    /// Made when first asked for; none where they cannot be read.
    scopes: OnceLock<Option<Scopes<'d>>>,
}

/// All compilation units of a file.
pub(crate) struct Debug<'d> {
    pub(crate) budget: &'d Budget,
    pub(crate) dwarf: gimli::Dwarf<Slice<'d>>,
    pub(crate) headers: Vec<gimli::UnitHeader<Slice<'d>>>,
    /// Why units behind these are not known.
    pub(crate) unread: Option<String>,
    /// Units that other units refer to (link-time optimisation, dwz), parsed when first needed.
    referred: Vec<OnceLock<Option<Box<OpenUnit<'d>>>>>,
    /// Line programs that a unit has decoded or is decoding.
    programs: Mutex<HashSet<usize>>,
    elf: &'d Elf<'d>,
    /// The mangled symbols by their address, sought when first asked for.
    symbols: OnceLock<HashMap<u64, &'d [u8]>>,
}

impl<'d> Debug<'d> {
    pub(crate) fn new(
        data: &'d DebugData<'_>,
        elf: &'d Elf<'d>,
        budget: &'d Budget,
    ) -> Result<Self> {
        let mut dwarf = gimli::Dwarf::load(|id| Ok::<_, gimli::Error>(data.section(id)))
            .map_err(|error| Error::damaged(&data.path, error))?;
        let mut headers = Vec::new();
        let mut units = dwarf.units();
        let mut unread = None;
        loop {
            match units.next() {
                Ok(Some(header)) => headers.push(header),
                Ok(None) => break,
                Err(error) => {
                    let number = headers.len();
                    unread = Some(format!("unit {number} of .debug_info: {error}"));
                    break;
                }
            }
        }
        let tables = headers.iter().map(|header| header.debug_abbrev_offset().0);
        let section = data.section(SectionId::DebugAbbrev).slice();
        abbreviations::pay(section, tables.collect(), budget).map_err(|_| budget.error())?;
        dwarf.populate_abbreviations_cache(gimli::AbbreviationsCacheStrategy::Duplicates);
        let referred = headers.iter().map(|_| OnceLock::new()).collect();
        Ok(Debug {
            budget,
            dwarf,
            headers,
            unread,
            referred,
            programs: Mutex::default(),
            elf,
            symbols: OnceLock::new(),
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
        let mut entries = unit.entries_raw(None)?;
        let root = entries.read_abbreviation()?;
        let attributes = root.map_or(&[][..], |root| root.attributes());
        let (mut is_c, mut place) = (false, Place::default());
        for spec in attributes {
            let attribute = entries.read_attribute(*spec)?;
            is_c |= scopes::is_c(attribute.value());
            let _ = place.take(&self.dwarf, &unit, &attribute);
        }
        let own = size_of::<OpenUnit<'_>>() + paths.cost();
        account.spend(own + length + attributes.len())?;
        Ok(OpenUnit {
            unit,
            paths,
            place,
            is_c,
            scopes: OnceLock::new(),
        })
    }

    /// The whole name of a function that has no mangled one: `own`, in what `named` is declared in,
    /// which is the entry that has the name.
    pub(crate) fn scoped(
        &self,
        unit: &OpenUnit<'d>,
        named: gimli::DebugInfoOffset,
        own: Slice<'d>,
        account: &mut Account<'_>,
    ) -> std::result::Result<Cow<'d, [u8]>, Failure> {
        let short = Cow::Borrowed(own.slice());
        let here = named.to_unit_offset(&unit.unit.header);
        let found = here.map(|offset| (unit, offset));
        let Some((unit, offset)) = found.or_else(|| self.unit_at(named)) else {
            return Ok(short);
        };
        if unit.is_c {
            return Ok(short);
        }
        let scopes = unit.scopes.get_or_init(|| {
            // A budget that is exhausted here stays so: the reader's next step fails.
            let mut account = Account::new(self.budget);
            let scopes = Scopes::of(&self.dwarf, &unit.unit, &mut account).ok()?;
            account.settle().ok()?;
            Some(scopes)
        });
        match scopes {
            Some(scopes) => Ok(Cow::Owned(scopes.name(offset, own, account)?)),
            None => Ok(short),
        }
    }

    /// The mangled symbol of a function at `address`, without the suffix of a compiler's copy.
    pub(crate) fn mangled_at(&self, address: u64) -> Option<&'d [u8]> {
        let symbols = self.symbols.get_or_init(|| {
            let mut account = Account::new(self.budget);
            let symbols = self.elf.symbols(&mut account);
            let paid = account.settle();
            let mut symbols = symbols.unwrap_or_default();
            symbols.retain(|one| paid.is_ok() && is_mangled(one.name));
            // The preferred one comes last, and stays.
            symbols.sort_by_key(|one| std::cmp::Reverse((one.rank, one.name)));
            symbols.iter().map(|one| (one.address, one.name)).collect()
        });
        let name = symbols.get(&address)?;
        let end = name.iter().position(|byte| *byte == b'.');
        Some(&name[..end.unwrap_or(name.len())])
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

use std::borrow::Cow;
use std::ops::Range;
use std::path::{Path, PathBuf};

use rayon::prelude::*;

use crate::budget::Budget;
use crate::dwarf::abbreviations;
use crate::elf::Elf;
use crate::file::FileBytes;
use crate::{Error, Result};

/// Where the bytes of a section are.
enum Place {
    /// In the file as it is.
    File(Range<usize>),
    /// Unpacked, or relocated.
    Own(Vec<u8>),
}

/// Some sections of an ELF file, unpacked and relocated, and what reading them may cost.
pub struct DebugFile {
    path: PathBuf,
    bytes: FileBytes,
    sections: Vec<(&'static str, Place)>,
    budget: Budget,
}

impl DebugFile {
    /// Open the ELF file at `path` (plain, `.zst`, `.xz` or `.gz`) with the sections named `wanted`.
    pub fn open(path: &Path, wanted: &[&'static str]) -> Result<Self> {
        let file = FileBytes::map(path)?;
        let packed = file.len();
        let bytes = file.unpacked(path)?.map_or(file, FileBytes::Owned);
        let budget = Budget::new(path, packed, bytes.len());
        let elf = Elf::parse(path, &bytes)?;
        let sections = wanted
            .par_iter()
            .map(|name| Ok((*name, place(&bytes, elf.debug_section(name, &budget)?))))
            .collect::<Result<_>>()?;
        drop(elf);
        Ok(DebugFile {
            path: path.into(),
            bytes,
            sections,
            budget,
        })
    }

    /// The bytes of a section; none where the file lacks it, or it was not wanted.
    pub fn section(&self, name: &str) -> &[u8] {
        let found = self.sections.iter().find(|(known, _)| *known == name);
        match found.map(|(_, place)| place) {
            Some(Place::File(range)) => self.bytes.get(range.clone()).unwrap_or_default(),
            Some(Place::Own(bytes)) => bytes,
            None => &[],
        }
    }

    /// All bytes of the file.
    pub(crate) fn whole(&self) -> &[u8] {
        &self.bytes
    }

    /// Pay for `cost` bytes of memory, or steps that need none. Fails where the file asks for far
    /// more than an honest one of its size.
    pub fn spend(&self, cost: usize) -> Result<()> {
        let paid = self.budget.spend(cost as u64);
        paid.map_err(|_| self.budget.error())
    }

    /// Pay for reading the tables of abbreviations at `offsets` of `.debug_abbrev`, which may overlap.
    pub fn pay_abbreviations(&self, offsets: Vec<usize>) -> Result<()> {
        let paid = abbreviations::pay(self.section(".debug_abbrev"), offsets, &self.budget);
        paid.map_err(|_| self.budget.error())
    }

    /// The error that names the file, and where it stops making sense.
    pub fn damaged(&self, what: impl ToString) -> Error {
        Error::damaged(&self.path, what)
    }
}

/// Where a section of `file` is that was read as `data`.
fn place(file: &[u8], data: Cow<'_, [u8]>) -> Place {
    match data {
        Cow::Owned(bytes) => Place::Own(bytes),
        Cow::Borrowed(bytes) => {
            let start = (bytes.as_ptr() as usize).wrapping_sub(file.as_ptr() as usize);
            match start.checked_add(bytes.len()) {
                Some(end) if end <= file.len() => Place::File(start..end),
                _ => Place::Own(bytes.to_vec()), // an empty one, which lies nowhere
            }
        }
    }
}

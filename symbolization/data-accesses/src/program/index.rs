use std::collections::{HashMap, HashSet};

use data_types::{Id, Units};
use kernel_symbols::{DebugFile, Result};
use rayon::prelude::*;

use super::scan::{scan, Found};

/// Where in `.debug_info` the functions, variables and records of a file are.
pub(crate) struct Index {
    /// Whether it is a module, whose sections lie elsewhere in each kernel.
    pub(super) is_relocatable: bool,
    /// Start and end of code, and the function's number in `functions`; by start.
    pub(super) ranges: Vec<(u64, u64, u32)>,
    pub(super) functions: Vec<usize>,
    /// Address and place of variables, by address.
    pub(super) statics: Vec<(u64, usize)>,
    /// Records by their names: as offsets in `.debug_str`, or as they are.
    pub(super) records: HashMap<usize, Id>,
    pub(super) named_records: HashMap<String, Id>,
    /// What functions return that a module calls and does not have, by name.
    pub(super) declared: HashMap<Vec<u8>, Option<Id>>,
    /// Instructions that may fault on an address of user space.
    pub(super) faulting: HashSet<u64>,
}

impl Index {
    /// That of a file that was opened with `SECTIONS`.
    pub(crate) fn new(file: &DebugFile) -> Result<Self> {
        let is_relocatable = file.is_relocatable()?;
        let units = Units::new(file)?;
        let scanned = units.every.par_iter().with_max_len(1).map(|unit| {
            let found = scan(&units, unit, is_relocatable).map_err(|error| {
                file.damaged(format!("unit at {:#x} of .debug_info: {error}", unit.start))
            })?;
            let kept = found.ranges.len() + found.statics.len() + found.records.len();
            let names: usize = found.named_records.iter().map(|one| one.0.len()).sum();
            file.spend(found.steps + kept * KEPT + names)?;
            Ok(found)
        });
        let scanned: Vec<Found> = scanned.collect::<Result<_>>()?;
        let mut index = Index {
            is_relocatable,
            ranges: Vec::new(),
            functions: Vec::new(),
            statics: Vec::new(),
            records: HashMap::new(),
            named_records: HashMap::new(),
            declared: HashMap::new(),
            faulting: faulting(file)?,
        };
        for found in scanned {
            let first = index.functions.len() as u32;
            let ranges = found.ranges.into_iter();
            let ranges = ranges.map(|(start, end, number)| (start, end, first + number));
            index.ranges.extend(ranges);
            index.functions.extend(found.functions);
            index.statics.extend(found.statics);
            for (name, place) in found.records {
                index.records.entry(name).or_insert(place as Id);
            }
            for (name, place) in found.named_records {
                index.named_records.entry(name).or_insert(place as Id);
            }
            for (name, target) in found.declared {
                index.declared.entry(name).or_insert(target);
            }
        }
        index.ranges.sort_unstable();
        index.statics.sort_unstable();
        Ok(index)
    }
}

/// What one thing that is kept of a unit takes in memory.
const KEPT: usize = 48;

/// What `__ex_table` has: entries of twelve bytes, which begin with how far the instruction lies
/// from them (struct exception_table_entry of x86, arm64 and riscv).
fn faulting(file: &DebugFile) -> Result<HashSet<u64>> {
    const ENTRY: usize = 12;
    let sections = file.parts()?;
    let Some(table) = sections.iter().find(|one| one.name == EXCEPTIONS) else {
        return Ok(HashSet::new());
    };
    let entries = file.section(EXCEPTIONS).chunks_exact(ENTRY);
    file.spend(entries.len() * KEPT)?;
    let distance = |entry: &[u8]| i32::from_le_bytes([entry[0], entry[1], entry[2], entry[3]]);
    let found = entries.enumerate().map(|(number, entry)| {
        let at = table.start.wrapping_add((number * ENTRY) as u64);
        at.wrapping_add_signed(i64::from(distance(entry)))
    });
    Ok(found.collect())
}

pub(super) const EXCEPTIONS: &str = "__ex_table";

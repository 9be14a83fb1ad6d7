//! What debug information says of a kernel or a module: its functions, variables and types.

mod entry;
mod function;
mod location;
mod scan;
mod statics;

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use data_types::{Dwarf, Id, Types};
use kernel_symbols::{DebugFile, Result};
use rayon::prelude::*;

pub(crate) use function::Function;
pub(crate) use location::Location;
pub(crate) use statics::{Static, Statics};

use self::entry::{described, Entry};
use self::scan::Found;
use crate::machine::Machine;

/// The sections that say what code accesses.
pub(crate) const SECTIONS: [&str; 11] = [
    ".debug_info",
    ".debug_abbrev",
    ".debug_str",
    ".debug_line_str",
    ".debug_str_offsets",
    ".debug_addr",
    ".debug_ranges",
    ".debug_rnglists",
    ".debug_loc",
    ".debug_loclists",
    EXCEPTIONS,
];

/// The code, variables and types of a kernel or a module.
pub(crate) struct Program<'d> {
    pub(crate) types: Dwarf<'d>,
    pub(crate) statics: Statics<'d>,
    pub(crate) machine: &'d dyn Machine,
    /// Whether it is a module, whose sections lie elsewhere in each kernel.
    pub(crate) is_relocatable: bool,
    /// Start and end of code, and the function's number in `functions`; by start.
    ranges: Vec<(u64, u64, u32)>,
    /// Where functions are in `.debug_info`.
    functions: Vec<usize>,
    /// Where the records are whose names stand at offsets of `.debug_str`, or have names.
    records: HashMap<usize, Id>,
    named_records: HashMap<String, Id>,
    /// What functions return that a module calls and does not have, by name.
    declared: HashMap<Vec<u8>, Option<Id>>,
    declared_types: RefCell<HashMap<usize, Rc<Vec<Id>>>>,
    /// Instructions that may fault on an address of user space.
    faulting: HashSet<u64>,
}

impl<'d> Program<'d> {
    /// That of a file that was opened with `SECTIONS`.
    pub(crate) fn new(file: &'d DebugFile, machine: &'d dyn Machine) -> Result<Self> {
        let types = Dwarf::new(file)?;
        let is_relocatable = file.is_relocatable()?;
        let units = &types.units;
        let scanned = units.every.par_iter().with_max_len(1).map(|unit| {
            let found = scan::scan(units, unit, is_relocatable).map_err(|error| {
                file.damaged(format!("unit at {:#x} of .debug_info: {error}", unit.start))
            })?;
            let kept = found.ranges.len() + found.statics.len() + found.records.len();
            let names: usize = found.named_records.iter().map(|one| one.0.len()).sum();
            file.spend(found.steps + kept * KEPT + names)?;
            Ok(found)
        });
        let scanned: Vec<Found> = scanned.collect::<Result<_>>()?;
        let mut program = Program {
            ranges: Vec::new(),
            functions: Vec::new(),
            records: HashMap::with_capacity(scanned.iter().map(|one| one.records.len()).sum()),
            named_records: HashMap::new(),
            faulting: faulting(file)?,
            statics: Statics::new(
                scanned.iter().flat_map(|one| one.statics.clone()).collect(),
                file.symbols()?,
                file.parts()?,
            ),
            machine,
            is_relocatable,
            declared: HashMap::new(),
            declared_types: RefCell::default(),
            types,
        };
        let keep_declared = program.is_relocatable;
        for found in scanned {
            for (name, target) in found.declared.into_iter().filter(|_| keep_declared) {
                program.declared.entry(name).or_insert(target);
            }
            let first = program.functions.len() as u32;
            let ranges = found.ranges.into_iter();
            program
                .ranges
                .extend(ranges.map(|(start, end, number)| (start, end, first + number)));
            program.functions.extend(found.functions);
            for (name, place) in found.records {
                program.records.entry(name).or_insert(place as Id);
            }
            for (name, place) in found.named_records {
                program.named_records.entry(name).or_insert(place as Id);
            }
        }
        program.ranges.sort_unstable();
        Ok(program)
    }

    /// The number of the function that has the code at an address.
    pub(crate) fn function_at(&self, address: u64) -> Option<u32> {
        let after = self.ranges.partition_point(|one| one.0 <= address);
        let (_, end, number) = self.ranges[..after].last()?;
        (address < *end).then_some(*number)
    }

    /// What is known of a function, by its number.
    pub(crate) fn function(&self, number: u32) -> Function {
        let units = &self.types.units;
        let function = function::read(units, self.machine, self.functions[number as usize]);
        for (address, target, name) in &function.statics {
            self.statics.add_local(*address, *target, name.clone());
        }
        function
    }

    /// What the function that begins at an address returns: none where no function is known there,
    /// none within where it returns nothing.
    pub(crate) fn result_of(&self, entry: u64) -> Option<Option<Id>> {
        let number = self.function_at(entry)?;
        let place = self.functions[number as usize];
        let (unit, found) = Entry::at(&self.types.units, place)?;
        let (_, target) = described(&self.types.units, unit, &found);
        Some(target.map(|at| at as Id))
    }

    /// What a function of the name returns that this file only declares.
    pub(crate) fn declared_result(&self, name: &[u8]) -> Option<Option<Id>> {
        self.declared.get(name).copied()
    }

    /// The variable of a name.
    pub(crate) fn variable_named(&self, name: &[u8]) -> Option<Static> {
        let size = |id| self.types.size(id).unwrap_or(0);
        self.statics.named(&self.types.units, name, &size)
    }

    /// The definition of a record by its name.
    pub(crate) fn record(&self, name: &str) -> Option<Id> {
        let strings = self.types.units.file.section(".debug_str");
        let is_it = |at: &usize| {
            let found = strings
                .get(*at..)
                .and_then(|rest| rest.strip_prefix(name.as_bytes()));
            found.is_some_and(|rest| rest.first() == Some(&0))
        };
        let mut known = self.records.iter();
        let found = known.find(|(at, _)| is_it(at)).map(|(_, id)| *id);
        found.or_else(|| self.named_records.get(name).copied())
    }

    /// Types of the variables of a function that is declared at an offset of `.debug_info`.
    pub(crate) fn declared_types(&self, place: usize) -> Rc<Vec<Id>> {
        let mut known = self.declared_types.borrow_mut();
        let found = known
            .entry(place)
            .or_insert_with(|| Rc::new(function::declared_types(&self.types.units, place)));
        Rc::clone(found)
    }

    /// Whether the instruction at an address may fault on an address of user space.
    pub(crate) fn may_fault(&self, address: u64) -> bool {
        self.faulting.contains(&address)
    }

    /// The variable that has an address.
    pub(crate) fn variable_at(&self, address: u64) -> Option<Static> {
        let size = |id| self.types.size(id).unwrap_or(0);
        self.statics.at(&self.types.units, address, &size)
    }

    /// The definition of a record that is only declared where it was found.
    pub(crate) fn defined(&self, id: Id, name: &str) -> Option<Id> {
        let units = &self.types.units;
        let entry = Entry::at(units, usize::try_from(id).ok()?);
        let at = entry.and_then(|(unit, entry)| units.string_offset(unit, &entry.name?));
        let found = at.and_then(|at| self.records.get(&at));
        found.or_else(|| self.named_records.get(name)).copied()
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

const EXCEPTIONS: &str = "__ex_table";

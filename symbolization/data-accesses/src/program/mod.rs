//! What debug information says of a kernel or a module: its functions, variables and types.

mod entry;
mod function;
mod held;
mod index;
mod location;
mod probed;
mod scan;
mod statics;

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use data_types::{Dwarf, Id, Types};
use kernel_symbols::{DebugFile, Result};

pub(crate) use function::{Declared, Function, CONTAINED};
pub use held::Held;
pub(crate) use index::Index;
pub(crate) use location::Location;
pub use probed::{probed, Begin, Probed};
pub(crate) use statics::{Static, Statics};

use self::entry::{described, Entry};
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
    index::EXCEPTIONS,
];

/// The code, variables and types of a kernel or a module.
pub(crate) struct Program<'d> {
    pub(crate) types: Dwarf<'d>,
    pub(crate) statics: Statics<'d>,
    pub(crate) machine: &'d dyn Machine,
    index: &'d Index,
    declared_variables: RefCell<HashMap<usize, Rc<Declared>>>,
}

impl<'d> Program<'d> {
    /// That of a file that was opened with `SECTIONS`, and of its index.
    pub(crate) fn new(
        file: &'d DebugFile,
        index: &'d Index,
        machine: &'d dyn Machine,
    ) -> Result<Self> {
        Ok(Program {
            types: Dwarf::new(file)?,
            statics: Statics::new(&index.statics, file.symbols()?, file.parts()?),
            machine,
            index,
            declared_variables: RefCell::default(),
        })
    }

    /// Whether it is a module, whose sections lie elsewhere in each kernel.
    pub(crate) fn is_relocatable(&self) -> bool {
        self.index.is_relocatable
    }

    /// The number of the function that has the code at an address.
    pub(crate) fn function_at(&self, address: u64) -> Option<u32> {
        let after = self.index.ranges.partition_point(|one| one.0 <= address);
        let (_, end, number) = self.index.ranges[..after].last()?;
        (address < *end).then_some(*number)
    }

    /// What is known of a function, by its number.
    pub(crate) fn function(&self, number: u32) -> Function {
        let units = &self.types.units;
        let function = function::read(units, self.machine, self.index.functions[number as usize]);
        for (address, target, name) in &function.statics {
            // What takes no place (struct lock_class_key) is where another variable is.
            if self.types.size(*target).unwrap_or(0) == 0 {
                continue;
            }
            self.statics.add_local(*address, *target, name.clone());
        }
        function
    }

    /// What the function that begins at an address returns: none where no function is known there,
    /// none within where it returns nothing.
    pub(crate) fn result_of(&self, entry: u64) -> Option<Option<Id>> {
        let number = self.function_at(entry)?;
        let place = self.index.functions[number as usize];
        let (unit, found) = Entry::at(&self.types.units, place)?;
        let (_, target) = described(&self.types.units, unit, &found);
        Some(target.map(|at| at as Id))
    }

    /// What a function of the name returns that this file only declares.
    pub(crate) fn declared_result(&self, name: &[u8]) -> Option<Option<Id>> {
        self.index.declared.get(name).copied()
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
        let mut known = self.index.records.iter();
        let found = known.find(|(at, _)| is_it(at)).map(|(_, id)| *id);
        found.or_else(|| self.index.named_records.get(name).copied())
    }

    /// What the addresses of a record are declared to be a multiple of; 0: nothing is.
    pub(crate) fn alignment(&self, id: Id) -> u64 {
        let place = usize::try_from(id).ok();
        let found = place.and_then(|at| Entry::at(&self.types.units, at));
        found.map_or(0, |(_, entry)| entry.alignment)
    }

    /// Variables of a function that is declared at an offset of `.debug_info`.
    pub(crate) fn declared(&self, place: usize) -> Rc<Declared> {
        let mut known = self.declared_variables.borrow_mut();
        let found = known
            .entry(place)
            .or_insert_with(|| Rc::new(Declared::read(&self.types.units, place)));
        Rc::clone(found)
    }

    /// Whether it says where variables are that move.
    pub(crate) fn has_locations(&self) -> bool {
        let file = self.types.units.file;
        let lists = [".debug_loclists", ".debug_loc"];
        lists.iter().any(|name| !file.section(name).is_empty())
    }

    /// Whether the instruction at an address may fault on an address of user space.
    pub(crate) fn may_fault(&self, address: u64) -> bool {
        self.index.faulting.contains(&address)
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
        let found = at.and_then(|at| self.index.records.get(&at));
        found
            .or_else(|| self.index.named_records.get(name))
            .copied()
    }
}

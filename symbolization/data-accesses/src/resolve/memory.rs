use std::cell::RefCell;
use std::collections::HashMap;

use data_types::Id;
use kernel_symbols::{Avma, Kallsyms, LoadedSection};

use crate::program::{Program, Static};

/// Where the file's code and data were in a running kernel.
pub(super) struct Memory<'p, 'd> {
    pub(super) program: &'p Program<'d>,
    sections: Vec<LoadedSection>,
    kallsyms: &'p Kallsyms,
    known: RefCell<HashMap<u64, Option<Static>>>,
}

impl<'p, 'd> Memory<'p, 'd> {
    pub(super) fn new(
        program: &'p Program<'d>,
        sections: &[LoadedSection],
        kallsyms: &'p Kallsyms,
    ) -> Self {
        let mut sections = sections.to_vec();
        sections.sort_by_key(|one| one.avma);
        Memory {
            program,
            sections,
            kallsyms,
            known: RefCell::default(),
        }
    }

    /// Where the file has code that ran at an address.
    pub(super) fn linked(&self, address: u64) -> Option<u64> {
        let after = self.sections.partition_point(|one| one.avma.0 <= address);
        let section = self.sections.get(after.checked_sub(1)?)?;
        let within = address - section.avma.0;
        (within < section.size).then(|| section.svma.0.wrapping_add(within))
    }

    /// Where code ran that the file has at an address.
    pub(super) fn loaded(&self, linked: u64) -> Option<u64> {
        let mut every = self.sections.iter();
        let inside = |one: &&LoadedSection| linked >= one.svma.0 && linked - one.svma.0 < one.size;
        let section = every.find(inside)?;
        Some(section.avma.0.wrapping_add(linked - section.svma.0))
    }

    /// Whether the compiler changed what the function gets that begins at an address of the file.
    pub(super) fn is_changed(&self, linked: u64) -> bool {
        let symbol = self.program.statics.symbol(linked);
        let name = symbol.map(|one| String::from_utf8_lossy(one.name));
        let changes = [".isra", ".constprop", ".part"];
        name.is_some_and(|name| changes.iter().any(|change| name.contains(change)))
    }

    /// The variable at an address of the running kernel, or of its per-CPU data.
    pub(super) fn variable(&self, address: u64) -> Option<Static> {
        if let Some(known) = self.known.borrow().get(&address) {
            return known.clone();
        }
        let found = self.find(address);
        self.known.borrow_mut().insert(address, found.clone());
        found
    }

    fn find(&self, address: u64) -> Option<Static> {
        if !self.program.is_relocatable() {
            let first = self.sections.first()?;
            let moved = first.avma.0.wrapping_sub(first.svma.0);
            let linked = address.wrapping_sub(moved);
            let inside = self.program.statics.section(linked).is_some();
            return self
                .program
                .variable_at(if inside { linked } else { address });
        }
        // Only kallsyms knows where the kernel put a module's data.
        let (name, offset) = *self.kallsyms.nearest(&[Avma(address)]).first()?.as_ref()?;
        let start = address.wrapping_sub(offset);
        let found = self.program.variable_named(name);
        found.map_or_else(
            || {
                Some(Static {
                    start,
                    target: None,
                    name: String::from_utf8_lossy(name).into_owned(),
                    size: 0,
                })
            },
            |found| (offset < found.size.max(1)).then_some(Static { start, ..found }),
        )
    }

    /// What the function at an address returns; none where nothing is known of it.
    pub(super) fn result_of(&self, address: u64) -> Option<Option<Id>> {
        if let Some(linked) = self.linked(address) {
            return self.program.result_of(linked);
        }
        // A module declares the kernel's functions that it calls.
        let (name, offset) = *self.kallsyms.nearest(&[Avma(address)]).first()?.as_ref()?;
        self.program.declared_result(name).filter(|_| offset == 0)
    }
}

use std::cell::RefCell;
use std::collections::HashMap;

use data_types::{Id, Units};
use kernel_symbols::{SectionPlace, Symbol};

use super::entry::{described, Entry};

/// A variable with an address of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Static {
    pub(crate) start: u64,
    /// None where only its symbol is known.
    pub(crate) target: Option<Id>,
    pub(crate) name: String,
    pub(crate) size: u64,
}

/// The variables of a file by address, and its symbols.
pub(crate) struct Statics<'d> {
    /// Address, and place in `.debug_info`, by address.
    entries: &'d [(u64, usize)],
    /// Those of functions, which are found when these are read.
    local: RefCell<HashMap<u64, (Id, String)>>,
    pub(crate) symbols: Vec<Symbol<'d>>,
    pub(crate) sections: Vec<SectionPlace>,
}

/// How many variables may have the same address: what the linker discarded has 0.
const MOST_ALIKE: usize = 1 << 12;

/// How many symbols before an address may have it.
const MOST_BEFORE: usize = 64;

impl<'d> Statics<'d> {
    pub(super) fn new(
        entries: &'d [(u64, usize)],
        symbols: Vec<Symbol<'d>>,
        sections: Vec<SectionPlace>,
    ) -> Self {
        Statics {
            entries,
            local: RefCell::default(),
            symbols,
            sections,
        }
    }

    pub(super) fn add_local(&self, address: u64, target: Id, name: String) {
        self.local
            .borrow_mut()
            .entry(address)
            .or_insert((target, name));
    }

    /// The symbol that has an address.
    pub(crate) fn symbol(&self, address: u64) -> Option<&Symbol<'d>> {
        let after = self.symbols.partition_point(|one| one.start <= address);
        let before = self.symbols[..after].iter().rev().take(MOST_BEFORE);
        before
            .filter(|one| address - one.start < one.size.max(1))
            .max_by_key(|one| (one.start, one.size))
    }

    /// The symbols that have an address from `first` to `last`, or begin there, the latter by address.
    pub(crate) fn between(&self, first: u64, last: u64) -> impl Iterator<Item = &Symbol<'d>> {
        let from = self.symbols.partition_point(|one| one.start < first);
        let (before, behind) = self.symbols.split_at(from);
        let before = before.iter().rev().take(MOST_BEFORE);
        let reaching = before.filter(move |one| first - one.start < one.size);
        reaching.chain(behind.iter().take_while(move |one| one.start <= last))
    }

    /// The section that has an address.
    pub(crate) fn section(&self, address: u64) -> Option<&SectionPlace> {
        let mut every = self.sections.iter();
        every.find(|one| address >= one.start && address - one.start < one.size)
    }

    /// The first variable of a name.
    pub(crate) fn named(
        &self,
        units: &Units<'d>,
        name: &[u8],
        size: &dyn Fn(Id) -> u64,
    ) -> Option<Static> {
        self.entries.iter().find_map(|(start, place)| {
            let (unit, entry) = Entry::at(units, *place)?;
            let (own, target) = described(units, unit, &entry);
            let target = target.filter(|_| own == folded(name))? as Id;
            Some(Static {
                start: *start,
                target: Some(target),
                name: String::from_utf8_lossy(own).into_owned(),
                size: size(target),
            })
        })
    }

    /// The variable that has an address.
    pub(crate) fn at(
        &self,
        units: &Units<'d>,
        address: u64,
        size: &dyn Fn(Id) -> u64,
    ) -> Option<Static> {
        let symbol = self.symbol(address);
        let name = symbol.map(|one| String::from_utf8_lossy(one.name).into_owned());
        if let Some(symbol) = symbol {
            if let Some((target, own)) = self.local.borrow().get(&symbol.start) {
                return Some(Static {
                    start: symbol.start,
                    target: Some(*target),
                    name: own.clone(),
                    size: symbol.size,
                });
            }
        }
        if let Some(symbol) = symbol {
            let alike = self.alike(units, symbol.start, size);
            let mut named = alike
                .iter()
                .filter(|one| folded(symbol.name) == folded(one.name.as_bytes()));
            if let Some(found) = named.find(|one| address - one.start < one.size.max(1)) {
                return Some(found.clone());
            }
        }
        let named = symbol.zip(name).map(|(one, name)| Static {
            start: one.start,
            target: None,
            name,
            size: one.size,
        });
        // What the linker discarded lies at 0 or just behind it, where per-CPU variables may be, too.
        if self
            .section(address)
            .is_none_or(|section| section.start == 0)
        {
            return named;
        }
        let after = self.entries.partition_point(|one| one.0 <= address);
        let nearest = after.checked_sub(1).map(|last| self.entries[last].0);
        let alike = nearest.map(|start| self.alike(units, start, size));
        let mut typed = alike.into_iter().flatten();
        match (
            named,
            typed.find(|one| address - one.start < one.size.max(1)),
        ) {
            (Some(named), Some(typed)) if named.start > typed.start => Some(named),
            (_, Some(typed)) => Some(typed),
            (named, None) => named,
        }
    }

    /// The variables that debug information has at an address.
    fn alike(&self, units: &Units<'d>, start: u64, size: &dyn Fn(Id) -> u64) -> Vec<Static> {
        let first = self.entries.partition_point(|one| one.0 < start);
        let every = self.entries[first..]
            .iter()
            .take_while(|one| one.0 == start);
        let known = every.take(MOST_ALIKE).filter_map(|(_, place)| {
            let (unit, entry) = Entry::at(units, *place)?;
            let (name, target) = described(units, unit, &entry);
            let target = target? as Id;
            Some(Static {
                start,
                target: Some(target),
                name: String::from_utf8_lossy(name).into_owned(),
                size: size(target),
            })
        });
        known.collect()
    }
}

/// A symbol's name without the number that the compiler put behind that of a static local.
fn folded(name: &[u8]) -> &[u8] {
    let dot = name.iter().position(|letter| *letter == b'.');
    &name[..dot.unwrap_or(name.len())]
}

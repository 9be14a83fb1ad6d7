use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::rc::Rc;

use data_types::Id;
use kernel_symbols::Result;

use super::calls::{Argument, Calls, LARGEST_PART};
use super::columns::{Row, Texts};
use crate::fields::{choose, Fields, Place};
use crate::kind::Kind;
use crate::machine::Register;
use crate::program::Static;

/// How many calls lie between an access and where its pointer is from.
const MOST_CALLS: usize = 3;

/// How many places are named where one access may be.
const MOST_ORIGINS: usize = 32;

/// What the names of one access take in memory.
const NAMES: usize = 256;

/// Stands for a call whose argument is not known.
const UNKNOWN: &str = "?";

/// Where something may be.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Origin {
    Place(Id, i64),
    Symbol(u64, String, i64),
    Unknown,
}

type Found = Rc<BTreeSet<Origin>>;

/// Names whose parts the pointers lead to that functions are given.
pub(super) struct Origins<'o, 'p, 'd> {
    pub(super) fields: &'o Fields<'p, 'd>,
    pub(super) calls: &'o Calls,
    pub(super) texts: &'o mut Texts,
    pub(super) types: &'o mut BTreeMap<String, Id>,
    pub(super) statics: &'o mut BTreeMap<(u64, String), Static>,
}

impl Origins<'_, '_, '_> {
    /// Name where accesses may be that go to a part of something alone, as far as known.
    pub(super) fn name(&mut self, rows: &mut [Row]) -> Result<()> {
        let mut known: HashMap<(u64, Register, usize), Found> = HashMap::new();
        let mut named = HashMap::new();
        for row in rows {
            if let Some(argument) = row.gives.take() {
                let mut found = BTreeSet::new();
                self.add(&mut known, &argument, MOST_CALLS, &mut found);
                row.origins = self.text(&found, 0, 1, &[]);
                continue;
            }
            let whole = row.kind == Kind::Field as u8 && u64::from(row.type_size) > LARGEST_PART;
            let Some((entry, given)) = row.given.filter(|_| !whole) else {
                continue;
            };
            let key = (entry, given, row.size, row.r#type, row.offset);
            if let Some(number) = named.get(&key) {
                row.origins = *number;
                continue;
            }
            let file = self.fields.view.program.types.units.file;
            file.spend(NAMES)?;
            if self.calls.of(entry, given.register).is_some() {
                let found = self.of(&mut known, entry, given.register, MOST_CALLS);
                let part = self.part(row);
                row.origins = self.text(&found, given.offset, row.size, &part);
            }
            named.insert(key, row.origins);
        }
        Ok(())
    }

    /// Where what a function is given in a register may be.
    fn of(
        &self,
        known: &mut HashMap<(u64, Register, usize), Found>,
        entry: u64,
        register: Register,
        calls: usize,
    ) -> Found {
        let key = (entry, register, calls);
        if let Some(found) = known.get(&key) {
            return Rc::clone(found);
        }
        let mut found = BTreeSet::new();
        match self.calls.of(entry, register).filter(|_| calls > 0) {
            None => {
                found.insert(Origin::Unknown);
            }
            Some(arguments) => {
                for argument in arguments {
                    self.add(known, argument, calls, &mut found);
                    if found.len() > MOST_ORIGINS {
                        break;
                    }
                }
            }
        }
        let found = Rc::new(found);
        known.insert(key, Rc::clone(&found));
        found
    }

    fn add(
        &self,
        known: &mut HashMap<(u64, Register, usize), Found>,
        argument: &Argument,
        calls: usize,
        found: &mut BTreeSet<Origin>,
    ) {
        match argument {
            Argument::Place(id, offset) => {
                found.insert(Origin::Place(*id, *offset));
            }
            Argument::Symbol(start, name, offset) => {
                found.insert(Origin::Symbol(*start, name.clone(), *offset));
            }
            Argument::Passed(entry, given) => {
                let outer = self.of(known, *entry, given.register, calls - 1);
                let room = (MOST_ORIGINS + 1).saturating_sub(found.len());
                found.extend(outer.iter().take(room).map(|one| one.moved(given.offset)));
            }
            Argument::Unknown => {
                found.insert(Origin::Unknown);
            }
        }
    }

    /// The records that an access is known to go to, and how far behind the start of each.
    fn part(&self, row: &Row) -> Vec<(Id, u64)> {
        let id = self.texts.list.get(row.r#type as usize);
        let Some(id) = id.and_then(|name| self.types.get(name)) else {
            return Vec::new();
        };
        let places = self
            .fields
            .places(*id, row.offset, u64::from(row.size.max(1)));
        let inside = places.iter().flat_map(|one| one.chain.iter());
        let inside = inside.map(|(id, offset, _)| (*id, *offset));
        let records = inside.filter(|one| self.fields.view.is_record(one.0));
        records.collect()
    }

    /// The number of the text that has the names of places, each so far behind one of `found`.
    fn text(
        &mut self,
        found: &BTreeSet<Origin>,
        offset: i64,
        size: u32,
        part: &[(Id, u64)],
    ) -> u32 {
        let mut names = BTreeSet::new();
        let mut is_complete = true;
        for one in found {
            match self.title(&one.moved(offset), u64::from(size.max(1)), part) {
                Some(_) if names.len() == MOST_ORIGINS => is_complete = false,
                Some(name) => {
                    names.insert(name);
                }
                None => is_complete = false,
            }
        }
        if names.is_empty() {
            return self.texts.number("");
        }
        let mut names: Vec<String> = names.into_iter().collect();
        if !is_complete {
            names.push(UNKNOWN.into());
        }
        self.texts.number(&names.join("|"))
    }

    /// None where it is not known, or does not have such a part there.
    fn title(&mut self, origin: &Origin, size: u64, part: &[(Id, u64)]) -> Option<String> {
        match origin {
            Origin::Place(id, offset) => {
                let view = &self.fields.view;
                let has = |one: &&Place| {
                    let mut every = one.chain.iter();
                    let same = |(id, offset, _): &(Id, u64, usize)| {
                        let mut part = part.iter();
                        part.any(|one| one.1 == *offset && view.same(one.0, *id))
                    };
                    part.is_empty() || every.any(same)
                };
                let places = self.fields.places(*id, *offset, size);
                let fitting: Vec<Place> = places.iter().filter(has).cloned().collect();
                let (place, _) = choose(view, &fitting, size, None, "")?;
                let name = self.fields.view.name(*id);
                self.types.entry(name.to_string()).or_insert(*id);
                Some(format!("{name}:{}@{offset}", place.path))
            }
            Origin::Symbol(start, name, offset) => {
                let key = (*start, name.clone());
                let variable = self.calls.symbols.get(&key)?;
                let found = self.statics.entry(key);
                found.or_insert_with(|| variable.clone());
                Some(format!("{name}+{offset}"))
            }
            Origin::Unknown => None,
        }
    }
}

impl Origin {
    /// What is so far behind it.
    fn moved(&self, more: i64) -> Origin {
        match self {
            Origin::Place(id, offset) => Origin::Place(*id, offset.wrapping_add(more)),
            Origin::Symbol(start, name, offset) => {
                Origin::Symbol(*start, name.clone(), offset.wrapping_add(more))
            }
            Origin::Unknown => Origin::Unknown,
        }
    }
}

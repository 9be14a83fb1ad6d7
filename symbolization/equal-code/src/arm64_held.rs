//! What registers may hold, where code can come from several places.

use std::collections::BTreeMap;

/// The general registers; the last one stands for the stack pointer and for 0 and holds nothing.
pub(crate) const REGISTERS: usize = 32;
/// So many values in one register are told apart.
const MOST: usize = 8;
/// The set of nothing, and the one of too many.
pub(crate) const NOTHING: Set = 0;
pub(crate) const UNCLEAR: Set = 1;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Value {
    /// A page that ADRP made, and where that is.
    Page(u64, u64),
    /// An address, perhaps with an index added: compilers reach several variables from one.
    Address(u64),
}

/// A set of values by number.
pub(crate) type Set = u32;
/// What each register may hold. That it may hold anything else, too, is always so.
pub(crate) type Registers = [Set; REGISTERS];

/// Sets of values, each once.
pub(crate) struct Sets<'a> {
    every: Vec<Vec<Value>>,
    numbers: BTreeMap<Vec<Value>, Set>,
    /// Addresses with one key are of one variable: an index more or less.
    key: &'a dyn Fn(u64) -> u64,
}

impl<'a> Sets<'a> {
    pub(crate) fn new(key: &'a dyn Fn(u64) -> u64) -> Self {
        Sets {
            every: vec![Vec::new(), Vec::new()],
            numbers: BTreeMap::from([(Vec::new(), NOTHING)]),
            key,
        }
    }

    /// The values of a set that is not unclear.
    pub(crate) fn values(&self, set: Set) -> Vec<Value> {
        self.every.get(set as usize).cloned().unwrap_or_default()
    }

    pub(crate) fn set(&mut self, mut values: Vec<Value>) -> Set {
        values.sort_unstable();
        values.dedup();
        if values.len() > MOST {
            return UNCLEAR;
        }
        let next = self.every.len() as Set;
        let number = *self.numbers.entry(values.clone()).or_insert(next);
        if number == next {
            self.every.push(values);
        }
        number
    }

    /// What is in either; of one variable only the address that is in the first.
    pub(crate) fn join(&mut self, one: Set, other: Set) -> Set {
        if one == other || other == NOTHING {
            return one;
        }
        if one == UNCLEAR || other == UNCLEAR {
            return UNCLEAR;
        }
        let mut values = self.values(one);
        for value in self.values(other) {
            let known = values.iter().any(|known| match (known, value) {
                (Value::Address(known), Value::Address(new)) => {
                    (self.key)(*known) == (self.key)(new)
                }
                (known, new) => *known == new,
            });
            if !known {
                values.push(value);
            }
        }
        self.set(values)
    }

    /// Only addresses, no pages; of what is unclear nothing less.
    pub(crate) fn addresses(&mut self, set: Set) -> Set {
        if set == UNCLEAR {
            return UNCLEAR;
        }
        let mut values = self.values(set);
        values.retain(|value| matches!(value, Value::Address(_)));
        self.set(values)
    }

    pub(crate) fn has_page(&self, set: Set) -> bool {
        set == UNCLEAR || {
            let values = self.every.get(set as usize);
            values.is_some_and(|every| every.iter().any(|one| matches!(one, Value::Page(..))))
        }
    }

    /// Add what registers may hold to what is known. Returns whether that is more.
    pub(crate) fn meet(&mut self, known: &mut Registers, more: &Registers) -> bool {
        let mut grown = false;
        for (known, more) in known.iter_mut().zip(more) {
            let joined = self.join(*known, *more);
            grown |= joined != *known;
            *known = joined;
        }
        grown
    }
}

//! What code refers to, and what that refers to: each thing is compared once, and what differs
//! counts for all that lead to it.

use hashbrown::HashMap;

use crate::reference::Use;
use crate::symbols::Number;
use crate::verdict::Difference;

/// How much of something without a symbol is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Extent {
    Bytes(u32),
    /// A table of jumps.
    Table,
    /// To its end, which nothing tells.
    Open,
}

impl Extent {
    pub(crate) fn of(how: Use) -> Self {
        match how {
            Use::Access(bytes) => Extent::Bytes(bytes),
            Use::Table => Extent::Table,
            Use::Address | Use::Branch => Extent::Open,
        }
    }
}

/// What is to be compared, in both kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Thing {
    /// A variable, a constant, or a label among data.
    Object(Number, Number),
    /// Data without a symbol: strings, tables of jumps.
    Constant(u64, u64, Extent),
    /// Code without a symbol.
    Code(u64, u64),
}

/// Things by number, and which leads to which.
#[derive(Debug, Default)]
pub(crate) struct Things {
    numbers: HashMap<Thing, u32>,
    every: Vec<Thing>,
    leading: Vec<Vec<u32>>,
    found: Vec<Option<Difference>>,
}

impl Things {
    pub(crate) fn number(&mut self, thing: Thing) -> u32 {
        let next = self.every.len() as u32;
        let number = *self.numbers.entry(thing).or_insert(next);
        if number == next {
            self.every.push(thing);
            self.leading.push(Vec::new());
            self.found.push(None);
        }
        number
    }

    /// The thing of a number, if there is one yet.
    pub(crate) fn get(&self, number: u32) -> Option<Thing> {
        self.every.get(number as usize).copied()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Thing> {
        self.every.iter()
    }

    /// Note what a comparison found: other things that it leads to, or what differs.
    pub(crate) fn note(&mut self, number: u32, found: Result<Vec<u32>, Difference>) {
        match found {
            Ok(others) => {
                for other in others {
                    self.leading[other as usize].push(number);
                }
            }
            Err(difference) => self.found[number as usize] = Some(difference),
        }
    }

    /// What differs of each thing, or of what it leads to.
    pub(crate) fn differences(mut self) -> Vec<Option<Difference>> {
        let mut waiting: Vec<u32> = (0..self.every.len() as u32)
            .filter(|number| self.found[*number as usize].is_some())
            .collect();
        while let Some(number) = waiting.pop() {
            for other in std::mem::take(&mut self.leading[number as usize]) {
                if self.found[other as usize].is_none() {
                    self.found[other as usize] = self.found[number as usize].clone();
                    waiting.push(other);
                }
            }
        }
        self.found
    }
}

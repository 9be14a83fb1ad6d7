//! Which instructions access which bytes of a line, and how often that is a miss.

use std::hash::BuildHasher;

use hashbrown::{DefaultHashBuilder, HashTable};

use crate::sharing::lines::LineNumber;
use crate::slots::PlaceNumber;

/// The number of an access.
pub type AccessNumber = u32;

/// Whose access of what.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Access {
    /// The line.
    pub line: LineNumber,
    /// The instruction.
    pub place: PlaceNumber,
    /// Who executes it.
    pub vcpu: u8,
    /// The first byte, in the line.
    pub offset: u8,
    /// How many bytes.
    pub size: u8,
    /// Whether it stores.
    pub store: bool,
}

/// How often.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counted {
    /// Accesses.
    pub count: u64,
    /// Those that are misses.
    pub misses: u64,
}

/// So many numbers are found without hashing.
const RECENT: usize = 1 << 12;

/// All accesses, numbered in the order of their first execution.
#[derive(Debug)]
pub struct Accesses {
    numbers: HashTable<AccessNumber>,
    hasher: DefaultHashBuilder,
    recent: Box<[AccessNumber]>,
    all: Vec<(Access, Counted)>,
}

impl Default for Accesses {
    fn default() -> Accesses {
        Accesses {
            numbers: HashTable::new(),
            hasher: DefaultHashBuilder::default(),
            recent: vec![AccessNumber::MAX; RECENT].into(),
            all: Vec::new(),
        }
    }
}

impl Accesses {
    /// Count an access; its number.
    #[inline]
    pub fn count(&mut self, access: Access, misses: bool) -> AccessNumber {
        let mixed = access.place.wrapping_mul(0x9e37_79b1) ^ access.line.wrapping_mul(0x85eb_ca6b);
        let mixed = mixed ^ u32::from(access.vcpu) << 20 ^ u32::from(access.store) << 21;
        let at = (mixed >> 20) as usize % RECENT;
        let recent = self.recent[at];
        if self.again(recent, access, misses) {
            return recent;
        }
        let number = self.number(access);
        self.recent[at] = number;
        self.again(number, access, misses);
        number
    }

    /// The number of an access.
    fn number(&mut self, access: Access) -> AccessNumber {
        let (all, hasher) = (&mut self.all, &self.hasher);
        let entry = self.numbers.entry(
            hasher.hash_one(access),
            |number| all[*number as usize].0 == access,
            |number| hasher.hash_one(all[*number as usize].0),
        );
        let next = all.len() as AccessNumber;
        let number = *entry.or_insert(next).get();
        if number == next {
            all.push((access, Counted::default()));
        }
        number
    }

    /// Count it. Returns whether `number` is that access's: an instruction often does the same
    /// again.
    #[inline]
    fn again(&mut self, number: AccessNumber, access: Access, misses: bool) -> bool {
        match self.all.get_mut(number as usize) {
            Some((known, counted)) if *known == access => {
                counted.count += 1;
                counted.misses += u64::from(misses);
                true
            }
            _ => false,
        }
    }

    /// All, with how often.
    pub fn all(&self) -> &[(Access, Counted)] {
        &self.all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accesses_keep_their_number() {
        let mut accesses = Accesses::default();
        let one = Access {
            line: 1,
            place: 2,
            vcpu: 0,
            offset: 8,
            size: 8,
            store: false,
        };
        let other = Access { store: true, ..one };
        let (first, second) = (accesses.number(one), accesses.number(other));
        assert_ne!(first, second);
        assert_eq!(first, accesses.number(one));
        assert!(accesses.again(first, one, true));
        assert!(!accesses.again(first, other, true));
        assert!(!accesses.again(9, other, true));
        let counted = Counted {
            count: 1,
            misses: 1,
        };
        assert_eq!(accesses.all()[first as usize], (one, counted));
    }
}

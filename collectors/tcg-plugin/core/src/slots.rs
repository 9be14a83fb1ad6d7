//! Which counter belongs to which instruction.

use std::hash::BuildHasher;

use hashbrown::{DefaultHashBuilder, HashTable};

use crate::architecture::MAX_CODE;

/// The number of a place.
pub type PlaceNumber = u32;

/// An instruction: where it stands, and what it is.
///
/// User addresses recur from process to process; the instruction's bytes tell them apart and later
/// tie the address to the file it was mapped from. Kernel text is mapped once, but patched: by
/// alternatives, static keys and ftrace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    /// Virtual address.
    pub address: u64,
    /// The instruction's bytes, padded with zeros.
    pub code: [u8; MAX_CODE],
    /// How many of them there are.
    pub length: u8,
}

impl Place {
    /// The place of the instruction `code` at `address`. Longer code than an instruction can
    /// have is cut.
    pub fn new(address: u64, code: &[u8]) -> Place {
        let length = code.len().min(MAX_CODE);
        let mut place = Place {
            address,
            code: [0; MAX_CODE],
            length: length as u8,
        };
        place.code[..length].copy_from_slice(&code[..length]);
        place
    }

    /// Its code.
    pub fn bytes(&self) -> &[u8] {
        &self.code[..usize::from(self.length)]
    }

    /// The same instruction at another address.
    pub fn at(self, address: u64) -> Place {
        Place { address, ..self }
    }
}

/// All instructions that were translated, numbered in the order of their first translation.
#[derive(Debug, Default)]
pub struct Slots {
    /// Numbers, found by the hashes of their places.
    numbers: HashTable<PlaceNumber>,
    hasher: DefaultHashBuilder,
    places: Vec<Place>,
}

impl Slots {
    /// The number of `place`, a new one if it was not seen before.
    pub fn number(&mut self, place: Place) -> PlaceNumber {
        let (places, hasher) = (&mut self.places, &self.hasher);
        let entry = self.numbers.entry(
            hasher.hash_one(place),
            |number| places[*number as usize] == place,
            |number| hasher.hash_one(places[*number as usize]),
        );
        let next = places.len() as u32;
        let number = *entry.or_insert(next).get();
        if number == next {
            places.push(place);
        }
        number
    }

    /// Another number, for a counter that counts something else of an instruction.
    pub fn extra(&mut self) -> PlaceNumber {
        self.places.push(Place::new(0, &[]));
        self.places.len() as u32 - 1
    }

    /// The instructions, by number; those of [`Slots::extra`] have no bytes.
    pub fn places(&self) -> &[Place] {
        &self.places
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_instruction_at_an_address_is_another_place() {
        let mut slots = Slots::default();
        for address in [0x40_1000, 0xffff_ffff_8100_0000] {
            let a = slots.number(Place::new(address, &[0x90]));
            let b = slots.number(Place::new(address, &[0xc3]));
            assert_ne!(a, b);
            assert_eq!(a, slots.number(Place::new(address, &[0x90])));
        }
        assert_eq!(slots.places().len(), 4);
        assert_eq!(slots.extra(), 4);
        assert_eq!(slots.number(Place::new(0x40_1000, &[0x91])), 5);
    }

    #[test]
    fn code_is_cut_to_an_instructions_length() {
        let place = Place::new(1, &[7; 40]);
        assert_eq!((place.length, place.code), (15, [7; 15]));
    }
}

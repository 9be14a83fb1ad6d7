//! Which counter belongs to which instruction.

use std::hash::BuildHasher;

use hashbrown::{DefaultHashBuilder, HashTable};

use crate::architecture::MAX_CODE;

/// The number of a place.
pub type PlaceNumber = u32;

/// An instruction: where it stands and, in user space, what it is.
///
/// Kernel text is mapped once, so an address identifies it (patching it, as static keys and
/// ftrace do, does not make it another place). User addresses recur from process to process; the
/// instruction's bytes tell them apart and later tie the address to the file it was mapped from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    /// Virtual address.
    pub address: u64,
    /// The instruction's bytes, padded with zeros; all zeros for the kernel.
    pub code: [u8; MAX_CODE],
    /// How many of them there are; 0 for the kernel.
    pub length: u8,
}

impl Place {
    /// The place of the instruction `code` at `address`. Longer code than an instruction can
    /// have is cut.
    pub fn new(address: u64, code: &[u8]) -> Place {
        let mut place = Place {
            address,
            code: [0; MAX_CODE],
            length: 0,
        };
        if !place.is_kernel() {
            for (to, from) in place.code.iter_mut().zip(code) {
                *to = *from;
                place.length += 1;
            }
        }
        place
    }

    /// Whether it is in the kernel's half of the address space.
    pub fn is_kernel(&self) -> bool {
        self.address >> 63 == 1
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

    /// The instructions, by number.
    pub fn places(&self) -> &[Place] {
        &self.places
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn user_code_is_told_apart_and_kernel_code_is_not() {
        let mut slots = Slots::default();
        let a = slots.number(Place::new(0x40_1000, &[0x90]));
        let b = slots.number(Place::new(0x40_1000, &[0xc3]));
        let kernel = slots.number(Place::new(0xffff_ffff_8100_0000, &[0x90]));
        assert_ne!(a, b);
        assert_eq!(
            kernel,
            slots.number(Place::new(0xffff_ffff_8100_0000, &[0xe9, 0, 0, 0, 0]))
        );
        assert_eq!(a, slots.number(Place::new(0x40_1000, &[0x90])));
        assert_eq!(slots.places().len(), 3);
    }

    #[test]
    fn code_is_cut_to_an_instructions_length() {
        let place = Place::new(1, &[7; 40]);
        assert_eq!((place.length, place.code), (15, [7; 15]));
    }
}

//! Instructions that start together, and the counter that they share.
//!
//! A *stretch* is a sequence of a block's instructions of which none but the last one can raise an
//! exception or leave the block. Interrupts come between blocks. So if its first instruction
//! starts, all of them do, and one counter, which generated code increments at the first, counts
//! each. Marks end stretches, for they look at counters in the middle of a block.

use std::hash::BuildHasher;
use std::sync::atomic::Ordering;

use hashbrown::{DefaultHashBuilder, HashTable};

use crate::architecture::Sequence;
use crate::counters::{Counter, Counters};
use crate::slots::PlaceNumber;

/// An instruction of a block.
#[derive(Clone, Copy, Debug)]
pub struct Instruction {
    /// Its place.
    pub place: PlaceNumber,
    /// Its address.
    pub address: u64,
    /// What is sure of it; None of a mark, which does not count.
    pub sequence: Option<Sequence>,
    /// What it is counted by; None of a mark, and until [`Stretches::assign`].
    pub stretch: Option<Stretch>,
}

/// A stretch.
#[derive(Clone, Copy, Debug)]
pub struct Stretch {
    /// Its number.
    pub number: u32,
    /// How often it started.
    pub counter: Counter,
}

/// All stretches. Blocks with the same one share it.
#[derive(Default)]
pub struct Stretches {
    /// Numbers, found by the hashes of their places.
    known: HashTable<u32>,
    hasher: DefaultHashBuilder,
    /// The places of all, and by stretch where its own end.
    places: Vec<PlaceNumber>,
    ends: Vec<usize>,
    counters: Counters,
}

impl Stretches {
    /// The stretch of these places, a new one if there is none.
    pub fn stretch(&mut self, places: &[PlaceNumber]) -> Stretch {
        let (all, ends, hasher) = (&mut self.places, &mut self.ends, &self.hasher);
        let next = ends.len() as u32;
        let entry = self.known.entry(
            hasher.hash_one(places),
            |number| of(all, ends, *number) == places,
            |number| hasher.hash_one(of(all, ends, *number)),
        );
        let number = *entry.or_insert(next).get();
        if number == next {
            all.extend_from_slice(places);
            ends.push(all.len());
        }
        Stretch {
            number,
            counter: self.counters.counter(number as usize),
        }
    }

    /// Give a block's instructions their stretches.
    pub fn assign(&mut self, instructions: &mut [Instruction]) {
        let together = |one: &Instruction, next: &Instruction| {
            let goes_on = one.sequence == Some(Sequence::GoesOn);
            goes_on && matches!(next.sequence, Some(Sequence::GoesOn | Sequence::MayFault))
        };
        for same in instructions.chunk_by_mut(together) {
            if same[0].sequence.is_none() {
                continue;
            }
            let places: Vec<PlaceNumber> = same.iter().map(|one| one.place).collect();
            let stretch = self.stretch(&places);
            same.iter_mut().for_each(|one| one.stretch = Some(stretch));
        }
    }

    /// The counters of all stretches with an instruction that is wanted.
    pub fn with(&mut self, wanted: impl Fn(PlaceNumber) -> bool) -> Vec<Counter> {
        let mut found = Vec::new();
        for number in 0..self.ends.len() {
            let places = of(&self.places, &self.ends, number as u32);
            if places.iter().any(|place| wanted(*place)) {
                found.push(self.counters.counter(number));
            }
        }
        found
    }

    /// Replace `into` by how often the instruction of each place started; there are `places`.
    pub fn read(&mut self, places: usize, into: &mut Vec<u64>) {
        into.clear();
        into.resize(places, 0);
        let mut begin = 0;
        for (end, counter) in self.ends.iter().zip(self.counters.all()) {
            let count = counter.load(Ordering::Relaxed);
            for place in &self.places[begin..*end] {
                into[*place as usize] += count;
            }
            begin = *end;
        }
    }
}

fn of<'r>(places: &'r [PlaceNumber], ends: &[usize], number: u32) -> &'r [PlaceNumber] {
    let before = (number as usize).checked_sub(1);
    &places[before.map_or(0, |before| ends[before])..ends[number as usize]]
}

/// The stretch that begins at an instruction of a block, if one does.
pub fn begins(instructions: &[Instruction], index: usize) -> Option<Stretch> {
    let number = |one: &Instruction| one.stretch.map(|stretch| stretch.number);
    let before = index
        .checked_sub(1)
        .and_then(|before| number(&instructions[before]));
    instructions[index]
        .stretch
        .filter(|stretch| before != Some(stretch.number))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Instructions at 1000, 1001, …: `f` may fault, `m` is a mark, `c` is cut.
    fn block(what: &str, first: PlaceNumber) -> Vec<Instruction> {
        let instruction = |(index, what): (usize, char)| Instruction {
            place: first + index as u32,
            address: 0x1000 + index as u64,
            sequence: match what {
                'm' => None,
                'c' => Some(Sequence::Cut),
                'f' => Some(Sequence::MayFault),
                _ => Some(Sequence::GoesOn),
            },
            stretch: None,
        };
        what.chars().enumerate().map(instruction).collect()
    }

    #[test]
    fn what_can_fault_and_marks_end_runs_and_what_is_cut_is_alone() {
        let mut stretches = Stretches::default();
        let mut instructions = block("..f.m.ff.c", 0);
        stretches.assign(&mut instructions);
        let numbers = instructions
            .iter()
            .map(|one| one.stretch.map(|stretch| stretch.number));
        let numbers: Vec<Option<u32>> = numbers.collect();
        let expected = [0, 0, 0, 1, 9, 2, 2, 3, 4, 5].map(|n| (n < 9).then_some(n));
        assert_eq!(numbers, expected);
        let firsts = (0..10).filter(|index| begins(&instructions, *index).is_some());
        assert_eq!(firsts.collect::<Vec<_>>(), [0, 3, 5, 7, 8, 9]);
    }

    #[test]
    fn each_instruction_has_the_starts_of_all_runs_with_it() {
        let mut stretches = Stretches::default();
        let (mut whole, mut tail) = (block("..f.", 0), block("f.", 2));
        stretches.assign(&mut whole);
        stretches.assign(&mut tail);
        let starts = [(&whole[0], 5), (&whole[3], 4), (&tail[0], 2), (&tail[1], 2)];
        for (one, count) in starts {
            let counter = one.stretch.map(|stretch| stretch.counter);
            counter.into_iter().for_each(|counter| {
                counter.fetch_add(count, Ordering::Relaxed);
            });
        }
        let mut values = vec![9];
        stretches.read(5, &mut values);
        // The last instruction is a stretch of its own in both.
        assert_eq!(values, [5, 5, 7, 6, 0]);
        assert_eq!(stretches.with(|place| place == 2).len(), 2);
    }
}

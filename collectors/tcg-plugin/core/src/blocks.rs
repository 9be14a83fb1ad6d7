//! The blocks that QEMU translated, and how far an execution of one came.

use std::hash::BuildHasher;
use std::mem;
use std::sync::atomic::Ordering;

use hashbrown::{DefaultHashBuilder, HashMap, HashTable};

use crate::architecture::End;
use crate::block::{Block, UNCOUNTED};
use crate::iterations::Iterations;
use crate::node::NodeNumber;
use crate::slots::PlaceNumber;
use crate::stretches::{self, Instruction, Stretch};

/// No link.
const END: u32 = u32::MAX;

/// All blocks. They stay where they are, for generated code holds their addresses.
#[derive(Debug, Default)]
pub struct Blocks {
    /// Numbers, found by the hashes of their blocks' instructions.
    known: HashTable<u32>,
    hasher: DefaultHashBuilder,
    all: Vec<*mut Block>,
    /// By place: whether it counts.
    counting: Vec<bool>,
    /// By stretch: the last of the links that lead through the blocks that hold it.
    holders: Vec<u32>,
    /// A block, and the link before or [`END`].
    links: Vec<(u32, u32)>,
    /// By stretch: executions of blocks that did not come as far as it.
    missed: HashMap<u32, u64>,
}

impl Blocks {
    /// The block of these instructions, the same one each time that QEMU translates them; `behind`:
    /// the address behind the last one; `iterations`: of that one.
    pub fn block(
        &mut self,
        instructions: &[Instruction],
        end: End,
        behind: u64,
        in_kernel: bool,
        iterations: Option<Iterations>,
    ) -> *mut Block {
        let places: Box<[PlaceNumber]> = instructions.iter().map(|one| one.place).collect();
        let id = self.all.len() as u32;
        // SAFETY: blocks live as long as the process; what is read of one does not change.
        let known = |id: u32| unsafe { &*self.all[id as usize] };
        let entry = self.known.entry(
            self.hasher.hash_one(&places),
            |id| {
                let block = known(*id);
                block.places == places && block.is_counted_as(instructions)
            },
            |id| self.hasher.hash_one(&known(*id).places),
        );
        let number = *entry.or_insert(id).get();
        if number != id {
            return self.all[number as usize];
        }
        for (index, one) in instructions.iter().enumerate() {
            *at(&mut self.counting, one.place, false) = one.stretch.is_some();
            if let Some(stretch) = stretches::begins(instructions, index) {
                let link = self.links.len() as u32;
                let before = mem::replace(at(&mut self.holders, stretch.number, END), link);
                self.links.push((id, before));
            }
        }
        let block = Block::new(id, places, instructions, end, behind, in_kernel, iterations);
        let block = Box::into_raw(Box::new(block));
        self.all.push(block);
        block
    }

    /// How many instructions of `block`, whose last execution did not come to its end, started in
    /// it; those behind are taken for missed from now on.
    ///
    /// A stretch has started as often as blocks with it began, but for the executions that missed it.
    /// If it has not, this execution missed it too.
    pub fn stopped(&mut self, block: &Block) -> usize {
        let mut started = block.places.len();
        let number = |one: &Option<Stretch>| one.map(|stretch| stretch.number);
        for same in block
            .stretches
            .chunk_by(|one, next| number(one) == number(next))
            .rev()
        {
            if let Some(stretch) = same[0] {
                let begun = self.begun(stretch.number);
                let missed = self.missed.entry(stretch.number).or_default();
                if stretch.counter.load(Ordering::Relaxed) == begun - *missed {
                    break;
                }
                *missed += 1;
            }
            started -= same.len();
        }
        started
    }

    /// How often blocks with a stretch began.
    fn begun(&self, stretch: u32) -> u64 {
        let mut begun = 0;
        let mut link = self.holders[stretch as usize];
        while let Some((id, before)) = self.links.get(link as usize) {
            // SAFETY: blocks live as long as the process, and only callbacks touch them.
            begun += unsafe { (*self.all[*id as usize]).begun() };
            link = *before;
        }
        begun
    }

    /// The conditional jump of a block went on at `address`.
    pub fn went(&self, id: u32, address: u64) {
        // SAFETY: as in `begun`.
        let block = unsafe { &*self.all[id as usize] };
        if block.is_before(address) {
            block.went_to(address, true);
        }
    }

    /// Forget in which nodes blocks began, and where conditional jumps went.
    pub fn forget(&mut self) {
        for block in &self.all {
            // SAFETY: as in `begun`; no reference to a block is alive.
            let block = unsafe { &mut **block };
            block.moves_to(UNCOUNTED);
            block.went.iter().for_each(|way| way.set(0));
        }
    }

    /// In which nodes blocks began last, their numbers, and how often they did since they came there.
    pub fn here(&self) -> impl Iterator<Item = (NodeNumber, u32, u64)> + '_ {
        // SAFETY: as in `begun`.
        let all = self.all.iter().map(|block| unsafe { &**block });
        let counted = all.filter(|block| block.node != UNCOUNTED);
        counted.map(|block| (block.node, block.id, block.here))
    }

    /// The conditional jumps: how often each was not taken, and how often it was, as far as it is
    /// known.
    pub fn branches(&self) -> HashMap<PlaceNumber, [u64; 2]> {
        let mut all: HashMap<PlaceNumber, [u64; 2]> = HashMap::default();
        for block in &self.all {
            // SAFETY: as in `begun`.
            let block = unsafe { &**block };
            if let (End::Branch { .. }, Some(last)) = (block.end, block.places.last()) {
                let sums = all.entry(*last).or_default();
                if !block.branches {
                    continue;
                }
                for (sum, way) in sums.iter_mut().zip(&block.went) {
                    *sum += way.get();
                }
            }
        }
        all
    }

    /// The instructions of a block that count.
    pub fn counted(&self, id: u32) -> impl Iterator<Item = PlaceNumber> + '_ {
        // SAFETY: as in `begun`.
        let block = unsafe { &*self.all[id as usize] };
        let places = block.places.iter().copied();
        places.filter(|place| self.counts(*place))
    }

    /// The last instruction of a block.
    pub fn last(&self, id: u32) -> Option<PlaceNumber> {
        // SAFETY: as in `begun`.
        let block = unsafe { &*self.all[id as usize] };
        block.places.last().copied()
    }

    /// Whether an instruction counts: marks do not.
    pub fn counts(&self, place: PlaceNumber) -> bool {
        self.counting[place as usize]
    }
}

/// The element of a number, with those before it.
fn at<T: Clone>(all: &mut Vec<T>, number: u32, empty: T) -> &mut T {
    let index = number as usize;
    if all.len() <= index {
        all.resize(index + 1, empty);
    }
    &mut all[index]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::architecture::Sequence;
    use crate::stretches::Stretches;

    #[test]
    fn an_execution_that_stops_half_way_is_found_out() {
        let mut stretches = Stretches::default();
        let instruction = |row: u32| Instruction {
            place: row,
            address: 0x1000 + u64::from(row),
            sequence: Some(if row == 1 {
                Sequence::GoesOn
            } else {
                Sequence::MayFault
            }),
            stretch: None,
        };
        let mut instructions: Vec<Instruction> = (0..4).map(instruction).collect();
        let mut rest = instructions[1..].to_vec();
        stretches.assign(&mut instructions);
        stretches.assign(&mut rest);
        let start = |index: usize| {
            let stretch = stretches::begins(&instructions, index);
            stretch.map(|stretch| stretch.counter.fetch_add(1, Ordering::Relaxed));
        };
        let mut blocks = Blocks::default();
        let end = End::Next { target: 0 };
        let whole = blocks.block(&instructions, end, 0x1004, false, None);
        let tail = blocks.block(&rest, end, 0x1004, false, None);
        assert_eq!(whole, blocks.block(&instructions, end, 0x1004, false, None));
        // SAFETY: made above.
        let (whole, tail) = unsafe { (&mut *whole, &mut *tail) };
        for _ in 0..3 {
            let expected = whole.begin();
            (0..3).for_each(start);
            assert_ne!(whole.reached(), expected);
            assert_eq!(blocks.stopped(whole), 3);
            let expected = tail.begin();
            (1..4).for_each(start);
            assert_eq!(tail.reached(), expected);
        }
        let expected = whole.begin();
        (0..4).for_each(start);
        assert_eq!(whole.reached(), expected);
    }

    #[test]
    fn where_all_starts_together_no_execution_stops() {
        let mut stretches = Stretches::default();
        let mut together = [1, 2].map(|place| Instruction {
            place,
            address: u64::from(place),
            sequence: Some(Sequence::GoesOn),
            stretch: None,
        });
        stretches.assign(&mut together);
        let mut blocks = Blocks::default();
        // SAFETY: blocks live as long as the process.
        let block = unsafe { &mut *blocks.block(&together, End::Call, 3, false, None) };
        assert_eq!(block.begin(), block.reached());
    }

    #[test]
    fn a_program_leads_to_one_of_two_places_unless_they_are_whole_pages_apart() {
        let jump = [Instruction {
            place: 0,
            address: 0x1000,
            sequence: None,
            stretch: None,
        }];
        let mut blocks = Blocks::default();
        let mut leads = |target: u64, in_kernel: bool, address: u64| {
            let mut blocks = std::mem::take(&mut blocks);
            let end = End::Branch { target };
            // SAFETY: blocks live as long as the process.
            unsafe { &*blocks.block(&jump, end, 0x1002, in_kernel, None) }.leads_to(address)
        };
        assert!(leads(0x2000, false, 0x1002) && leads(0x2000, false, 0x2000));
        assert!(!leads(0x2000, false, 0x3000) && !leads(0x2000, true, 0x2000));
        assert!(!leads(0x2002, false, 0x2002) && leads(0x1002, false, 0x1002));
    }

    #[test]
    fn a_conditional_jump_goes_on_behind_it_or_where_it_leads() {
        let jump = [Instruction {
            place: 7,
            address: 0x1000,
            sequence: None,
            stretch: None,
        }];
        let mut blocks = Blocks::default();
        let end = End::Branch { target: 0x2000 };
        // SAFETY: blocks live as long as the process.
        let block = unsafe { &*blocks.block(&jump, end, 0x1002, false, None) };
        for address in [0x1002, 0x2000, 0x2000, 0x3000] {
            blocks.went(block.id, address);
        }
        assert_eq!(blocks.branches()[&7], [1, 2]);
    }
}

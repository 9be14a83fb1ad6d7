//! What each vCPU executes of the kernel: how many instructions, and which calls are under way.

use crate::slots::PlaceNumber;

/// So many calls are remembered. Those that never return, as a task switches, make room.
const MOST: usize = 128;

/// So many interrupts may nest.
const MOST_NESTED: usize = 16;

/// How a block ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ends {
    /// With a call.
    Calling(PlaceNumber),
    /// With a return.
    Returning,
    /// With the end of an interrupt or exception.
    Leaving,
    /// With a jump to the address, 0 if there is none, or behind it.
    Going(u64),
    /// In another way.
    Otherwise,
}

/// A block of the kernel. What each of its executions needs is in one line of the cache.
#[derive(Debug)]
#[repr(align(64))]
pub struct Block {
    first: u64,
    last: u64,
    behind: u64,
    ends: Ends,
    length: u32,
    repeats: bool,
    addresses: Box<[u64]>,
}

impl Block {
    /// Of instructions at these addresses, which end before ``behind``; None without any.
    /// ``repeats``: it begins with an instruction that goes on to the next bytes until it is done.
    pub fn new(addresses: Box<[u64]>, behind: u64, ends: Ends, repeats: bool) -> Option<Block> {
        Some(Block {
            first: *addresses.first()?,
            last: *addresses.last()?,
            behind,
            length: addresses.len() as u32,
            ends,
            repeats,
            addresses,
        })
    }

    /// Whether an address may come next, unless an exception ended the block early.
    fn may_lead_to(&self, address: u64) -> bool {
        match self.ends {
            Ends::Going(target) => address == self.behind || target != 0 && address == target,
            Ends::Leaving => false,
            _ => !self.addresses.contains(&address),
        }
    }
}

/// The path of one vCPU.
#[derive(Debug, Default)]
pub struct KernelPath {
    executed: u64,
    block: Option<&'static Block>,
    /// The address behind each call that is under way, and the call.
    calls: Vec<(u64, PlaceNumber)>,
    /// What was interrupted, and how many instructions had executed.
    interrupted: Vec<(&'static Block, u64)>,
    /// Where interrupts and exceptions were seen to lead.
    vectors: Vec<u64>,
}

impl KernelPath {
    /// A block begins. A call or return that ended the one before has executed, unless an exception
    /// came first: then a call is remembered twice, until an outer one returns. What interrupts
    /// execute does not count: where nothing else than the block before leads to this one, they come.
    #[inline]
    pub fn begins(&mut self, block: &'static Block) {
        let first = block.first;
        let mut length = u64::from(block.length);
        if let Some(before) = self.block {
            match before.ends {
                Ends::Going(target) if first == before.behind || first == target => {}
                Ends::Going(_) => self.interrupts(before, first),
                Ends::Leaving => self.resumes(first),
                ends => {
                    match ends {
                        Ends::Calling(place) => self.calls(before.behind, place),
                        Ends::Returning => self.returns(first),
                        _ => {}
                    }
                    if self.vectors.contains(&first) {
                        self.interrupts(before, first);
                    }
                }
            }
            // Each of its rounds is a block; it is one instruction.
            length -= u64::from(block.repeats && before.last == first);
        }
        self.executed += length;
        self.block = Some(block);
    }

    fn calls(&mut self, behind: u64, place: PlaceNumber) {
        if self.calls.len() == MOST {
            self.calls.drain(..MOST / 2);
        }
        self.calls.push((behind, place));
    }

    fn returns(&mut self, to: u64) {
        if let Some(at) = self.calls.iter().rposition(|call| call.0 == to) {
            self.calls.truncate(at);
        }
    }

    #[cold]
    fn interrupts(&mut self, before: &'static Block, vector: u64) {
        if !self.vectors.contains(&vector) {
            self.vectors.push(vector);
        }
        if self.interrupted.len() == MOST_NESTED {
            self.interrupted.clear();
        }
        self.interrupted.push((before, self.executed));
    }

    /// What was interrupted goes on. An exception was its own doing.
    #[cold]
    fn resumes(&mut self, first: u64) {
        let Some((before, executed)) = self.interrupted.pop() else {
            return;
        };
        if before.may_lead_to(first) {
            self.executed = executed;
            if before.ends == Ends::Returning {
                self.returns(first);
            }
        }
    }

    /// Instructions that have executed, with the one at an address of the present block.
    pub fn executed_until(&self, address: u64) -> u64 {
        let left = self.block.map_or(0, |block| {
            let all = &block.addresses;
            all.iter()
                .position(|one| *one == address)
                .map_or(0, |at| all.len() - 1 - at)
        });
        self.executed.saturating_sub(left as u64)
    }

    /// Instructions of all blocks that have begun.
    pub fn executed(&self) -> u64 {
        self.executed
    }

    /// The call that led to the function that executes, unless it jumped there; None if it was not
    /// seen.
    pub fn caller(&self) -> Option<PlaceNumber> {
        self.calls.last().map(|call| call.1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn begins(path: &mut KernelPath, addresses: &[u64], ends: Ends, repeats: bool) {
        let behind = addresses.last().map_or(0, |last| last + 4);
        if let Some(block) = Block::new(addresses.into(), behind, ends, repeats) {
            path.begins(Box::leak(Box::new(block)));
        }
    }

    #[test]
    fn calls_and_returns_are_followed() {
        let mut path = KernelPath::default();
        begins(&mut path, &[0, 4, 8], Ends::Calling(7), false);
        assert_eq!((path.executed_until(4), path.executed()), (2, 3));
        begins(&mut path, &[100, 104], Ends::Calling(8), false);
        assert_eq!(path.caller(), Some(7));
        begins(&mut path, &[200], Ends::Returning, false);
        assert_eq!((path.caller(), path.executed()), (Some(8), 6));
        begins(&mut path, &[108], Ends::Returning, false);
        assert_eq!(path.caller(), Some(7));
        begins(&mut path, &[12], Ends::Otherwise, false);
        assert_eq!((path.caller(), path.executed()), (None, 8));
    }

    #[test]
    fn a_call_that_an_exception_kept_from_executing_ends_with_its_caller() {
        let mut path = KernelPath::default();
        begins(&mut path, &[0], Ends::Calling(1), false);
        begins(&mut path, &[100, 104], Ends::Calling(2), false);
        begins(&mut path, &[900], Ends::Otherwise, false);
        begins(&mut path, &[100, 104], Ends::Calling(2), false);
        begins(&mut path, &[200], Ends::Returning, false);
        assert_eq!(path.caller(), Some(2));
        begins(&mut path, &[108], Ends::Returning, false);
        begins(&mut path, &[4], Ends::Otherwise, false);
        assert_eq!(path.caller(), None);
    }

    #[test]
    fn what_interrupts_execute_does_not_count() {
        let mut path = KernelPath::default();
        begins(&mut path, &[0, 4], Ends::Going(100), false);
        // Nothing else leads there.
        begins(&mut path, &[900, 904], Ends::Calling(9), false);
        begins(&mut path, &[1000], Ends::Returning, false);
        begins(&mut path, &[908], Ends::Leaving, false);
        begins(&mut path, &[100], Ends::Calling(1), false);
        assert_eq!(path.executed(), 3);
        // Here, something else might; it is known by now.
        begins(&mut path, &[900, 904], Ends::Leaving, false);
        begins(&mut path, &[200, 204], Ends::Returning, false);
        assert_eq!((path.executed(), path.caller()), (5, Some(1)));
        begins(&mut path, &[900, 904], Ends::Leaving, false);
        begins(&mut path, &[104], Ends::Going(0), false);
        assert_eq!((path.executed(), path.caller()), (6, None));
    }

    #[test]
    fn exceptions_count_as_what_causes_them() {
        let mut path = KernelPath::default();
        begins(&mut path, &[0, 4, 8], Ends::Going(0), false);
        begins(&mut path, &[900], Ends::Leaving, false);
        begins(&mut path, &[4, 8], Ends::Going(0), false);
        assert_eq!(path.executed(), 6);
    }

    #[test]
    fn rounds_of_one_instruction_count_once() {
        let mut path = KernelPath::default();
        begins(&mut path, &[0, 4], Ends::Going(4), false);
        for _ in 0..5 {
            begins(&mut path, &[4], Ends::Going(4), true);
        }
        begins(&mut path, &[8], Ends::Otherwise, false);
        assert_eq!(path.executed(), 3);
    }

    #[test]
    fn calls_that_never_return_are_bounded() {
        let mut path = KernelPath::default();
        for number in 0..1000 {
            begins(
                &mut path,
                &[number * 8],
                Ends::Calling(number as u32),
                false,
            );
        }
        assert!(path.calls.len() <= MOST);
        assert_eq!(path.caller(), Some(998));
    }
}

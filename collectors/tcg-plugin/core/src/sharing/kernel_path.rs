//! What each vCPU executes of the kernel: how many instructions, and which calls are under way.

use crate::slots::PlaceNumber;

/// So many calls are remembered. Those that never return, as a task switches, make room.
const MOST: usize = 128;

/// How a block ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ends {
    /// With a call.
    Calling(PlaceNumber),
    /// With a return.
    Returning,
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
    length: u32,
    ends: Ends,
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
}

/// The path of one vCPU.
#[derive(Debug, Default)]
pub struct KernelPath {
    executed: u64,
    block: Option<&'static Block>,
    /// The address behind each call that is under way, and the call.
    calls: Vec<(u64, PlaceNumber)>,
}

impl KernelPath {
    /// A block begins. A call or return that ended the one before has executed, unless an exception
    /// came first: then a call is remembered twice, until an outer one returns.
    #[inline]
    pub fn begins(&mut self, block: &'static Block) {
        let first = block.first;
        let mut length = u64::from(block.length);
        if let Some(before) = self.block {
            match before.ends {
                Ends::Calling(place) => {
                    if self.calls.len() == MOST {
                        self.calls.drain(..MOST / 2);
                    }
                    self.calls.push((before.behind, place));
                }
                Ends::Returning => {
                    if let Some(at) = self.calls.iter().rposition(|call| call.0 == first) {
                        self.calls.truncate(at);
                    }
                }
                Ends::Otherwise => {}
            }
            // Each of its rounds is a block; it is one instruction.
            length -= u64::from(block.repeats && before.last == first);
        }
        self.executed += length;
        self.block = Some(block);
    }

    /// Instructions that have executed, with the one at an address of the present block.
    pub fn executed_until(&self, address: u64) -> u64 {
        let left = self.block.map_or(0, |block| {
            let all = &block.addresses;
            all.iter()
                .position(|one| *one == address)
                .map_or(0, |at| all.len() - 1 - at)
        });
        self.executed - left as u64
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
    fn rounds_of_one_instruction_count_once() {
        let mut path = KernelPath::default();
        begins(&mut path, &[0, 4], Ends::Otherwise, false);
        for _ in 0..5 {
            begins(&mut path, &[4], Ends::Otherwise, true);
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

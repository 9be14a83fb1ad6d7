//! How many instructions execute between two stores of a vCPU to the same word of a hot line, the
//! first of which is a locked instruction: what it executes while it holds a lock, if the one takes
//! a lock and the other lets it go. The functions that they are in tell that later.

use hashbrown::HashMap;

use crate::sharing::lines::LineNumber;
use crate::slots::PlaceNumber;

/// So many different holds are counted; the others are left out.
const MOST_HOLDS: usize = 1 << 20;

/// A word and who stores to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Hold {
    /// Its line.
    pub line: LineNumber,
    /// Where it is in the line.
    pub offset: u8,
    /// The first instruction.
    pub taken: PlaceNumber,
    /// The call of the function that it is in, [`NO_CALL`] if that is not known.
    pub call: PlaceNumber,
    /// The second instruction.
    pub released: PlaceNumber,
}

/// No call is known.
pub const NO_CALL: PlaceNumber = PlaceNumber::MAX;

/// How often, and what executed from the first instruction on until the second, with one of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Held {
    /// How often.
    pub times: u64,
    /// The kernel's instructions.
    pub instructions: u64,
}

#[derive(Clone, Copy, Debug)]
struct Open {
    hold: Hold,
    executed: u64,
}

/// Those of all vCPUs.
#[derive(Debug)]
pub struct Holds {
    /// By vCPU and word, the last store if that was of a locked instruction.
    open: Vec<HashMap<(LineNumber, u8), Open>>,
    found: HashMap<Hold, Held>,
}

impl Holds {
    /// None yet, of so many vCPUs.
    pub fn new(vcpus: usize) -> Holds {
        Holds {
            open: vec![HashMap::new(); vcpus],
            found: HashMap::new(),
        }
    }

    /// A vCPU stores. ``stored`` is of the word, the instruction and its call; ``locked``: whether
    /// it can take a lock; ``executed``: how many instructions the vCPU has executed.
    #[inline]
    pub fn stores(
        &mut self,
        vcpu: usize,
        stored: Hold,
        locked: bool,
        executed: impl FnOnce() -> u64,
    ) {
        let word = (stored.line, stored.offset);
        let open = &mut self.open[vcpu];
        if !locked && !open.contains_key(&word) {
            return;
        }
        let executed = executed();
        let before = match locked {
            true => open.insert(
                word,
                Open {
                    hold: stored,
                    executed,
                },
            ),
            false => open.remove(&word),
        };
        let Some(before) = before else {
            return;
        };
        let hold = Hold {
            released: stored.taken,
            ..before.hold
        };
        if self.found.len() < MOST_HOLDS || self.found.contains_key(&hold) {
            let held = self.found.entry(hold).or_default();
            held.times += 1;
            // Less: an interrupt switched tasks.
            held.instructions += executed.saturating_sub(before.executed);
        }
    }

    /// All that ended, sorted.
    pub fn all(&self) -> Vec<(Hold, Held)> {
        let mut all: Vec<_> = self
            .found
            .iter()
            .map(|(hold, held)| (*hold, *held))
            .collect();
        all.sort_unstable_by_key(|(hold, _)| *hold);
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn store(line: LineNumber, taken: PlaceNumber) -> Hold {
        Hold {
            line,
            offset: 8,
            taken,
            call: NO_CALL,
            released: 0,
        }
    }

    #[test]
    fn stores_to_one_word_are_pairs() {
        let mut holds = Holds::new(2);
        for start in [100, 200] {
            holds.stores(0, store(1, 10), true, || start);
            holds.stores(1, store(1, 10), true, || start + 1);
            holds.stores(0, store(2, 11), true, || start + 5);
            holds.stores(0, store(2, 12), false, || start + 8);
            holds.stores(0, store(1, 13), false, || start + 20);
            holds.stores(0, store(1, 13), false, || start + 30);
        }
        let found: Vec<_> = holds
            .all()
            .iter()
            .map(|(hold, held)| (hold.line, hold.taken, hold.released, *held))
            .collect();
        let held = |times, instructions| Held {
            times,
            instructions,
        };
        assert_eq!(
            found,
            [
                (1, 10, 10, held(1, 100)),
                (1, 10, 13, held(2, 40)),
                (2, 11, 12, held(2, 6)),
            ]
        );
    }
}

//! How many instructions execute between two stores of a vCPU to the same word of a hot line, the
//! first of which is a locked instruction: what it executes while it holds a lock, if the one takes
//! a lock and the other lets it go. The functions that they are in tell that later.

use hashbrown::HashMap;

use crate::sharing::lines::LineNumber;
use crate::slots::PlaceNumber;

/// So many words may be held at once by each vCPU.
const MOST: usize = 64;
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

#[derive(Debug)]
struct Open {
    hold: Hold,
    executed: u64,
}

/// Those of all vCPUs.
#[derive(Debug)]
pub struct Holds {
    open: Vec<Vec<Open>>,
    found: HashMap<Hold, Held>,
}

impl Holds {
    /// None yet, of so many vCPUs.
    pub fn new(vcpus: usize) -> Holds {
        Holds {
            open: (0..vcpus).map(|_| Vec::new()).collect(),
            found: HashMap::new(),
        }
    }

    /// A vCPU stores, after so many instructions. ``stored`` is of the word, the instruction and its
    /// call; ``locked``: whether it can take a lock.
    pub fn stores(&mut self, vcpu: usize, stored: Hold, locked: bool, executed: u64) {
        let open = &mut self.open[vcpu];
        let word = |one: &Open| (one.hold.line, one.hold.offset) == (stored.line, stored.offset);
        if let Some(at) = open.iter().rposition(word) {
            let before = open.remove(at);
            let hold = Hold {
                released: stored.taken,
                ..before.hold
            };
            if self.found.len() < MOST_HOLDS || self.found.contains_key(&hold) {
                let held = self.found.entry(hold).or_default();
                held.times += 1;
                held.instructions += executed - before.executed;
            }
        }
        if locked {
            if open.len() == MOST {
                open.remove(0);
            }
            open.push(Open {
                hold: stored,
                executed,
            });
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
            holds.stores(0, store(1, 10), true, start);
            holds.stores(1, store(1, 10), true, start + 1);
            holds.stores(0, store(2, 11), true, start + 5);
            holds.stores(0, store(2, 12), false, start + 8);
            holds.stores(0, store(1, 13), false, start + 20);
            holds.stores(0, store(1, 13), false, start + 30);
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

    #[test]
    fn what_is_never_released_is_bounded() {
        let mut holds = Holds::new(1);
        for line in 0..1000 {
            holds.stores(0, store(line, 1), true, 0);
        }
        holds.stores(0, store(999, 2), false, 9);
        holds.stores(0, store(0, 2), false, 9);
        assert!(holds.open[0].len() < MOST);
        assert_eq!(holds.all().len(), 1);
    }
}

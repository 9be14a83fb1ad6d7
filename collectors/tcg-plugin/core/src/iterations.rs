//! How often repeated string instructions iterated, to count them as hardware retires them: once
//! each ("Instruction Retired", event C0H: "An instruction with a REP prefix counts as one
//! instruction (not per iteration)"; Intel SDM volume 3, "Pre-defined Architectural Performance
//! Events").
//!
//! Under `-icount`, QEMU executes such an instruction as a block that jumps to itself: it starts
//! once for each iteration, and once more to find that none is left (target/i386/tcg/translate.c:
//! `gen_repz()`; since QEMU 10 `do_gen_rep()`, where `CF_USE_ICOUNT` forbids to loop inside the
//! block). So starts minus iterations are completions and, as with every instruction, starts that
//! faulted. A complete iteration shows by its accesses to memory, which generated code counts.

use hashbrown::HashMap;
use std::sync::atomic::Ordering;

use crate::counters::Counter;
use crate::slots::PlaceNumber;

/// The iterations of one instruction.
#[derive(Clone, Copy, Debug)]
pub struct Iterations {
    /// The numbers of its counters of accesses; twice the same where one is enough.
    pub numbers: [PlaceNumber; 2],
    /// Those counters.
    pub counters: [Counter; 2],
    accesses: u64,
}

impl Iterations {
    /// Each iteration increments a counter, given with its number, so many times.
    pub fn new(counter: (PlaceNumber, Counter), accesses: u64) -> Iterations {
        Iterations {
            accesses,
            ..Iterations::of_moves(counter, counter)
        }
    }

    /// Each iteration loads, and then stores unless that faults. One counter was asked to count
    /// loads and the other stores; but QEMU 7.2 takes stores for loads, and loads for either
    /// (`op_rw()`, accel/tcg/plugin-gen.c). In both cases the lower one has the stores.
    pub fn of_moves(loads: (PlaceNumber, Counter), stores: (PlaceNumber, Counter)) -> Iterations {
        Iterations {
            numbers: [loads.0, stores.0],
            counters: [loads.1, stores.1],
            accesses: 1,
        }
    }

    /// The same instruction's elsewhere, with counters of its own.
    pub fn elsewhere(&self, mut counter: impl FnMut() -> (PlaceNumber, Counter)) -> Iterations {
        let first = counter();
        let one = self.numbers[0] == self.numbers[1];
        let second = if one { first } else { counter() };
        Iterations {
            accesses: self.accesses,
            ..Iterations::of_moves(first, second)
        }
    }

    /// How many there were until now.
    pub fn so_far(&self) -> u64 {
        self.of(self.counters.map(|counter| counter.load(Ordering::Relaxed)))
    }

    /// How many there were in a window, from the sums of its counters there.
    pub fn of(&self, sums: [u64; 2]) -> u64 {
        let accesses = sums[0].min(sums[1]);
        // A division for each iteration of a long copy is what a processor notices.
        match self.accesses {
            1 => accesses,
            each => accesses / each,
        }
    }
}

/// All instructions that iterate.
pub type Iterating = HashMap<PlaceNumber, Iterations>;

/// A start of a comparing instruction, of which it is not known whether it ends there.
#[derive(Debug)]
struct Step {
    /// How many of its loads there were.
    loaded: u64,
    /// How often the instruction behind had started.
    passed: u64,
    /// The cell of the call tree that counts it.
    cell: Option<u32>,
    /// What counts it if it is an iteration.
    iterations: Counter,
}

/// An instruction that may end by what it compares. That iteration makes its accesses as others do,
/// but then the instruction behind starts, before this one starts again. (Where an interrupt comes
/// between two iterations, and what runs then jumps to the instruction behind without having
/// executed this one, the instruction counts once more.)
#[derive(Debug)]
pub struct Comparing {
    /// The address behind it.
    pub behind: u64,
    /// Counters of the instructions there: other processes may have other ones.
    pub passes: Vec<Counter>,
    /// Counts its iterations.
    pub iterations: Counter,
    loads: u64,
    step: Option<Step>,
}

impl Comparing {
    /// An instruction with so many loads in each iteration, which increment `iterations`.
    pub fn new(behind: u64, passes: Vec<Counter>, loads: u64, iterations: Counter) -> Comparing {
        Comparing {
            behind,
            passes,
            loads,
            iterations,
            step: None,
        }
    }

    /// It starts, and `cell` counts that, `iterations` if it is an iteration. As
    /// [`Comparing::settle`].
    pub fn starts(&mut self, cell: Option<u32>, iterations: Counter) -> Option<u32> {
        let settled = self.settle(None);
        let (loaded, passed) = (0, self.passed());
        self.step = Some(Step {
            loaded,
            passed,
            cell,
            iterations,
        });
        settled
    }

    /// It loaded.
    pub fn loads(&mut self) {
        if let Some(step) = &mut self.step {
            step.loaded += 1;
        }
    }

    /// Decide whether its last start was an iteration with others behind it; the cell that counted
    /// it if so. `next`: the address of an instruction without a counter that starts now.
    pub fn settle(&mut self, next: Option<u64>) -> Option<u32> {
        let step = self.step.take()?;
        let ended = step.passed != self.passed() || next == Some(self.behind);
        if ended || step.loaded < self.loads {
            return None;
        }
        step.iterations.fetch_add(1, Ordering::Relaxed);
        step.cell
    }

    fn passed(&self) -> u64 {
        let counts = self.passes.iter();
        counts.map(|counter| counter.load(Ordering::Relaxed)).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicU64;

    fn add(counter: Counter, count: u64) {
        counter.fetch_add(count, Ordering::Relaxed);
    }

    #[test]
    fn stores_are_the_lower_of_two_counters() {
        static COUNTERS: [AtomicU64; 2] = [const { AtomicU64::new(0) }; 2];
        let [loads, stores] = COUNTERS.each_ref();
        let moves = Iterations::of_moves((7, loads), (8, stores));
        add(loads, 5);
        add(stores, 4); // the fifth store faulted
        assert_eq!((moves.so_far(), moves.numbers), (4, [7, 8]));
        assert_eq!(moves.of([4, 9]), 4); // as QEMU 7.2 counts them
        let ins = Iterations::new((7, loads), 2);
        assert_eq!((ins.so_far(), ins.of([6, 6])), (2, 3));
    }

    #[test]
    fn a_comparison_ends_when_what_is_behind_starts() {
        static COUNTERS: [AtomicU64; 2] = [const { AtomicU64::new(0) }; 2];
        let [iterations, behind] = COUNTERS.each_ref();
        let mut scan = Comparing::new(0x1002, vec![behind], 1, iterations);
        let count = || iterations.load(Ordering::Relaxed);
        scan.starts(Some(1), iterations);
        scan.loads();
        assert_eq!(scan.starts(Some(2), iterations), Some(1)); // an iteration
        assert_eq!(scan.starts(Some(3), iterations), None); // one that faulted
        scan.loads();
        add(behind, 1);
        assert_eq!((scan.settle(None), count()), (None, 1)); // it ended by what it found
        scan.starts(Some(4), iterations);
        scan.loads();
        assert_eq!((scan.settle(Some(0x1002)), count()), (None, 1)); // a mark is behind it
        scan.starts(None, iterations);
        scan.loads();
        assert_eq!((scan.settle(Some(0x2000)), count()), (None, 2)); // an iteration, not in a tree
        scan.starts(Some(5), iterations); // nothing is left
        assert_eq!((scan.settle(None), count()), (None, 2));
    }
}

//! The accesses of a window again, in other orders: vCPUs that run at the same time meet inside
//! operations, too.
//!
//! Each vCPU does what it did, in its own order. Between vCPUs, turns are as short as one access, or
//! of a random number of accesses, from a few seeds. What the protocol then does is a range.

use crate::random_numbers::drawn;
use crate::sharing::accesses::{Access, AccessNumber, Counted};
use crate::sharing::coherence::Holders;
use crate::sharing::lines::LineNumber;

/// The most accesses that are kept: 256 MiB.
const MOST: usize = 64 << 20;
/// Seeds, and the longest turns of each, in accesses.
const RANDOM: [(u64, u64); 4] = [(1, 8), (2, 8), (3, 64), (4, 64)];

/// What vCPUs accessed, one after the other, of lines that are hot.
#[derive(Debug)]
pub struct Trace {
    by_vcpu: Vec<Vec<AccessNumber>>,
    length: usize,
}

impl Trace {
    /// An empty one, of so many vCPUs.
    pub fn new(vcpus: usize) -> Trace {
        Trace {
            by_vcpu: vec![Vec::new(); vcpus],
            length: 0,
        }
    }

    /// A vCPU makes an access. What is beyond the bound is not kept.
    #[inline]
    pub fn push(&mut self, vcpu: usize, access: AccessNumber) {
        self.length += 1;
        if self.length <= MOST {
            self.by_vcpu[vcpu].push(access);
        }
    }

    /// By line, the fewest and the most misses in other orders; none where not all was kept.
    /// ``locked``: whether an access asks for its line to write it, though it only reads.
    pub fn ranges(
        &self,
        accesses: &[(Access, Counted)],
        locked: impl Fn(&Access) -> bool,
        lines: usize,
    ) -> Vec<(u64, u64)> {
        if self.length > MOST {
            return Vec::new();
        }
        let what: Vec<(LineNumber, bool)> = accesses
            .iter()
            .map(|(access, _)| (access.line, access.store || locked(access)))
            .collect();
        let mut ranges = vec![(u64::MAX, 0); lines];
        let mut add = |misses: &[u64]| {
            for (range, misses) in ranges.iter_mut().zip(misses) {
                *range = (range.0.min(*misses), range.1.max(*misses));
            }
        };
        add(&self.replayed(&what, lines, || 1));
        for (seed, longest) in RANDOM {
            let mut state = seed;
            add(&self.replayed(&what, lines, || 1 + drawn(&mut state) % longest));
        }
        ranges
    }

    /// By line, the misses if vCPUs take turns of so many accesses.
    fn replayed(
        &self,
        what: &[(LineNumber, bool)],
        lines: usize,
        mut turn: impl FnMut() -> u64,
    ) -> Vec<u64> {
        let mut holders = vec![Holders::default(); lines];
        let mut misses = vec![0; lines];
        let mut left: Vec<&[AccessNumber]> = self.by_vcpu.iter().map(|all| &all[..]).collect();
        while left.iter().any(|rest| !rest.is_empty()) {
            for (vcpu, rest) in left.iter_mut().enumerate() {
                let (now, later) = rest.split_at(rest.len().min(turn() as usize));
                *rest = later;
                for access in now {
                    let (line, writes) = what[*access as usize];
                    let missed = holders[line as usize].access(vcpu, writes).is_some();
                    misses[line as usize] += u64::from(missed);
                }
            }
        }
        misses
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn access(line: LineNumber, vcpu: u8, store: bool) -> (Access, Counted) {
        let access = Access {
            line,
            place: 0,
            vcpu,
            offset: 0,
            size: 8,
            store,
        };
        (access, Counted::default())
    }

    #[test]
    fn a_line_that_is_written_twice_in_an_operation_may_change_hands_twice() {
        let accesses = [access(0, 0, true), access(0, 1, true), access(1, 0, true)];
        let mut trace = Trace::new(2);
        for _ in 0..10 {
            trace.push(0, 0);
            trace.push(0, 0);
            trace.push(1, 1);
            trace.push(1, 1);
            trace.push(0, 2);
        }
        let ranges = trace.ranges(&accesses, |_| false, 2);
        // An access each: all but the first miss, while both have some left.
        assert!(ranges[0].1 > 20 && ranges[0].1 < 40, "{ranges:?}");
        assert!(ranges[0].0 >= 1 && ranges[0].0 < ranges[0].1, "{ranges:?}");
        assert_eq!(ranges[1], (0, 0));
    }

    #[test]
    fn orders_repeat() {
        let accesses = [access(0, 0, true), access(0, 1, false)];
        let mut trace = Trace::new(2);
        for number in 0..100 {
            trace.push(number % 2, (number % 2) as AccessNumber);
        }
        let first = trace.ranges(&accesses, |_| false, 1);
        assert_eq!(first, trace.ranges(&accesses, |_| false, 1));
    }
}

//! What is known of each line that was accessed.
//!
//! If vCPUs take turns after each operation, vCPU `i` has to fetch a line in an operation that
//! touches it if another has written it since. That cannot be more often than it touches the line,
//! nor more often than others write it: transfers are the sum over vCPUs of the lower of the two.
//! This needs no order of events, so it is the same however QEMU's turns fall.

use crate::sharing::coherence::{Holders, Miss};
use crate::sharing::memory_map::PageNumber;
use crate::sharing::MOST_VCPUS;

/// The number of a line.
pub type LineNumber = u32;
/// The number of an operation of a vCPU; 0: none yet.
pub type Operation = u32;

const NONE: LineNumber = u32::MAX;
const PAGE_SIZE: u64 = 4096;

/// Operations of a vCPU in which something happened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Ops {
    count: u32,
    last: Operation,
}

impl Ops {
    #[inline]
    fn in_operation(&mut self, now: Operation) {
        self.count += u32::from(self.last != now);
        self.last = now;
    }

    /// Without the operation that is not complete.
    fn without(&mut self, unfinished: Operation) {
        if self.last == unfinished {
            self.count -= 1;
            self.last = 0;
        }
    }
}

/// Operations of a vCPU that touch a line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Touches {
    touching: Ops,
    writing: Ops,
}

impl Touches {
    /// How many operations touch the line.
    pub fn touching(&self) -> u64 {
        self.touching.count.into()
    }

    /// How many write it.
    pub fn writing(&self) -> u64 {
        self.writing.count.into()
    }
}

/// A line.
#[derive(Clone, Copy, Debug)]
pub struct Line {
    /// Its page.
    pub page: PageNumber,
    /// Which one of the page it is.
    pub at: u32,
    /// By vCPU.
    pub touches: [Touches; MOST_VCPUS],
    holders: Holders,
    /// How often a vCPU read what another had modified.
    pub read_fetches: u64,
    /// How often a vCPU wrote what it did not have.
    pub write_fetches: u64,
    /// How often a vCPU wrote what others had, too.
    pub upgrades: u64,
}

impl Line {
    /// How often it changes hands if vCPUs take turns after each operation.
    pub fn transfers(&self) -> u64 {
        let written: u64 = self.touches.iter().map(Touches::writing).sum();
        let each = self.touches.iter();
        each.map(|one| one.touching().min(written - one.writing()))
            .sum()
    }

    /// Whether several vCPUs had it, one of them to write it.
    pub fn is_shared(&self) -> bool {
        self.transfers() > 0 || self.read_fetches + self.write_fetches + self.upgrades > 0
    }
}

/// All lines that were accessed.
pub struct Lines {
    /// A power of two.
    size: u64,
    by_page: Vec<Box<[LineNumber]>>,
    lines: Vec<Line>,
}

impl Lines {
    /// Lines of so many bytes, 64 or 128.
    pub fn new(size: u64) -> Lines {
        Lines {
            size,
            by_page: Vec::new(),
            lines: Vec::new(),
        }
    }

    /// Bytes of a line.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// The lines, by number.
    pub fn all(&self) -> &[Line] {
        &self.lines
    }

    /// The line of an address in a page.
    #[inline]
    pub fn number(&mut self, page: PageNumber, address: u64) -> LineNumber {
        let per_page = (PAGE_SIZE / self.size) as usize;
        while self.by_page.len() <= page as usize {
            self.by_page.push(vec![NONE; per_page].into());
        }
        let at = (address % PAGE_SIZE / self.size) as usize;
        let number = &mut self.by_page[page as usize][at];
        if *number == NONE {
            *number = self.lines.len() as LineNumber;
            self.lines.push(Line {
                page,
                at: at as u32,
                touches: Default::default(),
                holders: Holders::default(),
                read_fetches: 0,
                write_fetches: 0,
                upgrades: 0,
            });
        }
        *number
    }

    /// A vCPU accesses a line in an operation; whether that is a miss. `owns`: it asks for the line
    /// to write it, though it may only read now.
    #[inline]
    pub fn access(
        &mut self,
        number: LineNumber,
        vcpu: usize,
        now: Operation,
        stores: bool,
        owns: bool,
    ) -> bool {
        let line = &mut self.lines[number as usize];
        let touches = &mut line.touches[vcpu];
        touches.touching.in_operation(now);
        if stores {
            touches.writing.in_operation(now);
        }
        match line.holders.access(vcpu, stores || owns) {
            Some(Miss::ReadFetch) => line.read_fetches += 1,
            Some(Miss::WriteFetch) => line.write_fetches += 1,
            Some(Miss::Upgrade) => line.upgrades += 1,
            None => return false,
        }
        true
    }

    /// The window closes: leave out the operation of each vCPU that is under way.
    pub fn close(&mut self, now: &[Operation]) {
        for line in &mut self.lines {
            for (touches, now) in line.touches.iter_mut().zip(now) {
                touches.touching.without(*now);
                touches.writing.without(*now);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lines after each vCPU made so many operations in turn, each of them these accesses.
    fn after(operations: u32, each: &[(usize, u64, bool)]) -> Lines {
        let mut lines = Lines::new(64);
        for now in 1..=operations {
            for (vcpu, address, stores) in each {
                let number = lines.number(0, *address);
                lines.access(number, *vcpu, now, *stores, false);
            }
        }
        lines
    }

    #[test]
    fn two_counters_in_a_line_are_transferred_each_operation() {
        let lines = after(10, &[(0, 0, true), (1, 8, true)]);
        assert_eq!(lines.all().len(), 1);
        assert_eq!(lines.all()[0].transfers(), 20);
        assert_eq!(lines.all()[0].write_fetches, 19);
    }

    #[test]
    fn a_line_each_is_never_transferred() {
        let lines = after(10, &[(0, 0, true), (1, 64, true)]);
        assert_eq!(lines.all().len(), 2);
        assert!(lines.all().iter().all(|line| !line.is_shared()));
    }

    #[test]
    fn a_reader_fetches_what_is_written_and_the_writer_what_is_read_no_more_than_that() {
        let lines = after(10, &[(0, 0, true), (1, 0, false)]);
        let line = lines.all()[0];
        assert_eq!(line.transfers(), 10);
        assert_eq!(
            (line.read_fetches, line.write_fetches, line.upgrades),
            (10, 0, 9)
        );
    }

    #[test]
    fn several_accesses_of_an_operation_are_one_touch() {
        let each = [(0, 0, true), (0, 0, false), (0, 0, true), (1, 0, true)];
        assert_eq!(after(5, &each).all()[0].transfers(), 10);
    }

    #[test]
    fn an_operation_that_is_under_way_does_not_count() {
        let mut lines = after(5, &[(0, 0, true), (1, 0, true)]);
        lines.close(&[5, 6]);
        let touches = lines.all()[0].touches;
        assert_eq!([touches[0].touching(), touches[1].touching()], [4, 5]);
        assert_eq!([touches[0].writing(), touches[1].writing()], [4, 5]);
    }

    #[test]
    fn longer_lines_hold_more() {
        let mut lines = Lines::new(128);
        assert_eq!(lines.number(0, 0), lines.number(0, 64));
        assert_ne!(lines.number(0, 0), lines.number(0, 128));
        assert_ne!(lines.number(0, 0), lines.number(1, 0));
    }
}

//! What is known of each line that was accessed.
//!
//! If vCPUs take turns after each operation, vCPU `i` has to fetch a line in an operation that
//! touches it if another has written it since. That cannot be more often than it touches the line,
//! nor more often than others write it: transfers are the sum over vCPUs of the lower of the two.
//! This needs no order of events, so it is the same however QEMU's turns fall.

use crate::memory_map::PageNumber;
use crate::sharing::coherence::{Holders, Miss};

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
#[derive(Clone, Copy, Debug, Default)]
pub struct Line {
    /// Its page.
    pub page: PageNumber,
    /// Which one of the page it is.
    pub at: u32,
    /// Where a program has it; 0: no program's address was used.
    pub user: u64,
    /// Whether it misses often, so that who accesses it is of interest.
    pub is_hot: bool,
    holders: Holders,
    /// How often a vCPU read what another had modified.
    pub read_fetches: u64,
    /// How often a vCPU wrote what it did not have.
    pub write_fetches: u64,
    /// How often a vCPU wrote what others had, too.
    pub upgrades: u64,
}

impl Line {
    /// Fetches and upgrades.
    pub fn misses(&self) -> u64 {
        self.read_fetches + self.write_fetches + self.upgrades
    }
}

/// A line that misses as often, and once in so many operations, is hot. Objects that are freed and
/// allocated again have thousands of lines, each of which seldom misses: to know who accesses them
/// would take more time and memory than all else.
const HOT: u64 = 4;
const SELDOM: u64 = 100;

/// All lines that were accessed.
pub struct Lines {
    /// Bytes of a line, as a power of two: they are asked for at each access.
    shift: u32,
    by_page: Vec<Box<[LineNumber]>>,
    lines: Vec<Line>,
    vcpus: usize,
    /// By line, then vCPU.
    touches: Vec<Touches>,
}

impl Lines {
    /// Lines of so many bytes, 64 or 128, that so many vCPUs may touch.
    pub fn new(size: u64, vcpus: usize) -> Lines {
        Lines {
            shift: size.trailing_zeros(),
            by_page: Vec::new(),
            lines: Vec::new(),
            vcpus,
            touches: Vec::new(),
        }
    }

    /// Forget what happened, and who has the lines, but not which are hot.
    pub fn begin(&mut self) {
        self.touches.fill(Touches::default());
        for line in &mut self.lines {
            *line = Line {
                page: line.page,
                at: line.at,
                is_hot: line.is_hot,
                ..Line::default()
            };
        }
    }

    /// How often vCPUs touched a line.
    pub fn touches(&self, number: LineNumber) -> &[Touches] {
        let start = number as usize * self.vcpus;
        &self.touches[start..start + self.vcpus]
    }

    /// How often a line changes hands if vCPUs take turns after each operation.
    pub fn transfers(&self, number: LineNumber) -> u64 {
        let touches = self.touches(number);
        let written: u64 = touches.iter().map(Touches::writing).sum();
        let each = touches.iter();
        each.map(|one| one.touching().min(written - one.writing()))
            .sum()
    }

    /// Whether several vCPUs had a line, one of them to write it.
    pub fn is_shared(&self, number: LineNumber) -> bool {
        self.lines[number as usize].misses() > 0 || self.transfers(number) > 0
    }

    /// Bytes of a line.
    pub fn size(&self) -> u64 {
        1 << self.shift
    }

    /// Which line of all memory an address is in.
    #[inline]
    pub fn above(&self, address: u64) -> u64 {
        address >> self.shift
    }

    /// Where in its line an address is.
    #[inline]
    pub fn offset(&self, address: u64) -> u32 {
        (address & (self.size() - 1)) as u32
    }

    /// The lines, by number.
    pub fn all(&self) -> &[Line] {
        &self.lines
    }

    /// The line of an address in a page.
    #[inline]
    pub fn number(&mut self, page: PageNumber, address: u64) -> LineNumber {
        let per_page = (PAGE_SIZE >> self.shift) as usize;
        while self.by_page.len() <= page as usize {
            self.by_page.push(vec![NONE; per_page].into());
        }
        let at = ((address % PAGE_SIZE) >> self.shift) as usize;
        let number = &mut self.by_page[page as usize][at];
        if *number == NONE {
            *number = self.lines.len() as LineNumber;
            self.touches
                .resize(self.touches.len() + self.vcpus, Touches::default());
            self.lines.push(Line {
                page,
                at: at as u32,
                ..Line::default()
            });
        }
        if address >> 63 == 0 {
            self.lines[*number as usize].user = address >> self.shift << self.shift;
        }
        *number
    }

    /// A vCPU accesses a line in an operation; whether that is a miss, and whether the line is hot.
    /// `owns`: it asks for the line to write it, though it may only read now.
    #[inline]
    pub fn access(
        &mut self,
        number: LineNumber,
        vcpu: usize,
        now: Operation,
        stores: bool,
        owns: bool,
    ) -> (bool, bool) {
        let line = &mut self.lines[number as usize];
        let touches = &mut self.touches[number as usize * self.vcpus + vcpu];
        touches.touching.in_operation(now);
        if stores {
            touches.writing.in_operation(now);
        }
        match line.holders.access(vcpu, stores || owns) {
            Some(Miss::ReadFetch) => line.read_fetches += 1,
            Some(Miss::WriteFetch) => line.write_fetches += 1,
            Some(Miss::Upgrade) => line.upgrades += 1,
            None => return (false, line.is_hot),
        }
        line.is_hot |= line.misses() >= HOT.max(u64::from(now) / SELDOM);
        (true, line.is_hot)
    }

    /// The window closes: leave out the operation of each vCPU that is under way.
    pub fn close(&mut self, now: &[Operation]) {
        for line in self.touches.chunks_mut(self.vcpus) {
            for (touches, now) in line.iter_mut().zip(now) {
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
        let mut lines = Lines::new(64, 2);
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
        assert_eq!(lines.transfers(0), 20);
        assert_eq!(lines.all()[0].write_fetches, 19);
        assert!(lines.all()[0].is_hot);
    }

    #[test]
    fn a_line_each_is_never_transferred() {
        let lines = after(10, &[(0, 0, true), (1, 64, true)]);
        assert_eq!(lines.all().len(), 2);
        assert!(!lines.is_shared(0) && !lines.is_shared(1));
    }

    #[test]
    fn a_reader_fetches_what_is_written_and_the_writer_what_is_read_no_more_than_that() {
        let lines = after(10, &[(0, 0, true), (1, 0, false)]);
        let line = lines.all()[0];
        assert_eq!(lines.transfers(0), 10);
        assert_eq!(
            (line.read_fetches, line.write_fetches, line.upgrades),
            (10, 0, 9)
        );
    }

    #[test]
    fn several_accesses_of_an_operation_are_one_touch() {
        let each = [(0, 0, true), (0, 0, false), (0, 0, true), (1, 0, true)];
        assert_eq!(after(5, &each).transfers(0), 10);
    }

    #[test]
    fn an_operation_that_is_under_way_does_not_count() {
        let mut lines = after(5, &[(0, 0, true), (1, 0, true)]);
        lines.close(&[5, 6]);
        let touches = lines.touches(0);
        assert_eq!([touches[0].touching(), touches[1].touching()], [4, 5]);
        assert_eq!([touches[0].writing(), touches[1].writing()], [4, 5]);
    }

    #[test]
    fn what_is_hot_is_known_when_all_begins_anew() {
        let mut lines = after(10, &[(0, 0, true), (1, 0, true), (0, 64, true)]);
        lines.begin();
        let hot: Vec<bool> = lines.all().iter().map(|line| line.is_hot).collect();
        assert_eq!(hot, [true, false]);
        assert!(!lines.is_shared(0));
        assert_eq!(lines.access(0, 1, 1, true, false), (false, true));
    }

    #[test]
    fn what_a_program_accesses_is_its_memory_whoever_came_first() {
        let mut lines = Lines::new(64, 2);
        let kernels = lines.number(0, 0xffff_8880_0000_0048);
        assert_eq!(lines.all()[kernels as usize].user, 0);
        assert_eq!(lines.number(0, 0x7f00_0000_0048), kernels);
        assert_eq!(lines.all()[kernels as usize].user, 0x7f00_0000_0040);
    }

    #[test]
    fn what_seldom_misses_is_not_hot() {
        let mut lines = Lines::new(64, 2);
        let number = lines.number(0, 0);
        for turn in 0..50 {
            let (vcpu, now) = (turn as usize % 2, 1 + 1000 * turn);
            assert!(!lines.access(number, vcpu, now, true, false).1);
        }
    }

    #[test]
    fn longer_lines_hold_more() {
        let mut lines = Lines::new(128, 2);
        assert_eq!(lines.number(0, 0), lines.number(0, 64));
        assert_ne!(lines.number(0, 0), lines.number(0, 128));
        assert_ne!(lines.number(0, 0), lines.number(1, 0));
    }
}

//! What ran between a start mark and the next stop mark, summed over all such windows.

use crate::architecture::{Architecture, Mark, Sequence};
use crate::console::Awaited;

/// Counts inside one kind of window, one for each counter.
#[derive(Debug, Default)]
pub struct Window {
    /// Counters at the last start mark; a counter that came later started from 0.
    at_start: Vec<u64>,
    sum: Vec<u64>,
    open: bool,
    /// How many windows were opened.
    pub opened: u64,
    /// How many windows were closed.
    pub closed: u64,
    /// Start marks inside an open window and stop marks outside of one.
    pub misplaced: u64,
}

impl Window {
    /// A start mark executed while the counters stood at `now`.
    pub fn start(&mut self, now: &[u64]) {
        if self.open {
            self.misplaced += 1;
            return;
        }
        self.open = true;
        self.opened += 1;
        self.at_start.clear();
        self.at_start.extend_from_slice(now);
    }

    /// A stop mark executed while the counters stood at `now`.
    pub fn stop(&mut self, now: &[u64]) {
        if !self.open {
            self.misplaced += 1;
            return;
        }
        self.open = false;
        self.closed += 1;
        self.sum.resize(now.len(), 0);
        let (old, new) = now.split_at(self.at_start.len().min(now.len()));
        let (old_sum, new_sum) = self.sum.split_at_mut(old.len());
        for ((sum, now), start) in old_sum.iter_mut().zip(old).zip(&self.at_start) {
            *sum += now - start;
        }
        for (sum, now) in new_sum.iter_mut().zip(new) {
            *sum += now;
        }
    }

    /// Counts of all closed windows, one for each counter that existed when the last one closed.
    pub fn sums(&self) -> &[u64] {
        &self.sum
    }

    /// Whether a start mark executed and no stop mark behind it.
    pub fn is_open(&self) -> bool {
        self.open
    }

    /// Whether any of its marks executed.
    pub fn is_used(&self) -> bool {
        self.opened + self.misplaced > 0
    }
}

/// The windows of the command, and of the workload's own marks; or that of the kernel's boot, which
/// stands for the command's.
#[derive(Debug, Default)]
pub struct Windows {
    /// The command's.
    pub command: Window,
    /// The workload's own.
    pub marks: Window,
    /// Where the boot begins, if that is recorded.
    pub boot: Option<u64>,
    /// What ends the boot when the console shows it; None: where a program begins.
    pub until: Option<Awaited>,
}

impl Windows {
    /// None has opened yet.
    pub fn of(boot: Option<u64>, until: Option<Awaited>) -> Windows {
        Windows {
            boot,
            until,
            ..Windows::default()
        }
    }

    /// What mark the instruction `code` at `address` is, if it is one; `first`: it begins a block.
    pub fn mark_at(
        &self,
        architecture: &dyn Architecture,
        code: &[u8],
        address: u64,
        first: bool,
    ) -> Option<Mark> {
        if self.boot.is_none() {
            return architecture.mark(code);
        }
        let in_kernel = architecture.in_kernel(address);
        let sends = in_kernel && architecture.sends_byte(code);
        self.boot_mark(address, first && !in_kernel, sends)
    }

    /// What is sure of an instruction that `does` so. A mark does not count; one of a boot does, but
    /// apart from the instructions before it.
    pub fn sequence(&self, mark: Option<Mark>, does: Sequence) -> Option<Sequence> {
        match (mark, self.boot) {
            (None, _) => Some(does),
            (Some(_), None) => None,
            (Some(_), Some(_)) => Some(Sequence::Cut),
        }
    }

    /// What the instruction at `address` that is translated begins or ends of a boot, which counts
    /// itself. `begins_program`: whether it is the first of a program's block: the first that is
    /// translated while the kernel boots is the first that executes. `sends`: whether it may send
    /// to the console, where a text is waited for: it ends the boot if that has come before.
    fn boot_mark(&self, address: u64, begins_program: bool, sends: bool) -> Option<Mark> {
        if self.boot == Some(address) {
            return Some(Mark::CommandStart);
        }
        let ends = match self.until {
            Some(_) => sends,
            None => begins_program && self.command.is_open(),
        };
        ends.then_some(Mark::CommandStop)
    }

    /// Whose window it is that counts: 0 nobody's, 1 the command's, 2 the workload's own, 3 the
    /// boot's.
    pub fn kind(&self) -> u32 {
        match (self.marks.is_used(), self.command.opened, self.boot) {
            (true, ..) => 2,
            (_, 0, _) => 0,
            (_, _, Some(_)) => 3,
            _ => 1,
        }
    }

    /// Whether the mark at an instruction that executes is one: `sends` to the console end a boot
    /// once its text has come.
    pub fn holds(&mut self, mark: Mark) -> bool {
        let Some(awaited) = &mut self.until else {
            return true;
        };
        match mark {
            Mark::CommandStart => {
                awaited.begin();
                true
            }
            _ => self.command.is_open() && awaited.came(),
        }
    }

    /// A mark executed while the counters stood at `now`.
    pub fn mark(&mut self, mark: Mark, now: &[u64]) {
        match mark {
            Mark::Start => self.marks.start(now),
            Mark::Stop => self.marks.stop(now),
            Mark::CommandStart => self.command.start(now),
            Mark::CommandStop => self.command.stop(now),
            Mark::Op | Mark::Copy => {}
        }
    }

    /// The workload's own if it has any, else the command's.
    pub fn used(&self) -> &Window {
        if self.marks.is_used() {
            &self.marks
        } else {
            &self.command
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_add_up_and_counters_may_come_late() {
        let mut window = Window::default();
        window.start(&[5, 1]);
        window.stop(&[7, 1, 4]);
        window.start(&[100, 1, 50]);
        window.stop(&[101, 2, 50, 9]);
        assert_eq!(window.sums(), &[3, 1, 4, 9]);
        assert_eq!((window.opened, window.closed, window.misplaced), (2, 2, 0));
    }

    #[test]
    fn a_boot_ends_where_a_program_begins() {
        let mut windows = Windows::of(Some(0xffff_8000), None);
        assert_eq!(windows.boot_mark(0x40_0000, true, true), None);
        assert_eq!(
            windows.boot_mark(0xffff_8000, false, true),
            Some(Mark::CommandStart)
        );
        assert_eq!(windows.kind(), 0);
        windows.mark(Mark::CommandStart, &[]);
        assert_eq!(windows.boot_mark(0xffff_8004, false, true), None);
        assert_eq!(
            windows.boot_mark(0x40_0000, true, true),
            Some(Mark::CommandStop)
        );
        windows.mark(Mark::CommandStop, &[]);
        assert_eq!(windows.boot_mark(0x40_0000, true, true), None);
        assert_eq!(windows.kind(), 3);
    }

    #[test]
    fn a_boot_may_end_behind_a_text() {
        let out = std::path::Path::new("/nowhere/counts.bin");
        let awaited = Awaited::new(b"ready".to_vec(), out);
        let mut windows = Windows::of(Some(0xffff_8000), Some(awaited));
        assert!(!windows.holds(Mark::CommandStop));
        assert!(windows.holds(Mark::CommandStart));
        windows.mark(Mark::CommandStart, &[]);
        assert_eq!(windows.boot_mark(0x40_0000, true, false), None);
        let sends = windows.boot_mark(0xffff_9000, false, true);
        assert_eq!(sends, Some(Mark::CommandStop));
        assert_eq!(
            windows.sequence(sends, Sequence::GoesOn),
            Some(Sequence::Cut)
        );
        assert!(!windows.holds(Mark::CommandStop));
    }

    #[test]
    fn misplaced_marks_change_nothing() {
        let mut window = Window::default();
        window.stop(&[1]);
        window.start(&[1]);
        window.start(&[3]);
        window.stop(&[4]);
        assert_eq!(window.sums(), &[3]);
        assert_eq!((window.opened, window.closed, window.misplaced), (1, 1, 2));
    }

    #[test]
    fn an_open_window_adds_nothing() {
        let mut window = Window::default();
        window.start(&[1]);
        assert!(window.sums().is_empty());
        assert_eq!((window.opened, window.closed), (1, 0));
    }
}

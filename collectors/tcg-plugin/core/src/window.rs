//! What ran between a start mark and the next stop mark, summed over all such windows.

use crate::architecture::Mark;

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

/// The windows of the command, and of the workload's own marks.
#[derive(Debug, Default)]
pub struct Windows {
    /// The command's.
    pub command: Window,
    /// The workload's own.
    pub marks: Window,
}

impl Windows {
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

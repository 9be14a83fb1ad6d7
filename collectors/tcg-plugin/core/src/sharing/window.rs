//! The window that marks open and close, of one program or of several copies of it.

/// A window of one program, or of `copies`, is open while all of them are between their marks: it opens when
/// the last of them starts, and closes when the first of them stops.
#[derive(Debug)]
pub struct Window {
    copies: u64,
    started: u64,
    stopping: u64,
    open: bool,
    /// How often it opened.
    pub opened: u64,
    /// How often it closed.
    pub closed: u64,
    /// Marks that are none of one start and one stop of each copy.
    pub misplaced: u64,
}

impl Default for Window {
    fn default() -> Window {
        Window {
            copies: 1,
            started: 0,
            stopping: 0,
            open: false,
            opened: 0,
            closed: 0,
            misplaced: 0,
        }
    }
}

impl Window {
    /// A program starts, alone unless other copies are added.
    pub fn of_one(&mut self) {
        (self.copies, self.started, self.stopping) = (1, 0, 0);
    }

    /// Another copy starts.
    pub fn add_copy(&mut self) {
        self.copies += 1;
    }

    /// A start mark executed; whether the window opens.
    pub fn start(&mut self) -> bool {
        if self.open {
            self.misplaced += 1;
            return false;
        }
        self.started += 1;
        self.open = self.started == self.copies;
        if self.open {
            (self.started, self.stopping) = (0, self.copies);
            self.opened += 1;
        }
        self.open
    }

    /// A stop mark executed; whether the window closes.
    pub fn stop(&mut self) -> bool {
        let closes = self.open;
        match self.stopping.checked_sub(1) {
            Some(left) => self.stopping = left,
            None => self.misplaced += 1,
        }
        self.closed += u64::from(closes);
        self.open = false;
        closes
    }

    /// Whether it is open.
    pub fn is_open(&self) -> bool {
        self.open
    }

    /// Whether any of its marks executed.
    pub fn is_used(&self) -> bool {
        self.opened + self.started + self.misplaced > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_opens_and_closes_it() {
        let mut window = Window::default();
        assert!(window.start() && !window.start() && window.stop() && !window.stop());
        assert_eq!((window.opened, window.closed, window.misplaced), (1, 1, 2));
    }

    #[test]
    fn it_is_open_while_all_copies_run() {
        let mut window = Window::default();
        window.add_copy();
        assert!(!window.start() && window.start());
        assert!(window.stop() && !window.stop());
        assert!(!window.start() && window.start());
        assert_eq!((window.opened, window.closed, window.misplaced), (2, 1, 0));
    }

    #[test]
    fn a_copy_that_ends_before_another_starts_is_told() {
        let mut window = Window::default();
        window.add_copy();
        assert!(!window.start() && !window.stop());
        assert_eq!((window.opened, window.misplaced), (0, 1));
    }
}

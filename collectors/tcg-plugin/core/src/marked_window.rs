//! The window that marks open and close, of one program or of several copies of it.

use std::ffi::c_void;

use crate::architecture::Mark;
use crate::ffi;

/// Call `executed` with the mark, which [`mark`] takes back, whenever `insn` executes.
///
/// # Safety
/// QEMU is translating `insn`.
pub unsafe fn follow(insn: *mut ffi::Insn, mark: Mark, executed: ffi::VcpuUdataCb) {
    let (flags, mark) = (ffi::CB_NO_REGS, mark.number() as *mut c_void);
    // SAFETY: as promised; the callback takes a number as its pointer.
    unsafe { ffi::qemu_plugin_register_vcpu_insn_exec_cb(insn, executed, flags, mark) };
}

/// What a callback of [`follow`] gets.
pub fn mark(data: *mut c_void) -> Option<Mark> {
    Mark::ALL.get(data as usize).copied()
}

/// What a mark does to what is recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// A window opens; `first`: what other marks let be recorded before does not count.
    Opens {
        /// Whether it is the first of the workload's own.
        first: bool,
    },
    /// The window closes.
    Closes,
    /// Nothing.
    Nothing,
}

/// The window of the whole command, and that of the workload's own marks, which counts if there is
/// one.
#[derive(Debug, Default)]
pub struct Windows {
    /// Of the command.
    pub command: Window,
    /// Of its own marks.
    pub marks: Window,
}

impl Windows {
    /// Whether the command has ended: whoever runs the program now only looks at it.
    pub fn have_ended(&self, mark: Mark) -> bool {
        self.command.closed > 0 && !self.command.is_open() && mark != Mark::CommandStart
    }

    /// A mark executed.
    pub fn mark(&mut self, mark: Mark) -> Effect {
        let had_marks = self.marks.is_used();
        match mark {
            Mark::CommandStart => {
                self.marks.of_one();
                if !had_marks && self.command.start() {
                    return Effect::Opens { first: false };
                }
            }
            Mark::CommandStop => {
                if self.command.stop() && !had_marks {
                    return Effect::Closes;
                }
            }
            Mark::Start => {
                if self.marks.start() {
                    let first = self.marks.opened == 1;
                    return Effect::Opens { first };
                }
            }
            Mark::Stop => {
                if self.marks.stop() {
                    return Effect::Closes;
                }
            }
            Mark::Copy => self.marks.add_copy(),
            Mark::Op => {}
        }
        Effect::Nothing
    }

    /// The one that counts.
    pub fn used(&self) -> &Window {
        if self.marks.is_used() {
            &self.marks
        } else {
            &self.command
        }
    }

    /// Whose it is: 0 none was opened, 1 the command's, 2 the workload's own.
    pub fn kind(&self) -> u32 {
        match self.marks.is_used() {
            true => 2,
            false => u32::from(self.command.opened > 0),
        }
    }
}

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
    fn a_programs_own_marks_come_before_the_command() {
        let mut windows = Windows::default();
        let opens = |first| Effect::Opens { first };
        assert_eq!(windows.mark(Mark::CommandStart), opens(false));
        assert_eq!((windows.kind(), windows.used().opened), (1, 1));
        assert_eq!(windows.mark(Mark::Start), opens(true));
        assert_eq!(windows.mark(Mark::Stop), Effect::Closes);
        assert_eq!(windows.mark(Mark::Start), opens(false));
        assert_eq!(windows.mark(Mark::Stop), Effect::Closes);
        assert!(!windows.have_ended(Mark::Stop));
        assert_eq!(windows.mark(Mark::CommandStop), Effect::Nothing);
        assert!(windows.have_ended(Mark::Start) && !windows.have_ended(Mark::CommandStart));
        assert_eq!((windows.kind(), windows.used().opened), (2, 2));
    }

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

//! What is under way in a task.

use crate::node::NodeNumber;
use crate::slots::PlaceNumber;
use crate::waiting::Slot;

/// Why a frame is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A call.
    Call,
    /// A system call, an exception or an interrupt.
    Entry {
        /// Whether it came from user space.
        from_user: bool,
        /// Where execution goes on behind it.
        resume: Resume,
    },
    /// User space went on elsewhere than it was: a signal handler, or another program (execve).
    /// What was under way before is not a caller.
    Elsewhere {
        /// Where what was under way before would go on.
        resume: [u64; 2],
    },
}

/// Where execution goes on behind an exception or interrupt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resume {
    /// At one of these addresses.
    At([u64; 2]),
    /// Where a call or jump led, which is not known.
    Anywhere,
    /// Where a return led.
    Behind,
}

/// A conditional jump that an interrupt or exception keeps from what is behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Undecided {
    /// The block that ends in it.
    pub block: u32,
    /// How often what was counted had been forgotten when it executed.
    pub cleared: u32,
}

/// Something under way.
#[derive(Clone, Copy, Debug)]
pub struct Frame {
    /// Why it is there.
    pub kind: Kind,
    /// Where the call put the address behind it; of what is not a call, the slot below. Of no meaning
    /// where calls put it into a register.
    pub slot: Slot,
    /// Where the call returns to.
    pub behind: u64,
    /// The call, or what was interrupted.
    pub site: PlaceNumber,
    /// The first instruction behind it, or [`crate::node::NONE`].
    pub target: PlaceNumber,
    /// Its node in the call tree, or [`crate::node::NONE`] where that was not looked for.
    pub node: NodeNumber,
    /// What was interrupted, if it was at the end of a conditional jump.
    pub undecided: Option<Undecided>,
}

use std::ops::{BitOr, BitOrAssign};

/// A kind of instruction; an instruction may be of several. docs/symbolization.md says what each is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Class {
    /// Reads memory.
    Load = 0,
    /// Writes memory.
    Store = 1,
    /// Changes memory atomically.
    Locked = 2,
    /// Waits until all instructions before it are done.
    Serialising = 3,
    /// Faults in user mode.
    Privileged = 4,
    /// Divides.
    Division = 5,
    /// Repeats a string operation.
    Repeated = 6,
    /// Calls a function that it names.
    Call = 7,
    /// Calls a function whose address it reads.
    IndirectCall = 8,
    /// Jumps to an address that it reads.
    IndirectJump = 9,
    /// Jumps or not.
    Conditional = 10,
    /// Works with vector registers.
    Vector = 11,
}

impl Class {
    /// Names of the classes, by bit.
    pub const NAMES: [&'static str; 12] = [
        "load",
        "store",
        "locked",
        "serialising",
        "privileged",
        "division",
        "repeated",
        "call",
        "indirect-call",
        "indirect-jump",
        "conditional",
        "vector",
    ];
}

/// The classes of an instruction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Classes(pub u32);

impl Classes {
    /// These, and `class` if `holds`.
    pub fn with(self, class: Class, holds: bool) -> Self {
        Classes(self.0 | u32::from(holds) << class as u8)
    }

    /// Whether `class` is among them.
    pub fn has(self, class: Class) -> bool {
        self.0 >> class as u8 & 1 == 1
    }
}

impl BitOr for Classes {
    type Output = Self;
    fn bitor(self, other: Self) -> Self {
        Classes(self.0 | other.0)
    }
}

impl BitOrAssign for Classes {
    fn bitor_assign(&mut self, other: Self) {
        self.0 |= other.0;
    }
}

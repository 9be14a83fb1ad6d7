/// How an instruction leads to the one that runs after it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum Flow {
    /// To the one behind it.
    #[default]
    Next = 0,
    /// To the one behind it or to its target.
    Conditional = 1,
    /// To its target.
    Jump = 2,
    /// To an address that it reads.
    IndirectJump = 3,
    /// Into a function that it names.
    Call = 4,
    /// Into a function whose address it reads.
    IndirectCall = 5,
    /// Out of a function.
    Return = 6,
    /// Into a more privileged mode, or an exception: `syscall`, `int3`, `ud2`, `svc`.
    Enter = 7,
    /// Out of a more privileged mode or an exception: `iretq`, `sysretq`, `eret`.
    Leave = 8,
}

impl Flow {
    /// Names of the flows, by code.
    pub const NAMES: [&'static str; 9] = [
        "next",
        "conditional",
        "jump",
        "indirect-jump",
        "call",
        "indirect-call",
        "return",
        "enter",
        "leave",
    ];
}

/// What a function of the one kernel is in the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Verdict {
    /// The same, with all data that it refers to.
    Equal = 0,
    /// The other kernel has no such function.
    Absent = 1,
    /// It has other instructions.
    Instructions = 2,
    /// An instruction refers to something else.
    Operand = 3,
    /// The kernel patches it otherwise.
    Patched = 4,
    /// Data that it refers to differs.
    Data = 5,
    /// Something of it cannot be compared.
    Unknown = 6,
}

impl Verdict {
    /// Names of the verdicts, by code.
    pub const NAMES: [&'static str; 7] = [
        "equal",
        "absent",
        "instructions",
        "operand",
        "patched",
        "data",
        "unknown",
    ];
}

/// A function of the first kernel, compared.
#[derive(Clone, Debug)]
pub struct Compared {
    /// Its symbol.
    pub name: String,
    /// Where it starts in the first kernel.
    pub start: u64,
    /// What it is in the other.
    pub verdict: Verdict,
    /// What differs, or why it cannot be compared, in words; empty where all is equal.
    pub detail: String,
}

/// What differs.
#[derive(Clone, Debug)]
pub(crate) struct Difference {
    pub(crate) verdict: Verdict,
    pub(crate) detail: String,
}

impl Difference {
    pub(crate) fn new(verdict: Verdict, detail: impl Into<String>) -> Self {
        let detail = detail.into();
        Difference { verdict, detail }
    }

    pub(crate) fn unknown(detail: impl Into<String>) -> Self {
        Self::new(Verdict::Unknown, detail)
    }
}

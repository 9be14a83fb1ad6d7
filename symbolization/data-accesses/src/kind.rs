/// What is accessed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// A field of a struct or union behind a pointer.
    Field = 0,
    /// A variable with a name.
    Global = 1,
    /// A per-CPU variable.
    PerCpu = 2,
    /// What a pointer to no struct or union points to.
    Pointed = 3,
    /// A variable on the stack.
    StackVariable = 4,
    /// A slot of the stack without a name.
    Spill = 5,
    /// A stack protector's value.
    Canary = 6,
    /// A register that is pushed or popped.
    Push = 7,
    /// A return address.
    Call = 8,
    /// Nothing tells.
    Unresolved = 9,
}

impl Kind {
    /// Names of the kinds, by code.
    pub const NAMES: [&'static str; 10] = [
        "field",
        "global",
        "per-cpu",
        "pointed",
        "stack-variable",
        "spill",
        "canary",
        "push",
        "call",
        "unresolved",
    ];
}

/// Why nothing tells what is accessed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Reason {
    /// Something does.
    #[default]
    Resolved = 0,
    /// The function has no types: memset, copies, entries.
    Assembly = 1,
    /// The address is one of user space.
    UserMemory = 2,
    /// The pointer is one to void.
    VoidPointer = 3,
    /// A parameter of a function that the compiler changed (`.isra`, `.constprop`, `.part`).
    ChangedParameter = 4,
    /// The address is computed.
    Computed = 5,
    /// Different ways lead here with different values.
    Joined = 6,
    /// A called function returned it or may have changed it.
    CallResult = 7,
    /// It was read from something that is unresolved.
    Loaded = 8,
    /// It is no pointer by its type.
    Number = 9,
    /// Code that nothing known leads to.
    EnteredInside = 10,
    /// Outside of the type that is known.
    OutsideType = 11,
    /// A constant address without a variable.
    ConstantAddress = 12,
    /// A slot of the stack of which nothing is known.
    StackSlot = 13,
    /// The instruction is none that is known.
    NotDecoded = 14,
}

impl Reason {
    /// Names of the reasons, by code; the first is empty.
    pub const NAMES: [&'static str; 15] = [
        "",
        "assembly",
        "user-memory",
        "void-pointer",
        "changed-parameter",
        "computed",
        "joined",
        "call-result",
        "loaded",
        "number",
        "entered-inside",
        "outside-type",
        "constant-address",
        "stack-slot",
        "not-decoded",
    ];
}

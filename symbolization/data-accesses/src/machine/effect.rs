/// A general register, below [`super::REGISTERS`].
pub(crate) type Register = u8;

/// Where memory is: the sum of what is there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Address {
    pub(crate) base: Option<Register>,
    /// A register, and what it is multiplied by.
    pub(crate) index: Option<(Register, u8)>,
    pub(crate) displacement: i64,
    /// Whether the start of this processor's per-CPU data is added (x86-64: a `%gs` segment).
    pub(crate) per_cpu: bool,
}

/// Why an access is not of a plain load or store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Role {
    #[default]
    Plain,
    /// A register that is pushed or popped.
    Push,
    /// A return address that a call or a return moves.
    Call,
    /// With user mode's rights (arm64: LDTR, STTR).
    User,
}

/// One access to memory. Its address is meant before the instruction changes a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Access {
    pub(crate) address: Address,
    pub(crate) load: bool,
    pub(crate) store: bool,
    /// In bytes; of a repeated instruction of one turn.
    pub(crate) size: u32,
    pub(crate) role: Role,
    /// Whether it accesses as many times as a register says (`rep movs`, DC ZVA, CPYP).
    pub(crate) repeated: bool,
}

/// A value of 64 bits, of what was there before the instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    Register(Register),
    Constant(u64),
    /// An address as a number: LEA, ADD.
    Sum(Address),
    /// Eight bytes of memory.
    Load(Address),
    /// A register plus eight bytes of memory.
    SumWithLoad(Register, Address),
    /// One register minus another.
    Difference(Register, Register),
    /// A register under a constant mask.
    Masked(Register, u64),
    /// A register times a constant; of some of its bits, too.
    Product(Register, u64),
    /// Something times a constant.
    Multiple(u64),
    /// One register, or 0, plus or minus the product of two.
    SumWithProduct(Option<Register>, Register, Register),
    /// What two registers have in common (AND).
    Both(Register, Register),
    /// One of two registers (CMOV, CSEL): the first one if its condition holds.
    Either(Register, Register),
    /// A register, or if its condition holds eight bytes of memory (CMOV).
    EitherLoad(Register, Address),
    /// The running task (arm64: `sp_el0`).
    Task,
    /// The start of this processor's per-CPU data (arm64: `tpidr_el1`, `tpidr_el2`).
    PerCpu,
    /// A number that is no address: of fewer than 64 bits, a flag, a count.
    Number,
    /// What is computed some other way.
    Computed,
}

/// What an instruction changes. All sources are meant before any effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    Set(Register, Source),
    /// So many bytes of memory; 0: as many as a register says.
    Store(Address, u32, Source),
}

/// Which instruction runs next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Control {
    #[default]
    Next,
    /// To an address or on.
    Branch(u64),
    /// To an address.
    Jump(u64),
    /// To an address in a register.
    IndirectJump(Register),
    /// To an address in memory.
    IndirectJumpThrough(Address),
    /// Into a function that returns here.
    Call(u64),
    IndirectCall(Register),
    IndirectCallThrough(Address),
    /// Out of the function, or nowhere.
    Leave,
}

/// What an instruction does. Kept from one to the next, for its buffers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Operation {
    pub(crate) accesses: Vec<Access>,
    pub(crate) effects: Vec<Effect>,
    pub(crate) control: Control,
    /// The register that it compares with 0.
    pub(crate) compared: Option<Register>,
    /// Whether its condition holds if the last comparison found both equal, or if it did not; none of
    /// another condition.
    pub(crate) if_equal: Option<bool>,
}

impl Operation {
    pub(crate) fn clear(&mut self) {
        self.accesses.clear();
        self.effects.clear();
        self.control = Control::Next;
        (self.compared, self.if_equal) = (None, None);
    }
}

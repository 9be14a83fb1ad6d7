use super::effect::{Operation, Register};

/// As many registers as a machine here has at most.
pub(crate) const REGISTERS: usize = 32;

/// What an architecture is to this crate; each has a file.
pub(crate) trait Machine: Sync {
    /// The stack pointer.
    fn stack_pointer(&self) -> Register;

    /// Where the stack pointer is at a function's entry, from the frame's address (the CFA).
    fn entry_stack(&self) -> i64;

    /// The registers that arguments come in, in their order.
    fn arguments(&self) -> &'static [Register];

    /// The register that says where a result goes that is too large for registers.
    fn result_address(&self) -> Register;

    /// The register that a result comes in.
    fn result(&self) -> Register;

    /// The registers that a called function may change.
    fn scratch(&self) -> &'static [Register];

    /// The register that DWARF's number means; none of another kind of register.
    fn register(&self, dwarf: u16) -> Option<Register>;

    /// The register through which a function of this name calls what it is given, with the caller's
    /// arguments.
    fn thunk(&self, _symbol: &[u8]) -> Option<Register> {
        None
    }

    /// What the instruction at `address` with these bytes does; false where they are not exactly
    /// one. `out` is empty.
    fn decode(&self, address: u64, code: &[u8], out: &mut Operation) -> bool;
}

/// An instruction, as far as it is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Instruction {
    /// The same number as another one's where both do the same: operation, operands, target.
    pub key: u32,
    /// The same number where both have the same operation.
    pub operation: u32,
    /// The same number, not 0, where both may be of the same source line.
    pub line: u32,
    /// Whether a basic block begins here.
    pub starts_block: bool,
    /// Whether it was executed.
    pub ran: bool,
}

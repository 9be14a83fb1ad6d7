use crate::instruction::Instruction;

/// Decodes instructions of one architecture.
pub(crate) trait Decode {
    /// What the instruction is that has all of `code` at `address`.
    fn decode(&mut self, address: u64, code: &[u8], out: &mut Instruction);
}

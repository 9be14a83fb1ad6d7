use crate::instruction::Instruction;
use crate::strings::Strings;
use crate::Architecture;

/// Instructions as columns; texts by their index in `strings`, of which the first is empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Disassembly {
    /// Each text once.
    pub strings: Vec<String>,
    /// Per instruction: its mnemonic, prefixes too.
    pub operation: Vec<u32>,
    /// Per instruction: its operands. The address that they name is written in hexadecimal.
    pub operands: Vec<u32>,
    /// Per instruction: the address that its operands name, or 0.
    pub reference: Vec<u64>,
    /// Per instruction: operation and operands with each register as its kind, and `@` as the
    /// address.
    pub shape: Vec<u32>,
    /// Per instruction: the code of its [`crate::Flow`].
    pub flow: Vec<u8>,
    /// Per instruction: its [`crate::Classes`].
    pub classes: Vec<u32>,
}

/// Disassemble instructions, each from its address and all of its bytes. Bytes that are no
/// instruction, or not exactly one, are `(bad)`.
pub fn disassemble<'c>(
    architecture: Architecture,
    instructions: impl IntoIterator<Item = (u64, &'c [u8])>,
) -> Disassembly {
    let mut out = Disassembly::default();
    let mut strings = Strings::default();
    let mut decoder = architecture.decoder();
    let mut one = Instruction::default();
    for (address, code) in instructions {
        one.clear();
        decoder.decode(address, code, &mut one);
        out.operation.push(strings.number(&one.operation));
        out.operands.push(strings.number(&one.operands));
        out.reference.push(one.reference);
        out.shape.push(strings.number(&one.shape));
        out.flow.push(one.flow as u8);
        out.classes.push(one.classes.0);
    }
    out.strings = strings.into_list();
    out
}

//! x86-64, by iced-x86.

mod control;
mod effects;
mod operand;
#[cfg(test)]
mod tests;

use iced_x86::{Decoder, DecoderOptions, InstructionInfoFactory};

use self::operand::RSP;
use super::effect::{Operation, Register};
use super::model::Machine;

/// 64-bit x86.
pub(super) struct X86_64;

/// Registers by DWARF's number ("System V ABI, AMD64", 3.6.2).
const BY_DWARF: [Register; 16] = [0, 2, 1, 3, 6, 7, 5, RSP, 8, 9, 10, 11, 12, 13, 14, 15];

impl Machine for X86_64 {
    fn stack_pointer(&self) -> Register {
        RSP
    }

    /// The return address lies below the frame's address.
    fn entry_stack(&self) -> i64 {
        -8
    }

    fn arguments(&self) -> &'static [Register] {
        &[7, 6, 2, 1, 8, 9]
    }

    /// Before all arguments.
    fn result_address(&self) -> Register {
        7
    }

    fn result(&self) -> Register {
        0
    }

    fn scratch(&self) -> &'static [Register] {
        &[0, 1, 2, 6, 7, 8, 9, 10, 11]
    }

    fn register(&self, dwarf: u16) -> Option<Register> {
        BY_DWARF.get(usize::from(dwarf)).copied()
    }

    /// What retpolines call (arch/x86/lib/retpoline.S).
    fn thunk(&self, symbol: &[u8]) -> Option<Register> {
        const NAMES: [&[u8]; 16] = [
            b"rax", b"rcx", b"rdx", b"rbx", b"rsp", b"rbp", b"rsi", b"rdi", b"r8", b"r9", b"r10",
            b"r11", b"r12", b"r13", b"r14", b"r15",
        ];
        let name = symbol.strip_prefix(b"__x86_indirect_thunk_")?;
        let number = NAMES.iter().position(|one| *one == name)?;
        Some(number as Register)
    }

    fn decode(&self, address: u64, code: &[u8], out: &mut Operation) -> bool {
        let mut decoder = Decoder::with_ip(64, code, address, DecoderOptions::NONE);
        let instruction = decoder.decode();
        if instruction.is_invalid() || instruction.len() != code.len() {
            return false;
        }
        let mut factory = InstructionInfoFactory::new();
        let info = factory.info(&instruction);
        operand::accesses(&instruction, info, &mut out.accesses);
        effects::effects(&instruction, info, out);
        out.control = control::control(&instruction);
        out.compared = control::compared(&instruction);
        out.if_equal = control::if_equal(&instruction);
        true
    }
}

//! 64-bit Arm: each word of code decoded by the Arm Architecture Reference Manual's encodings, whose
//! names the comments use.

mod computation;
mod control;
mod loads_and_stores;
mod registers;
mod scalable;
mod word;

use super::effect::{Control, Operation, Register};
use super::model::Machine;
use word::Word;

/// 64-bit Arm.
pub(super) struct Arm64;

impl Machine for Arm64 {
    fn stack_pointer(&self) -> Register {
        31
    }

    fn entry_stack(&self) -> i64 {
        0
    }

    fn arguments(&self) -> &'static [Register] {
        &[0, 1, 2, 3, 4, 5, 6, 7]
    }

    fn result_address(&self) -> Register {
        8
    }

    fn result(&self) -> Register {
        0
    }

    fn scratch(&self) -> &'static [Register] {
        &[
            0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 30,
        ]
    }

    fn register(&self, dwarf: u16) -> Option<Register> {
        (dwarf < 32).then_some(dwarf as Register)
    }

    fn decode(&self, address: u64, code: &[u8], out: &mut Operation) -> bool {
        let Ok(bytes) = <[u8; 4]>::try_from(code) else {
            return false;
        };
        let word = Word(u32::from_le_bytes(bytes));
        let is_allocated = instruction(word, address, out).is_some();
        if !is_allocated {
            out.clear();
        }
        is_allocated
    }
}

/// "A64 instruction set encoding": by op0 and op1. None where a word is not allocated.
fn instruction(word: Word, address: u64, out: &mut Operation) -> Option<()> {
    match word.bits(25, 4) {
        0b0000 if word.bit(31) => scalable::matrices(word, out),
        0b0000 if word.bits(16, 16) == 0 => {
            out.control = Control::Leave; // UDF
            Some(())
        }
        0b0000 | 0b0001 | 0b0011 => None,
        0b0010 => scalable::vectors(word, out),
        0b1000 | 0b1001 => computation::immediate(word, address, out),
        0b1010 | 0b1011 => control::decode(word, address, out),
        0b0101 | 0b1101 => computation::register(word, out),
        0b0111 | 0b1111 => computation::vector(word, out),
        _ => loads_and_stores::decode(word, address, out),
    }
}

#[cfg(test)]
mod tests;

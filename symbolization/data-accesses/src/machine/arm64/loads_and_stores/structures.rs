use super::super::registers::{set_pointer, ZERO};
use super::super::word::Word;
use super::transfer::{at, Transfer};
use crate::machine::effect::{Address, Operation, Role, Source};

/// "Advanced SIMD load/store multiple structures", "single structure", with a change of the base or
/// without.
pub(super) fn decode(word: Word, out: &mut Operation) -> Option<()> {
    if word.bit(31) {
        return None;
    }
    let size = if word.bit(24) {
        single(word)?
    } else {
        multiple(word)?
    };
    let transfer = Transfer {
        load: word.bit(22),
        vector: true,
        size,
        role: Role::Plain,
    };
    if word.bit(23) {
        let after = match word.rm() {
            ZERO => at(word.rn(), i64::from(size)),
            index => Address {
                index: Some((index as u8, 1)),
                ..at(word.rn(), 0)
            },
        };
        set_pointer(word.rn(), Source::Sum(after), out);
    }
    transfer.run(word.rd(), at(word.rn(), 0), out);
    Some(())
}

/// The bytes of whole registers.
fn multiple(word: Word) -> Option<u32> {
    if word.bit(21) || !word.bit(23) && word.rm() != 0 {
        return None;
    }
    let is_whole = word.bit(30);
    // LD1, whose elements are in the order of memory.
    let (registers, is_plain) = match word.bits(12, 4) {
        0b0000 => (4, false),
        0b0010 => (4, true),
        0b0100 => (3, false),
        0b0110 => (3, true),
        0b0111 => (1, true),
        0b1000 => (2, false),
        0b1010 => (2, true),
        _ => return None,
    };
    if word.bits(10, 2) == 0b11 && !is_whole && !is_plain {
        return None;
    }
    Some(registers * if is_whole { 16 } else { 8 })
}

/// The bytes of one element of each register.
fn single(word: Word) -> Option<u32> {
    let (opcode, size) = (word.bits(13, 3), word.bits(10, 2));
    // LDAP1 and STL1 (FEAT_LRCPC3).
    let is_ordered = word.is(0x00bf_fc00, 0x0001_8400);
    if !word.bit(23) && word.rm() != 0 && !is_ordered {
        return None;
    }
    let element = match (opcode >> 1, size) {
        (0b00, _) => 1,
        (0b01, 0b00 | 0b10) => 2,
        (0b10, 0b00) => 4,
        (0b10, 0b01) if !word.bit(12) => 8,
        // LD1R and the like.
        (0b11, size) if word.bit(22) && !word.bit(12) => 1 << size,
        _ => return None,
    };
    let registers = 1 + 2 * (opcode & 1) + word.bits(21, 1);
    Some(registers * element)
}

use super::super::registers::set;
use super::super::word::Word;
use crate::machine::effect::{Operation, Source};

/// "Data Processing -- Scalar Floating-Point and Advanced SIMD": those that write a general register.
pub(crate) fn decode(word: Word, out: &mut Operation) -> Option<()> {
    let source = if is_element(word) {
        // UMOV of 64 bits is the only one that is not narrower.
        match word.is(0x400f_1000, 0x4008_1000) {
            true => Source::Computed,
            false => Source::Number,
        }
    } else if is_conversion(word) {
        let is_move = word.bits(16, 3) == 0b110 && word.bit(21) && word.is_wide();
        match is_move {
            true => Source::Computed, // FMOV
            false => Source::Number,
        }
    } else {
        return Some(());
    };
    set(word.rd(), source, out);
    Some(())
}

/// SMOV and UMOV: "Advanced SIMD copy".
fn is_element(word: Word) -> bool {
    word.is(0xbfe0_fc00, 0x0e00_2c00) || word.is(0xbfe0_fc00, 0x0e00_3c00)
}

/// Of floating-point to fixed-point numbers, and to integers.
fn is_conversion(word: Word) -> bool {
    let (kind, rounding, opcode) = (word.bits(22, 2), word.bits(19, 2), word.bits(16, 3));
    if word.is(0x7f20_0000, 0x1e00_0000) {
        return rounding == 0b11 && opcode <= 0b001; // FCVTZS, FCVTZU
    }
    if !word.is(0x7f20_fc00, 0x1e20_0000) {
        return false;
    }
    match (rounding, opcode) {
        (_, 0b000 | 0b001) | (0b00, 0b100..=0b110) => true,
        (0b01, 0b110) => kind == 0b10, // FMOV of the upper half
        (0b11, 0b110) => kind == 0b01 && !word.is_wide(), // FJCVTZS
        _ => false,
    }
}

use super::super::registers::{general, of_width, set, set_pointer};
use super::super::word::Word;
use super::bitmask::mask;
use crate::machine::effect::{Operation, Source};

const AND: u32 = 0b00;
const ORR: u32 = 0b01;
const EOR: u32 = 0b10;
const ANDS: u32 = 0b11;

/// "Logical (immediate)".
pub(super) fn immediate(word: Word, out: &mut Operation) -> Option<()> {
    let wide = word.is_wide();
    if !wide && word.bit(22) {
        return None;
    }
    let mask = mask(word.bits(22, 1), word.bits(10, 6), word.bits(16, 6))?;
    let operation = word.bits(29, 2);
    let source = match (operation, general(word.rn())) {
        (AND | ANDS, None) => Source::Constant(0),
        (AND | ANDS, Some(n)) => Source::Masked(n, mask),
        (_, None) => Source::Constant(mask), // MOV
        _ => Source::Computed,
    };
    let source = of_width(wide, source);
    if operation == ANDS {
        set(word.rd(), source, out);
    } else {
        set_pointer(word.rd(), source, out);
    }
    Some(())
}

/// "Logical (shifted register)".
pub(super) fn shifted(word: Word, out: &mut Operation) -> Option<()> {
    let (wide, amount) = (word.is_wide(), word.bits(10, 6));
    if !wide && amount >= 32 {
        return None;
    }
    let (n, m) = (general(word.rn()), general(word.rm()));
    let is_plain = amount == 0;
    let source = match (word.bits(29, 2), word.bit(21)) {
        (AND | ANDS, false) => match (n, m) {
            (Some(n), Some(m)) if is_plain && n == m => Source::Register(n),
            (Some(n), Some(m)) if is_plain => Source::Both(n, m),
            (Some(_), Some(_)) => Source::Computed,
            _ => Source::Constant(0),
        },
        (ORR | EOR, false) => match (n, m) {
            (None, None) => Source::Constant(0),
            (Some(n), None) => Source::Register(n),
            (None, Some(m)) if is_plain => Source::Register(m), // MOV
            _ => Source::Computed,
        },
        (AND | ANDS, true) => match (n, m) {
            (None, _) => Source::Constant(0), // BIC
            (Some(n), None) => Source::Register(n),
            _ => Source::Computed,
        },
        _ => Source::Computed, // ORN, EON
    };
    set(word.rd(), of_width(wide, source), out);
    Some(())
}

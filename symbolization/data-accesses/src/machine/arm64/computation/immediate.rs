use super::super::registers::{general, of_width, set};
use super::super::word::Word;
use super::{addition, logic};
use crate::machine::effect::{Operation, Source};

/// "Data Processing -- Immediate".
pub(crate) fn decode(word: Word, address: u64, out: &mut Operation) -> Option<()> {
    match word.bits(23, 3) {
        0b000 | 0b001 => relative(word, address, out),
        0b010 => addition::immediate(word, out),
        0b011 if word.bit(22) => bound(word, out),
        0b011 => addition::tagged(word, out),
        0b100 => logic::immediate(word, out),
        0b101 => wide(word, out),
        0b110 => bit_field(word, out),
        _ => extract(word, out),
    }
}

/// ADR and ADRP.
fn relative(word: Word, address: u64, out: &mut Operation) -> Option<()> {
    let distance = word.signed(5, 19) << 2 | i64::from(word.bits(29, 2));
    let value = if word.bit(31) {
        (address & !0xfff).wrapping_add_signed(distance << 12)
    } else {
        address.wrapping_add_signed(distance)
    };
    set(word.rd(), Source::Constant(value), out);
    Some(())
}

/// SMAX, UMAX, SMIN, UMIN: "Min/max (immediate)".
fn bound(word: Word, out: &mut Operation) -> Option<()> {
    if !word.is(0x7ff0_0000, 0x11c0_0000) {
        return None;
    }
    computed(word, out);
    Some(())
}

/// "Move wide (immediate)".
fn wide(word: Word, out: &mut Operation) -> Option<()> {
    let shift = 16 * word.bits(21, 2);
    if !word.is_wide() && shift >= 32 {
        return None;
    }
    let value = u64::from(word.bits(5, 16)) << shift;
    let source = match word.bits(29, 2) {
        0b00 => Source::Constant(!value),
        0b10 => Source::Constant(value),
        0b11 => Source::Computed, // MOVK
        _ => return None,
    };
    set(word.rd(), of_width(word.is_wide(), source), out);
    Some(())
}

/// SBFM, BFM, UBFM: "Bitfield".
fn bit_field(word: Word, out: &mut Operation) -> Option<()> {
    let is_narrow = word.bit(21) || word.bit(15);
    if word.bits(29, 2) == 0b11 || word.bit(22) != word.is_wide() {
        return None;
    }
    if !word.is_wide() && is_narrow {
        return None;
    }
    let (rotated, last) = (word.bits(16, 6), word.bits(10, 6));
    let source = match general(word.rn()) {
        // LSL, SBFIZ, UBFIZ.
        Some(n) if word.bits(29, 2) != 0b01 && last < rotated => {
            Source::Product(n, 1 << (64 - rotated))
        }
        _ => Source::Computed,
    };
    set(word.rd(), of_width(word.is_wide(), source), out);
    Some(())
}

/// EXTR: "Extract". AUTIASPPC and AUTIBSPPC, which keep the return address.
fn extract(word: Word, out: &mut Operation) -> Option<()> {
    if word.is(0xffc0_001f, 0xf380_001f) {
        return Some(());
    }
    let is_known = word.is(0x6020_0000, 0) && word.bit(22) == word.is_wide();
    if !is_known || !word.is_wide() && word.bit(15) {
        return None;
    }
    computed(word, out);
    Some(())
}

fn computed(word: Word, out: &mut Operation) {
    set(word.rd(), of_width(word.is_wide(), Source::Computed), out);
}

use super::super::control::equal;
use super::super::registers::{general, of_width, pointer, set, set_pointer};
use super::super::word::Word;
use super::{addition, logic};
use crate::machine::effect::{Operation, Source};

/// "Data Processing -- Register".
pub(crate) fn decode(word: Word, out: &mut Operation) -> Option<()> {
    if !word.bit(28) {
        return match (word.bit(24), word.bit(21)) {
            (false, _) => logic::shifted(word, out),
            (true, false) => addition::shifted(word, out),
            (true, true) => addition::extended(word, out),
        };
    }
    match word.bits(21, 4) {
        0b0000 => carry(word, out),
        // CCMN, CCMP: flags alone.
        0b0010 => word.is(0x2000_0410, 0x2000_0000).then_some(()),
        0b0100 => select(word, out),
        0b0110 if word.bit(30) => one_source(word, out),
        0b0110 => two_sources(word, out),
        0b1000..=0b1111 => three_sources(word, out),
        _ => None,
    }
}

/// "Add/subtract (with carry)"; flags; pointers that are checked.
fn carry(word: Word, out: &mut Operation) -> Option<()> {
    match word.bits(10, 6) {
        0b00_0000 => computed(word, out),
        // RMIF; SETF8 and SETF16.
        _ if word.is(0xffe0_7c10, 0xba00_0400) || word.is(0xffff_bc1f, 0x3a00_080d) => {}
        _ => return addition::checked(word, out),
    }
    Some(())
}

/// "Conditional select".
fn select(word: Word, out: &mut Operation) -> Option<()> {
    if word.bit(29) || word.bit(11) {
        return None;
    }
    let is_plain = !word.bit(30) && !word.bit(10);
    let source = match (general(word.rn()), general(word.rm())) {
        (None, None) if is_plain => Source::Constant(0),
        (None, None) => Source::Number, // CSET, CSETM: a flag
        _ if !is_plain => Source::Computed,
        (Some(n), Some(m)) if n != m => Source::Either(n, m),
        (Some(one), _) | (None, Some(one)) => Source::Register(one),
    };
    set(word.rd(), of_width(word.is_wide(), source), out);
    out.if_equal = equal(word.bits(12, 4));
    Some(())
}

/// "Data-processing (1 source)".
fn one_source(word: Word, out: &mut Operation) -> Option<()> {
    match (word.bit(29), word.rm()) {
        (false, 0b0_0000) => computed(word, out),
        // PACIA and its kin, AUTIA, XPACI: the pointer stays what it is.
        (false, 0b0_0001) if word.is_wide() => {}
        _ => return None,
    }
    Some(())
}

/// "Data-processing (2 source)".
fn two_sources(word: Word, out: &mut Operation) -> Option<()> {
    let (wide, opcode) = (word.is_wide(), word.bits(10, 6));
    if word.bit(29) && !(wide && opcode == 0) {
        return None; // but SUBPS
    }
    match opcode {
        0b00_0000 if wide => computed(word, out), // SUBP
        0b00_0010 | 0b00_0011 | 0b00_1000..=0b00_1011 => computed(word, out), // divisions, shifts
        0b00_0100 if wide => {
            // IRG: the address with another tag.
            let source = Source::Register(pointer(word.rn()));
            set_pointer(word.rd(), source, out);
        }
        0b00_0101 | 0b00_1100 if wide => computed(word, out), // GMI, PACGA
        0b01_0000..=0b01_0111 => set(word.rd(), Source::Number, out), // CRC32
        0b01_1000..=0b01_1011 => computed(word, out),         // SMAX and the like
        _ => return None,
    }
    Some(())
}

/// "Data-processing (3 source)".
fn three_sources(word: Word, out: &mut Operation) -> Option<()> {
    let wide = word.is_wide();
    let is_high = match (word.bits(29, 2), word.bits(21, 3), word.bit(15)) {
        (0b00, 0b000, _) => false,                         // MADD, MSUB
        (0b00, 0b001 | 0b011 | 0b101, _) if wide => false, // SMADDL, MADDPT, UMADDL and the like
        (0b00, 0b010 | 0b110, false) if wide => true,      // SMULH, UMULH
        _ => return None,
    };
    let source = match (general(word.rn()), general(word.rm())) {
        (Some(n), Some(m)) if !is_high => Source::SumWithProduct(general(word.bits(10, 5)), n, m),
        _ => Source::Computed,
    };
    set(word.rd(), of_width(word.is_wide(), source), out);
    Some(())
}

fn computed(word: Word, out: &mut Operation) {
    set(word.rd(), of_width(word.is_wide(), Source::Computed), out);
}

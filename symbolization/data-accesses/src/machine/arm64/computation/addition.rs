use super::super::registers::{general, of_width, pointer, set, set_pointer};
use super::super::word::Word;
use crate::machine::effect::{Address, Operation, Register, Source};

/// As far as an extended register is shifted.
const SHIFTS: u32 = 4;

/// As far as an index of an address is shifted here; what it is multiplied by has eight bits.
const MOST_SHIFTS: u32 = 7;

/// "Add/subtract (immediate)".
pub(super) fn immediate(word: Word, out: &mut Operation) -> Option<()> {
    let shift = if word.bit(22) { 12 } else { 0 };
    let distance = i64::from(word.bits(10, 12)) << shift;
    let source = offset(word, distance);
    destination(word, of_width(word.is_wide(), source), out);
    // SUBS, which is CMP where nothing keeps the difference.
    if word.bit(29) && word.bit(30) && word.is_wide() && distance == 0 {
        out.compared = Some(pointer(word.rn()));
    }
    Some(())
}

/// ADDG and SUBG, which change the tag of an address, too.
pub(super) fn tagged(word: Word, out: &mut Operation) -> Option<()> {
    if !word.is(0xbfc0_0000, 0x9180_0000) {
        return None;
    }
    let source = offset(word, i64::from(word.bits(16, 6)) * 16);
    set_pointer(word.rd(), source, out);
    Some(())
}

/// A base plus or minus a distance.
fn offset(word: Word, distance: i64) -> Source {
    let base = pointer(word.rn());
    if distance == 0 {
        return Source::Register(base); // MOV to and from the stack pointer
    }
    Source::Sum(Address {
        base: Some(base),
        displacement: if word.bit(30) { -distance } else { distance },
        ..Address::default()
    })
}

/// The stack pointer may be written, except where flags are.
fn destination(word: Word, source: Source, out: &mut Operation) {
    if word.bit(29) {
        set(word.rd(), source, out);
    } else {
        set_pointer(word.rd(), source, out);
    }
}

/// "Add/subtract (shifted register)".
pub(super) fn shifted(word: Word, out: &mut Operation) -> Option<()> {
    let (kind, amount) = (word.bits(22, 2), word.bits(10, 6));
    if kind == 0b11 || !word.is_wide() && amount >= 32 {
        return None;
    }
    let shift = match (kind, amount) {
        (_, 0) => Some(0),
        (0b00, amount) => Some(amount),
        _ => None, // LSR, ASR
    };
    let (n, m) = (general(word.rn()), general(word.rm()));
    let source = if word.bit(30) {
        difference(n, m, shift)
    } else {
        sum(n, m, shift)
    };
    set(word.rd(), of_width(word.is_wide(), source), out);
    Some(())
}

/// "Add/subtract (extended register)".
pub(super) fn extended(word: Word, out: &mut Operation) -> Option<()> {
    let (option, shift) = (word.bits(13, 3), word.bits(10, 3));
    if word.bits(22, 2) != 0 || shift > SHIFTS {
        return None;
    }
    let (n, m) = (Some(pointer(word.rn())), general(word.rm()));
    let source = if !word.bit(30) {
        sum(n, m, Some(shift))
    } else if option & 0b011 == 0b011 {
        difference(n, m, Some(shift)) // UXTX, SXTX
    } else {
        difference(n, m, None)
    };
    destination(word, of_width(word.is_wide(), source), out);
    Some(())
}

/// ADDPT and SUBPT (FEAT_CPA).
pub(super) fn checked(word: Word, out: &mut Operation) -> Option<()> {
    if !word.is(0xbfe0_e000, 0x9a00_2000) {
        return None;
    }
    let (n, m) = (Some(pointer(word.rn())), general(word.rm()));
    let shift = Some(word.bits(10, 3));
    let source = if word.bit(30) {
        difference(n, m, shift)
    } else {
        sum(n, m, shift)
    };
    set_pointer(word.rd(), source, out);
    Some(())
}

/// `shift` is none where the second is no multiple of a register.
fn sum(n: Option<Register>, m: Option<Register>, shift: Option<u32>) -> Source {
    match (n, m, shift) {
        (None, None, _) => Source::Constant(0),
        (Some(n), None, _) => Source::Register(n),
        (None, Some(m), Some(0)) => Source::Register(m),
        (base, Some(m), Some(shift)) if shift <= MOST_SHIFTS => Source::Sum(Address {
            base,
            index: Some((m, 1 << shift)),
            ..Address::default()
        }),
        _ => Source::Computed,
    }
}

fn difference(n: Option<Register>, m: Option<Register>, shift: Option<u32>) -> Source {
    match (n, m, shift) {
        (None, None, _) => Source::Constant(0),
        (Some(n), None, _) => Source::Register(n),
        (Some(n), Some(m), Some(0)) => Source::Difference(n, m),
        _ => Source::Computed,
    }
}

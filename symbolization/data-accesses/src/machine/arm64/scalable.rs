//! SVE and SME: what they do with memory and general registers.

use super::registers::{pointer, set, set_pointer};
use super::word::Word;
use crate::machine::effect::{Access, Address, Effect, Operation, Role, Source};

/// "SVE encodings".
pub(super) fn vectors(word: Word, out: &mut Operation) -> Option<()> {
    match word.bits(29, 3) {
        _ if is_prefetch(word) => {}
        0b100 | 0b110 => access(word, word.bit(15) && !word.bit(22), true, out),
        0b101 => access(word, false, true, out),
        0b111 => {
            let is_scatter = match word.bits(13, 3) {
                0b001 => true,
                0b101 => word.bit(22),
                _ => false,
            };
            access(word, is_scatter, false, out);
        }
        _ => compute(word, out),
    }
    Some(())
}

/// "SME encodings".
pub(super) fn matrices(word: Word, out: &mut Operation) -> Option<()> {
    let is_move = word.is(0xfe80_0000, 0xa000_0000); // of several vectors
    if is_move || word.is(0xfe00_0000, 0xe000_0000) {
        access(word, false, !word.bit(21), out);
    } else if word.is(0xffff_8fe0, 0xc04c_03e0) {
        set(word.rd(), Source::Computed, out); // MOVT from ZT0
    }
    Some(())
}

/// PRFB, PRFH, PRFW, PRFD: behind a scalar and a vector, a scalar and an immediate, two scalars, a vector.
fn is_prefetch(word: Word) -> bool {
    word.is(0xffa0_8010, 0x8420_0000)
        || word.is(0xffa0_8010, 0xc420_0000)
        || word.is(0xffe0_8010, 0xc460_8000)
        || word.is(0xffc0_8010, 0x85c0_0000)
        || word.is(0xfe60_e010, 0x8400_c000)
        || word.is(0xbe60_e010, 0x8400_e000)
}

/// Somewhere behind a base register: offsets are of so many vectors, whose length nobody knows here. Or
/// behind the addresses in a vector.
fn access(word: Word, is_scattered: bool, load: bool, out: &mut Operation) {
    let address = Address {
        base: (!is_scattered).then_some(pointer(word.rn())),
        ..Address::default()
    };
    out.accesses.push(Access {
        address,
        load,
        store: !load,
        size: 0,
        role: Role::Plain,
        repeated: true,
    });
    if !load {
        out.effects
            .push(Effect::Store(address, 0, Source::Computed));
    }
}

/// Those that write a general register.
fn compute(word: Word, out: &mut Operation) {
    let rd = word.rd();
    if word.is(0xffbf_f000, 0x04bf_5000) {
        set(rd, Source::Number, out); // RDVL, RDSVL
    } else if word.is(0xffa0_f000, 0x0420_5000) {
        set_pointer(rd, Source::Computed, out); // ADDVL, ADDPL, ADDSVL, ADDSPL
    } else if word.is(0xff30_fc00, 0x0420_e000) || word.is(0xff38_c000, 0x2520_8000) {
        set(rd, Source::Number, out); // CNTB and the like, CNTP
    } else if word.is(0xff20_e000, 0x0420_e000) || word.is(0xff38_f800, 0x2528_8800) {
        set(rd, Source::Computed, out); // INCB and the like, INCP and the like
    } else if word.is(0xff2e_e000, 0x0520_a000) {
        set(rd, Source::Computed, out); // LASTA, LASTB, CLASTA, CLASTB
    }
}

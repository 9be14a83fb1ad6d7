use super::super::registers::{general, set};
use super::super::word::Word;
use crate::machine::effect::{Access, Address, Effect, Operation, Role, Source};

/// "System": hints, barriers, system registers and instructions.
pub(super) fn decode(word: Word, out: &mut Operation) -> Option<()> {
    if word.is(0xfff0_0000, 0xd530_0000) {
        set(word.rd(), register(word), out); // MRS
    } else if word.is(0xfff0_0000, 0xd570_0000) {
        // MRRS: two registers of 64 bits.
        if word.rd() % 2 == 1 {
            return None;
        }
        set(word.rd(), Source::Number, out);
        set(word.rd() + 1, Source::Number, out);
    } else if is_result(word) {
        set(word.rd(), Source::Number, out);
    } else if matches!(word.0 & !0x1f, 0xd50b_7420 | 0xd50b_7460 | 0xd50b_7480) {
        zero(word, out);
    } else if word.0 == 0xd503_251f {
        out.effects.push(Effect::Set(16, Source::Number)); // CHKFEAT
    } else if word.bits(22, 2) > 0b01 {
        return None;
    }
    Some(())
}

/// SYSL; TSTART and TTEST (FEAT_TME).
fn is_result(word: Word) -> bool {
    word.is(0xfff0_0000, 0xd520_0000)
}

/// What Linux keeps in a system register.
fn register(word: Word) -> Source {
    match word.0 & !0x1f {
        0xd538_4100 => Source::Task,                 // SP_EL0
        0xd538_d080 | 0xd53c_d040 => Source::PerCpu, // TPIDR_EL1, TPIDR_EL2
        _ => Source::Number,
    }
}

/// DC ZVA, DC GVA, DC GZVA: a block, whose size DCZID_EL0 tells; 64 bytes are usual.
fn zero(word: Word, out: &mut Operation) {
    let address = Address {
        base: general(word.rd()),
        ..Address::default()
    };
    out.accesses.push(Access {
        address,
        load: false,
        store: true,
        size: 64,
        role: Role::Plain,
        repeated: true,
    });
    let is_tag = word.bits(5, 3) == 0b011; // DC GVA
    if !is_tag {
        out.effects.push(Effect::Store(address, 64, Source::Number));
    }
}

use super::super::registers::{set, ZERO};
use super::super::word::Word;
use super::transfer::at;
use crate::machine::effect::{Access, Effect, Operation, Role, Source};

/// Memory copies and sets (FEAT_MOPS): CPYP, CPYM, CPYE, SETP, SETM, SETE and their kin. A turn is of a
/// byte.
pub(super) fn decode(word: Word, out: &mut Operation) -> Option<()> {
    let (destination, length, source) = (word.rd(), word.rn(), word.rm());
    let is_set = word.bits(22, 2) == 0b11;
    let is_known = word.bits(30, 2) == 0 && !(is_set && word.bits(14, 2) == 0b11);
    if !is_known || destination == ZERO || length == ZERO || source == ZERO && !is_set {
        return None;
    }
    let role = |is_user: bool| if is_user { Role::User } else { Role::Plain };
    if !is_set {
        step(source, true, role(word.bit(13)), out);
    }
    step(destination, false, role(word.bit(12)), out);
    let written = Effect::Store(at(destination, 0), 1, Source::Number);
    out.effects.push(written);
    set(destination, Source::Computed, out);
    set(length, Source::Number, out);
    if !is_set {
        set(source, Source::Computed, out);
    }
    Some(())
}

fn step(base: u32, load: bool, role: Role, out: &mut Operation) {
    out.accesses.push(Access {
        address: at(base, 0),
        load,
        store: !load,
        size: 1,
        role,
        repeated: true,
    });
}

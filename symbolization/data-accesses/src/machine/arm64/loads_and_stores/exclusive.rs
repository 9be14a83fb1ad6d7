use super::super::registers::{set, ZERO};
use super::super::word::Word;
use super::transfer::{at, behind, change, computed, loaded, Transfer};
use crate::machine::effect::{Access, Effect, Operation, Role, Source};

/// "Load/store exclusive", "Load/store ordered", "Compare and swap".
pub(super) fn decode(word: Word, out: &mut Operation) -> Option<()> {
    let size = 1 << word.bits(30, 2);
    match (word.bit(23), word.bit(21)) {
        (false, false) => single(word, size, Role::Plain, out),
        (false, true) if word.bit(31) => pair(word, 4 << word.bits(30, 1), out),
        (false, true) => compare_pair(word, 4 << word.bits(30, 1), Role::Plain, out)?,
        (true, false) => ordered(word, size, out), // LDAR, LDLAR, STLR, STLLR
        (true, true) => compare(word, size, Role::Plain, out)?,
    }
    Some(())
}

/// With user mode's rights (FEAT_LSUI): LDTXR, STTXR, CAST, CASPT.
pub(super) fn unprivileged(word: Word, out: &mut Operation) -> Option<()> {
    let size = word.bits(30, 2);
    match (word.bit(23), word.bit(21), size) {
        (false, false, 0b10 | 0b11) => single(word, 1 << size, Role::User, out),
        (true, false, 0b11) => compare(word, 8, Role::User, out)?,
        (true, false, 0b01) => compare_pair(word, 8, Role::User, out)?,
        _ => return None,
    }
    Some(())
}

fn ordered(word: Word, size: u32, out: &mut Operation) {
    let transfer = Transfer {
        load: word.bit(22),
        vector: false,
        size,
        role: Role::Plain,
    };
    transfer.run(word.rd(), at(word.rn(), 0), out);
}

/// LDXR, LDAXR, STXR, STLXR.
fn single(word: Word, size: u32, role: Role, out: &mut Operation) {
    exclusive(word, word.rd(), 0, size, role, out);
    status(word, out);
}

/// LDXP, LDAXP, STXP, STLXP: of two registers of this size each.
fn pair(word: Word, size: u32, out: &mut Operation) {
    exclusive(word, word.rd(), 0, size, Role::Plain, out);
    exclusive(word, word.rt2(), size, size, Role::Plain, out);
    status(word, out);
}

fn exclusive(word: Word, register: u32, offset: u32, size: u32, role: Role, out: &mut Operation) {
    let address = behind(at(word.rn(), 0), offset);
    let load = word.bit(22);
    out.accesses.push(Access {
        address,
        load,
        store: !load,
        size,
        role,
        repeated: false,
    });
    if load {
        set(register, loaded(size, address), out);
    } else {
        // It may have failed, then memory is as it was.
        let effect = Effect::Store(address, size, computed(size));
        out.effects.push(effect);
    }
}

/// An exclusive store tells whether it failed.
fn status(word: Word, out: &mut Operation) {
    if !word.bit(22) {
        set(word.rm(), Source::Number, out);
    }
}

/// CAS: Rs is compared, and holds what was there; memory changes where they are equal.
fn compare(word: Word, size: u32, role: Role, out: &mut Operation) -> Option<()> {
    if word.rt2() != ZERO {
        return None;
    }
    let address = at(word.rn(), 0);
    change(address, size, role, computed(size), out);
    set(word.rm(), loaded(size, address), out);
    Some(())
}

/// CASP: of two registers of this size each.
fn compare_pair(word: Word, size: u32, role: Role, out: &mut Operation) -> Option<()> {
    let is_odd = word.rd() % 2 == 1 || word.rm() % 2 == 1;
    if word.rt2() != ZERO || is_odd {
        return None;
    }
    let address = at(word.rn(), 0);
    change(address, 2 * size, role, Source::Computed, out);
    set(word.rm(), loaded(size, address), out);
    set(word.rm() + 1, loaded(size, behind(address, size)), out);
    Some(())
}

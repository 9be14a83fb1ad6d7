use super::super::registers::{set, value};
use super::super::word::Word;
use super::transfer::{at, behind, change, computed, loaded, Transfer};
use crate::machine::effect::{Access, Effect, Operation, Role, Source};

/// SWP's o3 and opc.
const SWAP: u32 = 0b1000;

/// "Atomic memory operations".
pub(super) fn decode(word: Word, out: &mut Operation) -> Option<()> {
    let (size, operation) = (word.bits(30, 2), word.bits(12, 4));
    let address = at(word.rn(), 0);
    if word.bit(26) {
        // Of floating-point numbers (FEAT_LSFE), of which the first size is that of BFloat16.
        if matches!(operation & 0b111, 0b001..=0b011) {
            return None;
        }
        let size = 1 << size.max(1);
        change(address, size, Role::Plain, computed(size), out);
        return Some(());
    }
    match operation {
        0b1100 if word.is(0x00df_0000, 0x009f_0000) => {
            let transfer = Transfer {
                load: true, // LDAPR
                vector: false,
                size: 1 << size,
                role: Role::Plain,
            };
            transfer.run(word.rd(), address, out);
        }
        0b1001..=0b1011 | 0b1101 if size == 0b11 => block(word, operation, out)?,
        // RCWCLR, RCWSWP, RCWSET: 8 bytes.
        0b1001..=0b1011 if size < 0b10 => atomic(word, 8, Role::Plain, operation == 0b1010, out),
        0b0000..=SWAP => atomic(word, 1 << size, Role::Plain, operation == SWAP, out),
        _ => return None,
    }
    Some(())
}

/// LDTADD, LDTCLR, LDTSET, SWPT, and their names without a load: FEAT_LSUI.
pub(super) fn unprivileged(word: Word, out: &mut Operation) -> Option<()> {
    let operation = word.bits(12, 4);
    if !matches!(operation, 0b0000 | 0b0001 | 0b0011 | SWAP) {
        return None;
    }
    let size = 4 << word.bits(30, 1);
    atomic(word, size, Role::User, operation == SWAP, out);
    Some(())
}

fn atomic(word: Word, size: u32, role: Role, is_swap: bool, out: &mut Operation) {
    let address = at(word.rn(), 0);
    let stored = match size {
        8 if is_swap => value(word.rm()),
        _ => computed(size),
    };
    change(address, size, role, stored, out);
    let source = if is_swap {
        loaded(size, address)
    } else {
        computed(size)
    };
    set(word.rd(), source, out);
}

/// LD64B, ST64B, ST64BV, ST64BV0.
fn block(word: Word, operation: u32, out: &mut Operation) -> Option<()> {
    let (first, address) = (word.rd(), at(word.rn(), 0));
    if first > 22 || first % 2 == 1 {
        return None;
    }
    let load = operation == 0b1101;
    out.accesses.push(Access {
        address,
        load,
        store: !load,
        size: 64,
        role: Role::Plain,
        repeated: false,
    });
    for number in 0..8 {
        let part = behind(address, 8 * number);
        if load {
            set(first + number, Source::Load(part), out);
        } else {
            let stored = value(first + number);
            out.effects.push(Effect::Store(part, 8, stored));
        }
    }
    if matches!(operation, 0b1010 | 0b1011) {
        set(word.rm(), Source::Number, out); // a status
    }
    Some(())
}

/// LDCLRP, LDSETP, SWPP of two registers of 64 bits, and those that check page tables (RCW).
pub(super) fn pairs(word: Word, out: &mut Operation) -> Option<()> {
    if !matches!(
        word.bits(12, 4),
        0b0001 | 0b0011 | SWAP | 0b1001 | 0b1010 | 0b1011
    ) {
        return None;
    }
    let address = at(word.rn(), 0);
    change(address, 16, Role::Plain, Source::Computed, out);
    set(word.rd(), loaded(8, address), out);
    set(word.rm(), loaded(8, behind(address, 8)), out);
    Some(())
}

/// RCWCAS and RCWCASP.
pub(super) fn checked_compare(word: Word, out: &mut Operation) -> Option<()> {
    let is_pair = word.bit(10);
    let is_odd = word.rd() % 2 == 1 || word.rm() % 2 == 1;
    if word.bits(12, 4) != 0 || is_pair && is_odd {
        return None;
    }
    let address = at(word.rn(), 0);
    let size = if is_pair { 16 } else { 8 };
    change(address, size, Role::Plain, Source::Computed, out);
    set(word.rm(), loaded(8, address), out);
    if is_pair {
        set(word.rm() + 1, loaded(8, behind(address, 8)), out);
    }
    Some(())
}

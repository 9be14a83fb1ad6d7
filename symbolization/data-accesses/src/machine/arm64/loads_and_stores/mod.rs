//! "Loads and Stores".

mod atomics;
mod copies;
mod exclusive;
mod ordered;
mod pairs;
mod single;
mod structures;
mod tags;
mod transfer;

use super::word::Word;
use crate::machine::effect::{Address, Operation, Role};
use transfer::{at, Transfer};

pub(super) fn decode(word: Word, address: u64, out: &mut Operation) -> Option<()> {
    let vector = word.bit(26);
    match (word.bits(28, 2), word.bit(24)) {
        (0b00, _) if vector => structures::decode(word, out),
        (0b00, false) => exclusive::decode(word, out),
        (0b00, true) => exclusive::unprivileged(word, out),
        (0b01, false) => literal(word, address, out),
        (0b01, true) => ordered_and_others(word, out),
        (0b10, _) => pairs::decode(word, out),
        _ => single::decode(word, out),
    }
}

/// "Load register (literal)".
fn literal(word: Word, address: u64, out: &mut Operation) -> Option<()> {
    let vector = word.bit(26);
    let size = match (word.bits(30, 2), vector) {
        (0b11, false) => return Some(()), // PRFM
        (0b11, true) => return None,
        (0b10, false) => 4, // LDRSW
        (size, _) => 4 << size,
    };
    let literal = address.wrapping_add_signed(word.signed(5, 19) << 2);
    let transfer = Transfer {
        load: true,
        vector,
        size,
        role: Role::Plain,
    };
    let address = Address {
        displacement: literal as i64,
        ..Address::default()
    };
    transfer.run(word.rd(), address, out);
    Some(())
}

/// Bits 29 to 24 are 01x001: release consistency with offsets, copies, tags, later atomics.
fn ordered_and_others(word: Word, out: &mut Operation) -> Option<()> {
    let (size, vector) = (word.bits(30, 2), word.bit(26));
    match (word.bit(21), word.bits(10, 2)) {
        (false, 0b01) => copies::decode(word, out),
        (false, 0b00) if !vector => ordered::unscaled(word, out),
        (false, 0b10) if vector => ordered::unscaled(word, out),
        (false, 0b10) => ordered::moved(word, out),
        (false, 0b11) => guarded(word, out),
        (true, _) if vector => None,
        (true, _) if size == 0b11 => tags::decode(word, out),
        (true, 0b00) if size == 0b00 => atomics::pairs(word, out),
        (true, 0b01) if size < 0b10 => atomics::unprivileged(word, out),
        (true, 0b10 | 0b11) if size < 0b10 => atomics::checked_compare(word, out),
        _ => None,
    }
}

/// GCSSTR and GCSSTTR: into a stack of return addresses (FEAT_GCS).
fn guarded(word: Word, out: &mut Operation) -> Option<()> {
    if !word.is(0xffff_ec00, 0xd91f_0c00) {
        return None;
    }
    let is_user = word.bit(12);
    let transfer = Transfer {
        load: false,
        vector: false,
        size: 8,
        role: if is_user { Role::User } else { Role::Plain },
    };
    transfer.run(word.rd(), at(word.rn(), 0), out);
    Some(())
}

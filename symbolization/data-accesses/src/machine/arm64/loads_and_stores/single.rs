use super::super::registers::general;
use super::super::word::Word;
use super::atomics;
use super::transfer::{at, indexed, Indexing, Transfer};
use crate::machine::effect::{Address, Operation, Role};

/// "Load/store register": bits 29 to 27 are 111.
pub(super) fn decode(word: Word, out: &mut Operation) -> Option<()> {
    let form = word.bits(10, 2);
    if word.bit(24) {
        if is_prefetch(word) {
            return Some(());
        }
        let transfer = transfer(word, Role::Plain)?;
        let displacement = i64::from(word.bits(10, 12) * transfer.size);
        transfer.run(word.rd(), at(word.rn(), displacement), out);
        return Some(());
    }
    match (word.bit(21), form) {
        (true, 0b00) => atomics::decode(word, out),
        (true, 0b10) => register_offset(word, out),
        (true, _) => authenticated(word, out),
        (false, 0b00) if is_prefetch(word) => Some(()),
        (false, 0b10) if word.bit(26) => None,
        (false, _) => {
            let (indexing, role) = match form {
                0b01 => (Indexing::Post, Role::Plain),
                0b11 => (Indexing::Pre, Role::Plain),
                0b10 => (Indexing::Offset, Role::User), // LDTR, STTR
                _ => (Indexing::Offset, Role::Plain),   // LDUR, STUR
            };
            let transfer = transfer(word, role)?;
            let address = indexed(word.rn(), word.signed(12, 9), indexing, out);
            transfer.run(word.rd(), address, out);
            Some(())
        }
    }
}

/// PRFM, PRFUM, RPRFM.
fn is_prefetch(word: Word) -> bool {
    word.is(0xc4c0_0000, 0xc080_0000)
}

/// What size, V and opc mean.
pub(super) fn transfer(word: Word, role: Role) -> Option<Transfer> {
    let (size, vector, opc) = (word.bits(30, 2), word.bit(26), word.bits(22, 2));
    let (load, size) = match (vector, opc) {
        (true, 0b00 | 0b01) => (opc == 0b01, 1 << size),
        (true, _) if size != 0 => return None,
        (true, _) => (opc == 0b11, 16),
        // Loads that extend the sign to 64 and to 32 bits.
        (false, 0b10) if size == 0b11 => return None,
        (false, 0b11) if size >= 0b10 => return None,
        (false, _) => (opc != 0b00, 1 << size),
    };
    Some(Transfer {
        load,
        vector,
        size,
        role,
    })
}

/// "Load/store register (register offset)".
fn register_offset(word: Word, out: &mut Operation) -> Option<()> {
    // Of the extensions UXTW, LSL, SXTW and SXTX.
    if !word.bit(14) {
        return None;
    }
    if is_prefetch(word) {
        return Some(());
    }
    let transfer = transfer(word, Role::Plain)?;
    let scale = if word.bit(12) { transfer.size } else { 1 };
    let address = Address {
        index: general(word.rm()).map(|register| (register, scale as u8)),
        ..at(word.rn(), 0)
    };
    transfer.run(word.rd(), address, out);
    Some(())
}

/// LDRAA and LDRAB.
fn authenticated(word: Word, out: &mut Operation) -> Option<()> {
    if !word.is(0xff00_0000, 0xf800_0000) {
        return None;
    }
    let indexing = if word.bit(11) {
        Indexing::Pre
    } else {
        Indexing::Offset
    };
    let high = if word.bit(22) { -0x200 } else { 0 };
    let displacement = (high + i64::from(word.bits(12, 9))) * 8;
    let transfer = Transfer {
        load: true,
        vector: false,
        size: 8,
        role: Role::Plain,
    };
    let address = indexed(word.rn(), displacement, indexing, out);
    transfer.run(word.rd(), address, out);
    Some(())
}

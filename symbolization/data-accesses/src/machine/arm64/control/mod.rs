//! "Branches, Exception Generating and System instructions".

mod system;

use super::registers::general;
use super::word::Word;
use crate::machine::effect::{Control, Operation};

pub(super) fn decode(word: Word, address: u64, out: &mut Operation) -> Option<()> {
    let to = |distance: i64| address.wrapping_add_signed(distance << 2);
    out.control = match word.bits(24, 8) {
        _ if word.is(0x7c00_0000, 0x1400_0000) => {
            let target = to(word.signed(0, 26));
            match word.bit(31) {
                true => Control::Call(target), // BL
                false => Control::Jump(target),
            }
        }
        0x54 => Control::Branch(to(word.signed(5, 19))), // B.cond, BC.cond
        0x55 if word.is(0xffc0_001f, 0x5500_001f) => Control::Leave, // RETAASPPC, RETABSPPC
        0x34 | 0x35 | 0xb4 | 0xb5 => Control::Branch(to(word.signed(5, 19))), // CBZ, CBNZ
        0x36 | 0x37 | 0xb6 | 0xb7 => Control::Branch(to(word.signed(5, 14))), // TBZ, TBNZ
        // Compare and branch (FEAT_CMPBR).
        0x74 | 0x75 | 0xf4 | 0xf5 => Control::Branch(to(word.signed(5, 9))),
        0xd4 => exception(word)?,
        0xd5 => return system::decode(word, out),
        0xd6 | 0xd7 => register(word)?,
        _ => return None,
    };
    match word.bits(24, 8) {
        0x54 => out.if_equal = equal(word.bits(0, 4)),
        0xb4 | 0xb5 => (out.compared, out.if_equal) = (general(word.rd()), Some(!word.bit(24))),
        _ => {}
    }
    Some(())
}

/// What a condition says of the last comparison.
pub(super) fn equal(condition: u32) -> Option<bool> {
    match condition {
        0b0000 => Some(true),
        0b0001 => Some(false),
        _ => None,
    }
}

/// "Exception generation".
fn exception(word: Word) -> Option<Control> {
    match (word.bits(21, 3), word.bits(0, 5)) {
        (0b000, 0b0_0001..=0b0_0011) => Some(Control::Next), // SVC, HVC, SMC
        (0b001, 0) => Some(Control::Next),                   // BRK: WARN() returns behind it
        (0b010 | 0b011, 0) => Some(Control::Leave),          // HLT, TCANCEL
        (0b101, 0b0_0001..=0b0_0011) => Some(Control::Leave), // DCPS
        _ => None,
    }
}

/// "Unconditional branch (register)". Bit 24 is set where an authenticated one has a modifier.
fn register(word: Word) -> Option<Control> {
    if word.rm() != 0b1_1111 {
        return None;
    }
    let is_authenticated = word.bits(11, 5) == 0b0_0001;
    let is_plain = word.bits(10, 6) == 0 && !word.bit(24) && word.bits(0, 5) == 0;
    if !is_authenticated && !is_plain {
        return None;
    }
    // A branch to the zero register's address is none.
    let target = general(word.rn());
    match (word.bit(24), word.bits(21, 3)) {
        (_, 0b000) => Some(target.map_or(Control::Leave, Control::IndirectJump)),
        (_, 0b001) => Some(target.map_or(Control::Leave, Control::IndirectCall)),
        // RET; ERET; DRPS.
        (false, 0b010 | 0b100 | 0b101) => Some(Control::Leave),
        _ => None,
    }
}

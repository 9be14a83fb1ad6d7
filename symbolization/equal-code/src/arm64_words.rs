//! AArch64: fields of words that are parts of addresses, by the encodings of the Arm Architecture
//! Reference Manual (DDI 0487).

use crate::reference::Use;

pub(crate) const LENGTH: usize = 4;

/// The words of code at an address, each with its own address.
pub(crate) fn words(code: &[u8], start: u64) -> impl Iterator<Item = (u64, u32)> + '_ {
    let every = code.chunks_exact(LENGTH).enumerate();
    every.map(move |(number, bytes)| {
        let here = start.wrapping_add((number * LENGTH) as u64);
        (here, bytes.try_into().map_or(0, u32::from_le_bytes))
    })
}

/// The target of a direct branch that is not a call.
pub(crate) fn jump(word: u32, here: u64) -> Option<u64> {
    let (target, _) = branch(word, here)?;
    (!is_call(word)).then_some(target)
}

/// Whether an instruction is BL.
pub(crate) fn is_call(word: u32) -> bool {
    word >> 26 == 0b10_0101
}

/// The target of a direct branch, and the bits that hold it.
pub(crate) fn branch(word: u32, here: u64) -> Option<(u64, u32)> {
    let to = |distance: i64| here.wrapping_add_signed(distance << 2);
    let top = word >> 24;
    if word >> 26 & 0b1_1111 == 0b00101 {
        return Some((to(field(word, 0, 26)), 0x03ff_ffff));
    }
    if top == 0x54 || matches!(top & 0x7f, 0x34 | 0x35) {
        return Some((to(field(word, 5, 19)), 0x00ff_ffe0));
    }
    if matches!(top & 0x7f, 0x36 | 0x37) {
        return Some((to(field(word, 5, 14)), 0x0007_ffe0));
    }
    None
}

/// Whether an instruction can add the part of an address that ADRP leaves out: ADD without a shift,
/// loads and stores with an unsigned offset.
pub(crate) fn has_low_part(word: u32) -> bool {
    word & 0xffc0_0000 == 0x9100_0000 || word & 0x3b00_0000 == 0x3900_0000
}

/// What an instruction adds to its base register, and what it does with the sum.
pub(crate) fn offset(word: u32) -> Option<(i64, Use)> {
    let unsigned = i64::from(word >> 10 & 0xfff);
    match word & 0xffc0_0000 {
        0x9100_0000 => return Some((unsigned, Use::Address)),
        0x9140_0000 => return Some((unsigned << 12, Use::Address)),
        0xd100_0000 => return Some((-unsigned, Use::Address)),
        0xd140_0000 => return Some((-(unsigned << 12), Use::Address)),
        _ => {}
    }
    let vector = word >> 26 & 1 == 1;
    if word & 0x3a00_0000 == 0x2800_0000 {
        // Pairs.
        let scale = match (vector, word >> 30) {
            (true, size) => size + 2,
            (false, size) => 2 + (size >> 1),
        };
        // What is written back leads into the same variable, and is added before the access or after.
        let after = word >> 23 & 0b11 == 0b01;
        let distance = if after {
            0
        } else {
            field(word, 15, 7) << scale
        };
        return Some((distance, Use::Access(2 << scale)));
    }
    let scale = match (word >> 30, vector && word >> 23 & 1 == 1) {
        (0, true) => 4,
        (scale, _) => scale,
    };
    if word & 0x3b00_0000 == 0x3900_0000 {
        return Some((unsigned << scale, Use::Access(1 << scale)));
    }
    if word & 0x3b20_0c00 == 0x3800_0000 {
        let after = word >> 10 & 0b11 == 0b01;
        let distance = if after { 0 } else { field(word, 12, 9) };
        return Some((distance, Use::Access(1 << scale)));
    }
    None
}

/// Whether what stands behind an instruction is reached only by a branch: BR, RET, ERET, UDF. After
/// BRK, by which the kernel warns, it goes on.
pub(crate) fn leaves(word: u32) -> bool {
    let indirect = word & 0xfe00_0000 == 0xd600_0000 && word >> 21 & 0b11 != 0b01;
    indirect || word >> 16 == 0
}

/// Whether an instruction is MOV between registers.
pub(crate) fn is_move(word: u32) -> bool {
    word & 0xffe0_ffe0 == 0xaa00_03e0
}

/// What ADR or ADRP makes: an address, or the page of one.
pub(crate) fn beside(word: u32, here: u64) -> Option<u64> {
    if word >> 24 & 0x1f != 0x10 {
        return None;
    }
    let distance = field(word, 5, 19) << 2 | i64::from(word >> 29 & 0b11);
    Some(match is_page(word) {
        true => (here & !0xfff).wrapping_add_signed(distance << 12),
        false => here.wrapping_add_signed(distance),
    })
}

pub(crate) fn is_page(word: u32) -> bool {
    word & 0x9f00_0000 == 0x9000_0000
}

/// A signed field of a word.
pub(crate) fn field(word: u32, lowest: u32, bits: u32) -> i64 {
    let left = 32 - lowest - bits;
    i64::from((word << left) as i32 >> (32 - bits))
}

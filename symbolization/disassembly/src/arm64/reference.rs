/// The address that an instruction names: the target of a direct branch, a literal, what ADR makes, the
/// page that ADRP makes; 0 where it names none.
pub(super) fn reference(word: u32, address: u64) -> u64 {
    let top = word >> 24;
    if word >> 26 & 0b1_1111 == 0b00101 {
        return behind(address, field(word, 0, 26) << 2);
    }
    // B.cond, CBZ, CBNZ; literals of loads and prefetches.
    if top == 0x54 || matches!(top & 0x7f, 0x34 | 0x35) || word & 0x3b00_0000 == 0x1800_0000 {
        return behind(address, field(word, 5, 19) << 2);
    }
    if matches!(top & 0x7f, 0x36 | 0x37) {
        return behind(address, field(word, 5, 14) << 2);
    }
    if top & 0x1f == 0x10 {
        let distance = field(word, 5, 19) << 2 | i64::from(word >> 29 & 0b11);
        return match word >> 31 {
            0 => behind(address, distance),
            _ => behind(address & !0xfff, distance << 12),
        };
    }
    0
}

/// A signed field of a word.
fn field(word: u32, lowest: u32, bits: u32) -> i64 {
    let left = 32 - lowest - bits;
    i64::from((word << left) as i32 >> (32 - bits))
}

fn behind(address: u64, distance: i64) -> u64 {
    address.wrapping_add_signed(distance)
}

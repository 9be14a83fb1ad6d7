use super::word::{field, UNIMP};

/// The instruction of 32 bits that one of 16 bits stands for ("C" extension, "RVC Instruction Set
/// Listings"); None for what is not allocated.
pub(super) fn expand(word: u32) -> Option<u32> {
    let (rd, rs2) = (field(word, 7, 5), field(word, 2, 5));
    // The eight registers that have 3 bits.
    let (high, low) = (8 + field(word, 7, 3), 8 + field(word, 2, 3));
    let small = signed(field(word, 12, 1) << 5 | rs2, 6);
    let shift = (small & 0x3f) as u32;
    let words = bits(word, &[(10, 3, 3), (6, 1, 2), (5, 1, 6)]);
    let doubles = bits(word, &[(10, 3, 3), (5, 2, 6)]);
    if word == 0 {
        return Some(UNIMP);
    }
    Some(match (field(word, 0, 2), field(word, 13, 3)) {
        (0, 0) => {
            let size = bits(word, &[(11, 2, 4), (7, 4, 6), (6, 1, 2), (5, 1, 3)]);
            (size != 0).then(|| immediate(0x13, 0, low, SP, size as i32))?
        }
        (0, 1) => immediate(0x07, 3, low, high, doubles as i32),
        (0, 2) => immediate(0x03, 2, low, high, words as i32),
        (0, 3) => immediate(0x03, 3, low, high, doubles as i32),
        (0, 5) => store(0x27, 3, high, low, doubles),
        (0, 6) => store(0x23, 2, high, low, words),
        (0, 7) => store(0x23, 3, high, low, doubles),
        (1, 0) => immediate(0x13, 0, rd, rd, small),
        (1, 1) if rd != 0 => immediate(0x1b, 0, rd, rd, small),
        (1, 2) => immediate(0x13, 0, rd, 0, small),
        (1, 3) if small == 0 => return None,
        (1, 3) if rd == SP => {
            let size = bits(
                word,
                &[(12, 1, 9), (6, 1, 4), (5, 1, 6), (3, 2, 7), (2, 1, 5)],
            );
            immediate(0x13, 0, SP, SP, signed(size, 10))
        }
        (1, 3) => (small as u32) << 12 | rd << 7 | 0x37,
        (1, 4) => match (field(word, 10, 2), field(word, 12, 1), field(word, 5, 2)) {
            (0, ..) => immediate(0x13, 5, high, high, shift as i32),
            (1, ..) => immediate(0x13, 5, high, high, (shift | 0x400) as i32),
            (2, ..) => immediate(0x13, 7, high, high, small),
            (_, 0, 0) => registers(0x33, 0, 0x20, high, high, low),
            (_, 0, 1) => registers(0x33, 4, 0, high, high, low),
            (_, 0, 2) => registers(0x33, 6, 0, high, high, low),
            (_, 0, _) => registers(0x33, 7, 0, high, high, low),
            (_, _, 0) => registers(0x3b, 0, 0x20, high, high, low),
            (_, _, 1) => registers(0x3b, 0, 0, high, high, low),
            _ => return None,
        },
        (1, 5) => {
            let far = [
                (12, 1, 11),
                (11, 1, 4),
                (9, 2, 8),
                (8, 1, 10),
                (7, 1, 6),
                (6, 1, 7),
                (3, 3, 1),
                (2, 1, 5),
            ];
            jump(signed(bits(word, &far), 12))
        }
        (1, way @ (6 | 7)) => {
            let near = [(12, 1, 8), (10, 2, 3), (5, 2, 6), (3, 2, 1), (2, 1, 5)];
            branch(way - 6, high, signed(bits(word, &near), 9))
        }
        (2, 0) => immediate(0x13, 1, rd, rd, shift as i32),
        (2, 1) => immediate(0x07, 3, rd, SP, doubles_of_stack(word)),
        (2, 2) if rd != 0 => {
            let offset = bits(word, &[(12, 1, 5), (4, 3, 2), (2, 2, 6)]);
            immediate(0x03, 2, rd, SP, offset as i32)
        }
        (2, 3) if rd != 0 => immediate(0x03, 3, rd, SP, doubles_of_stack(word)),
        (2, 4) => match (field(word, 12, 1), rd, rs2) {
            (0, 0, 0) => return None,
            (0, _, 0) => immediate(0x67, 0, 0, rd, 0),
            (0, ..) => immediate(0x13, 0, rd, rs2, 0), // as mv
            (_, 0, 0) => 0x0010_0073,                  // ebreak
            (_, _, 0) => immediate(0x67, 0, 1, rd, 0),
            _ => registers(0x33, 0, 0, rd, rd, rs2),
        },
        (2, 5) => store(0x27, 3, SP, rs2, bits(word, &[(10, 3, 3), (7, 3, 6)])),
        (2, 6) => store(0x23, 2, SP, rs2, bits(word, &[(9, 4, 2), (7, 2, 6)])),
        (2, 7) => store(0x23, 3, SP, rs2, bits(word, &[(10, 3, 3), (7, 3, 6)])),
        _ => return None,
    })
}

const SP: u32 = 2;

fn doubles_of_stack(word: u32) -> i32 {
    bits(word, &[(12, 1, 5), (5, 2, 3), (2, 3, 6)]) as i32
}

/// The number that has these fields: where each begins, how many bits it has, and where they stand.
fn bits(word: u32, fields: &[(u32, u32, u32)]) -> u32 {
    let one = |(from, length, to): &(u32, u32, u32)| field(word, *from, *length) << to;
    fields.iter().map(one).fold(0, |all, one| all | one)
}

fn signed(number: u32, bits: u32) -> i32 {
    (number << (32 - bits)) as i32 >> (32 - bits)
}

fn immediate(opcode: u32, kind: u32, rd: u32, rs1: u32, number: i32) -> u32 {
    (number as u32) << 20 | rs1 << 15 | kind << 12 | rd << 7 | opcode
}

fn registers(opcode: u32, kind: u32, more: u32, rd: u32, rs1: u32, rs2: u32) -> u32 {
    more << 25 | rs2 << 20 | rs1 << 15 | kind << 12 | rd << 7 | opcode
}

fn store(opcode: u32, kind: u32, base: u32, from: u32, offset: u32) -> u32 {
    let (high, low) = (offset >> 5, offset & 0x1f);
    high << 25 | from << 20 | base << 15 | kind << 12 | low << 7 | opcode
}

fn branch(kind: u32, register: u32, distance: i32) -> u32 {
    let number = distance as u32;
    let high = (number >> 12 & 1) << 31 | (number >> 5 & 0x3f) << 25;
    let low = (number >> 1 & 0xf) << 8 | (number >> 11 & 1) << 7;
    high | low | register << 15 | kind << 12 | 0x63
}

fn jump(distance: i32) -> u32 {
    let number = distance as u32;
    let high = (number >> 20 & 1) << 31 | (number >> 1 & 0x3ff) << 21;
    let low = (number >> 11 & 1) << 20 | (number >> 12 & 0xff) << 12;
    high | low | 0x6f
}

//! AArch64: which general registers an instruction reads and writes, by the encodings of the Arm
//! Architecture Reference Manual (DDI 0487), "Top-level encodings for A64".

/// Registers as bits; never the stack pointer or the register that is always 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Effects {
    /// What it reads other than to store it as it is.
    pub(crate) reads: u32,
    /// What it stores as it is.
    pub(crate) stores: u32,
    /// What it certainly writes.
    pub(crate) writes: u32,
}

const ALL: u32 = 0x7fff_ffff;

pub(crate) fn effects(word: u32) -> Effects {
    let bit = |lowest: u32| (1 << (word >> lowest & 0x1f)) & ALL;
    let (d, n, m, a) = (bit(0), bit(5), bit(16), bit(10));
    match word >> 25 & 0b1111 {
        0b1000 | 0b1001 => match word >> 23 & 0b111 {
            0b000 | 0b001 => of(0, d),
            0b101 => of(if word >> 29 & 0b11 == 0b11 { d } else { 0 }, d), // MOVK
            0b110 => of(if word >> 29 & 0b11 == 0b01 { n | d } else { n }, d), // BFM
            0b111 => of(n | m, d),
            _ => of(n, d),
        },
        0b1010 | 0b1011 => system(word, d, n),
        0b0101 | 0b1101 => match (word >> 28 & 1, word >> 21 & 0b1111) {
            (0, _) => of(n | m, d),
            (_, 0b0000) if word >> 10 & 0b11_1111 != 0 => of(n, 0), // RMIF, SETF
            (_, 0b0010) if word >> 11 & 1 == 1 => of(n, 0),         // CCMP of a number
            (_, 0b0010) => of(n | m, 0),
            (_, 0b0110) if word >> 30 & 1 == 1 => {
                // One source: the other field is part of the operation. PAC changes its register.
                of(if m == 1 { n } else { n | d }, d)
            }
            (_, high) if high >= 0b1000 => of(n | m | a, d),
            _ => of(n | m, d),
        },
        0b0111 | 0b1111 => vectors(word, d, n),
        0b0100 | 0b0110 | 0b1100 | 0b1110 => memory(word, [d, n, m, a]),
        // SVE, SME, or no instruction.
        _ => of(ALL, 0),
    }
}

fn of(reads: u32, writes: u32) -> Effects {
    Effects {
        reads,
        stores: 0,
        writes,
    }
}

/// Branches, exceptions and system instructions.
fn system(word: u32, d: u32, n: u32) -> Effects {
    if word & 0x7c00_0000 == 0x3400_0000 {
        return of(d, 0); // CBZ, TBZ
    }
    if word & 0xfe00_0000 == 0xd600_0000 {
        return of(n, 0); // BR, BLR, RET
    }
    match word & 0xffe0_0000 {
        0xd520_0000 => of(0, d), // MRS, SYSL
        0xd500_0000 => of(d, 0), // MSR, SYS
        _ => of(0, 0),
    }
}

/// Vectors and floating point: few read or write a general register.
fn vectors(word: u32, d: u32, n: u32) -> Effects {
    let code = word >> 16 & 0b111;
    if word & 0x5f20_fc00 == 0x1e20_0000 || word & 0x5f20_0000 == 0x1e00_0000 {
        return match code {
            0b010 | 0b011 | 0b111 => of(n, 0),
            _ => of(0, d),
        };
    }
    if word & 0xbfe0_8400 == 0x0e00_0400 {
        return match word >> 11 & 0b1111 {
            0b0001 | 0b0011 => of(n, 0), // DUP, INS
            0b0101 | 0b0111 => of(0, d), // SMOV, UMOV
            _ => of(0, 0),
        };
    }
    of(0, 0)
}

fn memory(word: u32, [t, n, m, a]: [u32; 4]) -> Effects {
    let general = word >> 26 & 1 == 0;
    let mine = |registers: u32| if general { registers } else { 0 };
    let load = word >> 22 & 1 == 1;
    let moved = |loads: bool, reads: u32, registers: u32| Effects {
        reads,
        stores: if loads { 0 } else { mine(registers) },
        writes: if loads { mine(registers) } else { 0 },
    };
    match (word >> 28 & 0b11, word >> 24 & 1) {
        (0b00, _) if !general => of(n | m, 0),
        (0b00, _) if word >> 21 & 1 == 1 && (word >> 23 & 1 == 1 || word >> 31 == 0) => {
            // CAS, CASP.
            Effects {
                reads: n,
                stores: t | m,
                writes: m,
            }
        }
        (0b00, _) => {
            let pair = if word >> 21 & 1 == 1 { a } else { 0 };
            let mut found = moved(load, n, t | pair);
            if !load && word >> 23 & 1 == 0 {
                found.writes = m; // Whether it was stored.
            }
            found
        }
        (0b01, 0) => of(0, mine(t)),
        (0b01, _) => match word >> 24 {
            0xd9 => of(n | t, 0), // Tags
            _ => moved(word >> 22 & 0b11 != 0, n, t),
        },
        (0b10, _) => moved(load, n, t | a),
        (_, 0) if word >> 21 & 1 == 1 && word >> 10 & 0b11 == 0 => Effects {
            reads: n,
            stores: m,
            writes: mine(t),
        },
        (_, 0) if word >> 21 & 1 == 1 && word >> 10 & 1 == 1 => of(n, mine(t)),
        (_, high) => {
            let index = if high == 0 && word >> 21 & 1 == 1 {
                m
            } else {
                0
            };
            let operation = word >> 22 & 0b11;
            if general && word >> 30 == 0b11 && operation == 0b10 {
                return of(n | index, 0); // PRFM: the field is not a register.
            }
            moved(operation != 0, n | index, t)
        }
    }
}

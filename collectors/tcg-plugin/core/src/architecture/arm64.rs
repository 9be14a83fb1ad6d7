//! arm64. Encodings: Arm Architecture Reference Manual (DDI 0487), C4.1. Programs of 32 bits are
//! read as if they had 64, which costs callers there and no counts.

use std::num::NonZeroU64;

use crate::architecture::{Architecture, Does, End, Linkage, Mark, Memory, Sequence, Watched};

/// 64-bit Arm.
pub struct Arm64;

/// A mark is `movz xzr, #NUMBER, lsl #48`: it writes the register that keeps nothing.
const MARK: u32 = 0xd2e0_001f;
const MARK_NUMBER: u32 = 0xffff << 5;
const FIRST_MARK: u32 = 0x4901;

/// The frame pointer, the link register, and the number of the stack pointer as a base.
const FP: u32 = 29;
const LR: u32 = 30;
const SP: u32 = 31;

/// A table has 16 vectors of so many bytes each, and is aligned to its size (D1.4, VBAR_EL1).
const VECTOR: u64 = 0x80;
const VECTORS: u64 = 16 * VECTOR;

impl Architecture for Arm64 {
    fn name(&self) -> &'static str {
        "aarch64"
    }

    fn mark(&self, code: &[u8]) -> Option<Mark> {
        let word = word(code)?;
        if word & !MARK_NUMBER != MARK {
            return None;
        }
        let number = field(word, 5, 16).checked_sub(FIRST_MARK)?;
        Mark::ALL.get(number as usize).copied()
    }

    fn does(&self, code: &[u8], address: u64) -> Does {
        let word = word(code);
        Does {
            end: word.map_or(End::Next { target: 0 }, |word| end(word, address)),
            iterates: None,
            watched: word.and_then(|word| watched(word, self.in_kernel(address))),
            // Programs of 32 bits are below.
            sequence: Sequence::of(address >> 32 != 0 && word.is_some_and(only_computes)),
        }
    }

    /// Loads and stores are those of C4.1.94; their base is in bits 9 to 5.
    fn memory(&self, code: &[u8]) -> Memory {
        let Some(word) = word(code).filter(|word| word & 0x0a00_0000 == 0x0800_0000) else {
            return Memory::Nothing;
        };
        // LDR (literal) has no base.
        let literal = word & 0x3b00_0000 == 0x1800_0000;
        if field(word, 5, 5) == SP && !literal {
            return Memory::Nothing;
        }
        // Exclusive ones and CAS, but neither LDAR nor STLR; LDADD, SWP and their like, with LSE.
        let exclusive = word & 0x3f00_0000 == 0x0800_0000;
        let ordered = word & 0x00a0_0000 == 0x0080_0000;
        let atomic = word & 0x3f20_0c00 == 0x3820_0000 && word & 0xf000 != 0xc000; // LDAPR
        if exclusive && !ordered || atomic {
            return Memory::Locked;
        }
        Memory::Plain
    }

    fn in_kernel(&self, address: u64) -> bool {
        address >> 63 == 1
    }

    fn linkage(&self) -> Linkage {
        Linkage::Register
    }

    fn vectors(&self, address: u64) -> Option<u64> {
        (address % VECTOR == 0).then_some(address & !(VECTORS - 1))
    }

    fn program_counter(&self) -> &'static str {
        "pc"
    }

    fn stack_pointer(&self) -> &'static str {
        "sp"
    }

    /// What the kernel adds to get at its CPU's own data (arch/arm64/include/asm/percpu.h).
    fn vcpu_registers(&self) -> &'static [&'static str] {
        &["TPIDR_EL1"]
    }

    /// It is 0 until the CPUs' data are set up.
    fn vcpu(&self, value: u64) -> Option<NonZeroU64> {
        NonZeroU64::new(value)
    }

    /// The kernel calls memcpy() and the like before the MMU is on.
    fn boots_apart(&self) -> bool {
        false
    }
}

/// An instruction; None for half of one, which 32-bit code has.
fn word(code: &[u8]) -> Option<u32> {
    Some(u32::from_le_bytes(code.try_into().ok()?))
}

fn field(word: u32, low: u32, bits: u32) -> u32 {
    word >> low & ((1 << bits) - 1)
}

/// Where a jump in `word` at `address` leads: its field of so many bits from `low` on is the
/// distance in instructions.
fn target(word: u32, address: u64, low: u32, bits: u32) -> u64 {
    let distance = (word << (32 - low - bits)) as i32 >> (32 - bits);
    address.wrapping_add_signed(i64::from(distance) * 4)
}

fn end(word: u32, address: u64) -> End {
    match word >> 24 {
        0x14..=0x17 => End::Next {
            target: target(word, address, 0, 26), // B
        },
        0x94..=0x97 => End::Call, // BL
        // B.cond, BC.cond; CBZ, CBNZ
        0x54 | 0x34 | 0x35 | 0xb4 | 0xb5 => End::Branch {
            target: target(word, address, 5, 19),
        },
        // TBZ, TBNZ
        0x36 | 0x37 | 0xb6 | 0xb7 => End::Branch {
            target: target(word, address, 5, 14),
        },
        // The same with pointers that are authenticated: 0xd7 and some of 0xd6.
        0xd6 | 0xd7 => match field(word, 21, 3) {
            0 if field(word, 5, 5) == LR => End::Return, // BR, as longjmp() returns
            0 => End::Jump,                              // BR
            1 => End::Call,                              // BLR
            2 => End::Return,                            // RET
            4 => End::Leave,                             // ERET
            _ => End::Next { target: 0 },
        },
        0xd4 => match (field(word, 21, 3), field(word, 0, 2)) {
            // HVC, SMC: QEMU is the firmware that is called, and goes on behind them.
            (0, 2 | 3) => End::Next { target: 0 },
            _ => End::Enter, // SVC, BRK, HLT
        },
        0 if word >> 16 == 0 => End::Enter,    // UDF
        _ if word == 0xd503_207f => End::Halt, // WFI
        _ => End::Next { target: 0 },
    }
}

/// The frame pointer and another register go to memory that is not a stack, or come from there. In the
/// kernel that is `cpu_switch_to()` (arch/arm64/kernel/entry.S), which moves its base along: `stp
/// x29, x9, [x8], #16`; in programs `setjmp()`, `getcontext()` and the like: `stp x29, x30, [x0,
/// #80]`, `stp x28, x29, [x0, #408]`.
fn watched(word: u32, in_kernel: bool) -> Option<&'static Watched> {
    let (first, base, second) = (field(word, 0, 5), field(word, 5, 5), field(word, 10, 5));
    if base == SP || base == FP {
        return None;
    }
    let (of_task, of_program) = (first == FP && second < FP, first == FP || second == FP);
    match word >> 22 {
        0b10_1010_0010 if in_kernel && of_task => Some(&Watched::Saves), // STP, post-index
        0b10_1010_0011 if in_kernel && of_task => Some(&Watched::Restores), // LDP, post-index
        0b10_1010_0100 if !in_kernel && of_program => Some(&Watched::Saves), // STP, offset
        0b10_1010_0101 if !in_kernel && of_program => Some(&Watched::Restores), // LDP, offset
        _ => None,
    }
}

/// Whether an instruction does nothing but compute on general registers: C4.1.92 and C4.1.95,
/// without memory tags and pointer authentication.
fn only_computes(word: u32) -> bool {
    match field(word, 25, 4) {
        0b1000 | 0b1001 => field(word, 23, 3) != 0b011, // ADDG, SUBG
        // Of one source: RBIT, REV, CLZ, but not PACIA. Of two: UDIV, SDIV, shifts and CRC32, but not
        // SUBP, IRG or PACGA.
        0b0101 | 0b1101 if word & 0x5fe0_0000 == 0x5ac0_0000 => field(word, 16, 5) == 0,
        0b0101 | 0b1101 if word & 0x5fe0_0000 == 0x1ac0_0000 => {
            matches!(field(word, 10, 6), 2 | 3 | 8..=11 | 16..=23)
        }
        0b0101 | 0b1101 => true,
        _ => word == 0xd503_201f || word & !0xc0 == 0xd503_241f, // NOP, BTI
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KERNEL: u64 = 0xffff_8000_8000_0000;

    fn does(word: u32, address: u64) -> Does {
        Arm64.does(&word.to_le_bytes(), address)
    }

    #[test]
    fn what_only_computes_goes_on_in_programs_of_64_bits() {
        for (word, goes_on) in [
            (0x9100_8020u32, true), // add x0, x1, #32
            (0x9000_0000, true),    // adrp x0, .
            (0xd280_0020, true),    // mov x0, #1
            (0xaa01_03e0, true),    // mov x0, x1
            (0xeb01_001f, true),    // cmp x0, x1
            (0x9a81_0000, true),    // csel x0, x0, x1, eq
            (0x9b02_7c20, true),    // mul x0, x1, x2
            (0x9ac2_0820, true),    // udiv x0, x1, x2
            (0x9ac2_2020, true),    // lsl x0, x1, x2
            (0xdac0_1020, true),    // clz x0, x1
            (0xd503_201f, true),    // nop
            (0xd503_245f, true),    // bti c
            (0x9180_0420, false),   // addg x0, x1, #0, #1
            (0x9ac2_1020, false),   // irg x0, x1, x2
            (0x9ac2_3020, false),   // pacga x0, x1, x2
            (0xdac1_0020, false),   // pacia x0, x1
            (0xd503_233f, false),   // paciasp
            (0xd503_205f, false),   // wfe
            (0xf940_0020, false),   // ldr x0, [x1]
            (0x1e61_2800, false),   // fadd d0, d0, d1
            (0xd538_0000, false),   // mrs x0, midr_el1
            (0xd400_0001, false),   // svc #0
        ] {
            let known = does(word, KERNEL).sequence == Sequence::GoesOn;
            assert_eq!(known, goes_on, "{word:x}");
            assert_eq!(does(word, 0x1_0000).sequence, Sequence::MayFault);
        }
    }

    #[test]
    fn ends_are_told_apart() {
        for (word, expected) in [
            (0x1400_0002u32, End::Next { target: KERNEL + 8 }), // b .+8
            (0x17ff_ffff, End::Next { target: KERNEL - 4 }),    // b .-4
            (0x9400_0001, End::Call),                           // bl .+4
            (0x97ff_fffe, End::Call),                           // bl .-8
            (0xd63f_0100, End::Call),                           // blr x8
            (0xd73f_0a11, End::Call),                           // blraa x16, x17
            (0xd63f_0bff, End::Call),                           // blraaz xzr's number
            (0xd61f_0100, End::Jump),                           // br x8
            (0xd71f_0a11, End::Jump),                           // braa x16, x17
            (0xd61f_03c0, End::Return),                         // br x30
            (0xd65f_03c0, End::Return),                         // ret
            (0xd65f_0120, End::Return),                         // ret x9
            (0xd65f_0bff, End::Return),                         // retaa
            (0xd65f_0fff, End::Return),                         // retab
            (0xd69f_03e0, End::Leave),                          // eret
            (0xd69f_0bff, End::Leave),                          // eretaa
            (0xd400_0001, End::Enter),                          // svc #0
            (0xd420_0000, End::Enter),                          // brk #0
            (0xd421_0000, End::Enter),                          // brk #0x800
            (0xd400_0002, End::Next { target: 0 }),             // hvc #0
            (0xd400_0003, End::Next { target: 0 }),             // smc #0
            (0x0000_0000, End::Enter),                          // udf #0
            (0x0000_ffff, End::Enter),                          // udf #65535
            (0x5400_0041, End::Branch { target: KERNEL + 8 }),  // b.ne .+8
            (0x54ff_ffe0, End::Branch { target: KERNEL - 4 }),  // b.eq .-4
            (0xb400_0040, End::Branch { target: KERNEL + 8 }),  // cbz x0, .+8
            (0x35ff_ffe0, End::Branch { target: KERNEL - 4 }),  // cbnz w0, .-4
            (0xb600_0040, End::Branch { target: KERNEL + 8 }),  // tbz x0, #32, .+8
            (0x3707_fffe, End::Branch { target: KERNEL - 4 }),  // tbnz w30, #0, .-4
            (0xd503_201f, End::Next { target: 0 }),             // nop
            (0xd503_3fdf, End::Next { target: 0 }),             // isb
            (0xd503_207f, End::Halt),                           // wfi
            (0x9400_0001 ^ 1 << 31, End::Next { target: KERNEL + 4 }), // b .+4
        ] {
            assert_eq!(does(word, KERNEL).end, expected, "{word:x}");
        }
        // Half of an instruction.
        assert_eq!(Arm64.does(&[0, 0], 0).end, End::Next { target: 0 });
        assert_eq!(Arm64.does(&[], 0).end, End::Next { target: 0 });
    }

    #[test]
    fn a_saved_frame_pointer_tells_of_switches() {
        let (saves, restores) = (Some(&Watched::Saves), Some(&Watched::Restores));
        for (word, in_kernel, in_programs) in [
            (0xa881_251du32, saves, None), // stp x29, x9, [x8], #16
            (0xa8c1_251d, restores, None), // ldp x29, x9, [x8], #16
            (0xa805_781d, None, None),     // stnp x29, x30, [x0, #80]
            (0xa905_781d, None, saves),    // stp x29, x30, [x0, #80]
            (0xa945_781d, None, restores), // ldp x29, x30, [x0, #80]
            (0xa905_101d, None, saves),    // stp x29, x4, [x0, #80]
            (0xa9be_7bfd, None, None),     // stp x29, x30, [sp, #-32]!
            (0xa8c2_7bfd, None, None),     // ldp x29, x30, [sp], #32
            (0xa901_7bfd, None, None),     // stp x29, x30, [sp, #16]
            (0xa881_2513, None, None),     // stp x19, x9, [x8], #16
            (0x2905_781d, None, None),     // stp w29, w30, [x0, #40]
            (0xd503_201f, None, None),     // nop
        ] {
            assert_eq!(does(word, KERNEL).watched, in_kernel, "{word:x}");
            assert_eq!(does(word, 0x40_0000).watched, in_programs, "{word:x}");
        }
    }

    #[test]
    fn accesses_to_memory_are_told_apart() {
        for (word, expected) in [
            (0xf940_0420u32, Memory::Plain), // ldr x0, [x1, #8]
            (0xa940_0c22, Memory::Plain),    // ldp x2, x3, [x1]
            (0x5800_0040, Memory::Plain),    // ldr x0, .+8
            (0x5800_03e0, Memory::Plain),    // ldr x0, .+124
            (0xc85f_7c20, Memory::Locked),   // ldxr x0, [x1]
            (0xc802_7c20, Memory::Locked),   // stxr w2, x0, [x1]
            (0xc8a0_7c22, Memory::Locked),   // cas x0, x2, [x1]
            (0xc8df_fc20, Memory::Plain),    // ldar x0, [x1]
            (0xc89f_fc20, Memory::Plain),    // stlr x0, [x1]
            (0xf820_0022, Memory::Locked),   // ldadd x0, x2, [x1]
            (0xf820_8022, Memory::Locked),   // swp x0, x2, [x1]
            (0xf8bf_c020, Memory::Plain),    // ldapr x0, [x1]
            (0x7821_6802, Memory::Plain),    // strh w2, [x0, x1]
            (0xf940_07e0, Memory::Nothing),  // ldr x0, [sp, #8]
            (0xa9be_7bfd, Memory::Nothing),  // stp x29, x30, [sp, #-32]!
            (0x9400_0001, Memory::Nothing),  // bl .+4
            (0x8b02_0020, Memory::Nothing),  // add x0, x1, x2
            (0xd503_201f, Memory::Nothing),  // nop
        ] {
            assert_eq!(Arm64.memory(&word.to_le_bytes()), expected, "{word:x}");
        }
    }

    #[test]
    fn the_documented_words_are_marks_and_others_are_not() {
        let mark = |word: u32| Arm64.mark(&word.to_le_bytes());
        let words = [
            0xd2e9_203f,
            0xd2e9_205f,
            0xd2e9_207f,
            0xd2e9_209f,
            0xd2e9_20bf,
            0xd2e9_20df,
        ];
        assert_eq!(words.map(mark), Mark::ALL.map(Some));
        for word in [
            0xd2e9_201f, // number 0x4900
            0xd2e9_20ff, // 0x4907
            0xd2e9_203e, // to x30
            0xd2c9_203f, // lsl #32
            0x52e9_203f,
            0xd2e0_001f, // 0
        ] {
            assert_eq!(mark(word), None, "{word:x}");
        }
        assert_eq!(Arm64.mark(&[0x3f, 0x20]), None);
    }

    #[test]
    fn vectors_are_known_by_their_table() {
        let table = Arm64.vectors(KERNEL + 0x800);
        assert_eq!(table, Some(KERNEL + 0x800));
        assert_eq!(Arm64.vectors(KERNEL + 0x880), table);
        assert_eq!(Arm64.vectors(KERNEL + 0xf80), table);
        assert_ne!(Arm64.vectors(KERNEL + 0x1000), table);
        assert_eq!(Arm64.vectors(KERNEL + 0x884), None);
    }
}

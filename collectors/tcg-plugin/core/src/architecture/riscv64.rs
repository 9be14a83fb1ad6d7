//! RISC-V. Encodings: The RISC-V Instruction Set Manual, volume I ("RV32/64G Instruction Set
//! Listings", "C" extension) and volume II (privileged instructions).

use std::num::NonZeroU64;

use crate::architecture::{Architecture, Does, End, Linkage, Mark, Memory, Sequence, Watched};

/// RISC-V of 64 bits.
pub struct Riscv64;

/// A mark is `slti zero, zero, NUMBER`, a hint of those that are left to programs.
const MARK: u32 = 0x0000_2013;
const FIRST_MARK: u32 = 0x491;

/// Where QEMU's machine has its firmware, below the kernel. It is neither the kernel's nor a
/// program's, and what calls it is interrupted, as by an exception.
const FIRMWARE: std::ops::Range<u64> = 0x8000_0000..0x8020_0000;

/// Registers: the link register and its alternate, the stack, thread and frame pointers.
const RA: u32 = 1;
const SP: u32 = 2;
const TP: u32 = 4;
const T0: u32 = 5;
const FP: u32 = 8;

impl Architecture for Riscv64 {
    fn name(&self) -> &'static str {
        "riscv64"
    }

    fn mark(&self, code: &[u8]) -> Option<Mark> {
        let word = u32::from_le_bytes(code.try_into().ok()?);
        let number = (word & 0xfffff == MARK).then_some(word >> 20)?;
        let number = number.checked_sub(FIRST_MARK)?;
        Mark::ALL.get(number as usize).copied()
    }

    fn does(&self, code: &[u8], address: u64) -> Does {
        let (end, watched, computes) = match *code {
            [a, b] => {
                let word = u16::from_le_bytes([a, b]).into();
                (short_end(word, address), None, short_only_computes(word))
            }
            [a, b, c, d] => {
                let word = u32::from_le_bytes([a, b, c, d]);
                (end(word, address), watched(word), only_computes(word))
            }
            _ => (End::Next { target: 0 }, None, false),
        };
        Does {
            end,
            iterates: None,
            watched,
            sequence: Sequence::of(computes),
        }
    }

    fn memory(&self, code: &[u8]) -> Memory {
        match *code {
            // Quadrant 0 but C.ADDI4SPN; those of quadrant 2 are of the stack.
            [a, b] if a & 3 == 0 && b >> 5 & 3 != 0 => Memory::Plain,
            [a, b, c, d] => {
                let word = u32::from_le_bytes([a, b, c, d]);
                match word & 0x7f {
                    0x03 | 0x07 | 0x23 | 0x27 if word >> 15 & 31 != SP => Memory::Plain,
                    0x2f => Memory::Locked,
                    _ => Memory::Nothing,
                }
            }
            _ => Memory::Nothing,
        }
    }

    fn in_kernel(&self, address: u64) -> bool {
        address >> 63 == 1 || FIRMWARE.contains(&address)
    }

    fn linkage(&self) -> Linkage {
        Linkage::Register
    }

    /// All lead to the address in `stvec`, which is aligned.
    fn vectors(&self, address: u64) -> Option<u64> {
        (address % 4 == 0).then_some(address)
    }

    fn program_counter(&self) -> &'static str {
        "pc"
    }

    fn stack_pointer(&self) -> &'static str {
        "sp"
    }

    /// The kernel's `tp` points to its task.
    fn vcpu_registers(&self) -> &'static [&'static str] {
        &["mhartid"]
    }

    fn vcpu(&self, value: u64) -> Option<NonZeroU64> {
        NonZeroU64::new(value.wrapping_add(1))
    }

    /// The firmware is called again.
    fn boots_apart(&self) -> bool {
        false
    }
}

fn field(word: u32, low: u32, bits: u32) -> u32 {
    word >> low & ((1 << bits) - 1)
}

/// The signed number that has these fields of `word`: where each begins, how many bits it has, and
/// where in the number they stand. The first field holds the sign.
fn distance(word: u32, fields: &[(u32, u32, u32)]) -> i64 {
    let bits = |(low, bits, to): &(u32, u32, u32)| field(word, *low, *bits) << to;
    let number = fields.iter().map(bits).fold(0, |all, one| all | one);
    let (_, width, to) = fields[0];
    let unused = 32 - width - to;
    i64::from((number << unused) as i32 >> unused)
}

fn is_link(register: u32) -> bool {
    register == RA || register == T0
}

/// Through a register: a call puts the address behind it into a link register, a return goes to what
/// such a register holds.
fn indirect(link: u32, to: u32) -> End {
    match (is_link(link), is_link(to)) {
        (true, _) => End::Call,
        (false, true) if link == 0 => End::Return,
        _ => End::Jump,
    }
}

fn end(word: u32, address: u64) -> End {
    let to = |distance: i64| address.wrapping_add_signed(distance);
    let link = field(word, 7, 5);
    match word & 0x7f {
        0x6f if is_link(link) => End::Call, // JAL
        0x6f => End::Next {
            target: to(distance(
                word,
                &[(31, 1, 20), (12, 8, 12), (20, 1, 11), (21, 10, 1)],
            )),
        },
        0x67 => indirect(link, field(word, 15, 5)), // JALR
        // BEQ, BNE, BLT, BGE, BLTU, BGEU
        0x63 => End::Branch {
            target: to(distance(
                word,
                &[(31, 1, 12), (7, 1, 11), (25, 6, 5), (8, 4, 1)],
            )),
        },
        0x73 => match word {
            0x0000_0073 | 0x0010_0073 => End::Enter, // ECALL, EBREAK
            0x1020_0073 | 0x3020_0073 | 0x7020_0073 => End::Leave, // SRET, MRET, MNRET
            0x1050_0073 => End::Halt,                // WFI
            _ => End::Next { target: 0 },
        },
        _ => End::Next { target: 0 },
    }
}

/// Of an instruction of 16 bits.
fn short_end(word: u32, address: u64) -> End {
    let to = |distance: i64| address.wrapping_add_signed(distance);
    let register = field(word, 7, 5);
    match (word & 0b11, field(word, 13, 3)) {
        // C.J
        (0b01, 0b101) => End::Next {
            target: to(distance(
                word,
                &[
                    (12, 1, 11),
                    (8, 1, 10),
                    (9, 2, 8),
                    (6, 1, 7),
                    (7, 1, 6),
                    (2, 1, 5),
                    (11, 1, 4),
                    (3, 3, 1),
                ],
            )),
        },
        // C.BEQZ, C.BNEZ
        (0b01, 0b110 | 0b111) => End::Branch {
            target: to(distance(
                word,
                &[(12, 1, 8), (5, 2, 6), (2, 1, 5), (10, 2, 3), (3, 2, 1)],
            )),
        },
        (0b10, 0b100) if field(word, 2, 5) == 0 => match (field(word, 12, 1), register) {
            (1, 0) => End::Enter,                    // C.EBREAK
            (0, register) => indirect(0, register),  // C.JR
            (_, register) => indirect(RA, register), // C.JALR
        },
        (0, 0) if word == 0 => End::Enter, // no instruction, for good
        _ => End::Next { target: 0 },
    }
}

/// The stack pointer goes to memory that is no stack, or comes from there. In the kernel that is
/// `__switch_to()` (arch/riscv/kernel/entry.S), `sd sp, 8(a3)`; its entry keeps stack pointers with
/// `tp` as the base. In programs it is `setjmp()`, `getcontext()` and the like: `sd sp, 104(a0)`.
fn watched(word: u32) -> Option<&'static Watched> {
    let base = field(word, 15, 5);
    if matches!(base, SP | TP | FP) {
        return None;
    }
    match word & 0x707f {
        0x3023 if field(word, 20, 5) == SP => Some(&Watched::Saves), // SD
        0x3003 if field(word, 7, 5) == SP => Some(&Watched::Restores), // LD
        _ => None,
    }
}

/// Whether an instruction does nothing but compute on general registers: OP-IMM, OP, both of 32 bits
/// too, LUI, and AUIPC but for LPAD, which may raise an exception.
fn only_computes(word: u32) -> bool {
    match word & 0x7f {
        0x17 => field(word, 7, 5) != 0,
        opcode => matches!(opcode, 0x13 | 0x1b | 0x33 | 0x3b | 0x37),
    }
}

/// The same of one of 16 bits. Without a number, C.LUI may be one of Zcmop's, which shadow stacks use.
fn short_only_computes(word: u32) -> bool {
    match (word & 0b11, field(word, 13, 3)) {
        (0b00, 0b000) => word != 0, // C.ADDI4SPN
        (0b01, 0b011) => field(word, 12, 1) | field(word, 2, 5) != 0, // C.LUI, C.ADDI16SP
        (0b01, _) | (0b10, 0b000) => true,
        (0b10, 0b100) => field(word, 2, 5) != 0, // C.MV, C.ADD
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KERNEL: u64 = 0xffff_ffff_8000_0000;

    #[test]
    fn what_only_computes_goes_on() {
        let (goes_on, may_fault) = (Sequence::GoesOn, Sequence::MayFault);
        for (length, expected, words) in [
            (2, goes_on, [0x4501, 0x505, 0x808, 0x6505]), // li, addi, addi of sp, lui
            (2, goes_on, [0x8d0d, 0x506, 0x852e, 0x4501]), // sub, slli, mv, li
            (4, goes_on, [0x10_0513, 0x15_051b, 0x1537, 0x1517]), // li, addiw, lui, auipc
            (2, may_fault, [0x6081, 0x6108, 0xe406, 0]),  // sspush, ld, sd, nothing
            (4, may_fault, [0x1017, 0x5_3503, 0xa5_3023, 0x73]), // lpad, ld, sd, ecall
        ] {
            for word in words {
                let does = Riscv64.does(&u32::to_le_bytes(word)[..length], KERNEL);
                assert_eq!(does.sequence, expected, "{word:x}");
            }
        }
    }

    #[test]
    fn ends_are_told_apart() {
        for (word, expected) in [
            (0x0080_006fu32, End::Next { target: KERNEL + 8 }), // j .+8
            (0xffdf_f06f, End::Next { target: KERNEL - 4 }),    // j .-4
            (
                0x0010_006f,
                End::Next {
                    target: KERNEL + 0x800,
                },
            ), // j .+2048
            (
                0x0000_106f,
                End::Next {
                    target: KERNEL + 0x1000,
                },
            ), // j .+4096
            (0x0080_00ef, End::Call),                           // jal .+8
            (0x0080_02ef, End::Call),                           // jal t0, .+8
            (0x0003_00e7, End::Call),                           // jalr t1
            (0x0002_82e7, End::Call),                           // jalr t0, t0
            (0x000e_0367, End::Jump),                           // jalr t1, t3: an entry of a PLT
            (0x0003_0067, End::Jump),                           // jr t1
            (0x0000_8067, End::Return),                         // ret
            (0x0002_8067, End::Return),                         // jr t0
            (0x00b5_0463, End::Branch { target: KERNEL + 8 }),  // beq a0, a1, .+8
            (0xfeb5_1ee3, End::Branch { target: KERNEL - 4 }),  // bne a0, a1, .-4
            (
                0x00b5_40e3,
                End::Branch {
                    target: KERNEL + 0x800,
                },
            ), // blt a0, a1, .+2048
            (0x0000_0073, End::Enter),                          // ecall
            (0x0010_0073, End::Enter),                          // ebreak
            (0x1020_0073, End::Leave),                          // sret
            (0x3020_0073, End::Leave),                          // mret
            (0x1050_0073, End::Halt),                           // wfi
            (0x1200_0073, End::Next { target: 0 }),             // sfence.vma
            (0x0000_0013, End::Next { target: 0 }),             // nop
        ] {
            let does = Riscv64.does(&word.to_le_bytes(), KERNEL);
            assert_eq!(does.end, expected, "{word:x}");
        }
    }

    #[test]
    fn ends_of_16_bits_are_told_apart() {
        for (word, expected) in [
            (0xa011u16, End::Next { target: KERNEL + 4 }), // c.j .+4
            (0xbff5, End::Next { target: KERNEL - 4 }),    // c.j .-4
            (0xc111, End::Branch { target: KERNEL + 4 }),  // c.beqz a0, .+4
            (0xfd75, End::Branch { target: KERNEL - 4 }),  // c.bnez a0, .-4
            (0x8082, End::Return),                         // c.jr ra
            (0x8302, End::Jump),                           // c.jr t1
            (0x9302, End::Call),                           // c.jalr t1
            (0x9002, End::Enter),                          // c.ebreak
            (0x0000, End::Enter),                          // no instruction
            (0x0001, End::Next { target: 0 }),             // c.nop
            (0x852a, End::Next { target: 0 }),             // c.mv a0, a0
            (0x952a, End::Next { target: 0 }),             // c.add a0, a0
        ] {
            let does = Riscv64.does(&word.to_le_bytes(), KERNEL);
            assert_eq!((does.end, does.watched), (expected, None), "{word:x}");
        }
        for code in [&[][..], &[0x73], &[0x73, 0, 0]] {
            assert_eq!(Riscv64.does(code, 0).end, End::Next { target: 0 });
        }
    }

    #[test]
    fn a_saved_stack_pointer_tells_of_switches() {
        for (word, expected) in [
            (0x0026_b423u32, Some(&Watched::Saves)), // sd sp, 8(a3)
            (0x0087_3103, Some(&Watched::Restores)), // ld sp, 8(a4)
            (0x0225_3423, Some(&Watched::Saves)),    // sd sp, 40(a0)
            (0x0022_3423, None),                     // sd sp, 8(tp)
            (0x0082_3103, None),                     // ld sp, 8(tp)
            (0x0021_3423, None),                     // sd sp, 8(sp)
            (0x0016_b423, None),                     // sd ra, 8(a3)
            (0x0026_a423, None),                     // sw sp, 8(a3)
        ] {
            assert_eq!(
                Riscv64.does(&word.to_le_bytes(), KERNEL).watched,
                expected,
                "{word:x}"
            );
        }
    }

    #[test]
    fn accesses_to_memory_are_told_apart() {
        for (code, expected) in [
            (&0x0085_3503u32.to_le_bytes()[..], Memory::Plain), // ld a0, 8(a0)
            (&0x00a5_3423u32.to_le_bytes(), Memory::Plain),     // sd a0, 8(a0)
            (&0x0081_3503u32.to_le_bytes(), Memory::Nothing),   // ld a0, 8(sp)
            (&0x00b6_b52fu32.to_le_bytes(), Memory::Locked),    // amoadd.d a0, a1, (a3)
            (&0x6108u16.to_le_bytes(), Memory::Plain),          // c.ld a0, 0(a0)
            (&0x6522u16.to_le_bytes(), Memory::Nothing),        // c.ldsp a0, 8(sp)
            (&0x0028u16.to_le_bytes(), Memory::Nothing),        // c.addi4spn a0, sp, 8
            (&0x8082u16.to_le_bytes(), Memory::Nothing),        // ret
        ] {
            assert_eq!(Riscv64.memory(code), expected, "{code:x?}");
        }
    }

    #[test]
    fn the_documented_words_are_marks_and_others_are_not() {
        let mark = |word: u32| Riscv64.mark(&word.to_le_bytes());
        let words = [
            0x4910_2013,
            0x4920_2013,
            0x4930_2013,
            0x4940_2013,
            0x4950_2013,
            0x4960_2013,
        ];
        assert_eq!(words.map(mark), Mark::ALL.map(Some));
        for word in [
            0x4900_2013, // number 0x490
            0x4970_2013, // 0x497
            0x4910_2093, // to ra
            0x4910_a013, // of ra
            0x4910_3013, // sltiu
        ] {
            assert_eq!(mark(word), None, "{word:x}");
        }
        assert_eq!(Riscv64.mark(&[0x13, 0x20]), None);
    }

    #[test]
    fn firmware_is_no_program() {
        assert!(Riscv64.in_kernel(KERNEL) && Riscv64.in_kernel(0x8000_0000));
        assert!(!Riscv64.in_kernel(0x8020_0000) && !Riscv64.in_kernel(0x1_0000));
    }
}

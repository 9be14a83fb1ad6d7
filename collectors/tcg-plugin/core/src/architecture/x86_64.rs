//! x86-64. Encodings: Intel SDM volume 2, appendix A. Code of 16 and 32 bits (the firmware, early
//! boot) is read as if it had 64, which costs names there and no counts.

use crate::architecture::{Architecture, End, Iterates, Mark, Watched};

/// 64-bit x86.
pub struct X86_64;

/// A mark is `nopl MARK(%rax)`: these bytes, and the number of the mark in little endian.
const MARK: [u8; 3] = [0x0f, 0x1f, 0x80];
const FIRST_MARK: u32 = 0x5044_4901;

/// Kernel stacks are aligned to 16 KiB or more (`THREAD_SIZE`, arch/x86/include/asm/
/// page_64_types.h).
const STACK_ALIGNMENT: u64 = 1 << 14;

impl Architecture for X86_64 {
    fn name(&self) -> &'static str {
        "x86_64"
    }

    fn mark(&self, code: &[u8]) -> Option<Mark> {
        let operand = code.strip_prefix(&MARK)?.try_into().ok()?;
        let number = u32::from_le_bytes(operand).checked_sub(FIRST_MARK)?;
        Mark::ALL.get(number as usize).copied()
    }

    fn end(&self, code: &[u8], address: u64) -> End {
        let behind = address.wrapping_add(code.len() as u64);
        let (_, rest) = split_prefixes(code);
        let target = |bytes: &[u8]| match bytes {
            [one] => behind.wrapping_add_signed(i64::from(*one as i8)),
            [a, b, c, d] => {
                behind.wrapping_add_signed(i64::from(i32::from_le_bytes([*a, *b, *c, *d])))
            }
            _ => 0,
        };
        let jump = |rel| End::Next {
            target: target(rel),
        };
        let branch = |rel| End::Branch {
            target: target(rel),
        };
        match rest {
            [0xe8, ..] => End::Call,
            [0xff, modrm, ..] => match modrm >> 3 & 7 {
                2 => End::Call,
                4 | 5 => End::Jump,
                _ => End::Next { target: 0 },
            },
            [0xc2 | 0xc3, ..] => End::Return,
            [0xca | 0xcb | 0xea | 0x9a, ..] => End::Jump,
            [0xe9 | 0xeb, rel @ ..] => jump(rel),
            [0x70..=0x7f | 0xe0..=0xe3, rel @ ..] => branch(rel),
            [0x0f, 0x80..=0x8f, rel @ ..] => branch(rel),
            [0x0f, 0x05 | 0x34 | 0x0b, ..] | [0xcc | 0xcd | 0xf1, ..] => End::Enter,
            [0x0f, 0x07 | 0x35, ..] | [0xcf, ..] => End::Leave,
            _ if self.iterates(code).is_some() => End::Next { target: address },
            _ => End::Next { target: 0 },
        }
    }

    fn iterates(&self, code: &[u8]) -> Option<Iterates> {
        let (prefixes, rest) = split_prefixes(code);
        let iterates = match rest.first()? {
            0x6c | 0x6d => Iterates::Accesses(2), // ins: QEMU tries the store before it reads
            0x6e | 0x6f => Iterates::Accesses(1), // outs
            0xa4 | 0xa5 => Iterates::Moves,
            0xa6 | 0xa7 => Iterates::Compares(2), // cmps
            0xaa..=0xad => Iterates::Accesses(1), // stos, lods
            0xae | 0xaf => Iterates::Compares(1), // scas
            _ => return None,
        };
        let repeated = prefixes.iter().any(|byte| matches!(byte, 0xf2 | 0xf3));
        repeated.then_some(iterates)
    }

    fn watched(&self, code: &[u8], end: End) -> Option<Watched> {
        match end {
            End::Call => Some(Watched::Pushes),
            End::Return => Some(Watched::Pops),
            _ => switches_stack(code).then_some(Watched::SwitchesStack),
        }
    }

    fn in_kernel(&self, address: u64) -> bool {
        address >> 63 == 1
    }

    fn stack(&self, slot: u64) -> u64 {
        if self.in_kernel(slot) {
            slot & !(STACK_ALIGNMENT - 1)
        } else {
            0
        }
    }
}

/// Whether `code` loads the stack pointer from memory that neither the stack nor a segment base
/// leads to. In the kernel that is a task switch: `__switch_to_asm()` (arch/x86/entry/entry_64.S).
fn switches_stack(code: &[u8]) -> bool {
    let [rex, 0x8b, modrm, ..] = code else {
        return false;
    };
    let (mode, register, base) = (modrm >> 6, modrm >> 3 & 7, modrm & 7);
    // REX.W without REX.R: the register is rsp. Base 4 is rsp itself or needs a SIB byte, 5 is rbp
    // or an address beside the instruction.
    rex & 0xfc == 0x48 && register == 4 && mode != 3 && !matches!(base, 4 | 5)
}

fn split_prefixes(code: &[u8]) -> (&[u8], &[u8]) {
    let legacy = code
        .iter()
        .take_while(|byte| {
            matches!(
                byte,
                0x26 | 0x2e | 0x36 | 0x3e | 0x64..=0x67 | 0xf0 | 0xf2 | 0xf3
            )
        })
        .count();
    let rex = usize::from(code.get(legacy).is_some_and(|byte| byte & 0xf0 == 0x40));
    (&code[..legacy], &code[legacy + rex..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_are_told_apart() {
        let at = 0xffff_ffff_8100_0000;
        for (code, expected) in [
            (&[0xe8, 1, 0, 0, 0][..], End::Call),
            (&[0x41, 0xff, 0xd3], End::Call), // call *%r11
            (&[0xff, 0x14, 0xc5, 0, 0, 0, 0], End::Call), // call *table(,%rax,8)
            (&[0xff, 0xe0], End::Jump),       // jmp *%rax
            (&[0x3e, 0xff, 0xe0], End::Jump), // notrack jmp *%rax
            (&[0xff, 0xc0], End::Next { target: 0 }), // inc %eax
            (&[0xff, 0x30], End::Next { target: 0 }), // push (%rax)
            (&[0xc3], End::Return),
            (&[0xf3, 0xc3], End::Return), // repz ret
            (&[0xc2, 8, 0], End::Return),
            (&[0xeb, 0xfe], End::Next { target: at }),
            (&[0x74, 2], End::Branch { target: at + 4 }),
            (&[0xe2, 0xfe], End::Branch { target: at }), // loop to itself
            (&[0x67, 0xe3, 1], End::Branch { target: at + 4 }), // jecxz
            (&[0xe9, 0, 1, 0, 0], End::Next { target: at + 0x105 }),
            (
                &[0x0f, 0x84, 0, 1, 0, 0],
                End::Branch { target: at + 0x106 },
            ),
            (&[0x0f, 0x05], End::Enter),
            (&[0x0f, 0x0b], End::Enter),
            (&[0x48, 0x0f, 0x07], End::Leave), // sysretq
            (&[0x48, 0xcf], End::Leave),       // iretq
            (&[0xf3, 0x48, 0xab], End::Next { target: at }), // rep stosq
            (&[0xf3, 0x0f, 0x1e, 0xfa], End::Next { target: 0 }), // endbr64
            (&[0x90], End::Next { target: 0 }),
            (&[], End::Next { target: 0 }),
        ] {
            assert_eq!(X86_64.end(code, at), expected, "{code:x?}");
        }
    }

    #[test]
    fn repeated_string_instructions_iterate() {
        for (code, expected) in [
            (&[0xf3, 0x48, 0xab][..], Some(Iterates::Accesses(1))), // rep stosq
            (&[0xf3, 0xac], Some(Iterates::Accesses(1))),           // rep lodsb
            (&[0xf3, 0x66, 0x6d], Some(Iterates::Accesses(2))),     // rep insw
            (&[0x67, 0xf2, 0xa4], Some(Iterates::Moves)),           // repnz movsb (%esi),(%edi)
            (&[0xf3, 0xa6], Some(Iterates::Compares(2))),           // repz cmpsb
            (&[0xf2, 0x48, 0xaf], Some(Iterates::Compares(1))),     // repnz scasq
            (&[0x48, 0xab], None),                                  // stosq
            (&[0xf3, 0xa8, 1], None),                               // test $1,%al
            (&[0xf3], None),
            (&[], None),
        ] {
            assert_eq!(X86_64.iterates(code), expected, "{code:x?}");
        }
    }

    #[test]
    fn a_task_switch_loads_the_stack_pointer() {
        // mov 0x1b18(%rsi),%rsp
        assert!(switches_stack(&[0x48, 0x8b, 0xa6, 0x18, 0x1b, 0, 0]));
        // mov %gs:0x1fa10,%rsp: the entry of a system call
        assert!(!switches_stack(&[0x65, 0x48, 0x8b, 0x24, 0x25, 0, 0, 0, 0]));
        assert!(!switches_stack(&[0x48, 0x8b, 0x64, 0x24, 8])); // mov 8(%rsp),%rsp
        assert!(!switches_stack(&[0x48, 0x8b, 0xe0])); // mov %rax,%rsp
        assert!(!switches_stack(&[0x48, 0x8b, 0x46, 8])); // mov 8(%rsi),%rax
        assert!(!switches_stack(&[]));
    }

    #[test]
    fn the_documented_bytes_are_marks_and_other_nops_are_not() {
        let nop = |last: u8| X86_64.mark(&[0x0f, 0x1f, 0x80, last, 0x49, 0x44, 0x50]);
        assert_eq!([1, 2, 3, 4].map(nop), Mark::ALL.map(Some));
        assert_eq!([0, 5].map(nop), [None, None]);
        for code in [&[0x0f, 0x1f, 0x80, 0, 0, 0, 0][..], &[0x0f, 0x1f, 0], &[]] {
            assert_eq!(X86_64.mark(code), None);
        }
    }

    #[test]
    fn stacks_of_the_kernel_are_told_apart() {
        let stack = |slot| X86_64.stack(slot);
        assert_eq!(stack(0xffff_c900_0001_0008), stack(0xffff_c900_0001_3ff8));
        assert_ne!(stack(0xffff_c900_0001_0008), stack(0xffff_c900_0000_fff8));
        assert_eq!((stack(0x7fff_0000_0000), stack(0x10_0000)), (0, 0));
    }
}

//! x86-64. Encodings: Intel SDM volume 2, appendix A. Code of 16 and 32 bits (the firmware, early
//! boot) is read as if it had 64, which costs names there and no counts.

use std::num::NonZeroU64;

use iced_x86::{
    Code, ConditionCode, Decoder, DecoderOptions, FlowControl, Instruction, Mnemonic, OpKind,
    Register,
};

use crate::architecture::{
    Architecture, Does, End, Iterates, Linkage, Mark, Memory, Sequence, Watched,
};

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

    fn does(&self, code: &[u8], address: u64) -> Does {
        let instruction = Decoder::with_ip(64, code, address, DecoderOptions::NONE).decode();
        let iterates = iterates(&instruction);
        let end = match iterates {
            Some(_) => End::Next { target: address },
            None => end(&instruction),
        };
        let watched = match end {
            End::Call => Some(&Watched::Pushes),
            End::Return => Some(&Watched::Pops),
            _ => switches_stack(&instruction).then_some(&Watched::SwitchesStack),
        };
        Does {
            end,
            iterates,
            watched,
            sequence: if instruction.is_invalid() {
                Sequence::Cut
            } else {
                Sequence::of(only_computes(&instruction))
            },
        }
    }

    /// `out %al,(%dx)`.
    fn sends_byte(&self, code: &[u8]) -> bool {
        code == [0xee]
    }

    fn memory(&self, code: &[u8]) -> Memory {
        let instruction = Decoder::with_ip(64, code, 0, DecoderOptions::NONE).decode();
        if iterates(&instruction).is_some() {
            return Memory::Repeated;
        }
        let mut operands = instruction.op_kinds();
        let explicit = operands.any(|kind| kind == OpKind::Memory);
        let own = explicit && instruction.memory_base() == Register::RSP;
        if own || instruction.is_stack_instruction() && !explicit {
            return Memory::Nothing;
        }
        // `xchg` with memory needs no prefix.
        let exchanges = explicit && instruction.mnemonic() == Mnemonic::Xchg;
        if instruction.has_lock_prefix() || exchanges {
            return Memory::Locked;
        }
        Memory::Plain
    }

    fn in_kernel(&self, address: u64) -> bool {
        address >> 63 == 1
    }

    fn linkage(&self) -> Linkage {
        Linkage::Stack(stack)
    }

    fn vectors(&self, address: u64) -> Option<u64> {
        Some(address)
    }

    fn program_counter(&self) -> &'static str {
        "rip"
    }

    fn stack_pointer(&self) -> &'static str {
        "rsp"
    }

    /// `swapgs` exchanges them (arch/x86/entry/entry_64.S).
    fn vcpu_registers(&self) -> &'static [&'static str] {
        &["gs_base", "k_gs_base"]
    }

    fn vcpu(&self, value: u64) -> Option<NonZeroU64> {
        NonZeroU64::new(value).filter(|_| self.in_kernel(value))
    }

    fn boots_apart(&self) -> bool {
        true
    }
}

fn stack(slot: u64) -> u64 {
    if X86_64.in_kernel(slot) {
        slot & !(STACK_ALIGNMENT - 1)
    } else {
        0
    }
}

fn end(instruction: &Instruction) -> End {
    let target = instruction.near_branch_target();
    if matches!(instruction.mnemonic(), Mnemonic::Hlt | Mnemonic::Mwait) {
        return End::Halt;
    }
    match instruction.flow_control() {
        FlowControl::ConditionalBranch => End::Branch { target },
        FlowControl::UnconditionalBranch if target != 0 => End::Next { target },
        FlowControl::UnconditionalBranch | FlowControl::IndirectBranch => End::Jump,
        FlowControl::Call | FlowControl::IndirectCall => match instruction.code() {
            Code::Call_rel32_64 | Code::Call_rm64 => End::Call,
            Code::Syscall | Code::Sysenter => End::Enter,
            Code::Call_m1664 | Code::Call_m1632 | Code::Call_m1616 => End::Jump,
            _ => End::Next { target: 0 }, // for hypervisors
        },
        FlowControl::Return => match instruction.mnemonic() {
            Mnemonic::Ret => End::Return,
            Mnemonic::Retf => End::Jump,
            _ => End::Leave,
        },
        FlowControl::Interrupt => End::Enter,
        FlowControl::Exception if !instruction.is_invalid() => End::Enter,
        _ => End::Next { target: 0 },
    }
}

/// Whether an instruction does nothing but compute on general registers.
fn only_computes(instruction: &Instruction) -> bool {
    let mnemonic = instruction.mnemonic();
    let mut operands = instruction.op_kinds();
    if operands.any(|kind| kind == OpKind::Memory) {
        return matches!(mnemonic, Mnemonic::Lea | Mnemonic::Nop);
    }
    // Others are control, debug and segment registers.
    let mut registers = (0..instruction.op_count())
        .filter(|operand| instruction.op_kind(*operand) == OpKind::Register)
        .map(|operand| instruction.op_register(operand));
    if !registers.all(Register::is_gpr) {
        return false;
    }
    let computes = matches!(
        mnemonic,
        Mnemonic::Mov
            | Mnemonic::Movzx
            | Mnemonic::Movsx
            | Mnemonic::Movsxd
            | Mnemonic::Add
            | Mnemonic::Adc
            | Mnemonic::Sub
            | Mnemonic::Sbb
            | Mnemonic::Cmp
            | Mnemonic::Inc
            | Mnemonic::Dec
            | Mnemonic::Neg
            | Mnemonic::And
            | Mnemonic::Or
            | Mnemonic::Xor
            | Mnemonic::Not
            | Mnemonic::Test
            | Mnemonic::Shl
            | Mnemonic::Shr
            | Mnemonic::Sar
            | Mnemonic::Rol
            | Mnemonic::Ror
            | Mnemonic::Shld
            | Mnemonic::Shrd
            | Mnemonic::Imul
            | Mnemonic::Mul
            | Mnemonic::Bt
            | Mnemonic::Bts
            | Mnemonic::Btr
            | Mnemonic::Btc
            | Mnemonic::Bsf
            | Mnemonic::Bsr
            | Mnemonic::Bswap
            | Mnemonic::Xchg
            | Mnemonic::Cbw
            | Mnemonic::Cwde
            | Mnemonic::Cdqe
            | Mnemonic::Cwd
            | Mnemonic::Cdq
            | Mnemonic::Cqo
            | Mnemonic::Nop
            | Mnemonic::Endbr64
    );
    computes || instruction.condition_code() != ConditionCode::None // SETcc, CMOVcc
}

fn iterates(instruction: &Instruction) -> Option<Iterates> {
    if !instruction.has_rep_prefix() && !instruction.has_repne_prefix() {
        return None;
    }
    match instruction.code() {
        // QEMU tries the store before it reads.
        Code::Insb_m8_DX | Code::Insw_m16_DX | Code::Insd_m32_DX => Some(Iterates::Accesses(2)),
        Code::Outsb_DX_m8 | Code::Outsw_DX_m16 | Code::Outsd_DX_m32 => Some(Iterates::Accesses(1)),
        Code::Movsb_m8_m8 | Code::Movsw_m16_m16 | Code::Movsd_m32_m32 | Code::Movsq_m64_m64 => {
            Some(Iterates::Moves)
        }
        Code::Cmpsb_m8_m8 | Code::Cmpsw_m16_m16 | Code::Cmpsd_m32_m32 | Code::Cmpsq_m64_m64 => {
            Some(Iterates::Compares(2))
        }
        Code::Stosb_m8_AL | Code::Stosw_m16_AX | Code::Stosd_m32_EAX | Code::Stosq_m64_RAX => {
            Some(Iterates::Accesses(1))
        }
        Code::Lodsb_AL_m8 | Code::Lodsw_AX_m16 | Code::Lodsd_EAX_m32 | Code::Lodsq_RAX_m64 => {
            Some(Iterates::Accesses(1))
        }
        Code::Scasb_AL_m8 | Code::Scasw_AX_m16 | Code::Scasd_EAX_m32 | Code::Scasq_RAX_m64 => {
            Some(Iterates::Compares(1))
        }
        _ => None,
    }
}

/// Whether an instruction loads the stack pointer from memory that neither the stack nor a segment
/// base leads to. In the kernel that is a task switch: `__switch_to_asm()`
/// (arch/x86/entry/entry_64.S).
fn switches_stack(instruction: &Instruction) -> bool {
    let base = instruction.memory_base();
    instruction.code() == Code::Mov_r64_rm64
        && instruction.op0_register() == Register::RSP
        && instruction.op1_kind() == OpKind::Memory
        && !matches!(
            base,
            Register::None | Register::RSP | Register::RBP | Register::RIP
        )
        && !instruction.has_segment_prefix()
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
            (&[0xf4], End::Halt),              // hlt
            (&[0x0f, 0x01, 0xc9], End::Halt),  // mwait
            (&[0xf3, 0x48, 0xab], End::Next { target: at }), // rep stosq
            (&[0xf3, 0x0f, 0x1e, 0xfa], End::Next { target: 0 }), // endbr64
            (&[0x90], End::Next { target: 0 }),
            (&[], End::Next { target: 0 }),
        ] {
            assert_eq!(X86_64.does(code, at).end, expected, "{code:x?}");
        }
    }

    #[test]
    fn what_only_computes_goes_on() {
        for (code, expected) in [
            (&[0x48, 0x89, 0xd8][..], Sequence::GoesOn), // mov %rbx,%rax
            (&[0x48, 0x8d, 0x43, 8], Sequence::GoesOn),  // lea 8(%rbx),%rax
            (&[0x0f, 0x1f, 0x40, 0], Sequence::GoesOn),  // nopl 0(%rax)
            (&[0xf3, 0x0f, 0x1e, 0xfa], Sequence::GoesOn), // endbr64
            (&[0x0f, 0x44, 0xc3], Sequence::GoesOn),     // cmove %ebx,%eax
            (&[0x0f, 0x94, 0xc0], Sequence::GoesOn),     // sete %al
            (&[0x0f, 0x94, 0x00], Sequence::MayFault),   // sete (%rax)
            (&[0x48, 0x8b, 0x43, 8], Sequence::MayFault), // mov 8(%rbx),%rax
            (&[0x48, 0x01, 0x03], Sequence::MayFault),   // add %rax,(%rbx)
            (&[0x0f, 0x22, 0xd8], Sequence::MayFault),   // mov %rax,%cr3
            (&[0x0f, 0x23, 0xf8], Sequence::MayFault),   // mov %rax,%db7
            (&[0x8e, 0xd8], Sequence::MayFault),         // mov %eax,%ds
            (&[0x48, 0xf7, 0xf3], Sequence::MayFault),   // div %rbx
            (&[0x55], Sequence::MayFault),               // push %rbp
            (&[0xf3, 0x90], Sequence::MayFault),         // pause
            (&[0xfb], Sequence::MayFault),               // sti
            (&[0xd9, 0xc1], Sequence::MayFault),         // fld %st(1)
            (&[0xda, 0xc1], Sequence::MayFault),         // fcmovb %st(1),%st
            (&[0x66, 0x0f, 0x6f, 0xc1], Sequence::MayFault), // movdqa %xmm1,%xmm0
            (&[0x0f, 0x0b], Sequence::MayFault),         // ud2
            (&[0x0f, 0x84], Sequence::Cut),              // the begin of je
            (&[0xe8], Sequence::Cut),
            (&[0x06], Sequence::Cut), // no instruction
            (&[0x48], Sequence::Cut),
        ] {
            assert_eq!(X86_64.does(code, 0).sequence, expected, "{code:x?}");
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
            assert_eq!(X86_64.does(code, 0).iterates, expected, "{code:x?}");
        }
    }

    #[test]
    fn accesses_to_memory_are_told_apart() {
        for (code, expected) in [
            (&[0x48, 0x8b, 0x43, 8][..], Memory::Plain), // mov 8(%rbx),%rax
            (&[0x65, 0x48, 0x8b, 4, 0x25, 0, 0, 0, 0], Memory::Plain), // mov %gs:0,%rax
            (&[0xf0, 0x48, 0x0f, 0xc1, 3], Memory::Locked), // lock xadd %rax,(%rbx)
            (&[0x48, 0x87, 3], Memory::Locked),          // xchg %rax,(%rbx)
            (&[0x48, 0x87, 0xc3], Memory::Plain),        // xchg %rax,%rbx
            (&[0xf3, 0x48, 0xab], Memory::Repeated),     // rep stosq
            (&[0x48, 0xab], Memory::Plain),              // stosq
            (&[0x48, 0x8b, 0x44, 0x24, 8], Memory::Nothing), // mov 8(%rsp),%rax
            (&[0x55], Memory::Nothing),                  // push %rbp
            (&[0xff, 0x33], Memory::Plain),              // push (%rbx)
            (&[0xe8, 0, 0, 0, 0], Memory::Nothing),      // call
            (&[0xc3], Memory::Nothing),                  // ret
        ] {
            assert_eq!(X86_64.memory(code), expected, "{code:x?}");
        }
    }

    #[test]
    fn a_task_switch_loads_the_stack_pointer() {
        let switches = |code: &[u8]| X86_64.does(code, 0).watched == Some(&Watched::SwitchesStack);
        // mov 0x1b18(%rsi),%rsp
        assert!(switches(&[0x48, 0x8b, 0xa6, 0x18, 0x1b, 0, 0]));
        assert!(switches(&[0x49, 0x8b, 0x24, 0x24])); // mov (%r12),%rsp
                                                      // mov %gs:0x1fa10,%rsp: the entry of a system call
        assert!(!switches(&[0x65, 0x48, 0x8b, 0x24, 0x25, 0x10, 0xfa, 1, 0]));
        assert!(!switches(&[0x48, 0x8b, 0x64, 0x24, 8])); // mov 8(%rsp),%rsp
        assert!(!switches(&[0x48, 0x8b, 0x65, 8])); // mov 8(%rbp),%rsp
        assert!(!switches(&[0x48, 0x8b, 0xe0])); // mov %rax,%rsp
        assert!(!switches(&[0x48, 0x8b, 0x46, 8])); // mov 8(%rsi),%rax
        assert!(!switches(&[]));
    }

    #[test]
    fn the_documented_bytes_are_marks_and_other_nops_are_not() {
        let nop = |last: u8| X86_64.mark(&[0x0f, 0x1f, 0x80, last, 0x49, 0x44, 0x50]);
        assert_eq!([1, 2, 3, 4, 5, 6].map(nop), Mark::ALL.map(Some));
        assert_eq!([0, 7].map(nop), [None, None]);
        for code in [&[0x0f, 0x1f, 0x80, 0, 0, 0, 0][..], &[0x0f, 0x1f, 0], &[]] {
            assert_eq!(X86_64.mark(code), None);
        }
    }

    #[test]
    fn stacks_of_the_kernel_are_told_apart() {
        assert_eq!(stack(0xffff_c900_0001_0008), stack(0xffff_c900_0001_3ff8));
        assert_ne!(stack(0xffff_c900_0001_0008), stack(0xffff_c900_0000_fff8));
        assert_eq!((stack(0x7fff_0000_0000), stack(0x10_0000)), (0, 0));
    }
}

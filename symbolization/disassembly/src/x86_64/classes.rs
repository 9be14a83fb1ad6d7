use iced_x86::{
    Code, Instruction, InstructionInfoFactory, InstructionInfoOptions, Mnemonic, OpAccess, OpKind,
    Register,
};

use crate::{Class, Classes, Flow};

/// Tells of what kind instructions are.
#[derive(Debug)]
pub(super) struct Classifier {
    factory: InstructionInfoFactory,
}

impl Default for Classifier {
    fn default() -> Self {
        Classifier {
            factory: InstructionInfoFactory::new(),
        }
    }
}

impl Classifier {
    pub(super) fn classes(&mut self, instruction: &Instruction, flow: Flow) -> Classes {
        let info = self
            .factory
            .info_options(instruction, InstructionInfoOptions::NO_REGISTER_USAGE);
        let (mut load, mut store) = (false, false);
        for memory in info.used_memory() {
            match memory.access() {
                OpAccess::Read | OpAccess::CondRead => load = true,
                OpAccess::Write | OpAccess::CondWrite => store = true,
                OpAccess::ReadWrite | OpAccess::ReadCondWrite => (load, store) = (true, true),
                OpAccess::None | OpAccess::NoMemAccess => {}
            }
        }
        Classes::default()
            .with(Class::Load, load)
            .with(Class::Store, store)
            .with(Class::Locked, is_locked(instruction))
            .with(Class::Serialising, is_serialising(instruction))
            .with(Class::Privileged, instruction.is_privileged())
            .with(Class::Division, is_division(instruction.mnemonic()))
            .with(Class::Repeated, is_repeated(instruction))
            .with(Class::Call, flow == Flow::Call)
            .with(Class::IndirectCall, flow == Flow::IndirectCall)
            .with(Class::IndirectJump, flow == Flow::IndirectJump)
            .with(Class::Conditional, flow == Flow::Conditional)
            .with(Class::Vector, is_vector(instruction))
    }
}

/// SDM vol. 3, "Locked Atomic Operations": by prefix, and XCHG with memory without one.
fn is_locked(instruction: &Instruction) -> bool {
    let memory = || {
        (0..instruction.op_count()).any(|operand| instruction.op_kind(operand) == OpKind::Memory)
    };
    instruction.has_lock_prefix() || instruction.mnemonic() == Mnemonic::Xchg && memory()
}

/// SDM vol. 3, "Serializing Instructions": privileged ones and others. A write to CR8, which that
/// section excepts, is none; WRMSR is one, though it is not for a few registers.
fn is_serialising(instruction: &Instruction) -> bool {
    match instruction.mnemonic() {
        Mnemonic::Cpuid
        | Mnemonic::Iret
        | Mnemonic::Iretd
        | Mnemonic::Iretq
        | Mnemonic::Rsm
        | Mnemonic::Serialize
        | Mnemonic::Invd
        | Mnemonic::Invept
        | Mnemonic::Invlpg
        | Mnemonic::Invvpid
        | Mnemonic::Lgdt
        | Mnemonic::Lidt
        | Mnemonic::Lldt
        | Mnemonic::Ltr
        | Mnemonic::Wbinvd
        | Mnemonic::Wrmsr => true,
        Mnemonic::Mov => {
            let to = instruction.op0_register();
            to.is_dr() || to.is_cr() && to != Register::CR8
        }
        _ => false,
    }
}

/// Integers, floating point and vectors.
fn is_division(mnemonic: Mnemonic) -> bool {
    matches!(
        mnemonic,
        Mnemonic::Div
            | Mnemonic::Idiv
            | Mnemonic::Fdiv
            | Mnemonic::Fdivp
            | Mnemonic::Fdivr
            | Mnemonic::Fdivrp
            | Mnemonic::Fidiv
            | Mnemonic::Fidivr
            | Mnemonic::Divss
            | Mnemonic::Divsd
            | Mnemonic::Divps
            | Mnemonic::Divpd
            | Mnemonic::Vdivss
            | Mnemonic::Vdivsd
            | Mnemonic::Vdivps
            | Mnemonic::Vdivpd
            | Mnemonic::Vdivsh
            | Mnemonic::Vdivph
    )
}

/// With a prefix that repeats it: other instructions ignore the prefix or are others by it.
fn is_repeated(instruction: &Instruction) -> bool {
    instruction.is_string_instruction()
        && (instruction.has_rep_prefix() || instruction.has_repne_prefix())
}

/// An operand is a vector register, or memory through which the instruction fills or saves them.
pub(super) fn is_vector(instruction: &Instruction) -> bool {
    let registers = (0..instruction.op_count()).any(|operand| {
        instruction.op_kind(operand) == OpKind::Register
            && instruction.op_register(operand).is_vector_register()
    });
    let code = instruction.code();
    registers || matches!(code, Code::VEX_Vzeroupper | Code::VEX_Vzeroall)
}

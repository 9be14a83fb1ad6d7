use iced_x86::{Instruction, InstructionInfo, Mnemonic, OpAccess, OpKind};

use super::super::effect::{Access, Address, Register, Role, Source};

pub(super) const RSP: Register = 4;

/// The number of a general register, whatever part of it is meant.
pub(super) fn number(register: iced_x86::Register) -> Option<Register> {
    let known = register.is_gpr();
    known.then(|| register.full_register().number() as Register)
}

fn address(
    base: iced_x86::Register,
    index: iced_x86::Register,
    scale: u32,
    displacement: u64,
    segment: iced_x86::Register,
) -> Address {
    Address {
        // The displacement behind RIP is that of the sum.
        base: number(base),
        index: number(index).map(|index| (index, scale as u8)),
        displacement: displacement as i64,
        per_cpu: segment == iced_x86::Register::GS,
    }
}

/// The address that the memory operand says.
pub(super) fn memory(instruction: &Instruction) -> Address {
    address(
        instruction.memory_base(),
        instruction.memory_index(),
        instruction.memory_index_scale(),
        instruction.memory_displacement64(),
        instruction.memory_segment(),
    )
}

/// The value of an operand.
pub(super) fn source(instruction: &Instruction, operand: u32) -> Source {
    match instruction.op_kind(operand) {
        OpKind::Register => {
            let register = instruction.op_register(operand);
            let whole = number(register).filter(|_| register.size() == 8);
            whole.map_or(Source::Number, Source::Register)
        }
        OpKind::Memory if instruction.memory_size().size() == 8 => {
            Source::Load(memory(instruction))
        }
        OpKind::Memory => Source::Number,
        _ => instruction
            .try_immediate(operand)
            .map_or(Source::Computed, Source::Constant),
    }
}

/// What an instruction loads and stores, also where no operand says it.
pub(super) fn accesses(instruction: &Instruction, info: &InstructionInfo, out: &mut Vec<Access>) {
    let explicit =
        (0..instruction.op_count()).any(|operand| instruction.op_kind(operand) == OpKind::Memory);
    let through_stack = explicit && number(instruction.memory_base()) == Some(RSP);
    for used in info.used_memory() {
        let (load, store) = match used.access() {
            OpAccess::Read | OpAccess::CondRead => (true, false),
            OpAccess::Write | OpAccess::CondWrite => (false, true),
            OpAccess::ReadWrite | OpAccess::ReadCondWrite => (true, true),
            OpAccess::None | OpAccess::NoMemAccess => continue,
        };
        let on_stack =
            number(used.base()) == Some(RSP) || instruction.mnemonic() == Mnemonic::Leave;
        let implicit = instruction.is_stack_instruction() && on_stack && !through_stack;
        let role = match instruction.flow_control() {
            _ if !implicit => Role::Plain,
            iced_x86::FlowControl::Next => Role::Push,
            _ => Role::Call,
        };
        out.push(Access {
            address: address(
                used.base(),
                used.index(),
                used.scale(),
                used.displacement(),
                used.segment(),
            ),
            load,
            store,
            size: used.memory_size().size() as u32,
            role,
            repeated: is_repeated(instruction),
        });
    }
}

pub(super) fn is_repeated(instruction: &Instruction) -> bool {
    let prefix = instruction.has_rep_prefix() || instruction.has_repne_prefix();
    prefix && instruction.is_string_instruction()
}

use iced_x86::{ConditionCode, FlowControl, Instruction, Mnemonic, OpKind};

use super::super::effect::{Control, Register, Source};
use super::effects::is_conditional_move;
use super::operand::{memory, number, source};

pub(super) fn control(instruction: &Instruction) -> Control {
    let near = instruction.op_count() > 0 && instruction.op0_kind() == OpKind::NearBranch64;
    let target = instruction.near_branch_target();
    match instruction.flow_control() {
        FlowControl::ConditionalBranch if near => Control::Branch(target),
        FlowControl::UnconditionalBranch if near => Control::Jump(target),
        FlowControl::Call if near => Control::Call(target),
        FlowControl::IndirectBranch => through(
            instruction,
            Control::IndirectJump,
            Control::IndirectJumpThrough,
        ),
        FlowControl::IndirectCall => through(
            instruction,
            Control::IndirectCall,
            Control::IndirectCallThrough,
        ),
        FlowControl::Return => Control::Leave,
        // SYSCALL, VMCALL, INT3; UD2 of WARN(), which goes on behind it.
        _ => Control::Next,
    }
}

/// The register of 64 bits that TEST or CMP compares with 0.
pub(super) fn compared(instruction: &Instruction) -> Option<Register> {
    let register = instruction.op0_register();
    let own = number(register).filter(|_| register.size() == 8)?;
    let is_zero = match instruction.mnemonic() {
        Mnemonic::Test => source(instruction, 1) == Source::Register(own),
        Mnemonic::Cmp => source(instruction, 1) == Source::Constant(0),
        _ => false,
    };
    (is_zero && instruction.op0_kind() == OpKind::Register).then_some(own)
}

/// What a jump's or a move's condition says of the last comparison.
pub(super) fn if_equal(instruction: &Instruction) -> Option<bool> {
    if !instruction.is_jcc_short_or_near() && !is_conditional_move(instruction.mnemonic()) {
        return None;
    }
    match instruction.condition_code() {
        ConditionCode::e => Some(true),
        ConditionCode::ne => Some(false),
        _ => None,
    }
}

fn through(
    instruction: &Instruction,
    by_register: fn(u8) -> Control,
    by_memory: fn(super::super::effect::Address) -> Control,
) -> Control {
    match instruction.op0_kind() {
        OpKind::Memory => by_memory(memory(instruction)),
        _ => number(instruction.op0_register()).map_or(Control::Leave, by_register),
    }
}

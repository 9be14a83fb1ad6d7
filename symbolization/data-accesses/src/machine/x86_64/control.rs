use iced_x86::{FlowControl, Instruction, OpKind};

use super::super::effect::Control;
use super::operand::{memory, number};

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

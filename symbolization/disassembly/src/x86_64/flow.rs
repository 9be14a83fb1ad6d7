use iced_x86::{FlowControl, Instruction, Mnemonic};

use crate::Flow;

/// How an instruction leads on.
pub(super) fn flow(instruction: &Instruction) -> Flow {
    match instruction.flow_control() {
        // A transaction's begin goes to its target only when the transaction is aborted.
        FlowControl::Next | FlowControl::XbeginXabortXend => Flow::Next,
        FlowControl::ConditionalBranch => Flow::Conditional,
        FlowControl::UnconditionalBranch => Flow::Jump,
        FlowControl::IndirectBranch => Flow::IndirectJump,
        FlowControl::IndirectCall => Flow::IndirectCall,
        FlowControl::Interrupt | FlowControl::Exception => Flow::Enter,
        FlowControl::Return => match instruction.mnemonic() {
            Mnemonic::Ret | Mnemonic::Retf => Flow::Return,
            _ => Flow::Leave,
        },
        FlowControl::Call => match instruction.mnemonic() {
            Mnemonic::Call => Flow::Call,
            _ => Flow::Enter,
        },
    }
}

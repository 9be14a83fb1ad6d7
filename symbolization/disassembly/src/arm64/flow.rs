use crate::Flow;

/// How an instruction leads on ("Branches, Exception Generating and System instructions").
pub(super) fn flow(word: u32) -> Flow {
    if word >> 26 == 0b000101 {
        return Flow::Jump;
    }
    if word >> 26 == 0b100101 {
        return Flow::Call;
    }
    let top = word >> 24;
    // B.cond and BC.cond, CBZ and CBNZ, TBZ and TBNZ.
    if top == 0x54 || matches!(top & 0x7f, 0x34..=0x37) {
        return Flow::Conditional;
    }
    // SVC, HVC, SMC, BRK, HLT, DCPS; UDF.
    if top == 0xd4 || word >> 16 == 0 {
        return Flow::Enter;
    }
    if word >> 25 == 0b110_1011 {
        // Bit 24 is set where the authenticated form has a modifier.
        return match word >> 21 & 0b111 {
            0b000 => Flow::IndirectJump,
            0b001 => Flow::IndirectCall,
            0b010 => Flow::Return,
            _ => Flow::Leave, // ERET, DRPS
        };
    }
    Flow::Next
}

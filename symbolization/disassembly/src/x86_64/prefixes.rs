use iced_x86::{Instruction, Mnemonic, Register};

use super::text::Text;

const OPERAND_SIZE: u8 = 0x66;

/// Write the prefixes that change nothing, as objdump does: `data16 cs` of a long nop.
pub(super) fn idle(instruction: &Instruction, code: &[u8], text: &mut Text<'_>) {
    let prefixes = code.iter().take_while(|byte| {
        matches!(
            **byte,
            OPERAND_SIZE | 0x67 | 0x26 | 0x2e | 0x36 | 0x3e | 0x64 | 0x65 | 0xf0 | 0xf2 | 0xf3
        )
    });
    let mut sizes = 0;
    let mut end = 0;
    for byte in prefixes {
        sizes += usize::from(*byte == OPERAND_SIZE);
        end += 1;
    }
    let wide = code.get(end).is_some_and(|byte| byte & 0xf8 == 0x48);
    let branch = instruction.is_call_near() || instruction.is_jmp_near() || is_address(instruction);
    let used = usize::from(!(wide && is_address(instruction) || branch));
    for _ in used..sizes {
        text.prefix("data16");
    }
    if wide && instruction.is_call_near() {
        text.prefix("rex.W");
    }
    if instruction.is_jcc_short_or_near() || instruction.is_jmp_near_indirect() {
        return;
    }
    match instruction.segment_prefix() {
        Register::CS => text.prefix("cs"),
        Register::DS => text.prefix("ds"),
        Register::ES => text.prefix("es"),
        Register::SS => text.prefix("ss"),
        _ => {}
    }
}

fn is_address(instruction: &Instruction) -> bool {
    instruction.mnemonic() == Mnemonic::Lea
}

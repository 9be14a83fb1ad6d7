use super::word::{field, UNIMP};
use crate::Flow;

/// How an instruction leads on. A call keeps the address behind it in `ra` or `t0`, and a return
/// goes to what these hold, as the manual tells predictors of returns.
pub(super) fn flow(word: u32) -> Flow {
    let (link, to) = (field(word, 7, 5), field(word, 15, 5));
    match word & 0x7f {
        0x63 => Flow::Conditional,
        0x6f if is_link(link) => Flow::Call,
        0x6f => Flow::Jump,
        0x67 if is_link(link) => Flow::IndirectCall,
        0x67 if link == 0 && is_link(to) => Flow::Return,
        0x67 => Flow::IndirectJump,
        0x73 => match word {
            0x0000_0073 | 0x0010_0073 | UNIMP => Flow::Enter, // ECALL, EBREAK
            _ if is_leave(word) => Flow::Leave,
            _ => Flow::Next,
        },
        _ => Flow::Next,
    }
}

/// SRET, MRET, MNRET.
pub(super) fn is_leave(word: u32) -> bool {
    matches!(word, 0x1020_0073 | 0x3020_0073 | 0x7020_0073)
}

fn is_link(register: u32) -> bool {
    matches!(register, 1 | 5)
}

/// Where a direct branch leads; 0 of other instructions.
pub(super) fn target(word: u32, address: u64) -> u64 {
    let sign = word as i32 >> 31;
    let distance = match word & 0x7f {
        0x63 => {
            let low = field(word, 7, 1) << 11 | field(word, 25, 6) << 5 | field(word, 8, 4) << 1;
            sign << 12 | low as i32
        }
        0x6f => {
            let low =
                field(word, 12, 8) << 12 | field(word, 20, 1) << 11 | field(word, 21, 10) << 1;
            sign << 20 | low as i32
        }
        _ => return 0,
    };
    address.wrapping_add_signed(distance.into())
}

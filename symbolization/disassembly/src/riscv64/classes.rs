use super::flow::is_leave;
use super::word::field;
use crate::{Class, Classes, Flow};

/// Of what kind an instruction is.
pub(super) fn classes(word: u32, flow: Flow) -> Classes {
    let opcode = word & 0x7f;
    let atomic = opcode == 0x2f;
    let (load_reserved, store_conditional) = (
        atomic && field(word, 27, 5) == 0b00010,
        atomic && field(word, 27, 5) == 0b00011,
    );
    let load = matches!(opcode, 0x03 | 0x07) || atomic && !store_conditional;
    let store = matches!(opcode, 0x23 | 0x27) || atomic && !load_reserved || is_zeroing(word);
    Classes::default()
        .with(Class::Load, load)
        .with(Class::Store, store)
        .with(Class::Locked, atomic && !load_reserved)
        .with(Class::Serialising, is_serialising(word))
        .with(Class::Privileged, is_privileged(word))
        .with(Class::Division, is_division(word))
        .with(Class::Call, flow == Flow::Call)
        .with(Class::IndirectCall, flow == Flow::IndirectCall)
        .with(Class::IndirectJump, flow == Flow::IndirectJump)
        .with(Class::Conditional, flow == Flow::Conditional)
        .with(Class::Vector, is_vector(opcode))
}

/// CBO.ZERO.
fn is_zeroing(word: u32) -> bool {
    word & 0xfff0_7fff == 0x0040_200f
}

/// FENCE.I, fences of address translation, returns from exceptions.
fn is_serialising(word: u32) -> bool {
    word & 0x707f == 0x100f || is_translation_fence(word) || is_leave(word)
}

/// SFENCE.VMA, SINVAL.VMA, SFENCE.W.INVAL and SFENCE.INVAL.IR; HFENCE and HINVAL.
fn is_translation_fence(word: u32) -> bool {
    word & 0x707f == 0x73
        && matches!(
            field(word, 25, 7),
            0x09 | 0x0b | 0x0c | 0x11 | 0x13 | 0x31 | 0x33
        )
}

/// What user mode cannot do: registers of other modes, address translation, WFI, returns from
/// exceptions.
fn is_privileged(word: u32) -> bool {
    const WFI: u32 = 0x1050_0073;
    let register = word & 0x7f == 0x73 && !matches!(field(word, 12, 3), 0 | 4);
    register && field(word, 28, 2) != 0
        || is_translation_fence(word)
        || is_leave(word)
        || word == WFI
}

/// DIV, REM and those of words; FDIV; VDIV, VREM, VFDIV and VFRDIV.
fn is_division(word: u32) -> bool {
    match (word & 0x7f, field(word, 12, 3)) {
        (0x33 | 0x3b, kind) => field(word, 25, 7) == 1 && kind >= 4,
        (0x53, _) => field(word, 27, 5) == 0b00011,
        (0x57, 2 | 6) => field(word, 28, 4) == 0b1000,
        (0x57, 1 | 5) => field(word, 27, 5) == 0b10000,
        _ => false,
    }
}

/// Floating point and vectors.
fn is_vector(opcode: u32) -> bool {
    matches!(
        opcode,
        0x07 | 0x27 | 0x43 | 0x47 | 0x4b | 0x4f | 0x53 | 0x57
    )
}

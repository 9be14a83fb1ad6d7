use crate::machine::effect::{Effect, Operation, Register, Source};

/// The number that is the zero register or the stack pointer, as the encoding says.
pub(super) const ZERO: u32 = 31;

/// A register where 31 is the stack pointer.
pub(super) fn pointer(number: u32) -> Register {
    number as Register
}

/// A register where 31 is the zero register, which is none.
pub(super) fn general(number: u32) -> Option<Register> {
    (number != ZERO).then_some(number as Register)
}

/// What a register holds where 31 is the zero register.
pub(super) fn value(number: u32) -> Source {
    general(number).map_or(Source::Constant(0), Source::Register)
}

/// Write a register where 31 is the zero register.
pub(super) fn set(number: u32, source: Source, out: &mut Operation) {
    if let Some(register) = general(number) {
        out.effects.push(Effect::Set(register, source));
    }
}

/// Write a register where 31 is the stack pointer.
pub(super) fn set_pointer(number: u32, source: Source, out: &mut Operation) {
    out.effects.push(Effect::Set(pointer(number), source));
}

/// What a register of 64 or 32 bits holds after this.
pub(super) fn of_width(is_wide: bool, source: Source) -> Source {
    match source {
        _ if is_wide => source,
        Source::Constant(value) => Source::Constant(value & u64::from(u32::MAX)),
        _ => Source::Number,
    }
}

//! What instructions do with registers and memory, alike for all architectures.

mod arm64;
mod effect;
mod model;
mod x86_64;

pub(crate) use effect::{Access, Address, Control, Effect, Operation, Register, Role, Source};
pub(crate) use model::{Machine, REGISTERS};

/// The machine that an architecture's name, which is the kernel's, means.
pub(crate) fn named(name: &str) -> Option<&'static dyn Machine> {
    match name {
        "x86_64" => Some(&x86_64::X86_64),
        "arm64" | "aarch64" => Some(&arm64::Arm64),
        _ => None,
    }
}

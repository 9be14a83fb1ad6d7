//! The architectures whose guests are counted.

use crate::architecture::arm64::Arm64;
use crate::architecture::riscv64::Riscv64;
use crate::architecture::x86_64::X86_64;
use crate::architecture::Architecture;

const ALL: &[&dyn Architecture] = &[&X86_64, &Arm64, &Riscv64];

/// The one that QEMU calls `name`.
pub fn named(name: &str) -> Option<&'static dyn Architecture> {
    ALL.iter().find(|one| one.name() == name).copied()
}

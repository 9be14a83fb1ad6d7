use crate::decode::Decode;
use crate::instructions::Instructions;
use crate::{arm64, riscv64, x86_64};

/// The architectures whose instructions are decoded.
const ALL: &[&dyn Instructions] = &[&x86_64::X86_64, &arm64::Arm64, &riscv64::Riscv64];

/// What runs the instructions.
#[derive(Clone, Copy)]
pub struct Architecture(&'static dyn Instructions);

impl Architecture {
    /// By its name, which is the kernel's.
    pub fn named(name: &str) -> Option<Self> {
        let found = ALL.iter().find(|one| one.names().contains(&name));
        found.map(|one| Architecture(*one))
    }

    /// The length of each instruction of `code`, from its first byte on. What cannot be decoded is
    /// as short as an instruction can be. The lengths add up to that of `code`.
    pub fn split(self, code: &[u8]) -> Vec<u8> {
        self.0.split(code)
    }

    pub(crate) fn decoder(self) -> Box<dyn Decode> {
        self.0.decoder()
    }
}

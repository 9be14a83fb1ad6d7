use crate::decode::Decode;
use crate::{arm64, x86_64};

/// What runs the instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Architecture {
    /// x86-64, in 64-bit mode.
    X86_64,
    /// AArch64.
    Arm64,
}

impl Architecture {
    /// By its name, which is the kernel's (`uname -m`, or its folder in `arch`).
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "x86_64" => Some(Architecture::X86_64),
            "aarch64" | "arm64" => Some(Architecture::Arm64),
            _ => None,
        }
    }

    /// The length of each instruction of `code`, from its first byte on. What cannot be decoded is
    /// as short as an instruction can be. The lengths add up to that of `code`.
    pub fn split(self, code: &[u8]) -> Vec<u8> {
        match self {
            Architecture::X86_64 => x86_64::split(code),
            Architecture::Arm64 => arm64::split(code),
        }
    }

    /// A decoder of instructions.
    pub(crate) fn decoder(self) -> Box<dyn Decode> {
        match self {
            Architecture::X86_64 => Box::new(x86_64::Decoder::new()),
            Architecture::Arm64 => Box::new(arm64::Decoder::new()),
        }
    }
}

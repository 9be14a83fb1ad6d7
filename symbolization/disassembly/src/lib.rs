#![doc = include_str!("../README.md")]

mod architecture;
mod arm64;
mod class;
mod decode;
mod disassembly;
mod flow;
mod instruction;
mod instructions;
mod riscv64;
mod strings;
mod x86_64;

pub use architecture::Architecture;
pub use class::{Class, Classes};
pub use disassembly::{disassemble, Disassembly};
pub use flow::Flow;

//! Instructions from their bytes: as text, how they lead to the next one, and of what kind they are.
//!
//! Input is untrusted: each instruction takes bounded time and memory, nothing recurses, and nothing
//! panics on any bytes.

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

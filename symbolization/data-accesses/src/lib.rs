//! Which data each load and store of a kernel's code accesses: fields of types, variables, the stack.
//!
//! By DWARF: where variables are at each instruction, and what types the values have that the
//! instructions carry from there. Input is untrusted: what is read is paid for from the file's budget,
//! nothing recurses without a bound, and nothing panics.

mod fields;
mod flow;
mod kind;
mod machine;
mod program;
mod resolve;

pub use kind::{Kind, Reason};
pub use program::{probed, Begin, Held, Probed};
pub use resolve::{Accesses, DataIndex, Executed, Flags};

//! Which instructions of two kernels are the same.
//!
//! Sequences come from Python as numbers: what is equal has one number. Time is in proportion to
//! the product of the lengths of what differs, up to a bound, and to the lengths beyond it.

mod align;
mod anchors;
mod equal_runs;
mod gap;
mod instruction;
mod moved;
mod pair;
mod worth;

pub use align::align;
pub use instruction::Instruction;
pub use pair::{Kind, Pair};

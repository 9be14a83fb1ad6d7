//! Stacks of functions, of exact counts and of samples alike: made of chains, summed, written.
//!
//! Columns come from Python: indexes out of range and parents that are none do not panic. Time and
//! memory are in proportion to the columns (times their logarithm where they are sorted), however
//! deep the stacks are.

mod expand;
mod folded;
mod table;
mod tree;

pub use expand::{expand_calls, expand_samples, CallNodes, Chains, Samples};
pub use folded::write_folded;
pub use table::{add_to_parents, distinct_stacks, outer_calls, DistinctStacks};
pub use tree::{FunctionStacks, Tree};

//! Whether functions of two ELF files of kernels have the same code: the same instructions, with
//! addresses as symbols and offsets; the same data that the code refers to; and the same entries in
//! the tables by which the kernel patches its code at boot.
//!
//! Input is untrusted: work is bounded by the size of the files, nothing recurses, nothing panics.

mod anchors;
mod budget;
mod code;
mod compare;
mod constants;
mod content;
mod image;
mod objects;
mod reference;
mod sections;
mod symbols;
mod tables;
mod targets;
mod verdict;
mod x86_64;

pub use compare::{compare, Comparison};
pub use verdict::{Compared, Verdict};

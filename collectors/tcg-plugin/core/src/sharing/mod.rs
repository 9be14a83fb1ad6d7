//! Which cache lines change hands between vCPUs.
//!
//! Every access to memory is seen, except those of the stack. For each line, it is counted how many
//! operations of each vCPU touch it and how many write it, and a coherence protocol is followed.
//! vCPUs take turns after each operation, so that what the protocol does is what it does when
//! operations of all vCPUs alternate; on their own, they would take turns every few thousand
//! operations.
//!
//! - [`coherence`]: the protocol
//! - [`lines`]: what is known of each line
//! - [`accesses`]: which instructions access which bytes of a line
//! - [`recorder`]: all of that together
//! - [`kernel_path`]: what each vCPU executes of the kernel
//! - [`holds`]: what executes while a lock is held
//! - [`replay`]: the accesses in other orders
//! - [`file`]: the result, as written for the host
//! - [`callbacks`]: what QEMU tells

pub mod accesses;
pub mod callbacks;
pub mod coherence;
pub mod file;
pub mod holds;
pub mod kernel_path;
pub mod lines;
pub mod recorder;
pub mod replay;

/// The most vCPUs.
pub const MOST_VCPUS: usize = 8;

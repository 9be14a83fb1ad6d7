//! How many distinct lines of memory are accessed in a window, by region.
//!
//! Every access to memory is seen, those of the stack, too. A line is known by its physical page, so
//! that what two programs have at the same address is two lines. Addresses tell most regions; a page
//! of the direct map is what its `struct page` says while it is accessed.
//!
//! - [`contexts`]: whether a program's own context executes
//! - [`guest`]: the guest's memory, read
//! - [`regions`]: from an address to its region
//! - [`page_types`]: what pages of the direct map are
//! - [`touched`]: the lines that were accessed
//! - [`callbacks`]: what QEMU tells, and the result as written for the host

pub mod callbacks;
pub mod contexts;
pub mod guest;
pub mod page_types;
pub mod regions;
pub mod touched;

/// Bytes of a line, as a power of two.
pub const LINE_SHIFT: u32 = 6;
/// Bytes of a page, as a power of two.
pub const PAGE_SHIFT: u32 = 12;

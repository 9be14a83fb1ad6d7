//! Which page of a program runs where it was translated, so that [`crate::aliases`] need not ask.
//!
//! A callback finds out, and generated code remembers the page until the program may have left it: by
//! an indirect jump, by a direct one to another page, or by an exception or interrupt, behind which
//! the kernel goes back by a return from one. Each of these forgets the page. Until then, direct
//! jumps lead from one instruction to another of the same mapping.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::architecture::End;

/// Mappings move code by whole pages, of at least this size. Other differences are segments' (the
/// firmware's real mode), whose base an instruction's address contains and the register does not.
pub const PAGE: u64 = 1 << 12;

/// The number of the page, and one more; 0 if none is known.
pub static KNOWN: AtomicU64 = AtomicU64::new(0);

/// What [`KNOWN`] holds where the page of `address` runs there.
pub fn known(address: u64) -> u64 {
    address / PAGE + 1
}

/// What was translated at `start` runs at `address`.
pub fn runs_at(start: u64, address: u64) {
    let page = if start == address { known(start) } else { 0 };
    KNOWN.store(page, Ordering::Relaxed);
}

/// Whether a block from `start` to `behind` that ends so may lead from its page to another one, or
/// from the kernel to a program.
pub fn leaves(start: u64, end: End, behind: u64, in_kernel: bool) -> bool {
    let elsewhere = |address: u64| address != 0 && address / PAGE != start / PAGE;
    match end {
        End::Leave => true,
        _ if in_kernel => false,
        End::Next { target } | End::Branch { target } => elsewhere(target) || elsewhere(behind),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_leave_a_page_by_what_may_lead_out_of_it() {
        let start = 0x40_1ff0;
        let near = End::Branch { target: 0x40_1000 };
        for (end, behind, expected) in [
            (near, 0x40_1ff8, false),
            (near, 0x40_2000, true),
            (End::Branch { target: 0x40_2000 }, 0x40_1ff8, true),
            (End::Next { target: 0 }, 0x40_1ff8, false),
            (End::Next { target: 0 }, 0x40_2002, true),
            (End::Call, 0x40_1ff8, true),
            (End::Return, 0x40_1ff8, true),
            (End::Jump, 0x40_1ff8, true),
            (End::Enter, 0x40_1ff8, true),
        ] {
            assert_eq!(leaves(start, end, behind, false), expected, "{end:?}");
            assert!(!leaves(start, end, behind, true));
        }
        assert!(leaves(start, End::Leave, 0, true));
    }

    #[test]
    fn only_a_page_that_runs_where_it_was_translated_is_known() {
        runs_at(0x40_1ff0, 0x40_1ff0);
        assert_eq!(KNOWN.load(Ordering::Relaxed), known(0x40_1000));
        assert_ne!(known(0x40_1000), known(0x40_2000));
        runs_at(0x40_1ff0, 0x7f_1ff0);
        assert_eq!(KNOWN.load(Ordering::Relaxed), 0);
    }
}

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::compression::{MOST_BYTES, MOST_RATIO};
use crate::Error;

/// What any file may cost, however small.
const LEAST: u64 = 1 << 20;

/// Beyond `MOST_BYTES` a file may cost this many times what it unpacks to. A vmlinux costs 2 times
/// its size (3 times if it was packed), a Rust program 8 to 10 times.
const MOST_FOR_LARGE: u64 = 16;

/// How much an account owes before it pays, so that threads do not wait for each other.
const PORTION: u64 = 1 << 16;

/// What converting one ELF file may cost: bytes of memory, and steps that need none.
///
/// DWARF refers from everywhere to everywhere: a small file can name a large thing again and again.
/// No single reference is wrong, only their sum is.
pub(crate) struct Budget {
    path: PathBuf,
    limit: u64,
    left: AtomicU64,
}

/// The budget is used up.
#[derive(Debug)]
pub(crate) struct Exhausted;

impl Budget {
    /// For a file of `packed` bytes that unpacks to `unpacked`, which counts.
    pub(crate) fn new(path: &Path, packed: usize, unpacked: usize) -> Self {
        let (packed, unpacked) = (packed as u64, unpacked as u64);
        let held = if packed == unpacked { 0 } else { unpacked };
        // That much came out of little is no reason to read less of it than of little.
        let ratio = packed
            .saturating_mul(MOST_RATIO)
            .saturating_add(LEAST + held);
        let most = unpacked.saturating_mul(MOST_FOR_LARGE);
        let limit = ratio.min(most.saturating_add(MOST_BYTES));
        Budget {
            path: path.into(),
            limit,
            left: AtomicU64::new(limit.saturating_sub(held)),
        }
    }

    /// Take part of the budget.
    pub(crate) fn spend(&self, cost: u64) -> Result<(), Exhausted> {
        let rest = |left: u64| left.checked_sub(cost);
        let taken = self
            .left
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, rest);
        if taken.is_err() {
            self.left.store(0, Ordering::Relaxed); // the other threads are to stop, too
            return Err(Exhausted);
        }
        Ok(())
    }

    /// The error that names the file.
    pub(crate) fn error(&self) -> Error {
        Error::TooCostly {
            path: self.path.clone(),
            limit: self.limit,
        }
    }
}

/// What one thread spends of a budget.
pub(crate) struct Account<'b> {
    budget: &'b Budget,
    owed: u64,
}

impl<'b> Account<'b> {
    pub(crate) fn new(budget: &'b Budget) -> Self {
        Account { budget, owed: 0 }
    }

    pub(crate) fn spend(&mut self, cost: usize) -> Result<(), Exhausted> {
        self.owed = self.owed.saturating_add(cost as u64);
        if self.owed < PORTION {
            return Ok(());
        }
        self.settle()
    }

    /// Pay what is owed.
    pub(crate) fn settle(&mut self) -> Result<(), Exhausted> {
        self.budget.spend(std::mem::take(&mut self.owed))
    }
}

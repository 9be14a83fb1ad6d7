use std::cell::Cell;

use crate::verdict::Difference;

/// How often each byte of two files may be compared: honest symbols hardly overlap.
const MOST: u64 = 8;

/// Bytes that may still be compared.
pub(crate) struct Budget(Cell<u64>);

impl Budget {
    /// For files of so many bytes together.
    pub(crate) fn new(bytes: usize) -> Self {
        Budget(Cell::new((bytes as u64).saturating_mul(MOST)))
    }

    pub(crate) fn spend(&self, bytes: u64) -> Result<(), Difference> {
        let rest = self.0.get().checked_sub(bytes);
        self.0.set(rest.unwrap_or(0));
        rest.map(|_| ())
            .ok_or_else(|| Difference::unknown("the files ask for more work than honest ones"))
    }
}

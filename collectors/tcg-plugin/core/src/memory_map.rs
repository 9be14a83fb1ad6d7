//! From the address of an access to its page: by physical pages, so that what two programs share is
//! one, and what they have at the same address is two.
//!
//! To ask QEMU for a physical address takes longer than all else. The kernel's addresses keep their
//! pages (what it maps anew in a window, stacks for instance, has the first), so each page of the
//! kernel is asked for once; a program's address is asked for each time, as programs change.

use hashbrown::HashMap;

use crate::ffi;

/// The number of a page.
pub type PageNumber = u32;

/// A page that is a device's.
const DEVICE: PageNumber = u32::MAX;
const UNUSED: u64 = u64::MAX;
const PAGE_SHIFT: u32 = 12;
const RECENT: usize = 1024;

/// A page: its virtual address, the kernel's where it has accessed it by one of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Page {
    /// Virtual address.
    pub address: u64,
}

/// The pages that were accessed.
pub struct MemoryMap {
    recent: Box<[(u64, PageNumber); RECENT]>,
    by_address: HashMap<u64, PageNumber>,
    by_physical: HashMap<u64, PageNumber>,
    pages: Vec<Page>,
}

impl Default for MemoryMap {
    fn default() -> MemoryMap {
        MemoryMap {
            recent: Box::new([(UNUSED, 0); RECENT]),
            by_address: HashMap::new(),
            by_physical: HashMap::new(),
            pages: Vec::new(),
        }
    }
}

impl MemoryMap {
    /// The pages, by number.
    pub fn pages(&self) -> &[Page] {
        &self.pages
    }

    /// The page that has a physical address, if it was accessed.
    pub fn known(&self, physical: u64) -> Option<PageNumber> {
        self.by_physical.get(&(physical >> PAGE_SHIFT)).copied()
    }

    /// The page of an access to `address` with QEMU's `info`; None for a device's. Inside a callback
    /// of that access.
    #[inline]
    pub fn page(&mut self, info: u32, address: u64, in_kernel: bool) -> Option<PageNumber> {
        let above = address >> PAGE_SHIFT;
        if !in_kernel {
            let physical = ffi::physical(info, address)?;
            return Some(self.numbered(physical, above));
        }
        let recent = &mut self.recent[above as usize % RECENT];
        if recent.0 != above {
            let found = self.by_address.get(&above).copied();
            let number = found.unwrap_or_else(|| self.kernels(info, address));
            self.recent[above as usize % RECENT] = (above, number);
            return (number != DEVICE).then_some(number);
        }
        (recent.1 != DEVICE).then_some(recent.1)
    }

    #[cold]
    fn kernels(&mut self, info: u32, address: u64) -> PageNumber {
        let above = address >> PAGE_SHIFT;
        let physical = ffi::physical(info, address);
        let number = physical.map_or(DEVICE, |at| self.numbered(at, above));
        self.by_address.insert(above, number);
        number
    }

    fn numbered(&mut self, physical: u64, above: u64) -> PageNumber {
        let next = self.pages.len() as PageNumber;
        let number = *self
            .by_physical
            .entry(physical >> PAGE_SHIFT)
            .or_insert(next);
        let address = above << PAGE_SHIFT;
        if number == next {
            self.pages.push(Page { address });
        } else if address >> 63 > self.pages[number as usize].address >> 63 {
            // The kernel's own name of a page says more.
            self.pages[number as usize] = Page { address };
        }
        number
    }
}

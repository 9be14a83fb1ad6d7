//! The lines that were accessed in a window.

use std::io::{self, Write};

use crate::extents::Extents;
use crate::lines::contexts::{Contexts, Turn};
use crate::lines::guest::Memory;
use crate::lines::page_types::{references, PageTypes};
use crate::lines::regions::{Region, Regions, Symbols, REGIONS};
use crate::lines::{LINE_SHIFT, PAGE_SHIFT};
use crate::memory_map::{MemoryMap, PageNumber};

/// Bits of the lines of a page.
type Bits = u64;
const LINE: u64 = 1 << LINE_SHIFT;
const PAGE: u64 = 1 << PAGE_SHIFT;
const NO_LINE: u64 = u64::MAX;

/// Whose instruction accesses memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Of {
    /// A program's. What it accesses of the kernel is what the processor does to interrupt it, which
    /// QEMU tells as if it were of the last instruction.
    Program,
    /// The kernel's.
    Kernel,
    /// The kernel's last one, likewise.
    Leaving,
}

impl Of {
    /// All, by number.
    pub const ALL: [Of; 3] = [Of::Program, Of::Kernel, Of::Leaving];
}

/// By what an instruction accesses memory, if that tells whose it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// An address that tells nothing.
    Address,
    /// The stack pointer.
    StackPointer,
    /// What each processor has as its own base.
    OwnBase,
}

impl By {
    /// All, by number.
    pub const ALL: [By; 3] = [By::Address, By::StackPointer, By::OwnBase];

    fn region(self) -> Option<Region> {
        match self {
            By::Address => None,
            By::StackPointer => Some(Region::Stack),
            By::OwnBase => Some(Region::PerCpu),
        }
    }
}

/// The bit of the line that an address is in.
fn bit(address: u64) -> Bits {
    1 << ((address % PAGE) >> LINE_SHIFT)
}

/// What was accessed of a page.
#[derive(Clone, Copy, Debug, Default)]
struct Page {
    regions: [Bits; REGIONS],
    /// Of a page of the direct map that had no type yet: it is cleared before it gets one.
    pending: Bits,
    /// Whether the page had references since then.
    had_references: bool,
    /// Whose all of the page is.
    is_all: Option<Region>,
}

impl Page {
    fn add(&mut self, region: Region, lines: Bits) {
        self.regions[region as usize] |= lines;
    }

    /// What waited for a type has one.
    fn settle(&mut self, region: Region) {
        let pending = std::mem::take(&mut self.pending);
        self.had_references = false;
        self.add(region, pending);
    }

    /// The lines by region: what is mapped page by page, or has no type, is of the stack or of a
    /// processor with all of its page.
    fn settled(&self) -> [Bits; REGIONS] {
        let mut page = *self;
        page.settle(Region::DirectMap);
        if let Some(region) = page.is_all {
            for part in [Region::Vmalloc, Region::DirectMap] {
                let lines = std::mem::take(&mut page.regions[part as usize]);
                page.add(region, lines);
            }
        }
        page.regions[Region::Outside as usize] &= !page.own();
        page.regions
    }

    /// The lines that were accessed for programs.
    fn own(&self) -> Bits {
        let [regions @ .., _] = self.regions;
        regions.iter().fold(0, |one, other| one | other)
    }
}

/// The lines of a window. `M` reads the guest's memory.
pub struct Touched<M> {
    memory: M,
    symbols: Symbols,
    regions: Option<Regions>,
    types: PageTypes,
    contexts: Contexts,
    map: MemoryMap,
    extents: Extents,
    pages: Vec<Page>,
    /// Whether a window is open.
    pub open: bool,
    /// The line that was accessed last, by what, and whether in a program's own context.
    last: (u64, By, bool),
}

impl<M: Memory> Touched<M> {
    /// None yet, of a kernel that has these variables; `stack`: which one an address is in.
    pub fn new(symbols: Symbols, stack: fn(u64) -> u64, memory: M) -> Touched<M> {
        Touched {
            memory,
            symbols,
            regions: None,
            types: PageTypes::default(),
            contexts: Contexts::new(symbols.interrupts, stack),
            map: MemoryMap::default(),
            extents: Extents::default(),
            pages: Vec::new(),
            open: false,
            last: (NO_LINE, By::Address, true),
        }
    }

    /// Begin anew.
    pub fn begin(&mut self) {
        self.pages.fill(Page::default());
        self.last = (NO_LINE, By::Address, true);
    }

    /// Whether an interrupt begins with the instruction at an address.
    pub fn may_interrupt_at(&mut self, address: u64) -> bool {
        self.contexts.begin_at(address, &self.memory)
    }

    /// An instruction executes that changes what its vCPU executes.
    pub fn turns(&mut self, turn: Turn) {
        self.contexts.turn(self.memory.vcpu(), turn);
        self.last = (NO_LINE, By::Address, true);
    }

    /// An instruction has accessed memory, as QEMU's `info` says, in its callback.
    #[inline]
    pub fn accessed(&mut self, by: By, of: Of, info: u32, address: u64) {
        let vcpu = self.memory.vcpu();
        let own = match of {
            Of::Program => {
                self.contexts.in_program(vcpu);
                address >> 63 == 0
            }
            Of::Kernel => (self.contexts).in_kernel(vcpu, by == By::StackPointer, address),
            Of::Leaving => false,
        };
        if !self.open {
            return;
        }
        let (size, store) = self.extents.of(info);
        let size = u64::from(size);
        let crosses = (address % LINE) + size > LINE;
        let stores = store && address >> 63 == 1;
        let this = (address >> LINE_SHIFT, by, own);
        if self.last == this && !crosses && !stores {
            return;
        }
        self.last = this;
        let map = &mut self.map;
        let Some(page) = map.page(info, address, address >> 63 == 1) else {
            return;
        };
        let mut line = |address: u64| match own {
            true => self.line(page, by, address),
            false => self.page(page).add(Region::Outside, bit(address)),
        };
        line(address);
        let next = (address | (LINE - 1)).wrapping_add(1);
        // QEMU tells no physical address but the first byte's.
        if crosses && next % PAGE != 0 {
            line(next);
        }
        if stores {
            self.stored(address, size);
        }
    }

    fn page(&mut self, page: PageNumber) -> &mut Page {
        let at = page as usize;
        if self.pages.len() <= at {
            self.pages.resize(at + 1, Page::default());
        }
        &mut self.pages[at]
    }

    fn line(&mut self, page: PageNumber, by: By, address: u64) {
        let lines = bit(address);
        if address >> 63 == 0 {
            return self.page(page).add(Region::User, lines);
        }
        if self.regions.is_none() {
            self.regions = Regions::read(&self.symbols, &self.memory);
        }
        let Some(regions) = self.regions else {
            return self.page(page).add(Region::Other, lines);
        };
        if let Some(region) = by.region() {
            let page = self.page(page);
            page.is_all.get_or_insert(region);
            return page.add(region, lines);
        }
        let region = regions.of(address);
        if region != Region::DirectMap {
            return self.page(page).add(region, lines);
        }
        self.types
            .look(self.symbols.kmem_cache, &regions, &self.memory);
        let number = (address - regions.direct_map) >> PAGE_SHIFT;
        let found = self.types.of(number, &regions, &self.memory);
        let page = self.page(page);
        match found {
            Some(region) => {
                page.settle(region);
                page.add(region, lines);
            }
            None => page.pending |= lines,
        }
    }

    /// A store may be to a `struct page`: the page gets a type, or nobody has it any more.
    fn stored(&mut self, address: u64, size: u64) {
        let Some(regions) = self.regions else {
            return;
        };
        let Some(offset) = regions.struct_page(address) else {
            return;
        };
        let number = self.types.stored(offset, size);
        let known = self.map.known(number << PAGE_SHIFT);
        let Some(page) = known.and_then(|at| self.pages.get_mut(at as usize)) else {
            return;
        };
        if page.pending == 0 {
            return;
        }
        if let Some(region) = self.types.of(number, &regions, &self.memory) {
            page.settle(region);
            return;
        }
        match references(number, &regions, &self.memory) {
            Some(0) if page.had_references => page.settle(Region::DirectMap),
            Some(0) | None => {}
            Some(_) => page.had_references = true,
        }
    }

    /// How many distinct lines there are: in all, but for those of `Region::Outside`; by region.
    fn counts(&self) -> (u64, [u64; REGIONS]) {
        let (mut all, mut by_region) = (0, [0; REGIONS]);
        for page in &self.pages {
            all += u64::from((page.own() | page.pending).count_ones());
            for (sum, lines) in by_region.iter_mut().zip(page.settled()) {
                *sum += u64::from(lines.count_ones());
            }
        }
        (all, by_region)
    }

    /// Write them as lines of text: `types 1` if the kernel tells types of pages, else `types 0`,
    /// `lines all NUMBER`, and `lines REGION NUMBER` for each.
    pub fn write(&self, out: &mut impl Write) -> io::Result<()> {
        let (all, by_region) = self.counts();
        writeln!(out, "types {}", u8::from(self.types.are_told()))?;
        writeln!(out, "lines all {all}")?;
        for ((_, name), lines) in Region::ALL.iter().zip(by_region) {
            writeln!(out, "lines {name} {lines}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(page: Page) -> Vec<(&'static str, u32)> {
        let each = Region::ALL.iter().zip(page.settled());
        each.map(|((_, name), lines)| (*name, lines.count_ones()))
            .filter(|(_, lines)| *lines > 0)
            .collect()
    }

    #[test]
    fn what_is_cleared_before_it_has_a_type_is_of_that_type() {
        let mut page = Page {
            pending: u64::MAX,
            ..Page::default()
        };
        page.settle(Region::PageTables);
        page.add(Region::PageTables, 1);
        assert_eq!(lines(page), [("page-tables", 64)]);
        page.pending = 3;
        page.settle(Region::DirectMap);
        assert_eq!(lines(page), [("page-tables", 64), ("direct-map", 2)]);
    }

    #[test]
    fn a_page_of_a_stack_is_one_with_all_that_no_address_tells() {
        let mut page = Page {
            is_all: Some(Region::Stack),
            ..Page::default()
        };
        page.add(Region::Stack, 1);
        page.add(Region::Vmalloc, 3);
        page.add(Region::User, 4);
        assert_eq!(lines(page), [("user", 1), ("stack", 2)]);
    }

    #[test]
    fn a_line_is_outside_if_no_program_has_it_accessed() {
        let mut page = Page {
            pending: 4,
            ..Page::default()
        };
        page.add(Region::Outside, 15);
        page.add(Region::Slab, 1);
        assert_eq!(page.own(), 1);
        assert_eq!(
            lines(page),
            [("slab", 1), ("direct-map", 1), ("outside", 2)]
        );
    }

    #[test]
    fn regions_have_their_numbers() {
        for (number, (region, _)) in Region::ALL.iter().enumerate() {
            assert_eq!(*region as usize, number);
        }
    }
}

//! What pages of the direct map are, as their `struct page` says when it is asked.
//!
//! `page_type` has the type in its highest byte since Linux 6.12 (4ffca5a96678). Whether a kernel
//! has it so, the page of the cache of caches tells, which is one of slabs.

use crate::lines::guest::Memory;
use crate::lines::regions::{Region, Regions};
use crate::lines::PAGE_SHIFT;

/// Bytes of a `struct page`, as a power of two, and where in it are `compound_head`, `page_type` and
/// `_refcount` (include/linux/mm_types.h).
const SHIFT: u32 = 6;
const HEAD: u64 = 8;
const TYPE: u64 = 48;
const REFERENCES: u64 = 52;
/// `PGTY_table` and `PGTY_slab` (include/linux/page-flags.h).
const TABLE: u32 = 0xf2;
const SLAB: u32 = 0xf5;

/// The types of pages.
#[derive(Default)]
pub struct PageTypes {
    /// By page, the type that was read last, and when.
    known: Vec<(u64, Option<Region>)>,
    /// It goes on when a type may have changed.
    now: u64,
    /// Whether the kernel tells types, when somebody has looked.
    tells: Option<bool>,
}

impl PageTypes {
    /// Whether the kernel tells them.
    pub fn are_told(&self) -> bool {
        self.tells == Some(true)
    }

    /// Look whether the kernel tells them: `kmem_cache` is the address of its variable.
    pub fn look(&mut self, kmem_cache: u64, regions: &Regions, memory: &impl Memory) {
        if self.tells.is_none() {
            let cache = (kmem_cache != 0).then(|| memory.word(kmem_cache)).flatten();
            let page = cache.map(|cache| cache.wrapping_sub(regions.direct_map) >> PAGE_SHIFT);
            self.tells = Some(page.and_then(|page| read(page, regions, memory)) == Some(SLAB));
        }
    }

    /// What a page of the direct map is; None for one that has no such type.
    #[inline]
    pub fn of(&mut self, page: u64, regions: &Regions, memory: &impl Memory) -> Option<Region> {
        let at = usize::try_from(page).ok()?;
        if self.tells != Some(true) || at >= 1 << 28 {
            return None;
        }
        if self.known.len() <= at {
            self.known.resize(at + 1, (u64::MAX, None));
        }
        if self.known[at].0 != self.now {
            let region = match read(page, regions, memory) {
                Some(TABLE) => Some(Region::PageTables),
                Some(SLAB) => Some(Region::Slab),
                _ => None,
            };
            self.known[at] = (self.now, region);
        }
        self.known[at].1
    }

    /// So many bytes were stored, so far behind the first `struct page`: of which page.
    #[inline]
    pub fn stored(&mut self, offset: u64, size: u64) -> u64 {
        let at = offset & ((1 << SHIFT) - 1);
        let reaches = |field: u64, bytes: u64| at < field + bytes && field < at + size;
        self.now += u64::from(reaches(HEAD, 8) || reaches(TYPE, 4));
        offset >> SHIFT
    }
}

/// How many references a page has.
pub fn references(page: u64, regions: &Regions, memory: &impl Memory) -> Option<u32> {
    memory.half(struct_page(page, regions) + REFERENCES)
}

fn struct_page(page: u64, regions: &Regions) -> u64 {
    regions.struct_pages.wrapping_add(page << SHIFT)
}

/// The highest byte of a page's type, or of that of the compound page that it is in.
fn read(page: u64, regions: &Regions, memory: &impl Memory) -> Option<u32> {
    Some(memory.half(first(page, regions, memory)? + TYPE)? >> 24)
}

/// The first `struct page` of the compound page that a page is in.
fn first(page: u64, regions: &Regions, memory: &impl Memory) -> Option<u64> {
    let at = struct_page(page, regions);
    let head = memory.word(at + HEAD)?;
    if head & 1 == 0 {
        return Some(at);
    }
    // The head's address plus 1, or since 7.0 what masks an address to be the head's.
    let is_address = regions.struct_page(head - 1).is_some();
    Some(if is_address { head - 1 } else { at & head })
}

/// The `struct slab` of an object of the direct map; None where it is in no slab.
pub fn slab(object: u64, regions: &Regions, memory: &impl Memory) -> Option<u64> {
    let page = object.checked_sub(regions.direct_map)? >> PAGE_SHIFT;
    let at = first(page, regions, memory)?;
    (memory.half(at + TYPE)? >> 24 == SLAB).then_some(at)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::lines::regions::tests::Made;
    use crate::lines::regions::Symbols;

    const PAGES: u64 = 0xffff_ea00_0000_0000;

    fn set(memory: &mut Made, page: u64, head: u64, kind: u32) {
        let at = PAGES + (page << SHIFT);
        memory.put(at + HEAD, &head.to_le_bytes());
        memory.put(at + TYPE, &(kind << 24).to_le_bytes());
    }

    fn made() -> (Made, Regions, PageTypes) {
        let mut memory = Made::default();
        memory.put(0x100, &0xffff_8880_0000_3040_u64.to_le_bytes());
        set(&mut memory, 3, 0, SLAB);
        let regions = Regions::read(&Symbols::default(), &memory).unwrap();
        (memory, regions, PageTypes::default())
    }

    #[test]
    fn a_page_is_what_it_is_now() {
        let (mut memory, regions, mut types) = made();
        types.look(0x100, &regions, &memory);
        assert!(types.are_told());
        set(&mut memory, 5, 0, TABLE);
        assert_eq!(types.of(5, &regions, &memory), Some(Region::PageTables));
        set(&mut memory, 5, 0, 0xff);
        // Nothing tells that the type is another one but a store.
        assert_eq!(types.of(5, &regions, &memory), Some(Region::PageTables));
        assert_eq!(types.stored((5 << SHIFT) + REFERENCES, 4), 5);
        assert_eq!(types.of(5, &regions, &memory), Some(Region::PageTables));
        types.stored((5 << SHIFT) + TYPE, 4);
        assert_eq!(types.of(5, &regions, &memory), None);
    }

    #[test]
    fn a_page_behind_the_first_is_what_that_is() {
        let (mut memory, regions, mut types) = made();
        types.look(0x100, &regions, &memory);
        set(&mut memory, 8, 0, SLAB);
        set(&mut memory, 9, PAGES + (8 << SHIFT) + 1, 0);
        set(&mut memory, 11, !((4 << SHIFT) - 1) + 1, 0);
        for page in [8, 9, 11] {
            assert_eq!(types.of(page, &regions, &memory), Some(Region::Slab));
        }
    }

    #[test]
    fn another_kernel_tells_none() {
        let (mut memory, regions, mut types) = made();
        set(&mut memory, 3, 0, 0xff);
        types.look(0x100, &regions, &memory);
        set(&mut memory, 5, 0, TABLE);
        assert_eq!(types.of(5, &regions, &memory), None);
        assert!(!types.are_told());
    }
}

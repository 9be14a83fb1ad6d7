//! What was given out and taken back.
//!
//! An object is known by its address: its page's `struct slab` says of which cache it is when it is
//! given out, and when it is taken back. So a function that leaves its work to another one counts
//! once, as that gives or takes the same address.

use std::collections::HashMap;
use std::hash::Hash;
use std::io::{self, Write};

use crate::allocations::allocators::{Layout, Role};
use crate::lines::guest::Memory;
use crate::lines::page_types::slab;
use crate::lines::regions::Regions;
use crate::lines::PAGE_SHIFT;

/// Orders of pages are below.
const ORDERS: usize = 32;
/// The most addresses of an array that are read, and bytes of a name.
const MOST_OF_ARRAY: u64 = 1 << 16;
const MOST_OF_NAME: u64 = 64;
/// `ZERO_SIZE_PTR` (include/linux/slab.h): of no bytes.
const NOTHING: u64 = 16;
/// `PG_head` (include/linux/page-flags.h), and bytes of a `struct page`.
const IS_HEAD: u64 = 1 << 6;
const STRUCT_PAGE: u64 = 64;

/// How often something was given out and taken back, and how much of the first was not taken back
/// when the window closed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Tally {
    given: u64,
    taken: u64,
    kept: u64,
}

/// What is given out by address, and of which kind it is.
#[derive(Debug)]
struct Given<K> {
    tallies: HashMap<K, Tally>,
    /// What was given out in the window and is not back yet.
    live: HashMap<u64, K>,
    /// The addresses that were given out and taken back last.
    last: [u64; 2],
}

impl<K> Default for Given<K> {
    fn default() -> Self {
        Given {
            tallies: HashMap::default(),
            live: HashMap::default(),
            last: [0; 2],
        }
    }
}

impl<K: Copy + Eq + Hash> Given<K> {
    /// An address is given out, in an `open` window. Whoever gives it out for another function
    /// returns it right behind that one. One that is out was taken back where nobody saw it.
    fn give(&mut self, address: u64, open: bool, kind: impl FnOnce() -> Option<K>) {
        if self.last[0] == address {
            return;
        }
        self.last[0] = address;
        if self.last[1] == address {
            self.last[1] = 0;
        }
        self.ends(address, open);
        if let Some(kind) = open.then(kind).flatten() {
            self.tallies.entry(kind).or_default().given += 1;
            self.live.insert(address, kind);
        }
    }

    /// An address is taken back.
    fn take(&mut self, address: u64, open: bool, kind: impl FnOnce() -> Option<K>) {
        if self.last[1] == address {
            return;
        }
        self.last[1] = address;
        if self.last[0] == address {
            self.last[0] = 0;
        }
        let known = self.ends(address, open);
        if let Some(kind) = (open && !known).then(kind).flatten() {
            self.tallies.entry(kind).or_default().taken += 1;
        }
    }

    /// What was given out at an address, if anything, is so no more.
    fn ends(&mut self, address: u64, open: bool) -> bool {
        let Some(kind) = self.live.remove(&address) else {
            return false;
        };
        let tally = self.tallies.entry(kind).or_default();
        if open {
            tally.taken += 1;
        } else {
            tally.kept += 1;
        }
        true
    }

    /// By kind.
    fn tallies(&self) -> HashMap<K, Tally> {
        let mut found = self.tallies.clone();
        for kind in self.live.values() {
            found.entry(*kind).or_default().kept += 1;
        }
        found
    }

    fn clear(&mut self) {
        self.tallies.clear();
        self.live.clear();
    }
}

/// What was given out of each cache, by its address, and of each order.
pub struct Allocations<M> {
    layout: Layout,
    memory: M,
    regions: Option<Regions>,
    objects: Given<u64>,
    pages: Given<usize>,
    /// The name of each cache, and how many bytes its objects have.
    caches: HashMap<u64, (String, u32)>,
}

impl<M: Memory> Allocations<M> {
    /// None yet.
    pub fn new(layout: Layout, memory: M) -> Allocations<M> {
        Allocations {
            layout,
            memory,
            regions: None,
            objects: Given::default(),
            pages: Given::default(),
            caches: HashMap::default(),
        }
    }

    /// A function begins, whose registers hold this; `open`: whether what it does counts.
    pub fn begins(&mut self, role: Role, [first, second]: [u64; 2], open: bool) {
        let layout = self.layout;
        match role {
            Role::FreesObject => self.object(first, open, false),
            Role::FreesAround => {
                let object = self.around(first).unwrap_or(0);
                self.object(object, open, false);
            }
            Role::FreesObjects => self.objects(second, first, open, false),
            Role::FreesSheaf => {
                let number = self.memory.half(first.wrapping_add(layout.sheaf_size));
                let array = first.wrapping_add(layout.sheaf_objects);
                self.objects(array, number.map_or(0, u64::from), open, false);
            }
            Role::FreesPages => {
                self.pages.take(first, open, || order(second & 0xff));
            }
            Role::FreesFolios => {
                let mut number = [0];
                let at = first.wrapping_add(layout.batch_number);
                let number = self.memory.bytes(at, &mut number).map_or(0, |()| number[0]);
                for folio in self.array(first.wrapping_add(layout.batch_folios), number.into()) {
                    let memory = &self.memory;
                    self.pages.take(folio, open, || order_of(folio, memory));
                }
            }
            Role::Object | Role::Objects | Role::Pages | Role::PageArray => {}
        }
    }

    /// A function returns, whose registers held this when it began in the window.
    pub fn ends(&mut self, role: Role, [first, second]: [u64; 2], returned: u64) {
        match role {
            Role::Object => self.object(returned, true, true),
            Role::Objects => self.objects(first, returned & 0xffff_ffff, true, true),
            Role::Pages if returned != 0 => {
                self.pages.give(returned, true, || order(first & 0xff));
            }
            Role::PageArray => {
                for page in self.array(second, first & 0xffff_ffff) {
                    if !self.pages.live.contains_key(&page) {
                        self.pages.give(page, true, || Some(0));
                    }
                }
            }
            _ => {}
        }
    }

    fn array(&self, at: u64, number: u64) -> Vec<u64> {
        let places = (0..number.min(MOST_OF_ARRAY)).map(|n| at.wrapping_add(8 * n));
        let found = places.map_while(|place| self.memory.word(place));
        found.filter(|address| *address != 0).collect()
    }

    fn objects(&mut self, array: u64, number: u64, open: bool, gives: bool) {
        for object in self.array(array, number) {
            self.object(object, open, gives);
        }
    }

    fn look(&mut self) -> Option<Regions> {
        if self.regions.is_none() {
            self.regions = Regions::read(&self.layout.symbols, &self.memory);
        }
        self.regions
    }

    /// The object that an address is in.
    fn around(&mut self, address: u64) -> Option<u64> {
        let regions = self.look()?;
        let slab = slab(address, &regions, &self.memory)?;
        let cache = self.memory.word(slab + self.layout.slab_cache)?;
        let size = self
            .memory
            .half(cache.wrapping_add(self.layout.cache_size))?;
        let page = regions.struct_page(slab)? / STRUCT_PAGE;
        let first = regions.direct_map.wrapping_add(page << PAGE_SHIFT);
        let behind = address.checked_sub(first)?;
        Some(address - behind.checked_rem(size.into())?)
    }

    /// Large objects are pages, which are in no slab.
    fn object(&mut self, object: u64, open: bool, gives: bool) {
        if object <= NOTHING {
            return;
        }
        let regions = self.look();
        let (memory, layout) = (&self.memory, &self.layout);
        let cache = || memory.word(slab(object, &regions?, memory)? + layout.slab_cache);
        if gives {
            self.objects.give(object, open, cache);
        } else {
            self.objects.take(object, open, cache);
        }
    }

    /// What caches are called is read while they are there.
    pub fn name(&mut self) {
        let (memory, layout) = (&self.memory, &self.layout);
        for cache in self.objects.tallies.keys() {
            self.caches.entry(*cache).or_insert_with(|| {
                let size = memory.half(cache.wrapping_add(layout.cache_size));
                let name = memory.word(cache.wrapping_add(layout.cache_name));
                (
                    name.map_or_else(String::new, |at| text(at, memory)),
                    size.unwrap_or(0),
                )
            });
        }
    }

    /// Forget what was counted.
    pub fn clear(&mut self) {
        self.objects.clear();
        self.pages.clear();
    }

    /// Lines of text: `cache SIZE GIVEN TAKEN KEPT NAME`, by name, and `pages ORDER GIVEN TAKEN
    /// KEPT`; the last one is `end`.
    pub fn write(&self, out: &mut impl Write) -> io::Result<()> {
        let none = (String::new(), 0);
        let tallies = self.objects.tallies();
        let named = tallies.iter();
        let mut rows: Vec<_> = named
            .map(|(cache, tally)| (self.caches.get(cache).unwrap_or(&none), tally))
            .collect();
        rows.sort_by_key(|(cache, _)| *cache);
        for ((name, size), Tally { given, taken, kept }) in rows {
            writeln!(out, "cache {size} {given} {taken} {kept} {name}")?;
        }
        let tallies = self.pages.tallies();
        for order in 0..ORDERS {
            if let Some(Tally { given, taken, kept }) = tallies.get(&order) {
                writeln!(out, "pages {order} {given} {taken} {kept}")?;
            }
        }
        writeln!(out, "end")?;
        out.flush()
    }
}

fn order(number: u64) -> Option<usize> {
    usize::try_from(number).ok().filter(|order| *order < ORDERS)
}

/// `folio_order()` (include/linux/mm.h).
fn order_of(folio: u64, memory: &impl Memory) -> Option<usize> {
    if memory.word(folio)? & IS_HEAD == 0 {
        return Some(0);
    }
    order(memory.word(folio + STRUCT_PAGE)? & 0xff)
}

/// The C string at an address, as far as it is one word in ASCII.
fn text(at: u64, memory: &impl Memory) -> String {
    let mut name = String::new();
    for place in at..at.saturating_add(MOST_OF_NAME) {
        let mut byte = [0];
        if memory.bytes(place, &mut byte).is_none() || !byte[0].is_ascii_graphic() {
            break;
        }
        name.push(char::from(byte[0]));
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tally(given: &Given<u8>) -> (u64, u64, u64) {
        let tally = given.tallies()[&1];
        (tally.given, tally.taken, tally.kept)
    }

    #[test]
    fn who_leaves_its_work_to_another_counts_once() {
        let mut given = Given::default();
        for address in [16, 16, 32, 48, 48] {
            given.give(address, true, || Some(1));
        }
        assert_eq!(tally(&given), (3, 0, 3));
        for address in [32, 32, 16] {
            given.take(address, true, || Some(1));
        }
        // And so does what is given out again.
        given.give(16, true, || Some(1));
        given.take(16, true, || Some(1));
        assert_eq!(tally(&given), (4, 3, 1));
    }

    #[test]
    fn what_was_there_before_is_taken_and_not_kept() {
        let mut given = Given::default();
        given.give(16, false, || Some(1));
        given.give(32, true, || Some(1));
        given.take(16, true, || Some(1));
        assert_eq!(tally(&given), (1, 1, 1));
    }

    #[test]
    fn what_is_taken_behind_the_window_was_kept_in_it() {
        let mut given = Given::default();
        given.give(16, true, || Some(1));
        given.take(16, false, || Some(1));
        given.give(16, true, || Some(1));
        assert_eq!(tally(&given), (2, 0, 2));
    }

    #[test]
    fn an_address_that_is_given_twice_was_taken_where_nobody_saw_it() {
        let mut given = Given::default();
        for address in [16, 32, 16] {
            given.give(address, true, || Some(1));
        }
        assert_eq!(tally(&given), (3, 1, 2));
    }
}

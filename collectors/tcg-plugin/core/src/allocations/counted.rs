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

/// How often something was given out and taken back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Tally {
    given: u64,
    taken: u64,
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
        if let Some(before) = self.live.remove(&address).filter(|_| open) {
            self.tallies.entry(before).or_default().taken += 1;
        }
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
        let known = self.live.remove(&address);
        if let Some(kind) = open.then(|| known.or_else(kind)).flatten() {
            self.tallies.entry(kind).or_default().taken += 1;
        }
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

    /// Large objects are pages, which are in no slab.
    fn object(&mut self, object: u64, open: bool, gives: bool) {
        if object <= NOTHING {
            return;
        }
        if self.regions.is_none() {
            self.regions = Regions::read(&self.layout.symbols, &self.memory);
        }
        let (regions, memory, layout) = (self.regions, &self.memory, &self.layout);
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

    /// Lines of text: `cache SIZE GIVEN TAKEN NAME`, by name, and `pages ORDER GIVEN TAKEN`; the last
    /// one is `end`.
    pub fn write(&self, out: &mut impl Write) -> io::Result<()> {
        let none = (String::new(), 0);
        let named = self.objects.tallies.iter();
        let mut rows: Vec<_> = named
            .map(|(cache, tally)| (self.caches.get(cache).unwrap_or(&none), tally))
            .collect();
        rows.sort_by_key(|(cache, _)| *cache);
        for ((name, size), Tally { given, taken }) in rows {
            writeln!(out, "cache {size} {given} {taken} {name}")?;
        }
        for order in 0..ORDERS {
            if let Some(Tally { given, taken }) = self.pages.tallies.get(&order) {
                writeln!(out, "pages {order} {given} {taken}")?;
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

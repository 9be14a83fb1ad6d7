//! What the tests of untrusted files share: an allocator that counts, and a writer of recordings.
#![allow(dead_code, missing_docs)] // each test uses its part

use std::alloc::{GlobalAlloc, Layout, System};
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use perf_data::MEMORY_FACTOR;

/// What a reader may hold besides the factor.
pub const CONSTANT: usize = 4 << 20;
pub const LONGEST: Duration = Duration::from_secs(2);

pub struct Counting;

static HELD: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(0);
/// The counters are those of the process: one test at a time.
static ALONE: Mutex<()> = Mutex::new(());

// SAFETY: everything is passed on to the system's allocator; only sizes are counted besides.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let held = HELD.fetch_add(layout.size(), Ordering::Relaxed) + layout.size();
        MOST.fetch_max(held, Ordering::Relaxed);
        // SAFETY: the caller's promises about the layout are passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        HELD.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: the pointer came from alloc above, with this layout.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

pub fn alone() -> MutexGuard<'static, ()> {
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Run `read`; fails if it takes too long or holds too much for an input of `size` bytes.
pub fn bounded<T>(what: &str, size: usize, read: impl FnOnce() -> T) -> T {
    let before = HELD.load(Ordering::Relaxed);
    MOST.store(before, Ordering::Relaxed);
    let start = Instant::now();
    let result = read();
    let took = start.elapsed();
    let most = MOST.load(Ordering::Relaxed).saturating_sub(before);
    let limit = MEMORY_FACTOR * size + CONSTANT;
    assert!(
        most <= limit,
        "{what}: {most} bytes held for {size}, {:.0} times",
        most as f64 / size.max(1) as f64
    );
    // Builds for debugging are many times slower.
    let longest = LONGEST * if cfg!(debug_assertions) { 20 } else { 1 };
    assert!(took < longest, "{what}: {took:?} for {size} bytes");
    result
}

/// Numbers and records in one byte order.
#[derive(Clone, Copy)]
pub struct Order {
    pub big: bool,
}

pub const LITTLE: Order = Order { big: false };

impl Order {
    pub fn put(self, out: &mut Vec<u8>, value: u64, width: usize) {
        let bytes = value.to_be_bytes();
        let bytes = &bytes[8 - width..];
        if self.big {
            out.extend(bytes);
        } else {
            out.extend(bytes.iter().rev());
        }
    }

    pub fn words(self, values: &[u64]) -> Vec<u8> {
        let mut out = Vec::new();
        values
            .iter()
            .for_each(|value| self.put(&mut out, *value, 8));
        out
    }

    /// Two numbers of 4 bytes.
    pub fn pair(self, first: u32, second: u32) -> Vec<u8> {
        let mut out = Vec::new();
        self.put(&mut out, first.into(), 4);
        self.put(&mut out, second.into(), 4);
        out
    }

    pub fn record(self, kind: u32, misc: u16, body: &[u8]) -> Vec<u8> {
        let size = 8 + body.len().next_multiple_of(8);
        let mut out = Vec::with_capacity(size);
        self.put(&mut out, kind.into(), 4);
        self.put(&mut out, misc.into(), 2);
        self.put(&mut out, size as u64, 2);
        out.extend(body);
        out.resize(size, 0);
        out
    }

    pub fn attribute(self, sample_type: u64, read_format: u64) -> Vec<u8> {
        let all_have_trailers = 1u64 << 18;
        let flags = if self.big {
            all_have_trailers.reverse_bits()
        } else {
            all_have_trailers
        };
        let mut out = self.pair(1, 112);
        out.extend(self.words(&[0, 1000, sample_type, read_format, flags]));
        out.resize(112, 0);
        out
    }

    /// A file with `events` equal events of these ids each.
    pub fn file(self, attribute: &[u8], ids: &[&[u64]], data: &[u8]) -> Vec<u8> {
        let table_size = ids.len() as u64 * 128;
        let mut at = 104 + table_size;
        let mut table = Vec::new();
        let mut all = Vec::new();
        for of_event in ids {
            table.extend(attribute);
            table.extend(self.words(&[at, 8 * of_event.len() as u64]));
            all.extend(self.words(of_event));
            at += 8 * of_event.len() as u64;
        }
        let mut out = self.head(table_size, at, data.len() as u64);
        for part in [&table[..], &all, data] {
            out.extend(part);
        }
        out
    }

    /// The header; the events stand right behind it.
    pub fn head(self, table_size: u64, data_at: u64, data_size: u64) -> Vec<u8> {
        let magic = if self.big { b"2ELIFREP" } else { b"PERFILE2" };
        let mut out = magic.to_vec();
        out.extend(self.words(&[104, 128, 104, table_size, data_at, data_size]));
        out.extend([0; 48]);
        out
    }
}

// Bits of sample_type.
pub const IP: u64 = 1;
pub const TID: u64 = 2;
pub const TIME: u64 = 4;
pub const CALLCHAIN: u64 = 32;
pub const IDENTIFIER: u64 = 1 << 16;

/// A file of this test's own, gone with it.
pub struct Temporary(pub PathBuf);

impl Temporary {
    pub fn new(name: &str) -> Self {
        Temporary(std::env::temp_dir().join(format!("profdiff-{}-{name}", std::process::id())))
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        let _gone = std::fs::remove_file(&self.0);
    }
}

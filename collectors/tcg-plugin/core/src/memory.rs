//! The bound of the plugin's memory, its words on standard error, and how it gives up.
//!
//! What ran is kept until the guest ends: each instruction with its bytes, each block, each path
//! of calls. A guest that makes new code all the time would fill the host's memory. So all that
//! this library allocates is counted where it is allocated, and beyond the bound QEMU ends without
//! counts: what is left out could not be exact.

use std::alloc::{GlobalAlloc, Layout, System};
use std::ffi::c_int;
use std::io::{self, Write};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

extern "C" {
    /// Ends the process at once, without exit handlers: the guest runs in another thread.
    fn _exit(status: c_int) -> !;
}

struct Bounded;

/// Bytes that are allocated, and how many may be.
static USED: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(usize::MAX);

#[global_allocator]
static ALLOCATOR: Bounded = Bounded;

/// Write a line to standard error. Where that is not possible, as on a full disk, it is lost.
pub fn say(line: &str) {
    let _ = io::stderr().write_all(format!("profdiff plugin: {line}\n").as_bytes());
}

/// Say of a file that was not written why.
pub fn say_unwritten(path: &Path, written: io::Result<()>) {
    if let Err(error) = written {
        say(&format!("cannot write {}: {error}", path.display()));
    }
}

/// Write a line to standard error, and end QEMU without counts.
#[cold]
pub fn refuse(line: &str) -> ! {
    say(line);
    // SAFETY: it takes no memory of ours, and does not return.
    unsafe { _exit(1) }
}

/// From now on, end QEMU rather than hold more than so many MiB.
pub fn bound(mebibytes: usize) {
    MOST.store(mebibytes.saturating_mul(1 << 20), Ordering::Relaxed);
}

#[inline]
fn take(bytes: usize) {
    let before = USED.fetch_add(bytes, Ordering::Relaxed);
    let most = MOST.load(Ordering::Relaxed);
    // What `end` itself takes is beyond the bound already.
    if before <= most && before.saturating_add(bytes) > most {
        end(most >> 20);
    }
}

#[cold]
fn end(mebibytes: usize) -> ! {
    refuse(&format!(
        "the guest's code and the paths through it take more than {mebibytes} MiB, as when it \
         makes new code without end: let the workload do less, or record with --no-call-tree"
    ))
}

// SAFETY: all requests go to the system's allocator as they are.
unsafe impl GlobalAlloc for Bounded {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        take(layout.size());
        // SAFETY: as the caller promises.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        take(layout.size());
        // SAFETY: as the caller promises.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if let Some(more) = size.checked_sub(layout.size()) {
            take(more);
        } else {
            USED.fetch_sub(layout.size() - size, Ordering::Relaxed);
        }
        // SAFETY: as the caller promises.
        unsafe { System.realloc(at, layout, size) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        USED.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(at, layout) }
    }
}

//! Memory that the kernel's allocators give out and take back: objects of slab caches, and blocks of
//! pages by order.
//!
//! - [`allocators`]: where they begin
//! - [`counted`]: what they gave out and took back

pub mod allocators;
pub mod counted;

use std::collections::HashMap;
use std::ffi::{c_uint, c_void};
use std::io::{self, Write};
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

use crate::allocations::allocators::{Allocator, Layout, Role};
use crate::allocations::counted::Allocations;
use crate::architecture::{Architecture, End};
use crate::ffi;
use crate::lines::guest::Guest;
use crate::memory::refuse;
use crate::returning::Awaited;
use crate::running;

/// Where functions return what they give out (System V ABI for x86-64, 3.2.3).
const RETURNED: &str = "rax";

/// Where a function begins.
struct Place {
    allocator: Allocator,
    /// The registers, once they can be read.
    registers: Option<[Option<usize>; 2]>,
}

impl Place {
    fn values(&mut self) -> [u64; 2] {
        let names = &self.allocator.registers;
        let registers = self
            .registers
            .get_or_insert_with(|| [0, 1].map(|at| running::named(&names[at])));
        registers.map(|register| register.and_then(running::read).unwrap_or(0))
    }
}

struct Watched {
    layout: Layout,
    /// They live as long as the process, for generated code holds their addresses.
    at: HashMap<u64, *mut Place>,
    /// Made by the thread that executes the guest.
    found: Option<Allocations<Guest>>,
    under_way: Awaited<(Role, [u64; 2])>,
}

impl Watched {
    fn found(&mut self) -> &mut Allocations<Guest> {
        let layout = self.layout;
        self.found.get_or_insert_with(|| {
            let Some(guest) = Guest::new() else {
                refuse("this QEMU does not let a guest's memory be read: use Debian's");
            };
            Allocations::new(layout, guest)
        })
    }
}

/// As the tracker (see [`crate::following`]), only used by the thread that executes the guest.
static WATCHED: AtomicPtr<Watched> = AtomicPtr::new(ptr::null_mut());

fn watched() -> Option<&'static mut Watched> {
    // SAFETY: set once to what lives as long as the process; callbacks do not nest.
    unsafe { WATCHED.load(Ordering::Relaxed).as_mut() }
}

/// Count what these give out and take back from now on.
pub fn begin(layout: Layout, allocators: Vec<Allocator>, architecture: &'static dyn Architecture) {
    let place = |allocator: Allocator| {
        let (address, registers) = (allocator.address, None);
        let place = Place {
            allocator,
            registers,
        };
        (address, Box::into_raw(Box::new(place)))
    };
    let watched = Watched {
        layout,
        at: allocators.into_iter().map(place).collect(),
        found: None,
        under_way: Awaited::new(architecture),
    };
    WATCHED.store(Box::into_raw(Box::new(watched)), Ordering::Relaxed);
}

/// See what begins at an instruction's address when it executes, and what functions return.
///
/// # Safety
/// QEMU is translating `insn`.
pub unsafe fn follow(insn: *mut ffi::Insn, address: u64, end: End) {
    let Some(watched) = watched() else {
        return;
    };
    if !running::is_told() {
        refuse("this QEMU's plugins cannot read registers: use QEMU 9 or later");
    }
    let flags = ffi::CB_READS_REGS;
    if let Some(place) = watched.at.get(&address) {
        // SAFETY: as promised; the callback gets a place, and they live as long as the process.
        unsafe {
            ffi::qemu_plugin_register_vcpu_insn_exec_cb(insn, begins, flags, place.cast());
        }
    }
    if watched.under_way.follows(address, end) {
        let told = if end == End::Call { calls } else { returns };
        // SAFETY: as promised.
        unsafe { ffi::qemu_plugin_register_vcpu_insn_exec_cb(insn, told, flags, ptr::null_mut()) };
    }
}

extern "C" fn begins(_vcpu: c_uint, place: *mut c_void) {
    let Some(watched) = watched() else {
        return;
    };
    // SAFETY: `follow` gave a place, to which nobody else keeps a reference.
    let place = unsafe { &mut *place.cast::<Place>() };
    let (role, values) = (place.allocator.role, place.values());
    let open = running::is_counting();
    if role.gives() {
        if open {
            watched.under_way.begins((role, values));
        }
    } else if open || watched.found.is_some() {
        watched.found().begins(role, values, open);
    }
}

extern "C" fn calls(_vcpu: c_uint, _none: *mut c_void) {
    if let Some(watched) = watched() {
        watched.under_way.called();
    }
}

/// Of calls that began in the window, those that end behind it count as well.
extern "C" fn returns(_vcpu: c_uint, _none: *mut c_void) {
    let Some(watched) = watched() else {
        return;
    };
    for (role, values) in watched.under_way.returned() {
        if let Some(returned) = running::register(RETURNED) {
            watched.found().ends(role, values, returned);
        }
    }
}

/// Forget what was counted.
pub fn clear() {
    if let Some(found) = watched().and_then(|watched| watched.found.as_mut()) {
        found.clear();
    }
}

/// The window may close.
pub fn settle() {
    if let Some(found) = watched().and_then(|watched| watched.found.as_mut()) {
        found.name();
    }
}

/// Write what was counted to what `open` opens; nothing is opened where nothing was to be counted.
pub fn write(open: impl FnOnce() -> io::Result<Box<dyn Write>>) -> io::Result<()> {
    let Some(watched) = watched() else {
        return Ok(());
    };
    let mut out = open()?;
    match &watched.found {
        Some(found) => found.write(&mut out),
        None => writeln!(out, "end").and_then(|()| out.flush()),
    }
}

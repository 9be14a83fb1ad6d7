//! What QEMU tells the tracker.

use std::ffi::{c_uint, c_void};
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicPtr, Ordering};

use crate::aliases::{self, Original};
use crate::architecture::Watched;
use crate::block::Block;
use crate::counting::Conditions;
use crate::ffi;
use crate::idling;
use crate::pages;
use crate::running;
use crate::tracker::Tracker;

/// Follows the calls, if that was asked for. Only the thread that executes the guest uses it, while
/// a callback of this plugin runs; profdiff's guests have one such thread (`-icount`).
static TRACKER: AtomicPtr<Tracker> = AtomicPtr::new(ptr::null_mut());

/// Tell the tracker something, if there is one.
pub fn with_tracker(act: impl FnOnce(&mut Tracker)) {
    // SAFETY: set once to what lives as long as the process; callbacks do not nest.
    if let Some(tracker) = unsafe { TRACKER.load(Ordering::Relaxed).as_mut() } {
        aliases::settle();
        act(tracker);
    }
}

/// The tracker, if there is one.
///
/// # Safety
/// No guest runs while the reference is used.
pub unsafe fn tracker() -> Option<&'static Tracker> {
    // SAFETY: set once to what lives as long as the process; nobody changes it now.
    unsafe { TRACKER.load(Ordering::Relaxed).as_ref() }
}

/// Follow the calls with this tracker from now on.
pub fn begin(tracker: Tracker) {
    TRACKER.store(Box::into_raw(Box::new(tracker)), Ordering::Relaxed);
}

/// Tell the tracker when `block`, one of its own, is begun, which QEMU translates as `tb`. `several`:
/// whether the guest has several vCPUs.
///
/// # Safety
/// QEMU is translating `tb`, and [`begin`] was told a tracker.
pub unsafe fn follow_block(tb: *mut ffi::Tb, block: *mut Block, several: bool) {
    // SAFETY: as promised; the block lives as long as the process.
    unsafe {
        let begins = if several {
            block_begins_on_one_of_several
        } else {
            block_begins
        };
        let flags = running::flags();
        ffi::qemu_plugin_register_vcpu_tb_exec_cb(tb, begins, flags, block.cast());
    }
}

/// Look at each execution of `original`, which QEMU translates as `tb`, and tell the tracker of it.
/// `conditions`: what lets generated code look first whether the page is known, where no tracker asks.
///
/// # Safety
/// QEMU is translating `tb`; [`aliases::original`] made `original`.
pub unsafe fn follow_anywhere(
    tb: *mut ffi::Tb,
    original: *mut Original,
    conditions: Option<&dyn Conditions>,
) {
    if let Some(conditions) = conditions {
        // SAFETY: as promised.
        let page = pages::known(unsafe { (*original).start() });
        let known = (&pages::KNOWN, page);
        return conditions.call_unless(tb, known, begins_anywhere, original.cast());
    }
    let (flags, original) = (ffi::CB_READS_REGS, original.cast());
    // SAFETY: as promised; the original lives as long as the process.
    unsafe { ffi::qemu_plugin_register_vcpu_tb_exec_cb(tb, begins_anywhere, flags, original) };
}

/// Tell the tracker of an instruction when it executes.
///
/// # Safety
/// QEMU is translating `insn`.
pub unsafe fn follow(insn: *mut ffi::Insn, watched: &'static Watched) {
    if TRACKER.load(Ordering::Relaxed).is_null() {
        return;
    }
    let access = match watched {
        // The load of an indirect call's target is not asked for.
        Watched::Pushes => ffi::MEM_WRITE,
        _ => ffi::MEM_READ_WRITE,
    };
    let (flags, watched) = (ffi::CB_NO_REGS, ptr::from_ref(watched).cast_mut().cast());
    // SAFETY: as promised; what the callback gets lives as long as the process.
    unsafe { ffi::qemu_plugin_register_vcpu_mem_cb(insn, accesses, flags, access, watched) };
}

/// Tell for how long the vCPU idles behind an instruction that waits for an interrupt, and what gave
/// way there.
///
/// # Safety
/// QEMU is translating `insn`.
pub unsafe fn follow_halt(insn: *mut ffi::Insn) {
    if TRACKER.load(Ordering::Relaxed).is_null() {
        return;
    }
    let (flags, none) = (ffi::CB_NO_REGS, ptr::null_mut());
    // SAFETY: as promised.
    unsafe { ffi::qemu_plugin_register_vcpu_insn_exec_cb(insn, halts, flags, none) };
}

extern "C" fn halts(_vcpu: c_uint, _none: *mut c_void) {
    with_tracker(|tracker| idling::begins(tracker.gave_way()));
}

extern "C" fn begins_anywhere(vcpu: c_uint, original: *mut c_void) {
    aliases::end();
    let original = original.cast::<Original>();
    // SAFETY: `follow_anywhere` gave an original, to which no callback keeps a reference; the
    // tracker is as in `with_tracker`.
    let block = unsafe {
        let known = &*original;
        let tracker = TRACKER.load(Ordering::Relaxed).as_ref();
        let leads = |tracker: &Tracker| tracker.leads_to(known.start());
        if !running::are_several() && tracker.is_some_and(leads) {
            known.block
        } else {
            aliases::begins(original)
        }
    };
    let Some(block) = NonNull::new(block) else {
        return;
    };
    // SAFETY: the block is the tracker's, which no callback keeps a reference to; the tracker is as in
    // `with_tracker`.
    unsafe {
        if let Some(tracker) = TRACKER.load(Ordering::Relaxed).as_mut() {
            tracker.block(running::vcpu(vcpu), block);
            if aliases::are_pending() {
                tracker.looks_back();
            }
        }
    }
}

/// For a guest with one vCPU. What is usual calls nothing, and so saves no registers: all else is
/// called last.
extern "C" fn block_begins(vcpu: c_uint, block: *mut c_void) {
    // SAFETY: `follow_block` gave a block of the tracker's, which no callback keeps a reference to;
    // there is a tracker, which is as in `with_tracker`.
    unsafe {
        let tracker = &mut *TRACKER.load(Ordering::Relaxed);
        let known = NonNull::new_unchecked(block.cast());
        if !tracker.goes_on(known) {
            return block_turns(vcpu, block);
        }
        tracker.begins(known);
    }
}

/// As [`block_begins`], where the block before did not lead to it, or there is more to look at.
#[inline(never)]
extern "C" fn block_turns(vcpu: c_uint, block: *mut c_void) {
    aliases::end();
    // SAFETY: as in `block_begins`.
    unsafe {
        let tracker = &mut *TRACKER.load(Ordering::Relaxed);
        tracker.block(vcpu, NonNull::new_unchecked(block.cast()));
    }
}

extern "C" fn block_begins_on_one_of_several(vcpu: c_uint, block: *mut c_void) {
    let vcpu = running::vcpu(vcpu);
    // SAFETY: as in `block_begins`.
    let same = unsafe { (*TRACKER.load(Ordering::Relaxed)).is_on(vcpu) };
    if same {
        block_begins(vcpu, block);
    } else {
        block_turns(vcpu, block);
    }
}

extern "C" fn accesses(vcpu: c_uint, _access: u32, at: u64, watched: *mut c_void) {
    // SAFETY: `follow` gave it, and nothing writes to it.
    let watched = unsafe { *watched.cast_const().cast::<Watched>() };
    with_tracker(|tracker| tracker.accessed(running::current(vcpu), watched, at));
}

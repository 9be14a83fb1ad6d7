//! vCPUs that take turns at random places in the kernel: a model of vCPUs that run at the same time.
//!
//! Under `-icount`, a vCPU runs for thousands of operations before another one does, so it never
//! finds a lock taken. Here it hands over after a random number of the kernel's instructions, also
//! inside critical sections. The other one then waits as on hardware: it spins, gives way where it
//! executes `pause` or `wfe`, and sleeps. A seed gives the same turns again.
//!
//! On hardware, vCPUs that run side by side are in a critical section of c instructions of an
//! operation of l for a share c / l of the time. A turn of l instructions on average ends in it as
//! often. Operations of system calls have some hundred to some thousand.

use std::ffi::{c_uint, c_void};
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

use crate::ffi;
use crate::memory::{refuse, say};
use crate::random_numbers::drawn;
use crate::turns::{may_take_turns, Turns, CANNOT};

/// The mean of a turn, in instructions.
const MEAN: u64 = 1000;

struct RandomTurns {
    vcpus: usize,
    /// Made by the thread that executes the guest.
    turns: Option<Turns>,
    /// Of the random numbers.
    state: u64,
    /// Instructions that are left of this turn.
    left: u64,
    taken: bool,
}

/// As the tracker (see [`crate::following`]), only used by the thread that executes the guest.
static RANDOM: AtomicPtr<RandomTurns> = AtomicPtr::new(ptr::null_mut());

fn random() -> Option<&'static mut RandomTurns> {
    // SAFETY: set once to what lives as long as the process; callbacks do not nest.
    unsafe { RANDOM.load(Ordering::Relaxed).as_mut() }
}

/// From now on, vCPUs take turns at random places of the window. Returns whether they can.
pub fn begin(seed: u64, vcpus: usize) -> bool {
    if !may_take_turns() {
        say(CANNOT);
        return false;
    }
    let random = RandomTurns {
        vcpus,
        turns: None,
        state: seed,
        left: 0,
        taken: false,
    };
    RANDOM.store(Box::into_raw(Box::new(random)), Ordering::Relaxed);
    true
}

/// Whether turns are taken from now on: in the window.
pub fn are_taken(taken: bool) {
    if let Some(random) = random() {
        random.taken = taken;
    }
}

/// Count the instructions of a block of the kernel when it begins, if turns are taken.
///
/// # Safety
/// QEMU is translating `tb`.
pub unsafe fn follow(tb: *mut ffi::Tb, instructions: usize) {
    let Some(random) = random() else {
        return;
    };
    if random.turns.is_none() {
        random.turns = Turns::new(random.vcpus);
        if random.turns.is_none() {
            refuse("QEMU does not tell which vCPU executes: use another QEMU");
        }
    }
    let (flags, number) = (ffi::CB_NO_REGS, instructions as *mut c_void);
    // SAFETY: as promised; the callback takes a number as its pointer.
    unsafe { ffi::qemu_plugin_register_vcpu_tb_exec_cb(tb, block_begins, flags, number) };
}

extern "C" fn block_begins(_vcpu: c_uint, instructions: *mut c_void) {
    let Some(random) = random().filter(|random| random.taken) else {
        return;
    };
    match random.left.checked_sub(instructions as u64) {
        Some(left) => random.left = left,
        None => {
            random.left = drawn(&mut random.state) % (2 * MEAN);
            if let Some(turns) = &random.turns {
                turns.hand_over();
            }
        }
    }
}

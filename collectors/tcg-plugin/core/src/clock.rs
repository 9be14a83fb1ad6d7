//! The guest's clock, which the plugin API does not tell.
//!
//! Under `-icount shift=0,sleep=off` it advances by one nanosecond for each instruction, and stands
//! still for nobody: when no vCPU has anything to do, it leaps to the next timer. QEMU keeps both
//! parts apart (`qemu_icount` and `qemu_icount_bias`, softmmu/icount.c, since QEMU 9 in
//! accel/tcg/icount-common.c). Its functions that read them are exported, as what [`crate::turns`]
//! uses, and the same since QEMU 5.2.

use std::ffi::c_void;
use std::ptr;

use crate::turns::{symbol, Turns};

type Read = unsafe extern "C" fn() -> i64;
type Update = unsafe extern "C" fn(*mut c_void);

/// The clock, for the thread that executes the guest.
pub struct Clock {
    turns: Turns,
    current: *mut *mut c_void,
    /// Instructions that were executed, and the clock.
    executed: Read,
    time: Read,
    /// Adds what a vCPU executed since it was last asked.
    update: Update,
}

impl Clock {
    /// Of a guest with so many vCPUs; None where QEMU does not have what it takes. In the thread
    /// that executes the guest.
    pub fn new(vcpus: usize) -> Option<Clock> {
        let found = [c"icount_get_raw", c"icount_get", c"icount_update"].map(symbol);
        let [Some(executed), Some(time), Some(update)] = found else {
            return None;
        };
        let current = symbol(c"current_cpu")?.cast();
        // SAFETY: these are the functions' signatures (include/sysemu/cpu-timers.h).
        unsafe {
            Some(Clock {
                turns: Turns::new(vcpus)?,
                current,
                executed: std::mem::transmute::<*mut c_void, Read>(executed),
                time: std::mem::transmute::<*mut c_void, Read>(time),
                update: std::mem::transmute::<*mut c_void, Update>(update),
            })
        }
    }

    /// The vCPU that executes.
    pub fn vcpu(&self) -> Option<usize> {
        self.turns.current()
    }

    /// For how many nanoseconds no vCPU has had anything to do, and what the clock will be when
    /// the present block has come to its end: a block's instructions are taken off when it begins.
    pub fn read(&self) -> (u64, u64) {
        // SAFETY: the variable is this thread's own. QEMU reads the clock of a vCPU only between
        // blocks, and ends otherwise ("Bad icount read"); without a vCPU, it reads what was added
        // up. To add up early changes no sum: what is left of the vCPU's budget is the same.
        unsafe {
            let vcpu = *self.current;
            if !vcpu.is_null() {
                (self.update)(vcpu);
            }
            *self.current = ptr::null_mut();
            let (executed, time) = ((self.executed)(), (self.time)());
            *self.current = vcpu;
            (time.wrapping_sub(executed) as u64, time as u64)
        }
    }
}

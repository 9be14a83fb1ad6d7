//! Callbacks under a condition: since API 3 (QEMU 9.1).

use std::ffi::{c_char, c_uint, c_void, CStr};
use std::mem;
use std::ptr;

use tcg_plugin_core::counters::Counter;
use tcg_plugin_core::counting::Conditions;
use tcg_plugin_core::ffi;

use crate::scoreboard::{self, entry, PluginU64};

extern "C" {
    fn dlsym(handle: *mut c_void, name: *const c_char) -> *mut c_void;
}

/// `qemu_plugin_register_vcpu_tb_exec_cond_cb()`.
type Register = unsafe extern "C" fn(
    *mut ffi::Tb,
    ffi::VcpuUdataCb,
    c_uint,
    c_uint,
    PluginU64,
    u64,
    *mut c_void,
);
const NAME: &CStr = c"qemu_plugin_register_vcpu_tb_exec_cond_cb";

/// What this QEMU has of it.
pub struct Inline {
    register: Register,
}

impl Inline {
    /// None where QEMU does not have it.
    pub fn new() -> Option<Inline> {
        // SAFETY: null is glibc's RTLD_DEFAULT; this is the function's signature.
        unsafe {
            let found = dlsym(ptr::null_mut(), NAME.as_ptr());
            let register =
                (!found.is_null()).then(|| mem::transmute::<*mut c_void, Register>(found));
            register.map(|register| Inline { register })
        }
    }
}

impl Conditions for Inline {
    fn store(&self, insn: *mut ffi::Insn, at: Counter, value: u64) {
        scoreboard::at(insn, ffi::INLINE_STORE_U64, entry(at, 0), value);
    }

    fn call_unless(
        &self,
        tb: *mut ffi::Tb,
        known: (Counter, u64),
        call: ffi::VcpuUdataCb,
        data: *mut c_void,
    ) {
        let (flags, entry) = (ffi::CB_READS_REGS, entry(known.0, 0));
        // SAFETY: `tb` is valid, and the entry is a counter, which lives as long as the process.
        unsafe { (self.register)(tb, call, flags, ffi::COND_NE, entry, known.1, data) };
    }
}

//! profdiff's QEMU plugin for plugin API 1 (QEMU 4.2 to 8.2): counters are plain memory.

use std::ffi::{c_char, c_int, c_uint, c_void};

use tcg_plugin_core::architecture::MAX_CODE;
use tcg_plugin_core::collector;
use tcg_plugin_core::counters::Counter;
use tcg_plugin_core::counting::Api;
use tcg_plugin_core::ffi;

extern "C" {
    fn qemu_plugin_insn_data(insn: *const ffi::Insn) -> *const c_void;
    fn qemu_plugin_register_vcpu_insn_exec_inline(
        insn: *mut ffi::Insn,
        op: c_uint,
        counter: *mut c_void,
        immediate: u64,
    );
    fn qemu_plugin_register_vcpu_mem_inline(
        insn: *mut ffi::Insn,
        access: c_uint,
        op: c_uint,
        counter: *mut c_void,
        immediate: u64,
    );
}

/// The plugin API that this build speaks.
#[no_mangle]
pub static qemu_plugin_version: c_int = 1;

struct OldApi;

impl Api for OldApi {
    fn block(&self, _id: usize, block: usize) -> *mut ffi::Tb {
        block as *mut ffi::Tb
    }

    fn code(&self, insn: *mut ffi::Insn, code: &mut [u8; MAX_CODE]) -> usize {
        // SAFETY: `insn` is valid, and the data are its own.
        unsafe { ffi::copy_code(insn, qemu_plugin_insn_data(insn).cast(), code) }
    }

    fn count(&self, insn: *mut ffi::Insn, counter: Counter, _number: u32) {
        let counter = counter.as_ptr().cast();
        // SAFETY: `insn` is valid, and the counter lives as long as the process.
        unsafe {
            qemu_plugin_register_vcpu_insn_exec_inline(insn, ffi::INLINE_ADD_U64, counter, 1);
        }
    }

    fn count_accesses(&self, insn: *mut ffi::Insn, access: c_uint, counter: Counter, _number: u32) {
        let counter = counter.as_ptr().cast();
        // SAFETY: as above.
        unsafe {
            qemu_plugin_register_vcpu_mem_inline(insn, access, ffi::INLINE_ADD_U64, counter, 1);
        }
    }
}

/// QEMU's entry point.
///
/// # Safety
/// Called by QEMU as its plugin API says.
#[no_mangle]
pub unsafe extern "C" fn qemu_plugin_install(
    id: ffi::PluginId,
    info: *const ffi::Info,
    argc: c_int,
    argv: *const *const c_char,
) -> c_int {
    // SAFETY: the arguments are QEMU's own.
    unsafe { collector::install(id, info, argc, argv, Box::new(OldApi)) }
}

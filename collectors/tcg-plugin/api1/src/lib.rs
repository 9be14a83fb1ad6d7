//! profdiff's QEMU plugin for plugin API 1 (QEMU 4.2 to 8.2): counters are plain memory.

use std::ffi::{c_char, c_int, c_uint, c_void};

use tcg_plugin_core::blocks::Counter;
use tcg_plugin_core::collector::{self, Api};
use tcg_plugin_core::ffi;
use tcg_plugin_core::plain::PlainCounters;
use tcg_plugin_core::slots::MAX_CODE;

extern "C" {
    fn qemu_plugin_insn_data(insn: *const ffi::Insn) -> *const c_void;
    fn qemu_plugin_register_vcpu_insn_exec_inline(
        insn: *mut ffi::Insn,
        op: c_uint,
        counter: *mut c_void,
        immediate: u64,
    );
}

/// The plugin API that this build speaks.
#[no_mangle]
pub static qemu_plugin_version: c_int = 1;

#[derive(Default)]
struct InlineCounters(PlainCounters);

impl Api for InlineCounters {
    fn code(&self, insn: *mut ffi::Insn, code: &mut [u8; MAX_CODE]) -> usize {
        // SAFETY: in API 1 the data are `qemu_plugin_insn_size` readable bytes.
        let data = unsafe {
            let size = ffi::qemu_plugin_insn_size(insn).min(MAX_CODE);
            std::slice::from_raw_parts(qemu_plugin_insn_data(insn).cast::<u8>(), size)
        };
        code[..data.len()].copy_from_slice(data);
        data.len()
    }

    fn count(&mut self, insn: *mut ffi::Insn, number: usize) {
        let counter = self.0.counter(number).as_ptr();
        // SAFETY: `insn` is valid, and the counter lives as long as the process.
        unsafe {
            qemu_plugin_register_vcpu_insn_exec_inline(
                insn,
                ffi::INLINE_ADD_U64,
                counter.cast(),
                1,
            );
        }
    }

    fn counter(&self, number: usize) -> Counter {
        self.0.counter_of(number)
    }

    fn counters(&self, into: &mut Vec<u64>) {
        self.0.read(into);
    }
}

/// QEMU's entry point.
///
/// # Safety
/// Called by QEMU as its plugin API says.
#[no_mangle]
pub unsafe extern "C" fn qemu_plugin_install(
    id: ffi::PluginId,
    _info: *const ffi::Info,
    argc: c_int,
    argv: *const *const c_char,
) -> c_int {
    // SAFETY: the arguments are QEMU's own.
    unsafe { collector::install(id, argc, argv, Box::<InlineCounters>::default()) }
}

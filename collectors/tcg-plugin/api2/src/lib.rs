//! profdiff's QEMU plugin for plugin API 2 and later (QEMU 9.0 on).

mod conditions;
mod registers;
mod scoreboard;

use std::ffi::{c_char, c_int, c_uint, c_void, CStr};
use std::sync::atomic::{AtomicI32, Ordering};

use tcg_plugin_core::architecture::MAX_CODE;
use tcg_plugin_core::collector;
use tcg_plugin_core::counters::Counter;
use tcg_plugin_core::counting::{Api, Conditions};
use tcg_plugin_core::ffi;
use tcg_plugin_core::running::Registers;

use crate::conditions::Inline;
use crate::registers::VcpuRegisters;
use crate::scoreboard::{entry, PluginU64};

extern "C" {
    fn dlsym(handle: *mut c_void, name: *const c_char) -> *mut c_void;
    fn qemu_plugin_insn_data();
    fn qemu_plugin_register_vcpu_mem_inline_per_vcpu(
        insn: *mut ffi::Insn,
        access: c_uint,
        op: c_uint,
        entry: PluginU64,
        immediate: u64,
    );
}

/// The plugin API that this build speaks: 2, or 7 with a QEMU that has it, since that QEMU takes
/// no older one. What differs between them is below.
#[no_mangle]
pub static qemu_plugin_version: AtomicI32 = AtomicI32::new(2);

/// A function that API 7 has and older ones do not.
const SINCE_7: &CStr = c"qemu_plugin_set_pc";

/// Runs when the plugin is loaded, before QEMU looks at the version.
#[used]
#[link_section = ".init_array"]
static CHOOSE_VERSION: extern "C" fn() = choose_version;

extern "C" fn choose_version() {
    // SAFETY: null is glibc's RTLD_DEFAULT: all that is loaded.
    if !unsafe { dlsym(std::ptr::null_mut(), SINCE_7.as_ptr()) }.is_null() {
        qemu_plugin_version.store(7, Ordering::Relaxed);
    }
}

type InsnDataPointer = unsafe extern "C" fn(*const ffi::Insn) -> *const u8;
type InsnDataCopy = unsafe extern "C" fn(*const ffi::Insn, *mut c_void, usize) -> usize;

/// `qemu_plugin_insn_data` changed its signature in version 3, whatever version a plugin declares.
enum InsnData {
    Pointer(InsnDataPointer),
    Copy(InsnDataCopy),
}

struct NewApi {
    /// The version that QEMU speaks.
    version: c_int,
    insn_data: InsnData,
    conditions: Option<Inline>,
}

impl InsnData {
    fn of_version(api: c_int) -> InsnData {
        let function = qemu_plugin_insn_data as *const ();
        // SAFETY: these are the function's signatures in version 2 and since version 3.
        unsafe {
            if api < 3 {
                InsnData::Pointer(std::mem::transmute::<*const (), InsnDataPointer>(function))
            } else {
                InsnData::Copy(std::mem::transmute::<*const (), InsnDataCopy>(function))
            }
        }
    }
}

impl Api for NewApi {
    fn block(&self, first: usize, second: usize) -> *mut ffi::Tb {
        // Since version 7 there is no id before it.
        (if self.version < 7 { second } else { first }) as *mut ffi::Tb
    }

    fn code(&self, insn: *mut ffi::Insn, code: &mut [u8; MAX_CODE]) -> usize {
        match self.insn_data {
            // SAFETY: `code` has room for that many bytes.
            InsnData::Copy(copy) => unsafe { copy(insn, code.as_mut_ptr().cast(), MAX_CODE) },
            // SAFETY: `insn` is valid, and the data are its own.
            InsnData::Pointer(data) => unsafe { ffi::copy_code(insn, data(insn), code) },
        }
    }

    fn registers(&self) -> Option<Box<dyn Registers>> {
        Some(Box::new(VcpuRegisters::new()))
    }

    fn conditions(&self) -> Option<&dyn Conditions> {
        self.conditions
            .as_ref()
            .map(|inline| inline as &dyn Conditions)
    }

    /// QEMU 9.1 and older, which read the number when they execute, have a lower version; 9.2 has
    /// that of 10.0, and is found out.
    fn may_fix_numbers(&self) -> bool {
        self.version >= 4
    }

    fn count(&self, insn: *mut ffi::Insn, counter: Counter, number: u32) {
        scoreboard::at(insn, ffi::INLINE_ADD_U64, entry(counter, number), 1);
    }

    fn count_accesses(&self, insn: *mut ffi::Insn, access: c_uint, counter: Counter, number: u32) {
        let (op, entry) = (ffi::INLINE_ADD_U64, entry(counter, number));
        // SAFETY: as above.
        unsafe { qemu_plugin_register_vcpu_mem_inline_per_vcpu(insn, access, op, entry, 1) };
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
    // SAFETY: the arguments are QEMU's own, and `info` is valid during this call.
    unsafe {
        let version = (*info).version.cur;
        let api = NewApi {
            version,
            insn_data: InsnData::of_version(version),
            conditions: Inline::new(),
        };
        collector::install(id, info, argc, argv, Box::new(api))
    }
}

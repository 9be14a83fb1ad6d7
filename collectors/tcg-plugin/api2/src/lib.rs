//! profdiff's QEMU plugin for plugin API 2 and later (QEMU 9.0 on): counters are scoreboards,
//! which hold one set for each vCPU.

use std::ffi::{c_char, c_int, c_uint, c_void};
use std::mem::size_of;

use tcg_plugin_core::collector::{self, Api};
use tcg_plugin_core::ffi;
use tcg_plugin_core::slots::MAX_CODE;

/// `struct qemu_plugin_scoreboard`.
#[repr(C)]
struct Scoreboard {
    _opaque: [u8; 0],
}

/// `qemu_plugin_u64`: one 64-bit counter in each element of a scoreboard.
#[repr(C)]
struct PluginU64 {
    score: *mut Scoreboard,
    offset: usize,
}

extern "C" {
    fn qemu_plugin_insn_data();
    fn qemu_plugin_num_vcpus() -> c_int;
    fn qemu_plugin_scoreboard_new(element_size: usize) -> *mut Scoreboard;
    fn qemu_plugin_scoreboard_find(score: *mut Scoreboard, vcpu_index: c_uint) -> *mut c_void;
    fn qemu_plugin_register_vcpu_insn_exec_inline_per_vcpu(
        insn: *mut ffi::Insn,
        op: c_uint,
        entry: PluginU64,
        immediate: u64,
    );
}

/// The oldest plugin API that this build speaks; newer ones that QEMU offers are compatible but
/// for `qemu_plugin_insn_data`, see [`InsnData`].
#[no_mangle]
pub static qemu_plugin_version: c_int = 2;

/// `qemu_plugin_insn_data` changed its signature in version 3, whatever version a plugin declares.
enum InsnData {
    Pointer(unsafe extern "C" fn(*const ffi::Insn) -> *const u8),
    Copy(unsafe extern "C" fn(*const ffi::Insn, *mut c_void, usize) -> usize),
}

/// Counters in one scoreboard element: 64 KiB of them, since an element cannot grow.
const CHUNK: usize = 8192;

struct ScoreboardCounters {
    insn_data: InsnData,
    chunks: Vec<*mut Scoreboard>,
    used: usize,
}

// SAFETY: scoreboards are QEMU's, who lets any thread use them.
unsafe impl Send for ScoreboardCounters {}

impl ScoreboardCounters {
    fn new(api: c_int) -> ScoreboardCounters {
        let function = qemu_plugin_insn_data as *const ();
        // SAFETY: these are the function's signatures in version 2 and since version 3.
        let insn_data = unsafe {
            if api < 3 {
                InsnData::Pointer(std::mem::transmute::<*const (), _>(function))
            } else {
                InsnData::Copy(std::mem::transmute::<*const (), _>(function))
            }
        };
        ScoreboardCounters {
            insn_data,
            chunks: Vec::new(),
            used: 0,
        }
    }
}

impl Api for ScoreboardCounters {
    fn code(&self, insn: *mut ffi::Insn, code: &mut [u8; MAX_CODE]) -> usize {
        match self.insn_data {
            // SAFETY: `code` has room for that many bytes.
            InsnData::Copy(copy) => unsafe { copy(insn, code.as_mut_ptr().cast(), MAX_CODE) },
            InsnData::Pointer(data) => {
                // SAFETY: in API 2 the data are `qemu_plugin_insn_size` readable bytes.
                let data = unsafe {
                    let size = ffi::qemu_plugin_insn_size(insn).min(MAX_CODE);
                    std::slice::from_raw_parts(data(insn), size)
                };
                code[..data.len()].copy_from_slice(data);
                data.len()
            }
        }
    }

    fn count(&mut self, insn: *mut ffi::Insn, number: usize) {
        while self.chunks.len() * CHUNK <= number {
            // SAFETY: any size will do; QEMU aborts when it has no memory.
            self.chunks
                .push(unsafe { qemu_plugin_scoreboard_new(CHUNK * size_of::<u64>()) });
        }
        self.used = self.used.max(number + 1);
        let entry = PluginU64 {
            score: self.chunks[number / CHUNK],
            offset: number % CHUNK * size_of::<u64>(),
        };
        // SAFETY: `insn` is valid, and the entry lies inside its scoreboard's elements.
        unsafe {
            qemu_plugin_register_vcpu_insn_exec_inline_per_vcpu(
                insn,
                ffi::INLINE_ADD_U64,
                entry,
                1,
            );
        }
    }

    fn counters(&self, into: &mut Vec<u64>) {
        // SAFETY: no arguments.
        let vcpus = c_uint::try_from(unsafe { qemu_plugin_num_vcpus() }).unwrap_or(0);
        into.resize(self.used, 0);
        for (score, sums) in self.chunks.iter().zip(into.chunks_mut(CHUNK)) {
            for vcpu in 0..vcpus {
                // SAFETY: an element of this scoreboard holds CHUNK counters, and no vCPU runs
                // generated code during a callback when they share one thread (`-icount`); where
                // they do not, a counter may be an increment behind.
                let element = unsafe {
                    std::slice::from_raw_parts(
                        qemu_plugin_scoreboard_find(*score, vcpu).cast::<u64>(),
                        sums.len(),
                    )
                };
                for (sum, counter) in sums.iter_mut().zip(element) {
                    *sum += counter;
                }
            }
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
    // SAFETY: `info` is valid during this call.
    let api = unsafe { (*info).version.cur };
    // SAFETY: the arguments are QEMU's own.
    unsafe { collector::install(id, argc, argv, Box::new(ScoreboardCounters::new(api))) }
}

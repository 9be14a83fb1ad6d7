//! profdiff's QEMU plugin for plugin API 2 and later (QEMU 9.0 on).
//!
//! With one vCPU, counters are inline, in scoreboards. With more, each instruction calls back:
//! since QEMU 10.0 ("plugins: optimize cpu_index code generation"), an inline operation that is
//! translated on behalf of vCPU 1 or higher under `-icount` multiplies a *constant* temporary in
//! place, and whatever else the block uses that constant for goes wrong: the guest ends with "Bad
//! icount read" as soon as its second CPU starts.

use std::ffi::{c_char, c_int, c_uint, c_void};
use std::mem::size_of;
use std::sync::atomic::{AtomicU64, Ordering};

use tcg_plugin_core::blocks::Counter;
use tcg_plugin_core::collector::{self, Api};
use tcg_plugin_core::ffi;
use tcg_plugin_core::plain::PlainCounters;
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

type InsnDataPointer = unsafe extern "C" fn(*const ffi::Insn) -> *const u8;
type InsnDataCopy = unsafe extern "C" fn(*const ffi::Insn, *mut c_void, usize) -> usize;

/// `qemu_plugin_insn_data` changed its signature in version 3, whatever version a plugin declares.
enum InsnData {
    Pointer(InsnDataPointer),
    Copy(InsnDataCopy),
}

/// Counters in one scoreboard element: 64 KiB of them, since an element cannot grow.
const CHUNK: usize = 8192;

#[derive(Default)]
struct Scoreboards {
    chunks: Vec<*mut Scoreboard>,
    used: usize,
}

// SAFETY: scoreboards are QEMU's, who lets any thread use them.
unsafe impl Send for Scoreboards {}

enum Counters {
    Inline(Scoreboards),
    Callback(PlainCounters),
}

struct NewApi {
    insn_data: InsnData,
    counters: Counters,
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
        match &mut self.counters {
            Counters::Inline(scoreboards) => scoreboards.count(insn, number),
            Counters::Callback(plain) => {
                let counter = plain.counter(number).as_ptr();
                // SAFETY: `insn` is valid, and the counter lives as long as the process.
                unsafe {
                    ffi::qemu_plugin_register_vcpu_insn_exec_cb(
                        insn,
                        increment,
                        ffi::CB_NO_REGS,
                        counter.cast(),
                    );
                }
            }
        }
    }

    fn counter(&self, number: usize) -> Counter {
        match &self.counters {
            Counters::Inline(scoreboards) => scoreboards.counter(number),
            Counters::Callback(plain) => plain.counter_of(number),
        }
    }

    fn counters(&self, into: &mut Vec<u64>) {
        match &self.counters {
            Counters::Inline(scoreboards) => scoreboards.read(into),
            Counters::Callback(plain) => plain.read(into),
        }
    }
}

extern "C" fn increment(_vcpu: c_uint, counter: *mut c_void) {
    // SAFETY: `count` gave the address of a counter that lives as long as the process.
    let counter = unsafe { AtomicU64::from_ptr(counter.cast()) };
    counter.fetch_add(1, Ordering::Relaxed);
}

impl Scoreboards {
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

    fn counter(&self, number: usize) -> Counter {
        // SAFETY: the scoreboard's element of the only vCPU, number 0, holds CHUNK counters; it
        // would move only if vCPUs were added.
        unsafe {
            let element = qemu_plugin_scoreboard_find(self.chunks[number / CHUNK], 0);
            Counter::new(element.cast::<u64>().add(number % CHUNK))
        }
    }

    fn read(&self, into: &mut Vec<u64>) {
        into.resize(self.used, 0);
        for (score, values) in self.chunks.iter().zip(into.chunks_mut(CHUNK)) {
            // SAFETY: an element of this scoreboard holds CHUNK counters; the only vCPU, number
            // 0, runs no generated code during a callback.
            let element = unsafe {
                std::slice::from_raw_parts(
                    qemu_plugin_scoreboard_find(*score, 0).cast::<u64>(),
                    values.len(),
                )
            };
            values.copy_from_slice(element);
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
    let info = unsafe { &*info };
    let api = NewApi {
        insn_data: InsnData::of_version(info.version.cur),
        counters: if info.smp_vcpus == 1 {
            Counters::Inline(Scoreboards::default())
        } else {
            Counters::Callback(PlainCounters::default())
        },
    };
    // SAFETY: the arguments are QEMU's own.
    unsafe { collector::install(id, argc, argv, Box::new(api)) }
}

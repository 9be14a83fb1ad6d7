//! profdiff's QEMU plugin for plugin API 2 and later (QEMU 9.0 on).
//!
//! With one vCPU, counters are inline, in scoreboards. With more, each instruction calls back:
//! since QEMU 10.0 ("plugins: optimize cpu_index code generation"), an inline operation that is
//! translated on behalf of vCPU 1 or higher under `-icount` multiplies a *constant* temporary in
//! place, and whatever else the block uses that constant for goes wrong: the guest ends with "Bad
//! icount read" as soon as its second CPU starts. By the same change, callbacks are given the
//! number of the vCPU on behalf of which their block was translated, whichever executes it.

use std::ffi::{c_char, c_int, c_uint, c_void};
use std::mem::size_of;
use std::sync::atomic::{AtomicU64, Ordering};

use tcg_plugin_core::architecture::MAX_CODE;
use tcg_plugin_core::collector;
use tcg_plugin_core::counters::{plain_chunk, Chunk, Counter, CHUNK};
use tcg_plugin_core::counting::Api;
use tcg_plugin_core::ffi;

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
    fn qemu_plugin_register_vcpu_mem_inline_per_vcpu(
        insn: *mut ffi::Insn,
        access: c_uint,
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

/// The scoreboards, each with a chunk of counters, since an element cannot grow.
struct Scoreboards(Vec<*mut Scoreboard>);

// SAFETY: scoreboards are QEMU's, who lets any thread use them.
unsafe impl Send for Scoreboards {}

struct NewApi {
    insn_data: InsnData,
    /// None with several vCPUs.
    scoreboards: Option<Scoreboards>,
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
            // SAFETY: `insn` is valid, and the data are its own.
            InsnData::Pointer(data) => unsafe { ffi::copy_code(insn, data(insn), code) },
        }
    }

    fn chunk(&mut self) -> Chunk {
        let Some(Scoreboards(all)) = &mut self.scoreboards else {
            return plain_chunk();
        };
        // SAFETY: any size will do, and QEMU aborts when it has no memory. A new scoreboard's
        // elements are zero; that of the only vCPU, number 0, would move only if vCPUs were added.
        unsafe {
            let score = qemu_plugin_scoreboard_new(CHUNK * size_of::<u64>());
            all.push(score);
            &*qemu_plugin_scoreboard_find(score, 0).cast()
        }
    }

    fn numbers_vcpus(&self) -> bool {
        self.scoreboards.is_some()
    }

    fn count(&self, insn: *mut ffi::Insn, number: usize, counter: Counter) {
        // SAFETY: `insn` is valid; the counter lives as long as the process, and the entry, which
        // is the same, lies inside its scoreboard's elements.
        unsafe {
            let Some(entry) = self.entry(number) else {
                let counter = counter.as_ptr().cast();
                ffi::qemu_plugin_register_vcpu_insn_exec_cb(
                    insn,
                    increment,
                    ffi::CB_NO_REGS,
                    counter,
                );
                return;
            };
            qemu_plugin_register_vcpu_insn_exec_inline_per_vcpu(
                insn,
                ffi::INLINE_ADD_U64,
                entry,
                1,
            );
        }
    }

    fn count_accesses(
        &self,
        insn: *mut ffi::Insn,
        access: c_uint,
        number: usize,
        counter: Counter,
    ) {
        // SAFETY: as above.
        unsafe {
            let Some(entry) = self.entry(number) else {
                let counter = counter.as_ptr().cast();
                let flags = ffi::CB_NO_REGS;
                ffi::qemu_plugin_register_vcpu_mem_cb(insn, accessed, flags, access, counter);
                return;
            };
            let op = ffi::INLINE_ADD_U64;
            qemu_plugin_register_vcpu_mem_inline_per_vcpu(insn, access, op, entry, 1);
        }
    }
}

impl NewApi {
    /// Where a counter is in QEMU's terms; None with several vCPUs.
    fn entry(&self, number: usize) -> Option<PluginU64> {
        let Scoreboards(all) = self.scoreboards.as_ref()?;
        Some(PluginU64 {
            score: all[number / CHUNK],
            offset: number % CHUNK * size_of::<u64>(),
        })
    }
}

extern "C" fn accessed(vcpu: c_uint, _access: u32, _at: u64, counter: *mut c_void) {
    increment(vcpu, counter);
}

extern "C" fn increment(_vcpu: c_uint, counter: *mut c_void) {
    // SAFETY: `count` gave the address of a counter that lives as long as the process.
    let counter = unsafe { AtomicU64::from_ptr(counter.cast()) };
    counter.fetch_add(1, Ordering::Relaxed);
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
        let api = NewApi {
            insn_data: InsnData::of_version((*info).version.cur),
            scoreboards: ((*info).smp_vcpus == 1).then(|| Scoreboards(Vec::new())),
        };
        collector::install(id, info, argc, argv, Box::new(api))
    }
}

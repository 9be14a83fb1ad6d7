//! Counters as this API wants them.
//!
//! An inline operation of this API adds to a *scoreboard*: to the element of the vCPU that
//! executes. Since QEMU 10.0 ("plugins: optimize cpu_index code generation"), one that is
//! translated under `-icount` uses the vCPU of translation instead, and to find its element it
//! multiplies a *constant* temporary in place. Whatever else the block uses that constant for then
//! goes wrong: the guest ends with "Bad icount read" as soon as its second CPU starts. But nothing
//! is generated for elements of one byte, and so there is one such scoreboard here, and a counter
//! is told as its distance from the element of the vCPU of translation. So all vCPUs share it.

use std::ffi::{c_uint, c_void};
use std::sync::OnceLock;

use tcg_plugin_core::counters::Counter;
use tcg_plugin_core::ffi;

/// `struct qemu_plugin_scoreboard`.
#[repr(C)]
struct Scoreboard {
    _opaque: [u8; 0],
}

/// `qemu_plugin_u64`: one 64-bit counter in each element of a scoreboard.
#[repr(C)]
pub struct PluginU64 {
    score: *mut Scoreboard,
    offset: usize,
}

extern "C" {
    fn qemu_plugin_scoreboard_new(element_size: usize) -> *mut Scoreboard;
    fn qemu_plugin_scoreboard_find(score: *mut Scoreboard, vcpu_index: c_uint) -> *mut c_void;
    fn qemu_plugin_register_vcpu_insn_exec_inline_per_vcpu(
        insn: *mut ffi::Insn,
        op: c_uint,
        entry: PluginU64,
        immediate: u64,
    );
}

/// The scoreboard whose elements are single bytes, and the address of the first.
struct Bytes {
    score: *mut Scoreboard,
    first: usize,
}

// SAFETY: the scoreboard is QEMU's, who lets any thread use it.
unsafe impl Send for Bytes {}
// SAFETY: as above.
unsafe impl Sync for Bytes {}

/// Made when the first counter is attached, since the elements move while vCPUs are added.
static BYTES: OnceLock<Bytes> = OnceLock::new();

/// Where a counter is, as seen from the element of vCPU `number`.
pub fn entry(counter: Counter, number: u32) -> PluginU64 {
    let bytes = BYTES.get_or_init(|| {
        // SAFETY: any size will do; QEMU ends when it has no memory, and vCPU 0 exists.
        unsafe {
            let score = qemu_plugin_scoreboard_new(1);
            let first = qemu_plugin_scoreboard_find(score, 0) as usize;
            Bytes { score, first }
        }
    });
    let at = counter.as_ptr() as usize;
    PluginU64 {
        score: bytes.score,
        offset: at.wrapping_sub(bytes.first).wrapping_sub(number as usize),
    }
}

/// Do `op` with `immediate` inline whenever `insn` starts.
pub fn at(insn: *mut ffi::Insn, op: c_uint, entry: PluginU64, immediate: u64) {
    // SAFETY: `insn` is valid, and the entry is a counter, which lives as long as the process.
    unsafe { qemu_plugin_register_vcpu_insn_exec_inline_per_vcpu(insn, op, entry, immediate) };
}

//! The part of QEMU's plugin API that is the same in all its versions
//! (`qemu-plugin.h`, QEMU 7.2 to 11.1).

use std::ffi::{c_char, c_int, c_uint, c_void};

/// `qemu_plugin_id_t`.
pub type PluginId = u64;

/// `struct qemu_plugin_tb`: a translation block, valid during its translation callback.
#[repr(C)]
pub struct Tb {
    _opaque: [u8; 0],
}

/// `struct qemu_plugin_insn`: an instruction of a block, valid as long as the block.
#[repr(C)]
pub struct Insn {
    _opaque: [u8; 0],
}

/// `struct qemu_plugin_hwaddr`: where an access goes, valid during its callback.
#[repr(C)]
pub struct Hwaddr {
    _opaque: [u8; 0],
}

/// `qemu_info_t.version`: the plugin API versions that this QEMU accepts.
#[repr(C)]
pub struct ApiVersion {
    /// Oldest version that a plugin may declare.
    pub min: c_int,
    /// Newest version, which decides the functions' signatures.
    pub cur: c_int,
}

/// The leading fields of `qemu_info_t`; those behind them are not read.
#[repr(C)]
pub struct Info {
    /// Name of the emulated architecture.
    pub target_name: *const c_char,
    /// Versions of the plugin API.
    pub version: ApiVersion,
    /// Whether a whole system is emulated.
    pub system_emulation: bool,
    /// The number of vCPUs at start, where a whole system is emulated.
    pub smp_vcpus: c_int,
}

/// `enum qemu_plugin_cb_flags`: the callback reads no registers.
pub const CB_NO_REGS: c_uint = 0;
/// `enum qemu_plugin_cb_flags`: the callback reads registers.
pub const CB_READS_REGS: c_uint = 1;
/// `enum qemu_plugin_mem_rw`: loads, but see [`crate::iterations::Iterations::of_moves`].
pub const MEM_READ: c_uint = 1;
/// `enum qemu_plugin_mem_rw`: loads and stores. Loads alone (1) never call back in QEMU 7.2, whose
/// `op_rw()` (accel/tcg/plugin-gen.c) compares a load with the bit of stores.
pub const MEM_READ_WRITE: c_uint = 3;
/// `enum qemu_plugin_mem_rw`: stores.
pub const MEM_WRITE: c_uint = 2;
/// `enum qemu_plugin_op`: add an immediate to a 64-bit counter.
pub const INLINE_ADD_U64: c_uint = 0;
/// `enum qemu_plugin_op`, since API 3: put an immediate there.
pub const INLINE_STORE_U64: c_uint = 1;
/// `enum qemu_plugin_cond`: call unless equal.
pub const COND_NE: c_uint = 3;

/// `qemu_plugin_vcpu_tb_trans_cb_t`: the plugin's id and the block; since API 7 the block and a
/// pointer of the plugin's own.
pub type TbTransCb = extern "C" fn(usize, usize);
/// `qemu_plugin_vcpu_udata_cb_t`.
pub type VcpuUdataCb = extern "C" fn(c_uint, *mut c_void);
/// `qemu_plugin_vcpu_mem_cb_t`: vCPU, what kind of access, virtual address.
pub type VcpuMemCb = extern "C" fn(c_uint, u32, u64, *mut c_void);
/// `qemu_plugin_udata_cb_t`: it gets an id, since API 7 a pointer.
pub type UdataCb = extern "C" fn();

#[allow(missing_docs)] // QEMU's header documents them.
extern "C" {
    // The pointer is taken since API 7.
    pub fn qemu_plugin_register_vcpu_tb_trans_cb(
        id: PluginId,
        cb: TbTransCb,
        userdata: *mut c_void,
    );
    pub fn qemu_plugin_register_atexit_cb(id: PluginId, cb: UdataCb, userdata: *mut c_void);
    pub fn qemu_plugin_register_vcpu_insn_exec_cb(
        insn: *mut Insn,
        cb: VcpuUdataCb,
        flags: c_uint,
        userdata: *mut c_void,
    );
    pub fn qemu_plugin_register_vcpu_tb_exec_cb(
        tb: *mut Tb,
        cb: VcpuUdataCb,
        flags: c_uint,
        userdata: *mut c_void,
    );
    pub fn qemu_plugin_register_vcpu_mem_cb(
        insn: *mut Insn,
        cb: VcpuMemCb,
        flags: c_uint,
        rw: c_uint,
        userdata: *mut c_void,
    );
    pub fn qemu_plugin_tb_n_insns(tb: *const Tb) -> usize;
    pub fn qemu_plugin_tb_get_insn(tb: *const Tb, index: usize) -> *mut Insn;
    pub fn qemu_plugin_insn_vaddr(insn: *const Insn) -> u64;
    pub fn qemu_plugin_insn_size(insn: *const Insn) -> usize;
    // The pointer is taken since API 7; before, the callback gets an id.
    pub fn qemu_plugin_reset(id: PluginId, cb: extern "C" fn(usize), userdata: *mut c_void);
    fn qemu_plugin_get_hwaddr(info: u32, address: u64) -> *const Hwaddr;
    fn qemu_plugin_hwaddr_is_io(at: *const Hwaddr) -> bool;
    fn qemu_plugin_hwaddr_phys_addr(at: *const Hwaddr) -> u64;
    fn qemu_plugin_mem_size_shift(info: u32) -> c_uint;
    fn qemu_plugin_mem_is_store(info: u32) -> bool;
}

/// Call `translated` for each block that QEMU translates from now on, and `exiting` when the guest
/// has ended.
///
/// # Safety
/// `id` is this plugin's.
pub unsafe fn register(id: PluginId, translated: TbTransCb, exiting: UdataCb) {
    // SAFETY: as promised; functions live as long as the plugin.
    unsafe {
        qemu_plugin_register_vcpu_tb_trans_cb(id, translated, std::ptr::null_mut());
        qemu_plugin_register_atexit_cb(id, exiting, std::ptr::null_mut());
    }
}

/// The physical address of an access; None where that is a device's. Inside a callback of the access.
pub fn physical(info: u32, address: u64) -> Option<u64> {
    // SAFETY: QEMU returns what is valid during the callback, or null.
    unsafe {
        let at = qemu_plugin_get_hwaddr(info, address);
        let memory = !at.is_null() && !qemu_plugin_hwaddr_is_io(at);
        memory.then(|| qemu_plugin_hwaddr_phys_addr(at))
    }
}

/// Bytes of an access, and whether it stores.
#[inline]
pub fn extent(info: u32) -> (u32, bool) {
    // SAFETY: these take the number apart.
    unsafe {
        let shift = qemu_plugin_mem_size_shift(info);
        (1 << shift.min(7), qemu_plugin_mem_is_store(info))
    }
}

/// Copy what of `insn` fits into `code`; how many bytes that was.
///
/// # Safety
/// `data` is what QEMU gave for `insn`: `qemu_plugin_insn_size` readable bytes.
pub unsafe fn copy_code(insn: *const Insn, data: *const u8, code: &mut [u8]) -> usize {
    // SAFETY: as promised.
    unsafe {
        let size = qemu_plugin_insn_size(insn).min(code.len());
        code[..size].copy_from_slice(std::slice::from_raw_parts(data, size));
        size
    }
}

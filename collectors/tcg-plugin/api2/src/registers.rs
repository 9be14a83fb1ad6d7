//! Registers, which plugins can read since API 2.

use std::ffi::{c_char, c_uint, c_void, CStr};
use std::ptr;

use tcg_plugin_core::running::Registers;

/// glib's `GArray` and `GByteArray`, as far as they are public.
#[repr(C)]
struct Array {
    data: *mut u8,
    len: c_uint,
}

/// The leading fields of `qemu_plugin_reg_descriptor`.
#[repr(C)]
struct Descriptor {
    handle: *mut c_void,
    name: *const c_char,
}

type ReadMemory = unsafe extern "C" fn(u64, *mut Array, usize) -> bool;

/// Which plugins have since API 4.
const READ_MEMORY: &CStr = c"qemu_plugin_read_memory_vaddr";

extern "C" {
    fn dlsym(handle: *mut c_void, name: *const c_char) -> *mut c_void;
    fn qemu_plugin_get_registers() -> *mut Array;
    // It returns an int, since API 6 a bool; a register that cannot be read has no bytes.
    fn qemu_plugin_read_register(handle: *mut c_void, into: *mut Array);
    fn g_array_get_element_size(array: *mut Array) -> c_uint;
    fn g_byte_array_new() -> *mut Array;
}

/// The registers of the vCPU that executes.
pub struct VcpuRegisters {
    all: *mut Array,
    bytes: *mut Array,
    memory: Option<ReadMemory>,
}

// SAFETY: the arrays are this object's own.
unsafe impl Send for VcpuRegisters {}

impl VcpuRegisters {
    /// For a callback in a vCPU's thread.
    pub fn new() -> VcpuRegisters {
        // SAFETY: QEMU and glib allocate them, or end the process; null is glibc's RTLD_DEFAULT, all
        // that is loaded, and the function has that signature in all versions that have it.
        unsafe {
            let memory = dlsym(ptr::null_mut(), READ_MEMORY.as_ptr());
            VcpuRegisters {
                all: qemu_plugin_get_registers(),
                bytes: g_byte_array_new(),
                memory: (!memory.is_null())
                    .then(|| std::mem::transmute::<*mut c_void, ReadMemory>(memory)),
            }
        }
    }
}

impl Registers for VcpuRegisters {
    fn named(&self, name: &str) -> Option<usize> {
        // SAFETY: QEMU's array is one of descriptors, whose names are C strings or null.
        unsafe {
            let size = g_array_get_element_size(self.all) as usize;
            let rows = (0..(*self.all).len as usize).map(|row| (*self.all).data.add(row * size));
            let mut found = rows.map(|row| ptr::read_unaligned(row.cast::<Descriptor>()));
            let found = found.find(|one| {
                !one.name.is_null() && CStr::from_ptr(one.name).to_bytes() == name.as_bytes()
            });
            found.map(|one| one.handle as usize)
        }
    }

    fn read(&self, register: usize) -> u64 {
        // SAFETY: `register` is a handle of QEMU's; it appends bytes to the array, whose length
        // says how many.
        unsafe {
            (*self.bytes).len = 0;
            qemu_plugin_read_register(register as *mut c_void, self.bytes);
            match (*self.bytes).len {
                0..8 => 0,
                _ => u64::from_ne_bytes((*self.bytes).data.cast::<[u8; 8]>().read()),
            }
        }
    }

    fn memory(&self, address: u64, size: usize) -> Option<u64> {
        let read = self.memory?;
        let mut word = [0; 8];
        // SAFETY: QEMU sizes the array and fills it, or says that it cannot.
        unsafe {
            (*self.bytes).len = 0;
            if !read(address, self.bytes, size) || (*self.bytes).len as usize != size {
                return None;
            }
            let found = std::slice::from_raw_parts((*self.bytes).data, size);
            word.get_mut(..size)?.copy_from_slice(found);
        }
        Some(u64::from_le_bytes(word))
    }
}

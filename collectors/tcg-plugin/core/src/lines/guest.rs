//! The guest's memory, as the processor that executes sees it.
//!
//! Plugins could not read memory before QEMU 10; QEMU's debugger can
//! (`cpu_memory_rw_debug()`, include/exec/cpu-common.h), and QEMU exports it for its modules.

use std::ffi::{c_int, c_void};
use std::ptr;

use crate::turns::symbol;

type ReadWrite = unsafe extern "C" fn(*mut c_void, u64, *mut c_void, usize, bool) -> c_int;

/// Memory, for the thread that executes the guest.
pub trait Memory {
    /// The vCPU that executes.
    fn vcpu(&self) -> *mut c_void {
        ptr::null_mut()
    }

    /// The bytes at an address; None where nothing is mapped.
    fn bytes(&self, address: u64, into: &mut [u8]) -> Option<()>;

    /// The 8 bytes at an address.
    fn word(&self, address: u64) -> Option<u64> {
        let mut bytes = [0; 8];
        self.bytes(address, &mut bytes)?;
        Some(u64::from_le_bytes(bytes))
    }

    /// The 4 bytes at an address.
    fn half(&self, address: u64) -> Option<u32> {
        let mut bytes = [0; 4];
        self.bytes(address, &mut bytes)?;
        Some(u32::from_le_bytes(bytes))
    }
}

/// The memory of QEMU's guest.
pub struct Guest {
    read: ReadWrite,
    current: *const *mut c_void,
}

impl Guest {
    /// In the thread that executes the guest; None where this QEMU exports nothing to read with.
    pub fn new() -> Option<Guest> {
        let read = symbol(c"cpu_memory_rw_debug")?;
        Some(Guest {
            // SAFETY: this is the function's signature in all versions of QEMU with plugins.
            read: unsafe { std::mem::transmute::<*mut c_void, ReadWrite>(read) },
            current: symbol(c"current_cpu")?.cast_const().cast(),
        })
    }
}

impl Memory for Guest {
    fn bytes(&self, address: u64, into: &mut [u8]) -> Option<()> {
        // SAFETY: the variable is this thread's, and is set while a vCPU executes; the function
        // writes as many bytes as there is room for, and refuses what is not mapped.
        let status = unsafe {
            let current = *self.current;
            if current.is_null() {
                return None;
            }
            (self.read)(
                current,
                address,
                into.as_mut_ptr().cast(),
                into.len(),
                false,
            )
        };
        (status == 0).then_some(())
    }
}

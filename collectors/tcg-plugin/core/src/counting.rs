//! The counters of instructions, and how QEMU is asked to increment them.

use std::ffi::{c_uint, c_void};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::architecture::MAX_CODE;
use crate::counters::Counter;
use crate::ffi;
use crate::running::{Counted, Registers};
use crate::slots::{PlaceNumber, Slots};
use crate::stretches::Stretches;

/// What generated code can do since API 3 (QEMU 9.1), for guests with one vCPU.
pub trait Conditions {
    /// Put `value` to `at` inline whenever `insn` starts.
    fn store(&self, insn: *mut ffi::Insn, at: Counter, value: u64);

    /// When `tb` begins, call `call`, which reads registers, with `data`, unless the counter of
    /// `known` holds its value.
    fn call_unless(
        &self,
        tb: *mut ffi::Tb,
        known: (Counter, u64),
        call: ffi::VcpuUdataCb,
        data: *mut c_void,
    );
}

/// What differs between the plugin API's versions.
pub trait Api: Send {
    /// The block, of the arguments of a callback that QEMU translates one.
    fn block(&self, first: usize, second: usize) -> *mut ffi::Tb;

    /// Copy the bytes of `insn` into `code`; how many there were.
    fn code(&self, insn: *mut ffi::Insn, code: &mut [u8; MAX_CODE]) -> usize;

    /// The registers, if plugins can read them. For callbacks of a translation.
    fn registers(&self) -> Option<Box<dyn Registers>> {
        None
    }

    /// What is done under conditions, if plugins can ask for that.
    fn conditions(&self) -> Option<&dyn Conditions> {
        None
    }

    /// Whether QEMU may fix a vCPU's number when it translates.
    fn may_fix_numbers(&self) -> bool {
        false
    }

    /// Increment `counter` inline whenever `insn` starts. `number`: what QEMU puts into inline
    /// operations of this block.
    fn count(&self, insn: *mut ffi::Insn, counter: Counter, number: u32);

    /// The same whenever `insn` has made such an `access` to memory.
    fn count_accesses(&self, insn: *mut ffi::Insn, access: c_uint, counter: Counter, number: u32);
}

/// An instruction of a block that QEMU translates.
pub struct Translated {
    /// Itself, valid as long as the block.
    pub insn: *mut ffi::Insn,
    /// Where it is.
    pub address: u64,
    code: [u8; MAX_CODE],
    length: usize,
}

impl Translated {
    /// The one with the number `index` in a block.
    ///
    /// # Safety
    /// QEMU is translating `tb`, which has more instructions than `index`.
    pub unsafe fn of(api: &dyn Api, tb: *const ffi::Tb, index: usize) -> Translated {
        // SAFETY: as promised.
        let (insn, address) = unsafe {
            let insn = ffi::qemu_plugin_tb_get_insn(tb, index);
            (insn, ffi::qemu_plugin_insn_vaddr(insn))
        };
        let mut code = [0; MAX_CODE];
        let length = api.code(insn, &mut code).min(MAX_CODE);
        Translated {
            insn,
            address,
            code,
            length,
        }
    }

    /// Its bytes.
    pub fn code(&self) -> &[u8] {
        &self.code[..self.length]
    }
}

/// Instructions, and their counters.
pub struct Counting {
    /// The way to attach counters.
    pub api: Box<dyn Api>,
    /// The instructions' numbers.
    pub slots: Slots,
    /// Their counters.
    pub stretches: Stretches,
    /// How the block that is translated can be counted.
    pub how: Counted,
}

impl Counting {
    /// A counter that is not an instruction's.
    pub fn extra(&mut self) -> (PlaceNumber, Counter) {
        let number = self.slots.extra();
        (number, self.stretches.stretch(&[number]).counter)
    }

    /// The counters of all instructions at an address.
    pub fn at(&mut self, address: u64) -> Vec<Counter> {
        let places = self.slots.places();
        self.stretches.with(|number| {
            let place = &places[number as usize];
            place.address == address && place.length > 0
        })
    }

    /// Replace `into` by how often each instruction started until now, by number.
    pub fn read(&mut self, into: &mut Vec<u64>) {
        self.stretches.read(self.slots.places().len(), into);
    }

    /// Increment `counter` whenever `insn` starts.
    ///
    /// # Safety
    /// QEMU is translating `insn`.
    pub unsafe fn count(&self, insn: *mut ffi::Insn, counter: Counter) {
        if let Counted::Inline(number) = self.how {
            return self.api.count(insn, counter, number);
        }
        let (flags, counter) = (ffi::CB_NO_REGS, counter.as_ptr().cast());
        // SAFETY: as promised; the counter lives as long as the process.
        unsafe { ffi::qemu_plugin_register_vcpu_insn_exec_cb(insn, increment, flags, counter) };
    }

    /// Increment `counter` whenever `insn` has made such an `access`.
    ///
    /// # Safety
    /// QEMU is translating `insn`.
    pub unsafe fn count_accesses(&self, insn: *mut ffi::Insn, access: c_uint, counter: Counter) {
        if let Counted::Inline(number) = self.how {
            return self.api.count_accesses(insn, access, counter, number);
        }
        let (flags, counter) = (ffi::CB_NO_REGS, counter.as_ptr().cast());
        // SAFETY: as in `count`.
        unsafe { ffi::qemu_plugin_register_vcpu_mem_cb(insn, accessed, flags, access, counter) };
    }
}

extern "C" fn accessed(vcpu: c_uint, _access: u32, _at: u64, counter: *mut c_void) {
    increment(vcpu, counter);
}

extern "C" fn increment(_vcpu: c_uint, counter: *mut c_void) {
    // SAFETY: it is the address of a counter that lives as long as the process.
    let counter = unsafe { AtomicU64::from_ptr(counter.cast()) };
    counter.fetch_add(1, Ordering::Relaxed);
}

//! The counters of instructions, and how QEMU is asked to increment them.

use std::ffi::c_uint;

use crate::architecture::MAX_CODE;
use crate::counters::{plain_chunk, Chunk, Counter, Counters};
use crate::ffi;
use crate::slots::{PlaceNumber, Slots};

/// What differs between the plugin API's versions.
pub trait Api: Send {
    /// Copy the bytes of `insn` into `code`; how many there were.
    fn code(&self, insn: *mut ffi::Insn, code: &mut [u8; MAX_CODE]) -> usize;

    /// Counters that [`Api::count`] can increment.
    fn chunk(&mut self) -> Chunk {
        plain_chunk()
    }

    /// Whether callbacks are given the number of the vCPU that executes.
    fn numbers_vcpus(&self) -> bool {
        true
    }

    /// Increment `counter`, of that number, whenever `insn` starts.
    fn count(&self, insn: *mut ffi::Insn, number: usize, counter: Counter);

    /// Increment `counter`, of that number, whenever `insn` has made such an `access` to memory.
    fn count_accesses(&self, insn: *mut ffi::Insn, access: c_uint, number: usize, counter: Counter);
}

/// Instructions, and their counters by number.
pub struct Counting {
    /// The way to attach counters.
    pub api: Box<dyn Api>,
    /// The instructions' numbers.
    pub slots: Slots,
    /// The counters.
    pub counters: Counters,
}

impl Counting {
    /// The counter of a number.
    pub fn counter(&mut self, number: PlaceNumber) -> Counter {
        let api = &mut self.api;
        self.counters.counter(number as usize, || api.chunk())
    }

    /// A counter that is no instruction's.
    pub fn extra(&mut self) -> (PlaceNumber, Counter) {
        let number = self.slots.extra();
        (number, self.counter(number))
    }

    /// The counters of all instructions at an address.
    pub fn at(&mut self, address: u64) -> Vec<Counter> {
        let places = self.slots.places().iter().enumerate();
        let here: Vec<usize> = places
            .filter(|(_, place)| place.address == address && place.length > 0)
            .map(|(number, _)| number)
            .collect();
        let counters = here.into_iter().map(|number| self.counter(number as u32));
        counters.collect()
    }
}

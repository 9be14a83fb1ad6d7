//! The repeated string instructions of the guest, and what shows how often they iterate.

use std::ffi::{c_uint, c_void};
use std::ptr;

use crate::aliases::counter_here;
use crate::architecture::Iterates;
use crate::counters::Counter;
use crate::counting::Counting;
use crate::ffi;
use crate::following::with_tracker;
use crate::iterations::{Comparing, Iterating, Iterations};
use crate::slots::PlaceNumber;

/// All of them.
#[derive(Default)]
pub struct Repeated {
    /// Their iterations.
    pub iterating: Iterating,
    /// Those that may end by what they compare. They stay where they are: callbacks, of which one
    /// runs at a time (`-icount`), get their addresses.
    comparing: Vec<(PlaceNumber, *mut Comparing)>,
}

// SAFETY: the pointers are to what lives as long as the process, and only callbacks use them.
unsafe impl Send for Repeated {}

impl Repeated {
    /// Count the iterations of `insn`, the instruction of that number, which ends its block at
    /// `behind`. What generated code counts; None where callbacks do.
    ///
    /// # Safety
    /// QEMU is translating `insn`.
    pub unsafe fn count(
        &mut self,
        insn: *mut ffi::Insn,
        number: PlaceNumber,
        behind: u64,
        how: Iterates,
        counting: &mut Counting,
    ) -> Option<Iterations> {
        let known = self.iterating.get(&number).copied();
        let iterations = known.unwrap_or_else(|| {
            let first = counting.extra();
            let iterations = match how {
                Iterates::Accesses(each) => Iterations::new(first, each),
                Iterates::Moves => Iterations::of_moves(first, counting.extra()),
                Iterates::Compares(loads) => {
                    let one = Comparing::new(behind, counting.at(behind), loads, first.1);
                    self.comparing.push((number, Box::into_raw(Box::new(one))));
                    Iterations::new(first, 1)
                }
            };
            self.iterating.insert(number, iterations);
            iterations
        });
        let [first, second] = iterations.counters;
        match how {
            // SAFETY: as promised.
            Iterates::Accesses(_) => unsafe {
                counting.count_accesses(insn, ffi::MEM_READ_WRITE, first);
            },
            // SAFETY: as promised.
            Iterates::Moves => unsafe {
                counting.count_accesses(insn, ffi::MEM_READ, first);
                counting.count_accesses(insn, ffi::MEM_WRITE, second);
            },
            Iterates::Compares(_) => {
                let (_, one) = self.comparing.iter().find(|one| one.0 == number)?;
                let (one, flags) = (one.cast(), ffi::CB_NO_REGS);
                let all = ffi::MEM_READ_WRITE;
                // SAFETY: as promised; what the callbacks get lives as long as the process.
                unsafe {
                    ffi::qemu_plugin_register_vcpu_insn_exec_cb(insn, compares, flags, one);
                    ffi::qemu_plugin_register_vcpu_mem_cb(insn, loads, flags, all, one);
                }
                return None;
            }
        }
        Some(iterations)
    }

    /// `counter` is of an instruction at `address`, which may be behind one that compares.
    pub fn passed(&mut self, address: u64, counter: Counter) {
        for (_, one) in &self.comparing {
            // SAFETY: it lives as long as the process; no other reference is used meanwhile.
            let one = unsafe { &mut **one };
            if one.behind == address && !one.passes.iter().any(|known| ptr::eq(*known, counter)) {
                one.passes.push(counter);
            }
        }
    }

    /// What `counter` counts, `other` may count instead where the instruction runs elsewhere.
    pub fn passed_too(&mut self, counter: Counter, other: Counter) {
        for (_, one) in &self.comparing {
            // SAFETY: as above.
            let passes = unsafe { &mut (**one).passes };
            let has = |wanted| passes.iter().any(|known| ptr::eq(*known, wanted));
            if has(counter) && !has(other) {
                passes.push(other);
            }
        }
    }

    /// The instruction `place` is `other` where it runs elsewhere. If it iterates, the iterations
    /// there, whose counters join `moves`.
    pub fn also_at(
        &mut self,
        place: PlaceNumber,
        other: PlaceNumber,
        counting: &mut Counting,
        moves: &mut Vec<(Counter, Counter)>,
    ) -> Option<Iterations> {
        let here = *self.iterating.get(&place)?;
        let there = self.iterating.get(&other).copied();
        let there = there.unwrap_or_else(|| {
            let there = here.elsewhere(|| counting.extra());
            self.iterating.insert(other, there);
            there
        });
        for pair in here.counters.into_iter().zip(there.counters) {
            if !moves.iter().any(|known| ptr::eq(known.0, pair.0)) {
                moves.push(pair);
            }
        }
        let compares = self.comparing.iter().any(|one| one.0 == place);
        (!compares).then_some(there)
    }

    /// Decide whether those that compare have ended; `next`: the address of the mark that executes.
    pub fn settle(&mut self, next: u64) {
        for (_, one) in &self.comparing {
            // SAFETY: as in `passed`.
            iterated(unsafe { &mut **one }.settle(Some(next)));
        }
    }
}

fn iterated(cell: Option<u32>) {
    if let Some(cell) = cell {
        with_tracker(|tracker| tracker.tree.iterated(cell));
    }
}

extern "C" fn compares(_vcpu: c_uint, one: *mut c_void) {
    let mut cell = None;
    with_tracker(|tracker| cell = tracker.cell());
    // SAFETY: `count` gave what lives as long as the process; no other reference is used meanwhile.
    let one = unsafe { &mut *one.cast::<Comparing>() };
    let iterations = counter_here(one.iterations);
    iterated(one.starts(cell, iterations));
}

extern "C" fn loads(_vcpu: c_uint, _access: u32, _at: u64, one: *mut c_void) {
    // SAFETY: as in `compares`.
    unsafe { &mut *one.cast::<Comparing>() }.loads();
}

//! Code that runs at several addresses.
//!
//! QEMU keeps one translation for a physical page of code and runs it wherever the page is mapped
//! (`CF_PCREL`): a library that two programs map at different addresses, or the kernel's code
//! before and after it turns the MMU on. So an execution belongs to the address at which it
//! happens, and that is not always the one of the translation, to which the inline counters belong.
//! When a block begins elsewhere than it was translated, what its counters gain is moved to
//! counters of the other address, as far as the block came: that shows when anything else is told.
//!
//! A callback compares the addresses where [`crate::pages`] does not tell.
//!
//! Blocks of the kernel's half are not looked at: the kernel executes its own text at one address,
//! but for what it does before that is mapped, which is translated at low addresses.

use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

use hashbrown::HashMap;

use crate::architecture::End;
use crate::block::Block;
use crate::counters::Counter;
use crate::pages::{self, PAGE};
use crate::running;
use crate::slots::PlaceNumber;
use crate::stretches::Instruction;

/// A block as it was translated.
pub struct Original {
    /// Its instructions.
    pub instructions: Box<[Instruction]>,
    /// What its last instruction does.
    pub end: End,
    /// The address behind it.
    pub behind: u64,
    /// The call tree's block, if there is a tree.
    pub block: *mut Block,
    /// What gives it counters at another address.
    at: fn(&Original, u64) -> Alias,
    /// Where else it ran.
    elsewhere: Vec<(u64, &'static Alias)>,
}

/// A block at another address than that of its translation.
pub struct Alias {
    /// The call tree's block, if there is a tree.
    pub block: *mut Block,
    /// The counters of its instructions, of the translation and of this address.
    pub moves: Box<[(Counter, Counter)]>,
}

/// An execution at another address, as long as nothing else has begun.
#[derive(Default)]
struct Pending {
    alias: Option<&'static Alias>,
    /// What the counters of the translation held before.
    before: Vec<u64>,
}

#[derive(Default)]
struct Aliases {
    known: HashMap<Box<[PlaceNumber]>, *mut Original>,
    pending: Pending,
}

/// As the tracker (see [`crate::following`]), only used by the thread that executes the guest.
static ALIASES: AtomicPtr<Aliases> = AtomicPtr::new(ptr::null_mut());

fn aliases() -> Option<&'static mut Aliases> {
    // SAFETY: set once to what lives as long as the process; the functions of this module let the
    // reference go before they call anything that uses it.
    unsafe { ALIASES.load(Ordering::Relaxed).as_mut() }
}

/// The block of these instructions, the same one each time that QEMU translates them. `at` gives it
/// counters at another address, where it runs there.
pub fn original(
    instructions: Vec<Instruction>,
    end: End,
    behind: u64,
    block: *mut Block,
    at: fn(&Original, u64) -> Alias,
) -> *mut Original {
    if ALIASES.load(Ordering::Relaxed).is_null() {
        ALIASES.store(Box::into_raw(Box::default()), Ordering::Relaxed);
    }
    let places = instructions.iter().map(|one| one.place).collect();
    let made = || {
        Box::into_raw(Box::new(Original {
            instructions: instructions.into(),
            end,
            behind,
            block,
            at,
            elsewhere: Vec::new(),
        }))
    };
    match aliases() {
        Some(aliases) => *aliases.known.entry(places).or_insert_with(made),
        None => made(),
    }
}

impl Original {
    /// Where it was translated.
    pub fn start(&self) -> u64 {
        self.instructions[0].address
    }
}

/// An execution of `original` begins, in a callback that may read registers, behind [`end`]: the call
/// tree's block of the address where it runs, if there is a tree.
///
/// # Safety
/// [`original`] made it, and no reference to it is alive.
pub unsafe fn begins(original: *mut Original) -> *mut Block {
    // SAFETY: as promised.
    let original = unsafe { &mut *original };
    let start = original.start();
    let Some(address) = running::address() else {
        return original.block;
    };
    pages::runs_at(start, address);
    if address == start || (address ^ start) % PAGE != 0 {
        return original.block;
    }
    let known = original.elsewhere.iter().find(|one| one.0 == address);
    let alias = match known.map(|one| one.1) {
        Some(alias) => alias,
        None => {
            let made: &Alias = Box::leak(Box::new((original.at)(original, address)));
            original.elsewhere.push((address, made));
            made
        }
    };
    if let Some(aliases) = aliases() {
        aliases.pending.begin(alias);
    }
    alias.block
}

/// What the present block's instructions counted until now belongs to where it runs.
#[inline]
pub fn settle() {
    if let Some(aliases) = aliases() {
        aliases.pending.settle();
    }
}

/// Another block begins: as [`settle`], for the last time.
#[inline]
pub fn end() {
    if let Some(aliases) = aliases() {
        aliases.pending.settle();
        aliases.pending.alias = None;
    }
}

/// Whether a block executes elsewhere than it was translated, so that [`end`] is to be told.
#[inline]
pub fn are_pending() -> bool {
    aliases().is_some_and(|aliases| aliases.pending.alias.is_some())
}

/// The counter that is to be incremented for `counter`, one of the present block's.
pub fn counter_here(counter: Counter) -> Counter {
    let alias = aliases().and_then(|aliases| aliases.pending.alias);
    let mut moves = alias.into_iter().flat_map(|alias| &alias.moves);
    let here = moves.find(|one| ptr::eq(one.0, counter));
    here.map_or(counter, |one| one.1)
}

impl Pending {
    fn begin(&mut self, alias: &'static Alias) {
        let held = alias.moves.iter().map(|one| one.0.load(Ordering::Relaxed));
        self.before.clear();
        self.before.extend(held);
        self.alias = Some(alias);
    }

    #[inline]
    fn settle(&self) {
        if let Some(alias) = self.alias {
            self.move_gained(alias);
        }
    }

    /// Doing it again moves only what was counted meanwhile.
    #[cold]
    fn move_gained(&self, alias: &Alias) {
        for ((from, to), before) in alias.moves.iter().zip(&self.before) {
            let gained = from.load(Ordering::Relaxed).wrapping_sub(*before);
            if gained != 0 {
                from.store(*before, Ordering::Relaxed);
                to.fetch_add(gained, Ordering::Relaxed);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicU64;

    #[test]
    fn what_a_block_counts_elsewhere_is_moved_as_far_as_it_came() {
        static COUNTERS: [AtomicU64; 4] = [const { AtomicU64::new(0) }; 4];
        let [first, second, there, there_too] = COUNTERS.each_ref();
        first.store(5, Ordering::Relaxed);
        second.store(3, Ordering::Relaxed);
        let alias = Box::leak(Box::new(Alias {
            block: ptr::null_mut(),
            moves: [(first, there), (second, there_too)].into(),
        }));
        let mut pending = Pending::default();
        pending.begin(alias);
        first.fetch_add(1, Ordering::Relaxed);
        pending.settle();
        pending.settle();
        let values = || COUNTERS.each_ref().map(|one| one.load(Ordering::Relaxed));
        assert_eq!(values(), [5, 3, 1, 0]); // the second instruction did not start
        second.fetch_add(1, Ordering::Relaxed);
        pending.settle();
        assert_eq!(values(), [5, 3, 1, 1]);
        // The next execution begins from what the counters hold then.
        first.store(7, Ordering::Relaxed);
        pending.begin(alias);
        second.fetch_add(2, Ordering::Relaxed);
        pending.settle();
        assert_eq!(values(), [7, 3, 1, 3]);
    }
}

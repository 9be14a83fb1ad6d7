//! Calls that have not returned yet, by where the stack pointer stands when they do.
//!
//! That is where it stands at the function's first instruction: where calls push the address behind
//! them, at that address's slot. Whoever a function leaves its call to by a jump returns for it, at
//! the same place. A call that never returns, such as one in which a task ends, is forgotten when
//! another one is made at its place.

use hashbrown::HashMap;

use crate::architecture::{Architecture, End, Linkage};
use crate::running;

/// Bytes of the address that a call pushes.
const SLOT: usize = 8;
/// So many calls are kept; more are not known.
const MOST_CALLS: usize = 1 << 16;

/// Where a call returns to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Return {
    /// The stack pointer.
    pub stack: u64,
    /// What the stack has there, where that is the address behind the call and can be read. A new
    /// task returns to where it begins, perhaps at the place of one that ended.
    pub behind: Option<u64>,
}

/// Calls that are under way, and what their callers want to know.
pub struct UnderWay<T> {
    calls: HashMap<u64, Vec<(Option<u64>, T)>>,
    number: usize,
}

impl<T> Default for UnderWay<T> {
    fn default() -> Self {
        UnderWay {
            calls: HashMap::default(),
            number: 0,
        }
    }
}

impl<T> UnderWay<T> {
    /// Whether no call is.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }

    /// A function begins that will return there.
    pub fn begins(&mut self, to: Return, wanted: T) {
        if self.number < MOST_CALLS {
            self.number += 1;
            let here = self.calls.entry(to.stack).or_default();
            here.push((to.behind, wanted));
        }
    }

    /// A call is made that will return with the stack pointer at `stack`: no other one will.
    pub fn is_called(&mut self, stack: u64) {
        self.take(stack);
    }

    /// Something returns there: what was wanted of the calls that end.
    pub fn ends(&mut self, to: Return) -> impl Iterator<Item = T> {
        let ended = self.take(to.stack).into_iter();
        ended.filter_map(move |(behind, wanted)| (behind == to.behind).then_some(wanted))
    }

    fn take(&mut self, stack: u64) -> Vec<(Option<u64>, T)> {
        let found = self.calls.remove(&stack).unwrap_or_default();
        self.number -= found.len();
        found
    }
}

/// The calls that are under way of some functions of the kernel, in callbacks that may read registers.
pub struct Awaited<T> {
    architecture: &'static dyn Architecture,
    under_way: UnderWay<T>,
    /// The stack pointer, once registers can be read.
    stack: Option<usize>,
}

impl<T> Awaited<T> {
    /// None yet.
    pub fn new(architecture: &'static dyn Architecture) -> Awaited<T> {
        Awaited {
            architecture,
            under_way: UnderWay::default(),
            stack: None,
        }
    }

    /// Whether an instruction is one of the kernel's that calls, or returns: [`Awaited::called`] and
    /// [`Awaited::returned`] are to be told when it executes.
    pub fn follows(&self, address: u64, end: End) -> bool {
        matches!(end, End::Call | End::Return) && self.architecture.in_kernel(address)
    }

    fn stack(&mut self) -> Option<u64> {
        if self.stack.is_none() {
            self.stack = running::named(self.architecture.stack_pointer());
        }
        running::read(self.stack?)
    }

    /// Where the function returns to that begins, or by the return that is about to execute.
    fn to(&mut self) -> Option<Return> {
        let stack = self.stack()?;
        let behind = match self.architecture.linkage() {
            Linkage::Stack(_) => running::word(stack, SLOT),
            Linkage::Register => None,
        };
        Some(Return { stack, behind })
    }

    /// A function begins.
    pub fn begins(&mut self, wanted: T) {
        if let Some(to) = self.to() {
            self.under_way.begins(to, wanted);
        }
    }

    /// A call is about to execute.
    pub fn called(&mut self) {
        if self.under_way.is_empty() {
            return;
        }
        if let Some(stack) = self.stack() {
            let pushed = match self.architecture.linkage() {
                Linkage::Stack(_) => SLOT as u64,
                Linkage::Register => 0,
            };
            self.under_way.is_called(stack.wrapping_sub(pushed));
        }
    }

    /// A return is about to execute: what was wanted of the calls that end.
    pub fn returned(&mut self) -> Vec<T> {
        if self.under_way.is_empty() {
            return Vec::new();
        }
        let to = self.to();
        to.map_or_else(Vec::new, |to| self.under_way.ends(to).collect())
    }

    /// Forget them.
    pub fn clear(&mut self) {
        self.under_way = UnderWay::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn to(stack: u64) -> Return {
        Return {
            stack,
            behind: None,
        }
    }

    fn ended(calls: &mut UnderWay<u32>, to: Return) -> Vec<u32> {
        calls.ends(to).collect()
    }

    #[test]
    fn recursive_calls_end_each_at_its_place() {
        let mut calls = UnderWay::default();
        for depth in 0..4 {
            calls.is_called(0x1000 - 16 * depth);
            calls.begins(to(0x1000 - 16 * depth), depth as u32);
        }
        assert_eq!(ended(&mut calls, to(0xf00)), []);
        for depth in (0..4).rev() {
            assert_eq!(ended(&mut calls, to(0x1000 - 16 * depth)), [depth as u32]);
        }
        assert!(calls.is_empty());
        assert_eq!(ended(&mut calls, to(0x1000)), []);
    }

    #[test]
    fn who_is_jumped_to_returns_for_both() {
        let mut calls = UnderWay::default();
        calls.is_called(0x1000);
        calls.begins(to(0x1000), 1);
        calls.begins(to(0x1000), 2);
        assert_eq!(ended(&mut calls, to(0x1000)), [1, 2]);
    }

    #[test]
    fn a_call_that_never_returned_is_forgotten() {
        let mut calls = UnderWay::default();
        calls.begins(to(0x1000), 1);
        calls.is_called(0x1000);
        assert_eq!(ended(&mut calls, to(0x1000)), []);
        let behind = |behind| Return {
            stack: 0x1000,
            behind: Some(behind),
        };
        calls.begins(behind(0x2000), 1);
        assert_eq!(ended(&mut calls, behind(0x3000)), []);
        assert!(calls.is_empty());
    }

    #[test]
    fn calls_are_bounded() {
        let mut calls = UnderWay::default();
        for number in 0..2 * MOST_CALLS {
            calls.begins(to(number as u64), 0);
        }
        assert_eq!(calls.calls.len(), MOST_CALLS);
        assert_eq!(ended(&mut calls, to(0)), [0]);
        calls.begins(to(0), 3);
        assert_eq!(ended(&mut calls, to(0)), [3]);
    }
}

//! Where a call pushes the address behind it to a *slot* of the stack, whose address a plugin sees.
//!
//! Slots tell which calls are over: those in slots below the stack pointer, whether they returned
//! or were left by longjmp(). A task's frames lie on several stacks (user's, kernel's,
//! interrupts'): frames of another stack than the present one are over too, unless the present one
//! is new, and so lies on top.

use std::cell::RefCell;
use std::rc::Rc;

use crate::architecture::{End, Watched};
use crate::block::Block;
use crate::calls::Calls;
use crate::frames::{Frame, Kind};
use crate::shadow_stack::ShadowStack;
use crate::slots::PlaceNumber;
use crate::waiting::{Slot, Waiting};

/// The tasks that wait, with their calls.
#[derive(Default)]
struct Tasks {
    waiting: Waiting<Vec<Frame>>,
    switched: bool,
}

/// Calls in slots, on one vCPU.
pub struct BySlot {
    /// What tells the stack of a slot from others.
    stack: fn(u64) -> u64,
    tasks: Rc<RefCell<Tasks>>,
    /// The kernel has loaded another task's stack pointer; the next slot tells which one's.
    switching: bool,
    /// The last return took no slot of a call.
    unmatched: bool,
    /// The call whose slot it took: its site, and where it returns to.
    ended: Option<(PlaceNumber, u64)>,
}

impl BySlot {
    /// Nothing was called yet. `stack`: as [`crate::architecture::Linkage::Stack`].
    pub fn new(stack: fn(u64) -> u64) -> BySlot {
        BySlot {
            stack,
            tasks: Rc::default(),
            switching: false,
            unmatched: false,
            ended: None,
        }
    }

    /// A call at `site` pushed its return address, `behind`, to `slot`.
    fn call(&mut self, stack: &mut ShadowStack, slot: Slot, site: PlaceNumber, behind: u64) {
        self.settle(stack, slot, false);
        while top_is(stack, |top| top.stack == slot.stack && top <= slot) {
            stack.frames.pop();
        }
        stack.call(slot, site, behind);
    }

    /// A return took its address from `slot`.
    fn ret(&mut self, stack: &mut ShadowStack, slot: Slot) {
        self.settle(stack, slot, true);
        while top_is(stack, |top| top.stack == slot.stack && top < slot) {
            stack.frames.pop();
        }
        let top = stack.frames.last();
        let matched = top.is_some_and(|top| (top.slot, top.kind) == (slot, Kind::Call));
        self.ended = top.filter(|_| matched).map(|top| (top.site, top.behind));
        if matched {
            stack.frames.pop();
        }
        self.unmatched = !matched;
    }

    /// The last return led to `address`. Code may have moved its return address, as `error_entry`
    /// does (arch/x86/entry/entry_64.S, `PUSH_REGS save_ret=1`).
    fn returned(&mut self, stack: &mut ShadowStack, address: u64) {
        let top = stack.frames.last();
        let moved = top.is_some_and(|top| (top.kind, top.behind) == (Kind::Call, address));
        if std::mem::take(&mut self.unmatched) && moved {
            stack.frames.pop();
        }
        // A retpoline begins with a call, whose return leads to what the retpoline is to call.
        let ended = self.ended.take().filter(|ended| ended.1 != address);
        if let Some((site, _)) = ended {
            stack.leads_elsewhere(site);
        }
    }

    /// The kernel loaded the stack pointer of another task.
    fn switches_task(&mut self) {
        self.switching = true;
        self.tasks.borrow_mut().switched = true;
    }

    /// Find the frames that lie below what happens at `slot`.
    fn settle(&mut self, stack: &mut ShadowStack, slot: Slot, returns: bool) {
        if slot.stack != 0 && std::mem::take(&mut self.switching) {
            let waiting = &mut self.tasks.borrow_mut().waiting;
            let next = waiting.take(slot, returns).unwrap_or_default();
            let before = stack.switch_to(next);
            if let Some(top) = before.last() {
                waiting.put(top.slot, before);
            }
        }
        if top_is(stack, |top| top.stack != slot.stack) {
            let mut frames = stack.frames.iter();
            if let Some(below) = frames.rposition(|frame| frame.slot.stack == slot.stack) {
                stack.frames.truncate(below + 1);
            }
        }
    }
}

impl Calls for BySlot {
    fn another(&self) -> Box<dyn Calls> {
        Box::new(BySlot {
            tasks: self.tasks.clone(),
            ..BySlot::new(self.stack)
        })
    }

    fn accessed(&mut self, stack: &mut ShadowStack, what: Watched, address: u64, block: &Block) {
        let slot = Slot {
            stack: (self.stack)(address),
            address,
        };
        match what {
            Watched::Pushes => self.call(stack, slot, block.last_place, block.behind),
            Watched::Pops => self.ret(stack, slot),
            Watched::SwitchesStack if block.in_kernel => self.switches_task(),
            Watched::SwitchesStack | Watched::Saves | Watched::Restores => {}
        }
    }

    fn called(&mut self, _stack: &mut ShadowStack, _block: &Block) {}

    fn went(&mut self, stack: &mut ShadowStack, end: End, address: u64) {
        if end == End::Return {
            self.returned(stack, address);
        }
    }

    fn has_switched(&self) -> bool {
        self.tasks.borrow().switched
    }
}

fn top_is(stack: &ShadowStack, what: impl Fn(Slot) -> bool) -> bool {
    stack.frames.last().is_some_and(|top| what(top.slot))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frames::Resume;

    const TASK: u64 = 0xffff_c900_0001_0000;
    const OTHER: u64 = 0xffff_c900_0002_0000;
    const INTERRUPTS: u64 = 0xffff_c900_0000_8000;
    const USER: u64 = 0;

    fn at(stack: u64, address: u64) -> Slot {
        Slot { stack, address }
    }

    fn nothing() -> (ShadowStack, BySlot) {
        (ShadowStack::default(), BySlot::new(|_| 0))
    }

    #[test]
    fn calls_end_with_their_slots() {
        let (mut stack, mut calls) = nothing();
        for (site, slot) in [(1, 80), (2, 60), (3, 40), (4, 20)] {
            calls.call(&mut stack, at(USER, slot), site, 0);
        }
        calls.ret(&mut stack, at(USER, 20));
        assert_eq!(stack.sites(), [1, 2, 3]);
        // longjmp() from 3 into 1, which calls on.
        calls.call(&mut stack, at(USER, 60), 5, 0);
        assert_eq!(stack.sites(), [1, 5]);
        // A call whose return was never seen.
        calls.ret(&mut stack, at(USER, 80));
        assert_eq!(stack.sites(), []);
        calls.ret(&mut stack, at(USER, 100));
    }

    #[test]
    fn a_retpoline_leads_to_what_it_calls() {
        let (mut stack, mut calls) = nothing();
        calls.call(&mut stack, at(TASK, 80), 1, 0x1005);
        assert!(stack.arrived(7));
        calls.call(&mut stack, at(TASK, 72), 7, 0x2005);
        assert!(stack.arrived(8));
        calls.ret(&mut stack, at(TASK, 72));
        calls.returned(&mut stack, 0x3000);
        assert!(stack.arrived(9));
        assert_eq!((stack.sites(), stack.frames[0].target), (vec![1], 9));
        // Which returns to who called the retpoline; another function's call returns behind it.
        calls.call(&mut stack, at(TASK, 72), 9, 0x3005);
        assert!(stack.arrived(10));
        calls.ret(&mut stack, at(TASK, 72));
        calls.returned(&mut stack, 0x3005);
        assert!(!stack.arrived(11));
        calls.ret(&mut stack, at(TASK, 80));
        calls.returned(&mut stack, 0x1005);
        assert_eq!(stack.sites(), []);
    }

    #[test]
    fn a_moved_return_address_ends_its_call() {
        let (mut stack, mut calls) = nothing();
        calls.call(&mut stack, at(TASK, 80), 1, 0x1005);
        calls.ret(&mut stack, at(TASK, 40));
        calls.returned(&mut stack, 0x2000);
        assert_eq!(stack.sites(), [1]);
        calls.ret(&mut stack, at(TASK, 40));
        calls.returned(&mut stack, 0x1005);
        assert_eq!(stack.sites(), []);
    }

    #[test]
    fn interrupts_lie_on_what_they_interrupt() {
        let (mut stack, mut calls) = nothing();
        calls.call(&mut stack, at(USER, 80), 1, 0);
        stack.enter(2, 0, true, Resume::At([0x1000, 0x1000]));
        calls.call(&mut stack, at(TASK, 800), 3, 0);
        stack.enter(4, 0, false, Resume::At([0x2000, 0x2004]));
        calls.call(&mut stack, at(TASK, 600), 5, 0);
        calls.call(&mut stack, at(INTERRUPTS, 900), 6, 0);
        assert_eq!(stack.sites(), [1, 2, 3, 4, 5, 6]);
        // Back from the interrupts' stack without its return being seen.
        calls.call(&mut stack, at(TASK, 500), 7, 0);
        assert_eq!(stack.sites(), [1, 2, 3, 4, 5, 7]);
        stack.leave_to_kernel(0x2000, 0, false);
        assert_eq!(stack.sites(), [1, 2, 3]);
        stack.leave_to_user(0x1000);
        assert_eq!(stack.sites(), [1]);
    }

    #[test]
    fn tasks_keep_their_calls_while_they_wait() {
        let (mut stack, mut calls) = nothing();
        calls.call(&mut stack, at(TASK, 900), 1, 0);
        calls.call(&mut stack, at(TASK, 800), 2, 0);
        assert!(!calls.has_switched());
        calls.switches_task();
        assert!(calls.has_switched() && calls.another().has_switched());
        calls.ret(&mut stack, at(OTHER, 900)); // a new task
        assert_eq!(stack.sites(), []);
        calls.call(&mut stack, at(OTHER, 900), 3, 0);
        calls.call(&mut stack, at(OTHER, 800), 4, 0);
        calls.switches_task();
        // __switch_to() calls before it returns.
        calls.call(&mut stack, at(TASK, 700), 5, 0);
        assert_eq!(stack.sites(), [1, 2, 5]);
        calls.ret(&mut stack, at(TASK, 700));
        calls.ret(&mut stack, at(TASK, 800));
        assert_eq!(stack.sites(), [1]);
        calls.call(&mut stack, at(TASK, 800), 6, 0);
        calls.switches_task();
        calls.ret(&mut stack, at(OTHER, 800));
        assert_eq!(stack.sites(), [3]);
    }
}

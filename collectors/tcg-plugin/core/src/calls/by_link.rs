//! Where a call puts the address behind it into a register, which the function keeps where it
//! likes: no access to memory tells of it.
//!
//! A call is over when execution goes on behind it: of those in the present exception or interrupt,
//! the topmost that returns there, and with it all above (which tail calls and exceptions of
//! languages left). Where the return address was kept, and whether it was signed, does not matter.
//!
//! What goes on elsewhere saves its frame pointer and loads another one. In the kernel that is a
//! task's switch, whose address identifies the task. In a program it is `setjmp()` and `longjmp()`,
//! or a switch between coroutines: what was under way when the frame pointer was saved is under way
//! again, if execution then goes where that call returned.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use crate::architecture::{End, Watched};
use crate::block::Block;
use crate::calls::Calls;
use crate::frames::{Frame, Kind};
use crate::shadow_stack::ShadowStack;
use crate::waiting::Slot;

/// With more saved contexts of programs than these, all are forgotten: what then goes on in one is
/// below what left it, until that returns.
const MOST_CONTEXTS: usize = 1 << 12;

/// What tasks and programs need to go on, by the address where their frame pointers are saved.
#[derive(Default)]
struct Saved {
    waiting: HashMap<u64, Vec<Frame>>,
    /// Also by the task, since addresses of programs recur.
    contexts: HashMap<(u64, u64), Vec<Frame>>,
    switched: bool,
}

/// Calls by a link register, on one vCPU.
#[derive(Default)]
pub struct ByLink {
    saved: Rc<RefCell<Saved>>,
    /// The task that runs, by the address that it was last switched to at: 0 before that.
    task: u64,
    /// Where the task that is about to wait saved its frame pointer.
    leaving: Option<u64>,
    /// The tasks of a switch that the next call or return will show to be complete.
    switch: Option<(u64, u64)>,
    /// What a program loaded, to go on there.
    restored: Option<Vec<Frame>>,
}

impl ByLink {
    /// The kernel saved the present task's frame pointer at `address`. Of an access in two parts,
    /// the first one counts.
    fn task_saves(&mut self, address: u64) {
        self.leaving.get_or_insert(address);
    }

    /// The kernel loaded the frame pointer of the task that keeps it at `address`.
    fn task_restores(&mut self, address: u64) {
        if let Some(before) = self.leaving.take() {
            self.switch = Some((before, address));
            self.saved.borrow_mut().switched = true;
        }
    }

    /// If the task was switched: the frames are the other one's.
    fn settle(&mut self, stack: &mut ShadowStack) -> bool {
        let Some((before, after)) = self.switch.take() else {
            return false;
        };
        let waiting = &mut self.saved.borrow_mut().waiting;
        let next = waiting.remove(&after).unwrap_or_default();
        waiting.insert(before, stack.switch_to(next));
        self.task = after;
        true
    }

    fn program_saves(&self, stack: &ShadowStack, address: u64) {
        let contexts = &mut self.saved.borrow_mut().contexts;
        if contexts.len() >= MOST_CONTEXTS {
            contexts.clear();
        }
        contexts.insert((self.task, address), stack.frames.clone());
    }

    fn program_restores(&mut self, address: u64) {
        let saved = self.saved.borrow();
        if let Some(frames) = saved.contexts.get(&(self.task, address)) {
            self.restored = Some(frames.clone());
        }
    }
}

impl Calls for ByLink {
    fn another(&self) -> Box<dyn Calls> {
        Box::new(ByLink {
            saved: self.saved.clone(),
            ..ByLink::default()
        })
    }

    fn accessed(&mut self, stack: &mut ShadowStack, what: Watched, address: u64, block: &Block) {
        match (what, block.in_kernel) {
            (Watched::Saves, true) => self.task_saves(address),
            (Watched::Restores, true) => self.task_restores(address),
            (Watched::Saves, false) => self.program_saves(stack, address),
            (Watched::Restores, false) => self.program_restores(address),
            (Watched::Pushes | Watched::Pops | Watched::SwitchesStack, _) => {}
        }
    }

    fn called(&mut self, stack: &mut ShadowStack, block: &Block) {
        self.settle(stack);
        self.restored = None;
        stack.call(Slot::default(), block.last_place, block.behind);
    }

    fn went(&mut self, stack: &mut ShadowStack, end: End, address: u64) {
        let switched = self.settle(stack);
        if let Some(mut frames) = self.restored.take() {
            if frames.last().is_some_and(|top| returns_to(top, address)) {
                frames.pop();
                stack.frames = frames;
                return;
            }
        }
        if end != End::Return {
            return;
        }
        let calls = stack.frames.iter().rev();
        let mut calls = calls.take_while(|frame| frame.kind == Kind::Call);
        match calls.position(|frame| returns_to(frame, address)) {
            Some(above) => stack.frames.truncate(stack.frames.len() - above - 1),
            // A new task, perhaps where an old one was.
            None if switched => stack.frames.clear(),
            // Where a forked child goes on, or code that made up its return address.
            None => {}
        }
    }

    fn has_switched(&self) -> bool {
        self.saved.borrow().switched
    }
}

fn returns_to(frame: &Frame, address: u64) -> bool {
    (frame.kind, frame.behind) == (Kind::Call, address)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frames::Resume;

    fn nothing() -> (ShadowStack, ByLink) {
        (ShadowStack::default(), ByLink::default())
    }

    fn call(calls: &mut ByLink, stack: &mut ShadowStack, site: u32, behind: u64) {
        calls.settle(stack);
        calls.restored = None;
        stack.call(Slot::default(), site, behind);
    }

    fn ret(calls: &mut ByLink, stack: &mut ShadowStack, address: u64) {
        calls.went(stack, End::Return, address);
    }

    /// As an access of 16 bytes is reported, in two parts.
    fn switch(calls: &mut ByLink, from: u64, to: u64) {
        for part in [0, 8] {
            calls.task_saves(from + part);
        }
        for part in [0, 8] {
            calls.task_restores(to + part);
        }
    }

    #[test]
    fn calls_end_where_they_return_to() {
        let (mut stack, mut calls) = nothing();
        for site in [1, 2, 3, 4] {
            call(&mut calls, &mut stack, site, u64::from(site) * 16);
        }
        ret(&mut calls, &mut stack, 64);
        assert_eq!(stack.sites(), [1, 2, 3]);
        // Elsewhere: what made up its return address.
        ret(&mut calls, &mut stack, 68);
        assert_eq!(stack.sites(), [1, 2, 3]);
        // An unwinder left 3 and 2.
        ret(&mut calls, &mut stack, 16);
        assert_eq!(stack.sites(), []);
        ret(&mut calls, &mut stack, 16);
    }

    #[test]
    fn of_a_recursion_the_innermost_call_ends() {
        let (mut stack, mut calls) = nothing();
        for site in [1, 2, 2, 2] {
            call(&mut calls, &mut stack, site, 32);
        }
        ret(&mut calls, &mut stack, 32);
        assert_eq!(stack.sites(), [1, 2, 2]);
        // An indirect jump is not a return, wherever it leads.
        calls.went(&mut stack, End::Jump, 32);
        assert_eq!(stack.sites(), [1, 2, 2]);
    }

    #[test]
    fn what_was_interrupted_does_not_return_in_the_interrupt() {
        let (mut stack, mut calls) = nothing();
        call(&mut calls, &mut stack, 1, 16);
        stack.enter(2, 0, false, Resume::At([0x2000, 0x2004]));
        call(&mut calls, &mut stack, 3, 48);
        ret(&mut calls, &mut stack, 16);
        assert_eq!(stack.sites(), [1, 2, 3]);
        ret(&mut calls, &mut stack, 48);
        assert_eq!(stack.sites(), [1, 2]);
    }

    #[test]
    fn tasks_keep_their_calls_while_they_wait() {
        const TASK: u64 = 0xffff_0000_0010_0000;
        const OTHER: u64 = 0xffff_0000_0020_0000;
        let (mut stack, mut calls) = nothing();
        call(&mut calls, &mut stack, 1, 16);
        call(&mut calls, &mut stack, 2, 32);
        assert!(!calls.has_switched());
        switch(&mut calls, TASK, OTHER);
        assert!(calls.has_switched());
        // What is left of the switch itself still belongs to the task that waits.
        assert_eq!(stack.sites(), [1, 2]);
        ret(&mut calls, &mut stack, 0x5000); // a new task
        assert_eq!(stack.sites(), []);
        call(&mut calls, &mut stack, 3, 48);
        call(&mut calls, &mut stack, 2, 32);
        switch(&mut calls, OTHER, TASK);
        ret(&mut calls, &mut stack, 32);
        assert_eq!(stack.sites(), [1]);
        // Another vCPU's turn: it knows who waits.
        let mut other = ShadowStack::default();
        let mut there = calls.another();
        assert!(there.has_switched());
        there.went(&mut other, End::Return, 32);
        assert_eq!(other.sites(), []);
        call(&mut calls, &mut stack, 2, 32);
        switch(&mut calls, TASK, OTHER);
        ret(&mut calls, &mut stack, 32);
        assert_eq!(stack.sites(), [3]);
    }

    #[test]
    fn a_new_task_has_not_the_calls_of_one_that_was_there() {
        let (mut stack, mut calls) = nothing();
        call(&mut calls, &mut stack, 1, 16);
        switch(&mut calls, 0x1000, 0x2000);
        ret(&mut calls, &mut stack, 0x5000);
        call(&mut calls, &mut stack, 2, 32); // it ends here
        switch(&mut calls, 0x2000, 0x1000);
        ret(&mut calls, &mut stack, 0x6000);
        switch(&mut calls, 0x1000, 0x2000);
        ret(&mut calls, &mut stack, 0x5000);
        assert_eq!(stack.sites(), []);
    }

    #[test]
    fn a_long_jump_leaves_calls() {
        let (mut stack, mut calls) = nothing();
        call(&mut calls, &mut stack, 1, 16);
        call(&mut calls, &mut stack, 2, 32); // setjmp()
        calls.program_saves(&stack, 0x7000);
        calls.program_saves(&stack, 0x7008);
        ret(&mut calls, &mut stack, 32);
        for _ in 0..3 {
            call(&mut calls, &mut stack, 3, 48);
            call(&mut calls, &mut stack, 4, 64); // longjmp()
            calls.program_restores(0x7000);
            calls.program_restores(0x7008);
            ret(&mut calls, &mut stack, 32);
            assert_eq!(stack.sites(), [1]);
        }
        // What only happens to load the same words goes on where it is.
        call(&mut calls, &mut stack, 3, 48);
        calls.program_restores(0x7000);
        ret(&mut calls, &mut stack, 48);
        assert_eq!(stack.sites(), [1]);
        call(&mut calls, &mut stack, 3, 48);
        calls.program_restores(0x7000);
        call(&mut calls, &mut stack, 5, 80);
        ret(&mut calls, &mut stack, 32);
        assert_eq!(stack.sites(), [1, 3, 5]);
    }

    #[test]
    fn contexts_are_a_tasks_own_and_bounded() {
        let (mut stack, mut calls) = nothing();
        call(&mut calls, &mut stack, 2, 32);
        calls.program_saves(&stack, 0x7000);
        switch(&mut calls, 0x1000, 0x2000);
        ret(&mut calls, &mut stack, 0x5000);
        call(&mut calls, &mut stack, 4, 64);
        calls.program_restores(0x7000); // another program's
        ret(&mut calls, &mut stack, 32);
        assert_eq!(stack.sites(), [4]);
        for number in 0..3 * MOST_CONTEXTS as u64 {
            calls.program_saves(&stack, number);
        }
        assert!(calls.saved.borrow().contexts.len() <= MOST_CONTEXTS);
    }
}

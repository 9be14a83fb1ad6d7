//! The calls that are under way, of each task.
//!
//! A call pushes the address behind it to a *slot*, whose address a plugin sees. Slots tell which
//! calls are over: those in slots below the stack pointer, whether they returned or were left by
//! longjmp(). A task's frames lie on several stacks (user's, kernel's, interrupts'): frames of
//! another stack than the present one are over too, unless the present one is new, and so lies on
//! top.

use crate::call_tree::{CallTree, Node, NodeNumber, NONE, ROOT};
use crate::frames::{Frame, Kind, Undecided};
use crate::slots::PlaceNumber;
use crate::waiting::{Slot, Waiting};

/// Deeper than any real stack: what makes one deeper is no code with a stack (the firmware).
const MOST_FRAMES: usize = 1 << 14;

/// The tasks that wait, with their calls.
pub type WaitingTasks = Waiting<Vec<Frame>>;

/// What is under way on one vCPU; the tasks that wait are shared by all.
#[derive(Debug, Default)]
pub struct ShadowStack {
    frames: Vec<Frame>,
    switching: bool,
    /// The last return took no slot of a call.
    unmatched: bool,
}

impl ShadowStack {
    /// A call at `site` pushed its return address, `behind`, to `slot`.
    pub fn call(&mut self, slot: Slot, site: PlaceNumber, behind: u64, waiting: &mut WaitingTasks) {
        self.settle(slot, false, waiting);
        while self.top_is(|top| top.stack == slot.stack && top <= slot) {
            self.frames.pop();
        }
        self.push(Kind::Call, slot, behind, site, NONE);
    }

    /// A return took its address from `slot`.
    pub fn ret(&mut self, slot: Slot, waiting: &mut WaitingTasks) {
        self.settle(slot, true, waiting);
        while self.top_is(|top| top.stack == slot.stack && top < slot) {
            self.frames.pop();
        }
        let top = self.frames.last();
        let matched = top.is_some_and(|top| (top.slot, top.kind) == (slot, Kind::Call));
        if matched {
            self.frames.pop();
        }
        self.unmatched = !matched;
    }

    /// The last return led to `address`. Code may have moved its return address, as `error_entry`
    /// does (arch/x86/entry/entry_64.S, `PUSH_REGS save_ret=1`).
    pub fn returned(&mut self, address: u64) {
        let top = self.frames.last();
        let moved = top.is_some_and(|top| (top.kind, top.behind) == (Kind::Call, address));
        if std::mem::take(&mut self.unmatched) && moved {
            self.frames.pop();
        }
    }

    /// The kernel loaded the stack pointer of another task.
    pub fn switches_task(&mut self) {
        self.switching = true;
    }

    /// Execution came to `target` from the call on top.
    pub fn arrived(&mut self, target: PlaceNumber) -> bool {
        match self.frames.last_mut() {
            Some(top) if top.kind == Kind::Call && top.target == NONE => {
                (top.target, top.node) = (target, NONE);
                true
            }
            _ => false,
        }
    }

    /// A system call, an exception or an interrupt at `site` led to `target`.
    pub fn enter(
        &mut self,
        site: PlaceNumber,
        target: PlaceNumber,
        from_user: bool,
        resume: Option<[u64; 2]>,
    ) {
        let kind = Kind::Entry { from_user, resume };
        self.push(kind, self.top_slot(), 0, site, target);
    }

    /// What was just entered interrupted this conditional jump.
    pub fn keep(&mut self, undecided: Undecided) {
        if let Some(top) = self.frames.last_mut() {
            top.undecided = Some(undecided);
        }
    }

    /// The kernel went back to user space, to `address`. The conditional jump that had been
    /// interrupted there, if it was one.
    pub fn leave_to_user(&mut self, address: u64) -> Option<Undecided> {
        let entry = self.frames.iter().rposition(|frame| {
            matches!(
                frame.kind,
                Kind::Entry {
                    from_user: true,
                    ..
                }
            )
        });
        let Some(entry) = entry else {
            // A new task, or a kernel thread that became a program.
            self.frames.clear();
            return None;
        };
        let left = self.frames[entry];
        self.frames.truncate(entry);
        let Kind::Entry { resume, .. } = left.kind else {
            return None;
        };
        if resume.is_none_or(|resume| resume.contains(&address)) {
            return left.undecided;
        }
        let before = self.frames.iter().rposition(|frame| {
            matches!(frame.kind, Kind::Elsewhere { resume: Some(resume) } if resume.contains(&address))
        });
        if let Some(before) = before {
            let undecided = self.frames[before].undecided;
            self.frames.truncate(before);
            return undecided;
        }
        let kind = Kind::Elsewhere { resume };
        self.push(kind, self.top_slot(), 0, NONE, NONE);
        if let Some(undecided) = left.undecided {
            self.keep(undecided);
        }
        None
    }

    /// The kernel went back to itself, to `target` at `address`; `is_entry`: which is where
    /// exceptions and interrupts lead, so that another one came at once. The conditional jump that
    /// had been interrupted, if it was one.
    pub fn leave_to_kernel(
        &mut self,
        address: u64,
        target: PlaceNumber,
        is_entry: bool,
    ) -> Option<Undecided> {
        let entry = self
            .frames
            .iter()
            .rposition(|frame| matches!(frame.kind, Kind::Entry { .. }))?;
        let left = self.frames[entry];
        let Kind::Entry { from_user, resume } = left.kind else {
            return None;
        };
        let again = is_entry && !resume.is_some_and(|resume| resume.contains(&address));
        if again {
            self.frames.truncate(entry + 1);
            self.frames[entry].target = target;
            self.frames[entry].node = NONE;
        } else if !from_user {
            self.frames.truncate(entry);
            return left.undecided;
        }
        None
    }

    /// The node of what is under way.
    pub fn node(&mut self, tree: &mut CallTree) -> NodeNumber {
        let known = self.frames.iter().rposition(|frame| frame.node != NONE);
        let mut node = known.map_or(ROOT, |index| self.frames[index].node);
        for frame in &mut self.frames[known.map_or(0, |index| index + 1)..] {
            node = tree.node(Node {
                parent: node,
                site: frame.site,
                target: frame.target,
            });
            frame.node = node;
        }
        node
    }

    /// Find the frames that lie below what happens at `slot`.
    fn settle(&mut self, slot: Slot, returns: bool, waiting: &mut WaitingTasks) {
        if slot.stack != 0 && std::mem::take(&mut self.switching) {
            let next = waiting.take(slot, returns).unwrap_or_default();
            let before = std::mem::replace(&mut self.frames, next);
            if let Some(top) = before.last() {
                waiting.put(top.slot, before);
            }
        }
        if self.top_is(|top| top.stack != slot.stack) {
            let mut frames = self.frames.iter();
            if let Some(below) = frames.rposition(|frame| frame.slot.stack == slot.stack) {
                self.frames.truncate(below + 1);
            }
        }
    }

    fn push(
        &mut self,
        kind: Kind,
        slot: Slot,
        behind: u64,
        site: PlaceNumber,
        target: PlaceNumber,
    ) {
        if self.frames.len() >= MOST_FRAMES {
            self.frames.clear();
        }
        let elsewhere = matches!(kind, Kind::Elsewhere { .. });
        self.frames.push(Frame {
            kind,
            slot,
            behind,
            site,
            target,
            node: if elsewhere { ROOT } else { NONE },
            undecided: None,
        });
    }

    fn top_is(&self, what: impl Fn(Slot) -> bool) -> bool {
        self.frames.last().is_some_and(|top| what(top.slot))
    }

    fn top_slot(&self) -> Slot {
        let above_user_space = Slot {
            stack: 0,
            address: u64::MAX,
        };
        let top = self.frames.last();
        top.map_or(above_user_space, |top| top.slot)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TASK: u64 = 0xffff_c900_0001_0000;
    const OTHER: u64 = 0xffff_c900_0002_0000;
    const INTERRUPTS: u64 = 0xffff_c900_0000_8000;
    const USER: u64 = 0;

    fn at(stack: u64, address: u64) -> Slot {
        Slot { stack, address }
    }

    /// The sites of what is under way, outermost first.
    fn sites(stack: &ShadowStack) -> Vec<u32> {
        stack.frames.iter().map(|frame| frame.site).collect()
    }

    #[test]
    fn calls_end_with_their_slots() {
        let (mut stack, mut waiting) = (ShadowStack::default(), WaitingTasks::default());
        for (site, slot) in [(1, 80), (2, 60), (3, 40), (4, 20)] {
            stack.call(at(USER, slot), site, 0, &mut waiting);
        }
        stack.ret(at(USER, 20), &mut waiting);
        assert_eq!(sites(&stack), [1, 2, 3]);
        // longjmp() from 3 into 1, which calls on.
        stack.call(at(USER, 60), 5, 0, &mut waiting);
        assert_eq!(sites(&stack), [1, 5]);
        // A call whose return was never seen.
        stack.ret(at(USER, 80), &mut waiting);
        assert_eq!(sites(&stack), []);
        stack.ret(at(USER, 100), &mut waiting);
    }

    #[test]
    fn a_moved_return_address_ends_its_call() {
        let (mut stack, mut waiting) = (ShadowStack::default(), WaitingTasks::default());
        stack.call(at(TASK, 80), 1, 0x1005, &mut waiting);
        stack.ret(at(TASK, 40), &mut waiting);
        stack.returned(0x2000);
        assert_eq!(sites(&stack), [1]);
        stack.ret(at(TASK, 40), &mut waiting);
        stack.returned(0x1005);
        assert_eq!(sites(&stack), []);
    }

    #[test]
    fn interrupts_lie_on_what_they_interrupt() {
        let (mut stack, mut waiting) = (ShadowStack::default(), WaitingTasks::default());
        stack.call(at(USER, 80), 1, 0, &mut waiting);
        stack.enter(2, 0, true, Some([0x1000, 0x1000]));
        stack.call(at(TASK, 800), 3, 0, &mut waiting);
        stack.enter(4, 0, false, Some([0x2000, 0x2004]));
        stack.call(at(TASK, 600), 5, 0, &mut waiting);
        stack.call(at(INTERRUPTS, 900), 6, 0, &mut waiting);
        assert_eq!(sites(&stack), [1, 2, 3, 4, 5, 6]);
        // Back from the interrupts' stack without its return being seen.
        stack.call(at(TASK, 500), 7, 0, &mut waiting);
        assert_eq!(sites(&stack), [1, 2, 3, 4, 5, 7]);
        stack.leave_to_kernel(0x2000, 0, false);
        assert_eq!(sites(&stack), [1, 2, 3]);
        stack.leave_to_user(0x1000);
        assert_eq!(sites(&stack), [1]);
    }

    #[test]
    fn an_interrupt_at_once_behind_another_keeps_its_place() {
        let (mut stack, mut waiting) = (ShadowStack::default(), WaitingTasks::default());
        stack.enter(4, 9, false, Some([0x2000, 0x2004]));
        stack.call(at(TASK, 600), 5, 0, &mut waiting);
        stack.leave_to_kernel(0x9000, 10, true);
        assert_eq!(sites(&stack), [4]);
        assert_eq!(stack.frames[0].target, 10);
    }

    #[test]
    fn signals_come_back_and_programs_that_were_replaced_do_not() {
        let (mut stack, mut waiting) = (ShadowStack::default(), WaitingTasks::default());
        let mut tree = CallTree::default();
        stack.call(at(USER, 80), 1, 0, &mut waiting);
        stack.enter(2, 0, true, Some([0x1000, 0x1000]));
        stack.leave_to_user(0x5000); // the handler
        assert_eq!(stack.node(&mut tree), ROOT);
        stack.call(at(USER, 20), 3, 0, &mut waiting);
        assert_eq!(tree.nodes().len(), 1);
        let handler = stack.node(&mut tree);
        assert_eq!(tree.nodes()[handler as usize].parent, ROOT);
        stack.enter(4, 0, true, Some([0x5100, 0x5100])); // rt_sigreturn
        stack.leave_to_user(0x1000);
        assert_eq!(sites(&stack), [1]);
    }

    #[test]
    fn tasks_keep_their_calls_while_they_wait() {
        let (mut stack, mut waiting) = (ShadowStack::default(), WaitingTasks::default());
        stack.call(at(TASK, 900), 1, 0, &mut waiting);
        stack.call(at(TASK, 800), 2, 0, &mut waiting);
        stack.switches_task();
        stack.ret(at(OTHER, 900), &mut waiting); // a new task
        assert_eq!(sites(&stack), []);
        stack.call(at(OTHER, 900), 3, 0, &mut waiting);
        stack.call(at(OTHER, 800), 4, 0, &mut waiting);
        stack.switches_task();
        // __switch_to() calls before it returns.
        stack.call(at(TASK, 700), 5, 0, &mut waiting);
        assert_eq!(sites(&stack), [1, 2, 5]);
        stack.ret(at(TASK, 700), &mut waiting);
        stack.ret(at(TASK, 800), &mut waiting);
        assert_eq!(sites(&stack), [1]);
        stack.call(at(TASK, 800), 6, 0, &mut waiting);
        stack.switches_task();
        stack.ret(at(OTHER, 800), &mut waiting);
        assert_eq!(sites(&stack), [3]);
    }

    #[test]
    fn frames_are_bounded() {
        let (mut stack, mut waiting) = (ShadowStack::default(), WaitingTasks::default());
        for number in 0..3 * MOST_FRAMES as u64 {
            stack.call(at(USER, u64::MAX - number), 1, 0, &mut waiting);
        }
        assert!(stack.frames.len() <= MOST_FRAMES);
    }
}

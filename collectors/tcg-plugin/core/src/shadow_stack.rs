//! What is under way on a vCPU: calls, exceptions, interrupts. [`crate::calls`] says which calls
//! are over.

use std::mem;

use crate::call_tree::CallTree;
use crate::frames::{Frame, Kind, Resume, Undecided};
use crate::node::{Node, NodeNumber, NONE, ROOT};
use crate::slots::PlaceNumber;
use crate::waiting::Slot;

/// Deeper than any real stack: what makes one deeper is not code with a stack (the firmware).
const MOST_FRAMES: usize = 1 << 14;

/// What is under way on one vCPU.
#[derive(Debug, Default)]
pub struct ShadowStack {
    /// The outermost first.
    pub frames: Vec<Frame>,
    /// What was under way in the last task of a program that gave way to another one.
    gave_way: Vec<Frame>,
}

/// What an exception or interrupt that is over had interrupted.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Left {
    /// A conditional jump, which now shows where it goes.
    pub undecided: Option<Undecided>,
    /// Whether it was a return, which now shows where it leads.
    pub returns: bool,
    /// Whether another one came at once, which is under way now.
    pub again: bool,
}

impl ShadowStack {
    /// A call at `site` that will return to `behind`, which it put into `slot`.
    pub fn call(&mut self, slot: Slot, site: PlaceNumber, behind: u64) {
        self.push(Kind::Call, slot, behind, site, NONE);
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

    /// The call on top, which came to `target`, leads from there to what it really calls.
    pub fn leads_elsewhere(&mut self, target: PlaceNumber) {
        if let Some(top) = self.frames.last_mut() {
            if top.kind == Kind::Call && top.target == target {
                (top.target, top.node) = (NONE, NONE);
            }
        }
    }

    /// A system call, an exception or an interrupt at `site` led to `target`.
    pub fn enter(
        &mut self,
        site: PlaceNumber,
        target: PlaceNumber,
        from_user: bool,
        resume: Resume,
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

    /// The kernel went back to user space, to `address`.
    pub fn leave_to_user(&mut self, address: u64) -> Left {
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
            return Left::default();
        };
        let left = self.frames[entry];
        self.frames.truncate(entry);
        let resume = match left.kind {
            Kind::Entry {
                resume: Resume::At(resume),
                ..
            } if !resume.contains(&address) => resume,
            _ => return Left::of(&left),
        };
        let before = self.frames.iter().rposition(
            |frame| matches!(frame.kind, Kind::Elsewhere { resume } if resume.contains(&address)),
        );
        if let Some(before) = before {
            let left = Left::of(&self.frames[before]);
            self.frames.truncate(before);
            return left;
        }
        let kind = Kind::Elsewhere { resume };
        self.push(kind, self.top_slot(), 0, NONE, NONE);
        if let Some(undecided) = left.undecided {
            self.keep(undecided);
        }
        Left::default()
    }

    /// The kernel went back to itself, to `target` at `address`; `is_entry`: which is where
    /// exceptions and interrupts lead, so that another one came at once.
    pub fn leave_to_kernel(&mut self, address: u64, target: PlaceNumber, is_entry: bool) -> Left {
        let mut frames = self.frames.iter();
        let entry = frames.rposition(|frame| matches!(frame.kind, Kind::Entry { .. }));
        let Some(entry) = entry else {
            // A new task, which was to execute its first instruction in user space.
            if is_entry {
                self.frames.clear();
                self.enter(NONE, target, true, Resume::Anywhere);
            }
            return Left::again(is_entry);
        };
        let left = self.frames[entry];
        let Kind::Entry { from_user, resume } = left.kind else {
            return Left::default();
        };
        let again = is_entry && !matches!(resume, Resume::At(resume) if resume.contains(&address));
        if again {
            self.frames.truncate(entry + 1);
            self.frames[entry].target = target;
            self.frames[entry].node = NONE;
        } else if !from_user {
            self.frames.truncate(entry);
            return Left::of(&left);
        }
        Left::again(again)
    }

    /// Another task goes on, in which these frames are under way; those of the one before it, which
    /// waits.
    pub fn switch_to(&mut self, frames: Vec<Frame>) -> Vec<Frame> {
        let from_user = |frame: &Frame| {
            matches!(
                frame.kind,
                Kind::Entry {
                    from_user: true,
                    ..
                }
            )
        };
        if self.frames.iter().any(from_user) {
            self.gave_way.clone_from(&self.frames);
        }
        mem::replace(&mut self.frames, frames)
    }

    /// The node of what is under way.
    pub fn node(&mut self, tree: &mut CallTree) -> NodeNumber {
        node(&mut self.frames, tree)
    }

    /// The node in which a task of a program last gave way here; [`NONE`] if none did.
    pub fn gave_way(&mut self, tree: &mut CallTree) -> NodeNumber {
        if self.gave_way.is_empty() {
            return NONE;
        }
        node(&mut self.gave_way, tree)
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

    fn top_slot(&self) -> Slot {
        let above_user_space = Slot {
            stack: 0,
            address: u64::MAX,
        };
        let top = self.frames.last();
        top.map_or(above_user_space, |top| top.slot)
    }
}

fn node(frames: &mut [Frame], tree: &mut CallTree) -> NodeNumber {
    let known = frames.iter().rposition(|frame| frame.node != NONE);
    let mut node = known.map_or(ROOT, |index| frames[index].node);
    for frame in &mut frames[known.map_or(0, |index| index + 1)..] {
        node = tree.node(Node {
            parent: node,
            site: frame.site,
            target: frame.target,
        });
        frame.node = node;
    }
    node
}

impl Left {
    fn of(frame: &Frame) -> Left {
        let returns = matches!(
            frame.kind,
            Kind::Entry {
                resume: Resume::Behind,
                ..
            }
        );
        Left {
            undecided: frame.undecided,
            returns,
            again: false,
        }
    }

    fn again(again: bool) -> Left {
        Left {
            again,
            ..Left::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl ShadowStack {
        /// The sites of what is under way, outermost first.
        pub fn sites(&self) -> Vec<u32> {
            self.frames.iter().map(|frame| frame.site).collect()
        }
    }

    fn call(stack: &mut ShadowStack, site: PlaceNumber) {
        stack.call(Slot::default(), site, 0);
    }

    #[test]
    fn an_interrupt_at_once_behind_another_keeps_its_place() {
        let mut stack = ShadowStack::default();
        stack.enter(4, 9, false, Resume::At([0x2000, 0x2004]));
        call(&mut stack, 5);
        assert_eq!(stack.leave_to_kernel(0x9000, 10, true), Left::again(true));
        assert_eq!(stack.sites(), [4]);
        assert_eq!(stack.frames[0].target, 10);
    }

    #[test]
    fn a_new_task_enters_the_kernel_before_its_first_instruction() {
        let mut stack = ShadowStack::default();
        // One that slept when its machine was saved goes on in the kernel.
        assert_eq!(stack.leave_to_kernel(0x2000, 9, false), Left::default());
        assert_eq!(stack.sites(), []);
        call(&mut stack, 1);
        assert_eq!(stack.leave_to_kernel(0x9000, 10, true), Left::again(true));
        call(&mut stack, 2);
        assert_eq!(stack.sites(), [NONE, 2]);
        assert_eq!(stack.frames[0].target, 10);
        assert_eq!(stack.leave_to_user(0x1000), Left::default());
        assert_eq!(stack.sites(), []);
    }

    #[test]
    fn what_was_interrupted_is_told_when_that_is_over() {
        let mut stack = ShadowStack::default();
        for (resume, returns) in [(Resume::Behind, true), (Resume::Anywhere, false)] {
            call(&mut stack, 1);
            stack.enter(2, 0, false, resume);
            assert_eq!(stack.leave_to_kernel(0x2000, 0, false).returns, returns);
            stack.enter(2, 0, true, resume);
            assert_eq!(stack.leave_to_user(0x2000).returns, returns);
            assert_eq!(stack.sites(), [1]);
            stack.frames.clear();
        }
    }

    #[test]
    fn signals_come_back_and_programs_that_were_replaced_do_not() {
        let mut stack = ShadowStack::default();
        let mut tree = CallTree::default();
        call(&mut stack, 1);
        stack.enter(2, 0, true, Resume::At([0x1000, 0x1000]));
        stack.leave_to_user(0x5000); // the handler
        assert_eq!(stack.node(&mut tree), ROOT);
        call(&mut stack, 3);
        assert_eq!(tree.nodes().len(), 1);
        let handler = stack.node(&mut tree);
        assert_eq!(tree.nodes()[handler as usize].parent, ROOT);
        stack.enter(4, 0, true, Resume::At([0x5100, 0x5100])); // rt_sigreturn
        stack.leave_to_user(0x1000);
        assert_eq!(stack.sites(), [1]);
    }

    #[test]
    fn the_last_program_that_gave_way_is_kept() {
        let (mut stack, mut tree) = (ShadowStack::default(), CallTree::default());
        call(&mut stack, 8); // a thread of the kernel
        stack.switch_to(Vec::new());
        assert_eq!(stack.gave_way(&mut tree), NONE);
        stack.enter(2, 0, true, Resume::At([0x1000, 0x1000]));
        call(&mut stack, 3);
        let node = stack.node(&mut tree);
        let waits = stack.switch_to(Vec::new());
        call(&mut stack, 8);
        stack.switch_to(waits);
        assert_eq!(stack.gave_way(&mut tree), node);
        assert_eq!(stack.sites(), [2, 3]);
    }

    #[test]
    fn frames_are_bounded() {
        let mut stack = ShadowStack::default();
        for _ in 0..3 * MOST_FRAMES {
            call(&mut stack, 1);
        }
        assert!(stack.frames.len() <= MOST_FRAMES);
    }
}

//! What a block does that the one before did not lead to by itself: how that ended, and what it means
//! for the stack.

use std::mem;

use super::Tracker;
use crate::architecture::End;
use crate::block::Block;
use crate::frames::{Resume, Undecided};
use crate::idling;

impl Tracker {
    /// How the block that ran before ended, and what that means for the stack.
    #[cold]
    pub(super) fn turn(&mut self, vcpu: u32, now: &Block) {
        let mut stopped = self.stop_running();
        let mut counted = self.counting.then_some(self.cleared);
        if vcpu != self.vcpu {
            (self.now.stopped, self.now.counted) = (stopped, counted);
            let next = self.parked.remove(&vcpu);
            let next = next.unwrap_or_else(|| self.now.another());
            (stopped, counted) = (next.stopped, next.counted);
            let before = mem::replace(&mut self.now, next);
            self.parked
                .insert(mem::replace(&mut self.vcpu, vcpu), before);
        }
        if let Some(before) = self.now.block {
            // SAFETY: blocks live as long as the process; nothing writes to one meanwhile.
            let before = unsafe { before.as_ref() };
            if before.end == End::Halt && stopped.is_none() {
                idling::ends(now.places.len());
            }
            let undecided = counted.filter(|_| before.branches && stopped.is_none());
            let undecided = undecided.map(|cleared| Undecided {
                block: before.id,
                cleared,
            });
            self.pass(before, stopped, undecided, now);
        } else {
            idling::ends(now.places.len());
        }
        self.node = self.unknown();
    }

    /// Whether a call, return or indirect jump at the end of one block, which came to its end, led to
    /// another, and nothing came between.
    #[inline]
    pub(super) fn is_usual(&self, before: &Block, now: &Block) -> bool {
        matches!(before.end, End::Call | End::Return | End::Jump)
            && before.in_kernel == now.in_kernel
            && !self.is_entry(now.start)
    }

    /// Follow that call, return or jump.
    #[inline]
    pub(super) fn follow(&mut self, before: &Block, now: &Block) {
        if before.end == End::Call {
            self.now.calls.called(&mut self.now.stack, before);
        } else {
            self.now.went(before.end, now.start);
        }
        if self.now.stack.arrived(now.first_place) {
            self.count_entry();
        }
    }

    /// From one block to another that it need not lead to. `undecided`: the conditional jump at its
    /// end, if it has one that counts.
    fn pass(
        &mut self,
        before: &Block,
        stopped: Option<usize>,
        undecided: Option<Undecided>,
        now: &Block,
    ) {
        if let Some(started) = stopped {
            let at = started.saturating_sub(1);
            // QEMU ends a block early for reasons of its own as well, and goes on where it was.
            let goes_on = [before.addresses[at], before.addresses[started]];
            if !goes_on.contains(&now.start) {
                self.interrupted(before, at, now, goes_on);
            }
            return;
        }
        let last = before.places.len() - 1;
        let crosses = !before.in_kernel && now.in_kernel;
        let interrupted = crosses || self.is_entry(now.start);
        match before.end {
            End::Next { .. } | End::Branch { .. } if before.is_before(now.start) => {
                self.decide(undecided, now.start);
            }
            End::Next { .. } | End::Branch { .. } => {
                // What leads nowhere else may have raised the exception, and run again.
                let again = before.next == before.target;
                let other = if again {
                    before.addresses[last]
                } else {
                    before.target
                };
                self.interrupted(before, last, now, [before.next, other]);
                if let Some(undecided) = undecided.filter(|_| now.in_kernel) {
                    self.now.stack.keep(undecided);
                }
            }
            End::Return if interrupted => self.enter(before, last, now, Resume::Behind),
            End::Call | End::Jump if interrupted => {
                if before.end == End::Call {
                    self.now.calls.called(&mut self.now.stack, before);
                }
                self.enter(before, last, now, Resume::Anywhere);
            }
            End::Return | End::Jump if before.in_kernel && !now.in_kernel => {
                self.leave(now);
            }
            End::Call | End::Return | End::Jump => self.follow(before, now),
            End::Enter => {
                let resume = Resume::At([before.behind, before.addresses[last]]);
                self.enter(before, last, now, resume);
            }
            End::Leave => self.leave(now),
            End::Halt if before.behind == now.start => {}
            End::Halt => {
                let resume = [before.behind, before.addresses[last]];
                self.interrupted(before, last, now, resume);
            }
        }
    }

    /// An exception or interrupt, for nothing else leads from the one block to the other.
    fn interrupted(&mut self, before: &Block, at: usize, now: &Block, resume: [u64; 2]) {
        let vectors = self.architecture.vectors(now.start);
        if let Some(vectors) = vectors.filter(|_| now.in_kernel) {
            self.entries.insert(vectors);
            self.enter(before, at, now, Resume::At(resume));
        }
    }

    /// Whether exceptions and interrupts lead to `address`.
    fn is_entry(&self, address: u64) -> bool {
        let vectors = self.architecture.vectors(address);
        vectors.is_some_and(|vectors| self.entries.contains(vectors))
    }

    fn enter(&mut self, before: &Block, at: usize, now: &Block, resume: Resume) {
        let from_user = !before.in_kernel;
        self.now
            .stack
            .enter(before.places[at], now.first_place, from_user, resume);
        self.count_entry();
    }

    /// A conditional jump, behind which nothing was executed until now, went on at `address`.
    fn decide(&mut self, undecided: Option<Undecided>, address: u64) {
        if let Some(one) = undecided.filter(|one| one.cleared == self.cleared) {
            self.blocks.went(one.block, address);
        }
    }

    fn leave(&mut self, now: &Block) {
        let left = if now.in_kernel {
            let is_entry = self.is_entry(now.start);
            self.now
                .stack
                .leave_to_kernel(now.start, now.first_place, is_entry)
        } else {
            self.now.stack.leave_to_user(now.start)
        };
        self.decide(left.undecided, now.start);
        if left.returns {
            self.now.went(End::Return, now.start);
        }
        // An interrupt that came between a call and what it called.
        if left.again || self.now.stack.arrived(now.first_place) {
            self.count_entry();
        }
    }

    fn count_entry(&mut self) {
        if self.counting {
            let node = self.now.stack.node(&mut self.tree);
            self.tree.entered(node);
        }
    }
}

//! Follows execution from block to block, and counts each one where the call tree says it runs.
//!
//! All of it runs in one thread: profdiff's guests have `-icount`, under which QEMU executes all
//! vCPUs in turn in one.

mod turning;

use std::mem;
use std::ptr::NonNull;

use hashbrown::HashMap;

use crate::architecture::{Architecture, End, Watched};
use crate::block::{Block, UNCOUNTED};
use crate::blocks::Blocks;
use crate::call_tree::CallTree;
use crate::entries::Entries;
use crate::node::{NodeNumber, NONE};
use crate::slots::PlaceNumber;
use crate::vcpu::Vcpu;

/// The state of all vCPUs, and the tree.
pub struct Tracker {
    architecture: &'static dyn Architecture,
    /// Blocks, as they are translated.
    pub blocks: Blocks,
    /// What ran where.
    pub tree: CallTree,
    counting: bool,
    /// How often what was counted was forgotten.
    cleared: u32,
    /// The present block, unless there is more to look at behind it than whether it led to the next.
    before: Option<NonNull<Block>>,
    /// The node in which the present block runs, or NONE where it must be looked for; [`UNCOUNTED`]
    /// while nothing is counted.
    node: NodeNumber,
    /// What the present block's [`Block::reached`] will be if it comes to its end.
    expected: u64,
    /// How often the present block's last instruction had iterated before, if it does, and the cell
    /// that counts the block: QEMU 7.2 reports the stores of an interrupt that follows as the
    /// block's own, after which the stack leads elsewhere.
    iterations: Option<(u64, Option<u32>)>,
    /// The block whose last instruction made the last access that was reported, and how often it had
    /// begun.
    accessed: (u32, u64),
    vcpu: u32,
    now: Vcpu,
    parked: HashMap<u32, Vcpu>,
    /// Where exceptions and interrupts lead, as [`Architecture::vectors`]: learnt from those that
    /// came where nothing else could.
    entries: Entries,
}

impl Tracker {
    /// Nothing has run yet.
    pub fn new(architecture: &'static dyn Architecture) -> Tracker {
        Tracker {
            architecture,
            blocks: Blocks::default(),
            tree: CallTree::default(),
            counting: false,
            cleared: 0,
            before: None,
            node: UNCOUNTED,
            expected: 0,
            iterations: None,
            accessed: (u32::MAX, 0),
            vcpu: 0,
            now: Vcpu::first(architecture.linkage()),
            parked: HashMap::default(),
            entries: Entries::default(),
        }
    }

    /// Whether the block before led to `block`, which begins now on the same vCPU, and there is
    /// nothing else to it: then [`Tracker::begins`] is to be told.
    ///
    /// # Safety
    /// `block` is one of [`Tracker::blocks`], and no reference to it is alive.
    #[inline(always)]
    pub unsafe fn goes_on(&mut self, block: NonNull<Block>) -> bool {
        let Some(before) = self.before else {
            return false;
        };
        // SAFETY: blocks live as long as the process, and no reference to one outlives a callback.
        let (start, before) = unsafe { (block.as_ref().start, before.as_ref()) };
        let straight = before.reached() == self.expected && before.is_before(start);
        if straight {
            before.went_to(start, self.counting);
        }
        straight
    }

    /// A block begins.
    ///
    /// # Safety
    /// As for [`Tracker::goes_on`].
    #[inline(never)]
    pub unsafe fn block(&mut self, vcpu: u32, block: NonNull<Block>) {
        if let Some((before, cell)) = self.iterations.take() {
            self.count_iteration(before, cell);
        }
        // SAFETY: as in `goes_on`.
        let (now, before) = unsafe { (block.as_ref(), self.now.block.map(|one| one.as_ref())) };
        let before = before.filter(|_| self.is_on(vcpu));
        match before.filter(|before| before.reached() == self.expected) {
            Some(before) if before.is_before(now.start) => {
                before.went_to(now.start, self.counting);
            }
            Some(before) if self.is_usual(before, now) => {
                self.follow(before, now);
                self.node = self.unknown();
            }
            _ => self.turn(vcpu, now),
        }
        self.begins(block);
    }

    /// Whether the block before ran on this vCPU.
    #[inline]
    pub fn is_on(&self, vcpu: u32) -> bool {
        vcpu == self.vcpu
    }

    /// Whatever begins next, [`Tracker::block`] is to be told.
    pub fn looks_back(&mut self) {
        self.before = None;
    }

    /// The block begins, in the node of the one before it unless that must be looked for.
    #[inline(always)]
    pub fn begins(&mut self, mut block: NonNull<Block>) {
        (self.before, self.now.block) = (Some(block), Some(block));
        // SAFETY: as in `block`.
        let now = unsafe { block.as_mut() };
        if now.node != self.node || now.iterates {
            return self.begins_elsewhere(now);
        }
        self.expected = now.begin();
    }

    /// As [`Tracker::begins`], where the node must be looked for, or iterations are counted.
    #[inline(never)]
    fn begins_elsewhere(&mut self, block: &mut Block) {
        self.find_cell(block);
        self.expected = block.begin();
        if let Some(iterations) = &block.iterations {
            let cell = self.counting.then_some(block.cell);
            self.iterations = Some((iterations.so_far(), cell));
            self.looks_back();
        }
    }

    /// Whether the present block went on at `address`, if the next one was translated there. What
    /// interrupts it would be the present block.
    pub fn leads_to(&self, address: u64) -> bool {
        let present = self.present();
        present.is_some_and(|block| block.reached() == self.expected && block.leads_to(address))
    }

    /// A watched instruction of the present block made an access to `address`.
    pub fn accessed(&mut self, vcpu: u32, what: Watched, address: u64) {
        let block = match what {
            Watched::Pushes => self.accesses(vcpu, End::Call),
            Watched::Pops => self.accesses(vcpu, End::Return),
            _ => self.present(),
        };
        let Some(block) = block.filter(|_| vcpu == self.vcpu) else {
            return;
        };
        let now = &mut self.now;
        now.calls.accessed(&mut now.stack, what, address, block);
        if matches!(what, Watched::Pushes | Watched::Pops) {
            self.node = self.unknown();
        }
    }

    /// The present block, if an access is its last instruction's: the first one when a block that
    /// ends so has come to its end. QEMU 7.2 reports the accesses of an exception or interrupt as those of the last
    /// instruction of its vCPU that was asked for, which may be long ago.
    fn accesses(&mut self, vcpu: u32, end: End) -> Option<&'static Block> {
        let block = self.present()?;
        let execution = (block.id, block.begun());
        let own = vcpu == self.vcpu && block.end == end && block.reached() == self.expected;
        if !own || mem::replace(&mut self.accessed, execution) == execution {
            return None;
        }
        Some(block)
    }

    /// Whether any task of the guest has been seen to switch to another one. Without that, nothing
    /// tells whose calls are under way.
    pub fn has_switched(&self) -> bool {
        self.now.calls.has_switched()
    }

    /// The node in which a task of a program last gave way on this vCPU, or [`NONE`].
    pub fn gave_way(&mut self) -> NodeNumber {
        self.now.stack.gave_way(&mut self.tree)
    }

    /// The cell that counts the present block, if it is counted.
    pub fn cell(&mut self) -> Option<u32> {
        let mut block = self.now.block.filter(|_| self.counting)?;
        // SAFETY: blocks live as long as the process, and no other reference is used meanwhile.
        let block = unsafe { block.as_mut() };
        self.find_cell(block);
        Some(block.cell)
    }

    /// From the present block's instruction `index` on, which is a mark, count or do not.
    pub fn count_from(&mut self, index: usize, counting: bool) {
        if counting == self.counting {
            return;
        }
        let before = self.current();
        self.set_counting(counting);
        let node = if counting { self.current() } else { before };
        let rest: Vec<PlaceNumber> = self
            .present()
            .and_then(|block| block.places.get(index..))
            .unwrap_or_default()
            .to_vec();
        self.tree
            .correct(node, &rest, if counting { 1 } else { -1 });
    }

    /// Forget what was counted; the present block too.
    pub fn clear(&mut self) {
        self.set_counting(false);
        self.cleared += 1;
        self.tree.clear();
        self.blocks.forget();
    }

    /// If the last instruction of the block that ran before iterated, it did not end.
    fn count_iteration(&mut self, before: u64, cell: Option<u32>) {
        let iterations = self.present().and_then(|block| block.iterations.as_ref());
        if self.counting && iterations.is_some_and(|now| now.so_far() > before) {
            // A mark in the block may have begun to count.
            if let Some(cell) = cell.or_else(|| self.cell()) {
                self.tree.iterated(cell);
            }
        }
    }

    /// If the running block did not come to its end, how far it came.
    fn stop_running(&mut self) -> Option<usize> {
        // SAFETY: blocks live as long as the process, and no other reference is used meanwhile.
        let before = unsafe { self.now.block?.as_ref() };
        if before.reached() == self.expected {
            return None;
        }
        let started = self.blocks.stopped(before);
        if self.counting {
            let node = self.current();
            self.tree.correct(node, &before.places[started..], -1);
        }
        Some(started)
    }

    fn set_counting(&mut self, counting: bool) {
        self.counting = counting;
        self.node = self.unknown();
    }

    /// What [`Tracker::node`] is where it must be looked for.
    fn unknown(&self) -> NodeNumber {
        if self.counting {
            NONE
        } else {
            UNCOUNTED
        }
    }

    /// The node of the present block. Where none was looked for since the stack changed, that is
    /// the stack's.
    fn current(&mut self) -> NodeNumber {
        if self.node == NONE {
            self.node = self.now.stack.node(&mut self.tree);
        }
        self.node
    }

    /// Let `block`, which begins or is the present one, count in the node where it is.
    fn find_cell(&mut self, block: &mut Block) {
        let node = self.current();
        if block.node != node {
            let (before, cell) = (block.node, block.cell);
            let times = block.moves_to(node);
            if before != UNCOUNTED {
                self.tree.count(cell, times);
            }
            if node != UNCOUNTED {
                block.cell = self.tree.cell(node, block.id);
            }
        }
    }

    fn present(&self) -> Option<&'static Block> {
        // SAFETY: blocks live as long as the process; nothing writes to one meanwhile.
        self.now.block.map(|block| unsafe { block.as_ref() })
    }
}

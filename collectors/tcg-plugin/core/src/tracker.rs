//! Follows execution from block to block, and counts each one where the call tree says it runs.
//!
//! All of it runs in one thread: profdiff's guests have `-icount`, under which QEMU executes all
//! vCPUs in turn in one.

use std::mem;

use hashbrown::{HashMap, HashSet};

use crate::architecture::{Architecture, End, Watched};
use crate::blocks::{Block, Blocks};
use crate::call_tree::{CallTree, NodeNumber, NONE};
use crate::frames::{Resume, Undecided};
use crate::idling;
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
    /// The node in which the present block runs, or NONE where it must be looked for.
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
    entries: HashSet<u64>,
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
            node: NONE,
            expected: 0,
            iterations: None,
            accessed: (u32::MAX, 0),
            vcpu: 0,
            now: Vcpu::first(architecture.linkage()),
            parked: HashMap::default(),
            entries: HashSet::default(),
        }
    }

    /// A block begins.
    ///
    /// # Safety
    /// `block` is one of [`Tracker::blocks`], and no reference to it is alive.
    #[inline(always)]
    pub unsafe fn block(&mut self, vcpu: u32, block: *mut Block) {
        if let Some((before, cell)) = self.iterations.take() {
            self.count_iteration(before, cell);
        }
        // SAFETY: blocks live as long as the process, and no reference to one outlives a callback.
        let (start, before) = unsafe { ((*block).start, self.now.block) };
        let straight = before.is_some_and(|before| {
            // SAFETY: as above.
            unsafe {
                (*before).reached() == self.expected
                    && ((*before).next == start || (*before).target == start)
                    && vcpu == self.vcpu
            }
        });
        if !straight {
            // SAFETY: as above.
            self.turn(vcpu, unsafe { &*block });
        } else if let Some(before) = before.filter(|_| self.counting) {
            // SAFETY: as above.
            unsafe { (*before).went_to(start) };
        }
        self.now.block = Some(block);
        // SAFETY: as above.
        let now = unsafe { &mut *block };
        self.expected = now.begin();
        if self.counting {
            if now.cached.0 != self.node || self.node == NONE {
                self.find_cell(now);
            }
            self.tree.count(now.cached.1);
        }
        if let Some(iterations) = &now.iterations {
            let cell = self.counting.then_some(now.cached.1);
            self.iterations = Some((iterations.so_far(), cell));
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
            // SAFETY: blocks live as long as the process; nothing writes to one meanwhile.
            _ => self.now.block.map(|block| unsafe { &*block }),
        };
        let Some(block) = block.filter(|_| vcpu == self.vcpu) else {
            return;
        };
        let now = &mut self.now;
        now.calls.accessed(&mut now.stack, what, address, block);
        if matches!(what, Watched::Pushes | Watched::Pops) {
            self.node = NONE;
        }
    }

    /// The present block, if an access is its last instruction's: the first one when a block that
    /// ends so has come to its end. QEMU 7.2 reports the accesses of an exception or interrupt as those of the last
    /// instruction of its vCPU that was asked for, which may be long ago.
    fn accesses(&mut self, vcpu: u32, end: End) -> Option<&'static Block> {
        // SAFETY: blocks live as long as the process; nothing writes to one meanwhile.
        let block = unsafe { &*self.now.block? };
        let execution = (block.id, block.begun);
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
        let block = self.now.block.filter(|_| self.counting)?;
        // SAFETY: blocks live as long as the process, and no other reference is used meanwhile.
        let block = unsafe { &mut *block };
        self.find_cell(block);
        Some(block.cached.1)
    }

    /// From the present block's instruction `index` on, which is a mark, count or do not.
    pub fn count_from(&mut self, index: usize, counting: bool) {
        if counting == self.counting {
            return;
        }
        self.counting = counting;
        let node = self.current();
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
        self.counting = false;
        self.cleared += 1;
        self.tree.clear();
        self.blocks.forget_branches();
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

    /// How the block that ran before ended, and what that means for the stack.
    #[cold]
    fn turn(&mut self, vcpu: u32, now: &Block) {
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
            let before = unsafe { &*before };
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
        self.node = NONE;
    }

    /// If the running block did not come to its end, how far it came.
    fn stop_running(&mut self) -> Option<usize> {
        let before = self.now.block?;
        // SAFETY: blocks live as long as the process, and no other reference is used meanwhile.
        let before = unsafe { &*before };
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
        if before.end == End::Call {
            self.now.calls.called(&mut self.now.stack, before);
        }
        match before.end {
            End::Next { .. } | End::Branch { .. }
                if before.next == now.start || before.target == now.start =>
            {
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
                self.enter(before, last, now, Resume::Anywhere);
            }
            End::Call => {
                if self.now.stack.arrived(now.places[0]) {
                    self.count_entry();
                }
            }
            End::Return | End::Jump if before.in_kernel && !now.in_kernel => {
                self.leave(now);
            }
            End::Return | End::Jump => self.now.went(before.end, now.start),
            End::Enter => {
                let resume = Resume::At([before.behind(), before.addresses[last]]);
                self.enter(before, last, now, resume);
            }
            End::Leave => self.leave(now),
            End::Halt if before.behind() == now.start => {}
            End::Halt => {
                let resume = [before.behind(), before.addresses[last]];
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
        vectors.is_some_and(|vectors| self.entries.contains(&vectors))
    }

    fn enter(&mut self, before: &Block, at: usize, now: &Block, resume: Resume) {
        let from_user = !before.in_kernel;
        self.now
            .stack
            .enter(before.places[at], now.places[0], from_user, resume);
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
                .leave_to_kernel(now.start, now.places[0], is_entry)
        } else {
            self.now.stack.leave_to_user(now.start)
        };
        self.decide(left.undecided, now.start);
        if left.returns {
            self.now.went(End::Return, now.start);
        }
        // An interrupt that came between a call and what it called.
        if self.now.stack.arrived(now.places[0]) {
            self.count_entry();
        }
    }

    fn count_entry(&mut self) {
        if self.counting {
            let node = self.now.stack.node(&mut self.tree);
            self.tree.entered(node);
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

    #[cold]
    fn find_cell(&mut self, block: &mut Block) {
        let node = self.current();
        if block.cached.0 != node {
            block.cached = (node, self.tree.cell(node, block.id));
        }
    }

    fn present(&self) -> Option<&Block> {
        // SAFETY: blocks live as long as the process; nothing writes to one meanwhile.
        self.now.block.map(|block| unsafe { &*block })
    }
}

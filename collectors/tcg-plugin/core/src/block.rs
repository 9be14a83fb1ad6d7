//! A block that QEMU translated.

use std::cell::Cell;
use std::mem;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::architecture::End;
use crate::counters::Counter;
use crate::iterations::Iterations;
use crate::node::NodeNumber;
use crate::pages::PAGE;
use crate::slots::PlaceNumber;
use crate::stretches::{self, Instruction, Stretch};

static NOTHING: AtomicU64 = AtomicU64::new(0);
/// Where a block begins while nothing is counted: no node.
pub const UNCOUNTED: NodeNumber = u32::MAX - 1;

/// Straight code that QEMU translated as one. What each execution reads is in one line of the
/// cache, and what calls and returns do in the next one.
#[derive(Debug)]
#[repr(C, align(64))]
pub struct Block {
    /// Address of its first instruction.
    pub start: u64,
    /// Address behind its last one; like `target` the only places that it leads to by itself, 1
    /// (no instruction's address) if it leads elsewhere.
    pub next: u64,
    /// Where its direct jump leads.
    pub target: u64,
    last: Counter,
    /// If it `branches`, how often its jump was not taken, and how often it was, as far as it is known.
    pub went: [Cell<u64>; 2],
    /// How often it was begun in `node` since it last began anywhere else.
    pub here: u64,
    /// The node in which it began last, or [`UNCOUNTED`].
    pub node: NodeNumber,
    /// Whether any instruction counts.
    counts: bool,
    /// Whether it ends in a conditional jump of which the next address tells if it was taken.
    pub branches: bool,
    /// Whether its last instruction has `iterations`.
    pub iterates: bool,
    /// Whether it is the kernel's.
    pub in_kernel: bool,
    /// The cell that counts it in `node`, unless that is [`UNCOUNTED`].
    pub cell: u32,
    /// Its number.
    pub id: u32,
    /// How often it was begun before it came to `node`.
    before: u64,
    /// The address behind it.
    pub behind: u64,
    /// Its first instruction.
    pub first_place: PlaceNumber,
    /// Its last instruction.
    pub last_place: PlaceNumber,
    /// What its last instruction does.
    pub end: End,
    /// Its last instruction's, where generated code counts them.
    pub iterations: Option<Box<Iterations>>,
    /// Its instructions.
    pub places: Box<[PlaceNumber]>,
    /// What counts each of them.
    pub stretches: Box<[Option<Stretch>]>,
    /// Their addresses, and the one behind them.
    pub addresses: Box<[u64]>,
}

impl Block {
    /// The block with this number; `places`: of `instructions`; the rest as for
    /// [`crate::blocks::Blocks::block`].
    pub fn new(
        id: u32,
        places: Box<[PlaceNumber]>,
        instructions: &[Instruction],
        end: End,
        behind: u64,
        in_kernel: bool,
        iterations: Option<Iterations>,
    ) -> Block {
        // Where all starts together, no execution stops half way.
        let last = instructions.iter().rev().find_map(|one| one.stretch);
        let last = last.filter(|stretch| {
            stretches::begins(instructions, 0).is_none_or(|first| first.number != stretch.number)
        });
        let mut addresses: Vec<u64> = instructions.iter().map(|one| one.address).collect();
        addresses.push(behind);
        let (next, target) = match end {
            End::Next { target: 0 } | End::Branch { target: 0 } => (behind, behind),
            End::Next { target } | End::Branch { target } => (behind, target),
            _ => (1, 1),
        };
        Block {
            id,
            start: addresses[0],
            next,
            target,
            end,
            in_kernel,
            stretches: instructions.iter().map(|one| one.stretch).collect(),
            addresses: addresses.into(),
            iterates: iterations.is_some(),
            iterations: iterations.map(Box::new),
            branches: matches!(end, End::Branch { .. }) && next != target,
            went: Default::default(),
            here: 0,
            before: 0,
            behind,
            first_place: places[0],
            last_place: places[places.len() - 1],
            places,
            node: UNCOUNTED,
            cell: 0,
            counts: last.is_some(),
            last: last.map_or(&NOTHING, |stretch| stretch.counter),
        }
    }

    /// What [`Block::reached`] will read if the execution that now begins in `node` comes to the end.
    #[inline]
    pub fn begin(&mut self) -> u64 {
        self.here += 1;
        self.reached() + u64::from(self.counts)
    }

    /// From now on it begins in `node`, or [`UNCOUNTED`]: how often it had begun where it did before.
    pub fn moves_to(&mut self, node: NodeNumber) -> u64 {
        self.node = node;
        self.before += self.here;
        mem::take(&mut self.here)
    }

    /// How often it was begun.
    pub fn begun(&self) -> u64 {
        self.before + self.here
    }

    /// Whether it leads to `address` by itself.
    #[inline]
    pub fn is_before(&self, address: u64) -> bool {
        // To guess which of them it is would be to guess where a guest's jumps go.
        (self.next == address) | (self.target == address)
    }

    /// It went on at `address`, to which it leads, and whether that counts. Only of one that
    /// `branches` does it say something.
    #[inline]
    pub fn went_to(&self, address: u64, counts: bool) {
        let way = &self.went[usize::from(address == self.target)];
        way.set(way.get() + u64::from(counts));
    }

    /// Whether, being a program's, it goes on at `address` if the block that follows was translated
    /// there. That may run elsewhere, whole pages away; but of the two places to which this one leads,
    /// only one is there.
    pub fn leads_to(&self, address: u64) -> bool {
        let apart = self.next ^ self.target;
        self.is_before(address) && (apart == 0 || apart % PAGE != 0) && !self.in_kernel
    }

    /// Whether the same stretches count these instructions, which are its own. Where code runs
    /// elsewhere than it was translated, it has those of its translation.
    pub fn is_counted_as(&self, instructions: &[Instruction]) -> bool {
        let number = |one: &Option<Stretch>| one.map(|stretch| stretch.number);
        let other = instructions.iter().map(|one| number(&one.stretch));
        self.stretches.iter().map(number).eq(other)
    }

    /// How often the last instruction that counts started.
    #[inline]
    pub fn reached(&self) -> u64 {
        self.last.load(Ordering::Relaxed)
    }
}

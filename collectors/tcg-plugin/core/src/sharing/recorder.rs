//! All that is recorded: operations of vCPUs, and what they access.

use crate::extents::Extents;
use crate::memory_map::MemoryMap;
use crate::sharing::accesses::{Access, Accesses};
use crate::sharing::holds::{Hold, Holds, NO_CALL};
use crate::sharing::kernel_path::{Block, KernelPath};
use crate::sharing::lines::{LineNumber, Lines, Operation};
use crate::sharing::replay::Trace;
use crate::sharing::MOST_VCPUS;
use crate::slots::PlaceNumber;
use crate::turns::Turns;

/// An instruction that accesses memory. What an access of one of the first vCPUs needs is in one
/// line of the cache.
#[derive(Debug)]
#[repr(C, align(64))]
pub struct Instruction {
    /// Its number.
    pub place: PlaceNumber,
    /// Where it is.
    pub address: u64,
    /// Whether it reads and writes at once, so that its load asks for the line as its store does.
    pub locked: bool,
    /// Whether it goes on to the next bytes until it is done (`rep movsb`).
    pub repeated: bool,
    /// What each vCPU did with it last.
    last: [Last; MOST_VCPUS],
}

/// What an instruction did last: often the same again.
#[derive(Clone, Copy, Debug)]
struct Last {
    /// The line of the kernel's memory, of all lines, and its number.
    above: u64,
    line: LineNumber,
}

impl Instruction {
    /// One that did nothing yet.
    pub fn new(place: PlaceNumber, address: u64, locked: bool, repeated: bool) -> Instruction {
        let nothing = Last {
            above: u64::MAX,
            line: 0,
        };
        Instruction {
            place,
            address,
            locked,
            repeated,
            last: [nothing; MOST_VCPUS],
        }
    }

    /// Flags of its accesses in the file.
    pub fn flags(&self) -> u8 {
        2 * u8::from(self.locked) + 4 * u8::from(self.repeated)
    }
}

/// What ends an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ends {
    /// A system call, which begins the next one.
    Calls,
    /// A mark.
    Marks,
}

/// What was recorded.
pub struct Recorder {
    /// The vCPUs.
    pub turns: Turns,
    /// By vCPU: the operation that is under way; 0 before one was seen to begin, as what leads to
    /// it is none.
    pub now: Vec<Operation>,
    /// The pages that were accessed.
    pub map: MemoryMap,
    /// Their lines.
    pub lines: Lines,
    /// Who accessed those that are hot.
    pub accesses: Accesses,
    /// Who missed others: line 0 stands for the kernel's, 1 for programs'.
    pub seldom: Accesses,
    /// What they did, one after the other.
    pub trace: Trace,
    /// What each vCPU executes of the kernel.
    pub paths: Vec<KernelPath>,
    /// What executes while locks are held.
    pub holds: Holds,
    /// The last access of a repeated instruction: its place, vCPU and operation, the line's address.
    last: (PlaceNumber, usize, Operation, u64),
    extents: Extents,
    /// Whether a window is open.
    pub open: bool,
}

impl Recorder {
    /// For vCPUs and lines of so many bytes.
    pub fn new(turns: Turns, vcpus: usize, line_size: u64) -> Recorder {
        Recorder {
            turns,
            now: vec![0; vcpus],
            map: MemoryMap::default(),
            lines: Lines::new(line_size, vcpus),
            accesses: Accesses::default(),
            seldom: Accesses::default(),
            trace: Trace::new(vcpus),
            paths: (0..vcpus).map(|_| KernelPath::default()).collect(),
            holds: Holds::new(vcpus),
            last: (0, usize::MAX, 0, 0),
            extents: Extents::default(),
            open: false,
        }
    }

    /// Begin anew. Which lines are hot stays known: so nothing of theirs is missed.
    pub fn begin(&mut self, open: bool) {
        self.lines.begin();
        self.now.fill(0);
        self.accesses = Accesses::default();
        self.seldom = Accesses::default();
        let vcpus = self.now.len();
        self.trace = Trace::new(vcpus);
        self.paths = (0..vcpus).map(|_| KernelPath::default()).collect();
        self.holds = Holds::new(vcpus);
        self.last = (0, usize::MAX, 0, 0);
        self.open = open;
    }

    /// An operation of the vCPU that executes has ended, and the next vCPU's turn comes.
    pub fn operation_ends(&mut self) {
        if self.open {
            if let Some(vcpu) = self.turns.current() {
                self.now[vcpu] += 1;
            }
        }
        self.turns.hand_over();
    }

    /// Complete operations of each vCPU.
    pub fn operations(&self) -> impl Iterator<Item = u64> + '_ {
        self.now.iter().map(|now| u64::from(now.saturating_sub(1)))
    }

    /// From now on nothing is recorded.
    pub fn close(&mut self) {
        self.open = false;
        self.lines.close(&self.now);
    }

    /// A block of the kernel begins.
    #[inline]
    pub fn block_begins(&mut self, block: &'static Block) {
        if !self.open {
            return;
        }
        if let Some(vcpu) = self.turns.current().filter(|vcpu| self.now[*vcpu] > 0) {
            self.paths[vcpu].begins(block);
        }
    }

    /// An instruction has accessed memory, as QEMU's `info` says, in its callback.
    #[inline]
    pub fn accessed(&mut self, instruction: &mut Instruction, info: u32, address: u64) {
        if !self.open {
            return;
        }
        let Some(vcpu) = self.turns.current().filter(|vcpu| self.now[*vcpu] > 0) else {
            return;
        };
        let (now, above) = (self.now[vcpu], self.lines.above(address));
        if instruction.repeated {
            let same = (instruction.place, vcpu, now, above);
            // The line was counted; nobody else accessed anything since.
            if self.last == same {
                return;
            }
            self.last = same;
        } else {
            self.last.0 = instruction.place;
        }
        let last = instruction.last[vcpu];
        let line = if last.above == above {
            last.line
        } else {
            let in_kernel = address >> 63 == 1;
            let Some(page) = self.map.page(info, address, in_kernel) else {
                return;
            };
            let line = self.lines.number(page, address);
            if in_kernel {
                let last = &mut instruction.last[vcpu];
                (last.above, last.line) = (above, line);
            }
            line
        };
        let (size, store) = self.extents.of(info);
        let offset = self.lines.offset(address);
        let inside = size.min(self.lines.size() as u32 - offset);
        self.line(instruction, vcpu, line, (offset, inside), store);
        if inside < size {
            let address = address + u64::from(inside);
            // QEMU tells no physical address but the first byte's.
            if address % 4096 != 0 {
                let page = self.lines.all()[line as usize].page;
                let line = self.lines.number(page, address);
                self.line(instruction, vcpu, line, (0, size - inside), store);
            }
        }
    }

    /// Bytes of one line: from which on, and how many.
    #[inline]
    fn line(
        &mut self,
        instruction: &mut Instruction,
        vcpu: usize,
        line: LineNumber,
        (offset, size): (u32, u32),
        store: bool,
    ) {
        let (now, owns) = (self.now[vcpu], instruction.locked);
        let (misses, is_hot) = self.lines.access(line, vcpu, now, store, owns);
        if !misses && !is_hot {
            return;
        }
        let (offset, size) = match instruction.repeated {
            true => (0, self.lines.size() as u32),
            false => (offset, size),
        };
        let access = Access {
            line,
            place: instruction.place,
            vcpu: vcpu as u8,
            offset: offset as u8,
            size: size as u8,
            store,
        };
        if !is_hot {
            let in_user = self.lines.all()[line as usize].user > 0;
            let access = Access {
                line: in_user.into(),
                offset: 0,
                ..access
            };
            self.seldom.count(access, true);
            return;
        }
        let number = self.accesses.count(access, misses);
        self.trace.push(vcpu, number);
        if store && instruction.address >> 63 == 1 {
            let path = &self.paths[vcpu];
            let stored = Hold {
                line,
                offset: offset as u8,
                taken: instruction.place,
                call: path.caller().unwrap_or(NO_CALL),
                released: instruction.place,
            };
            let executed = || path.executed_until(instruction.address);
            self.holds
                .stores(vcpu, stored, instruction.locked, executed);
        }
    }
}

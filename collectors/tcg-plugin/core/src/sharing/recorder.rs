//! All that is recorded: operations of vCPUs, and what they access.

use crate::ffi;
use crate::sharing::accesses::{Access, AccessNumber, Accesses};
use crate::sharing::lines::{Lines, Operation};
use crate::sharing::memory_map::MemoryMap;
use crate::sharing::MOST_VCPUS;
use crate::slots::PlaceNumber;
use crate::turns::Turns;

/// An instruction that accesses memory.
#[derive(Debug)]
pub struct Instruction {
    /// Its number.
    pub place: PlaceNumber,
    /// Whether it reads and writes at once, so that its load asks for the line as its store does.
    pub locked: bool,
    /// Whether it goes on to the next bytes until it is done (`rep movsb`).
    pub repeated: bool,
    /// What it did last, by vCPU.
    last: [AccessNumber; MOST_VCPUS],
}

impl Instruction {
    /// One that did nothing yet.
    pub fn new(place: PlaceNumber, locked: bool, repeated: bool) -> Instruction {
        Instruction {
            place,
            locked,
            repeated,
            last: [AccessNumber::MAX; MOST_VCPUS],
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
    /// Who accessed them.
    pub accesses: Accesses,
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
            lines: Lines::new(line_size),
            accesses: Accesses::default(),
            open: false,
        }
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

    /// An instruction has accessed memory, as QEMU's `info` says, in its callback.
    #[inline]
    pub fn accessed(&mut self, instruction: &mut Instruction, info: u32, address: u64) {
        if !self.open {
            return;
        }
        let Some(vcpu) = self.turns.current().filter(|vcpu| self.now[*vcpu] > 0) else {
            return;
        };
        let in_kernel = address >> 63 == 1;
        let Some(page) = self.map.page(info, address, in_kernel) else {
            return;
        };
        let (size, store) = ffi::extent(info);
        let offset = (address % self.lines.size()) as u32;
        let inside = size.min(self.lines.size() as u32 - offset);
        self.line(instruction, vcpu, page, address, inside, store);
        if inside < size {
            let address = address + u64::from(inside);
            // QEMU tells no physical address but the first byte's.
            if address % 4096 != 0 {
                self.line(instruction, vcpu, page, address, size - inside, store);
            }
        }
    }

    /// Bytes of one line.
    #[inline]
    fn line(
        &mut self,
        instruction: &mut Instruction,
        vcpu: usize,
        page: u32,
        address: u64,
        size: u32,
        store: bool,
    ) {
        let line = self.lines.number(page, address);
        let (now, owns) = (self.now[vcpu], instruction.locked);
        let misses = self.lines.access(line, vcpu, now, store, owns);
        let offset = (address % self.lines.size()) as u8;
        let access = Access {
            line,
            place: instruction.place,
            vcpu: vcpu as u8,
            offset: if instruction.repeated { 0 } else { offset },
            size: if instruction.repeated {
                self.lines.size() as u8
            } else {
                size as u8
            },
            store,
        };
        let last = &mut instruction.last[vcpu];
        if !self.accesses.again(*last, access, misses) {
            *last = self.accesses.number(access);
            self.accesses.again(*last, access, misses);
        }
    }
}

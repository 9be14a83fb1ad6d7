//! Whether a program's own context executes, or what chance lets fall into a window: interrupts, the
//! softirqs that they run, and threads of the kernel.
//!
//! An interrupt begins at an entry of the interrupt descriptor table (Intel SDM, vol. 3, *Interrupt
//! and Exception Handling*), and ends with `iret`, or where the kernel goes on with another task. A
//! task is a program's if its stack was used behind an instruction of a program.

use std::collections::{HashMap, HashSet};
use std::ffi::c_void;

use crate::lines::guest::Memory;

const GATES: usize = 256;
const GATE: usize = 16;
/// Of the first vectors, which are exceptions, one is an interrupt: that which cannot be masked. A
/// later one enters the kernel for a 32-bit program.
const EXCEPTIONS: usize = 32;
const UNMASKABLE: usize = 2;
const SYSTEM_CALL: usize = 0x80;

/// What an instruction does to contexts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// An interrupt begins.
    Interrupt,
    /// `iret`.
    Return,
    /// Another task goes on.
    Switch,
}

impl Turn {
    /// All, by number.
    pub const ALL: [Turn; 3] = [Turn::Interrupt, Turn::Return, Turn::Switch];
}

/// What a vCPU executes.
#[derive(Debug)]
struct Context {
    vcpu: *mut c_void,
    /// How many interrupts are handled, one inside the other.
    depth: u32,
    /// Whether the last access was by an instruction of a program.
    in_program: bool,
    /// Whether another task goes on, of which no stack was seen yet.
    has_switched: bool,
    /// The stack that was used last.
    stack: u64,
    /// Whether the task is a thread of the kernel.
    is_thread: bool,
}

/// What each vCPU executes.
#[derive(Debug)]
pub struct Contexts {
    /// The address of the kernel's `idt_table`; 0: not known.
    table: u64,
    /// Where interrupts begin, when that could be read.
    entries: Option<HashSet<u64>>,
    /// Which stack an address is in.
    stack: fn(u64) -> u64,
    /// The stacks of programs.
    programs: HashSet<u64>,
    /// By stack, how many interrupts a task handles that others have taken the processor from.
    suspended: HashMap<u64, u32>,
    vcpus: Vec<Context>,
}

impl Contexts {
    /// Of the kernel that has its table at this address.
    pub fn new(table: u64, stack: fn(u64) -> u64) -> Contexts {
        Contexts {
            table,
            entries: None,
            stack,
            programs: HashSet::new(),
            suspended: HashMap::new(),
            vcpus: Vec::new(),
        }
    }

    /// Whether an interrupt begins with the instruction at an address.
    pub fn begin_at(&mut self, address: u64, memory: &impl Memory) -> bool {
        if self.entries.is_none() && self.table != 0 {
            self.entries = read(self.table, memory);
        }
        let entries = self.entries.as_ref();
        entries.is_some_and(|entries| entries.contains(&address))
    }

    /// An instruction that does so executes on a vCPU.
    pub fn turn(&mut self, vcpu: *mut c_void, turn: Turn) {
        let context = self.of(vcpu);
        match turn {
            Turn::Interrupt => context.depth += 1,
            Turn::Return => context.depth = context.depth.saturating_sub(1),
            Turn::Switch => {
                let (stack, depth) = (context.stack, context.depth);
                context.has_switched = true;
                self.suspended.insert(stack, depth);
            }
        }
    }

    /// An instruction of a program accesses memory.
    #[inline]
    pub fn in_program(&mut self, vcpu: *mut c_void) {
        let context = self.of(vcpu);
        (context.depth, context.in_program) = (0, true);
        (context.has_switched, context.is_thread) = (false, false);
    }

    /// An instruction of the kernel accesses memory, `by_stack` with the stack pointer; whether that
    /// is in a program's own context.
    #[inline]
    pub fn in_kernel(&mut self, vcpu: *mut c_void, by_stack: bool, address: u64) -> bool {
        if by_stack {
            let stack = (self.stack)(address);
            let context = self.of(vcpu);
            context.stack = stack;
            if context.in_program || context.has_switched {
                self.goes_on(vcpu, stack);
            }
        }
        let context = self.of(vcpu);
        context.depth == 0 && !context.is_thread
    }

    /// A task goes on in the kernel, on a stack.
    fn goes_on(&mut self, vcpu: *mut c_void, stack: u64) {
        let context = self.of(vcpu);
        let (in_program, has_switched) = (context.in_program, context.has_switched);
        (context.in_program, context.has_switched) = (false, false);
        if in_program {
            self.programs.insert(stack);
        }
        let is_thread = !self.programs.contains(&stack);
        let depth = self.suspended.remove(&stack).unwrap_or(0);
        let context = self.of(vcpu);
        context.is_thread = is_thread;
        if has_switched {
            context.depth = depth;
        }
    }

    #[inline]
    fn of(&mut self, vcpu: *mut c_void) -> &mut Context {
        let at = self.vcpus.iter().position(|one| one.vcpu == vcpu);
        let at = at.unwrap_or_else(|| {
            self.vcpus.push(Context {
                vcpu,
                depth: 0,
                in_program: false,
                has_switched: false,
                stack: 0,
                is_thread: false,
            });
            self.vcpus.len() - 1
        });
        &mut self.vcpus[at]
    }
}

fn read(table: u64, memory: &impl Memory) -> Option<HashSet<u64>> {
    let mut gates = [0; GATES * GATE];
    memory.bytes(table, &mut gates)?;
    let each = gates.chunks_exact(GATE).enumerate();
    let interrupts = each.filter(|(vector, _)| {
        *vector == UNMASKABLE || *vector >= EXCEPTIONS && *vector != SYSTEM_CALL
    });
    let address = |gate: &[u8]| {
        let at = [0, 1, 6, 7, 8, 9, 10, 11].map(|byte| gate[byte]);
        u64::from_le_bytes(at)
    };
    Some(interrupts.map(|(_, gate)| address(gate)).collect())
}

#[cfg(test)]
mod tests {
    use std::ptr;

    use super::*;
    use crate::lines::regions::tests::Made;

    #[test]
    fn the_table_tells_where_interrupts_begin() {
        let mut memory = Made::default();
        let mut contexts = Contexts::new(0x1000, |address| address);
        assert!(!contexts.begin_at(0, &memory));
        memory.put(0x1000, &[0; GATES * GATE]);
        for (vector, low) in [(UNMASKABLE, 2), (14, 14), (SYSTEM_CALL, 0x80), (0xec, 0xec)] {
            // Offset, segment and attributes, offset (Intel SDM, vol. 3, figure 7-8).
            let gate = [low, 0, 0x10, 0, 0, 0x8e, 0x40, 0x81, 0xff, 0xff, 0xff, 0xff];
            memory.put(0x1000 + (vector * GATE) as u64, &gate);
        }
        let at = |low: u64| 0xffff_ffff_8140_0000 + low;
        let begin: Vec<u64> = [2, 14, 0x80, 0xec]
            .into_iter()
            .filter(|low| contexts.begin_at(at(*low), &memory))
            .collect();
        assert_eq!(begin, [2, 0xec]);
    }

    #[test]
    fn interrupts_are_of_their_processor() {
        let mut contexts = Contexts::new(0, |address| address);
        let (one, other) = (ptr::null_mut(), ptr::dangling_mut());
        contexts.turn(one, Turn::Interrupt);
        contexts.turn(one, Turn::Interrupt);
        contexts.turn(other, Turn::Return);
        contexts.turn(one, Turn::Return);
        assert!(!contexts.in_kernel(one, false, 1) && contexts.in_kernel(other, false, 1));
        contexts.turn(one, Turn::Return);
        contexts.turn(one, Turn::Return);
        assert!(contexts.in_kernel(one, false, 1));
    }

    #[test]
    fn a_thread_has_a_stack_that_no_program_uses() {
        let mut contexts = Contexts::new(0, |address| address >> 14);
        let vcpu = ptr::null_mut();
        contexts.in_program(vcpu);
        assert!(contexts.in_kernel(vcpu, true, 1 << 14));
        contexts.turn(vcpu, Turn::Interrupt);
        contexts.turn(vcpu, Turn::Switch);
        assert!(!contexts.in_kernel(vcpu, true, 2 << 14));
        assert!(!contexts.in_kernel(vcpu, false, 7));
        contexts.turn(vcpu, Turn::Switch);
        // It goes on where the interrupt has led.
        assert!(!contexts.in_kernel(vcpu, true, (1 << 14) + 8));
        contexts.turn(vcpu, Turn::Return);
        assert!(contexts.in_kernel(vcpu, false, 7));
    }
}

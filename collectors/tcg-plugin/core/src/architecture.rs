//! What the plugin must know of the guest's architecture. Each has one file, and one row in
//! `architectures.rs`.

use std::num::NonZeroU64;

pub mod arm64;
pub mod riscv64;
pub mod x86_64;

/// The longest instruction of any architecture, x86's, in bytes.
pub const MAX_CODE: usize = 15;

/// An architecture of guests.
pub trait Architecture: Send + Sync {
    /// QEMU's name for it: `qemu_info_t.target_name`.
    fn name(&self) -> &'static str;

    /// The mark that `code` encodes. Marks touch no memory and change no state, so a marked program
    /// runs the same everywhere; `collectors/guest/profdiff.h` emits the same bytes.
    fn mark(&self, code: &[u8]) -> Option<Mark>;

    /// What the instruction `code` at `address` does.
    fn does(&self, code: &[u8], address: u64) -> Does;

    /// Whether the instruction `code` may send one byte to a device such as a serial port.
    fn sends_byte(&self, _code: &[u8]) -> bool {
        false
    }

    /// How the instruction `code` accesses memory.
    fn memory(&self, code: &[u8]) -> Memory;

    /// Whether `address` is the kernel's.
    fn in_kernel(&self, address: u64) -> bool;

    /// Where a call puts the address behind it.
    fn linkage(&self) -> Linkage;

    /// The vectors that kernel code at `address` would be one of, if that is where an exception or
    /// interrupt led: by their address, or that of the table which they share.
    fn vectors(&self, address: u64) -> Option<u64>;

    /// The program counter, as gdb calls it.
    fn program_counter(&self) -> &'static str;

    /// The stack pointer, as gdb calls it.
    fn stack_pointer(&self) -> &'static str;

    /// The registers, as gdb calls them, of which one has another value on each vCPU while the
    /// kernel runs or has let a program run.
    fn vcpu_registers(&self) -> &'static [&'static str];

    /// What tells the vCPU in that value of such a register, if it tells.
    fn vcpu(&self, value: u64) -> Option<NonZeroU64>;

    /// Whether what executes at addresses that are not the kernel's before a register tells the vCPU
    /// never executes again: firmware, and what unpacks the kernel.
    fn boots_apart(&self) -> bool;
}

/// Where a call puts the address behind it, and so what shows that calls begin and end.
#[derive(Clone, Copy)]
pub enum Linkage {
    /// In a slot of the stack. The function tells the stack that holds a slot from others: 0 for
    /// user space, which counts as one.
    Stack(fn(slot: u64) -> u64),
    /// In a register.
    Register,
}

impl End {
    /// The same where the instruction stands elsewhere by so many bytes, modulo 2^64.
    pub fn moved(self, by: u64) -> End {
        let moved = |target: u64| match target {
            0 => 0,
            target => target.wrapping_add(by),
        };
        match self {
            End::Next { target } => End::Next {
                target: moved(target),
            },
            End::Branch { target } => End::Branch {
                target: moved(target),
            },
            other => other,
        }
    }
}

/// What an instruction does, as far as the plugin must know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Does {
    /// How it ends a block.
    pub end: End,
    /// How it iterates, if it is a repeated string instruction.
    pub iterates: Option<Iterates>,
    /// What must be seen when it executes.
    pub watched: Option<&'static Watched>,
    /// What is sure in a block.
    pub sequence: Sequence,
}

/// What is sure of an instruction in a block, and of the one behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sequence {
    /// Behind it, the next one starts. (What QEMU refuses already when it translates, such as an
    /// instruction that this processor lacks, ends the block.)
    GoesOn,
    /// It starts if the one before it did not raise an exception, but it may raise one itself.
    MayFault,
    /// Nothing, for these bytes are no whole instruction: QEMU 7.2 tells of an instruction that crosses a
    /// page as the block's last one, and then leaves it to the next block.
    Cut,
}

impl Sequence {
    /// Of a whole instruction, which may raise an exception unless it only `computes`.
    pub fn of(computes: bool) -> Sequence {
        if computes {
            Sequence::GoesOn
        } else {
            Sequence::MayFault
        }
    }
}

/// What a mark does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// The workload opens its window.
    Start,
    /// The workload closes its window.
    Stop,
    /// The agent is about to start the command.
    CommandStart,
    /// The command has ended.
    CommandStop,
    /// The workload ends an operation.
    Op,
    /// The agent is about to start another copy of the command.
    Copy,
}

impl Mark {
    /// All marks, in the order of their numbers.
    pub const ALL: [Mark; 6] = [
        Mark::Start,
        Mark::Stop,
        Mark::CommandStart,
        Mark::CommandStop,
        Mark::Op,
        Mark::Copy,
    ];

    /// Its index in [`Mark::ALL`].
    pub fn number(self) -> usize {
        self as usize
    }
}

/// How an instruction accesses memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Memory {
    /// It accesses none, or the stack: that of a task is its own.
    Nothing,
    /// It loads or stores.
    Plain,
    /// It reads and writes at once.
    Locked,
    /// It goes on to the next bytes until it is done: `rep movsb`.
    Repeated,
}

/// What a block's last instruction does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// Execution goes on behind the block or at `target` (0: only behind it).
    Next {
        /// Where a direct jump leads, or a repeated instruction, which runs again.
        target: u64,
    },
    /// A conditional jump: execution goes on at `target` or behind the block.
    Branch {
        /// Where it leads if it is taken.
        target: u64,
    },
    /// A call.
    Call,
    /// A return.
    Return,
    /// An indirect or far jump.
    Jump,
    /// A system call, or an instruction that raises an exception.
    Enter,
    /// A return from one.
    Leave,
    /// It waits for an interrupt, and execution goes on behind it.
    Halt,
}

/// What one iteration of a repeated string instruction does. QEMU executes the instruction anew for
/// each (`-icount`), and once more to find that none is left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Iterates {
    /// It makes so many accesses to memory, all loads or all stores.
    Accesses(u64),
    /// It loads, then stores.
    Moves,
    /// It makes so many loads, compares, and may be the last one for what it finds.
    Compares(u64),
}

/// What the call tree follows besides blocks: accesses to memory of such an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Watched {
    /// A call pushes the address behind it to a slot of the stack.
    Pushes,
    /// A return takes its address from a slot.
    Pops,
    /// The stack pointer is loaded from memory: in the kernel, another task's.
    SwitchesStack,
    /// What a task or a program needs to go on from here is saved: `cpu_switch_to()`, `setjmp()`.
    Saves,
    /// What was saved at the same address is loaded, to go on from there.
    Restores,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn direct_jumps_move_with_their_instruction() {
        let by = 0x1000u64.wrapping_sub(0x5000);
        let (before, after) = (0x7010, 0x3010);
        assert_eq!(
            End::Branch { target: before }.moved(by),
            End::Branch { target: after }
        );
        assert_eq!(
            End::Next { target: before }.moved(by),
            End::Next { target: after }
        );
        assert_eq!(End::Next { target: 0 }.moved(by), End::Next { target: 0 });
        assert_eq!(End::Return.moved(by), End::Return);
    }
}

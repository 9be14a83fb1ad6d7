//! Which vCPU executes, and where, as far as registers tell.
//!
//! Since QEMU 10.0 ("plugins: optimize cpu_index code generation"), callbacks under `-icount` are
//! given the number of the vCPU for which their block was translated, whichever executes it, and
//! inline operations use that number too. The kernel, however, keeps a pointer to the executing
//! CPU's own data in a register: each vCPU has another value there, once it has one.

use std::ffi::c_void;
use std::num::NonZeroU64;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, Ordering};

use crate::architecture::Architecture;
use crate::counters::Counter;
use crate::ffi;
use crate::memory::refuse;

/// Reads registers of the vCPU that executes, inside callbacks that asked for it.
pub trait Registers: Send {
    /// The register that gdb calls `name`.
    fn named(&self, name: &str) -> Option<usize>;

    /// What it holds: 64 bits.
    fn read(&self, register: usize) -> u64;

    /// Up to 8 bytes of the guest's memory, the lowest first; None where they cannot be read, or
    /// QEMU does not let plugins do so.
    fn memory(&self, address: u64, size: usize) -> Option<u64>;
}

/// The vCPU of which nothing tells which it is: firmware, or a kernel that begins.
const UNTOLD: u32 = 0;
/// So many blocks are watched for the number that their callbacks get. Among the first blocks of a
/// kernel is what its other CPUs run as well.
const MOST_WATCHED: u32 = 4096;

struct Running {
    registers: Box<dyn Registers>,
    architecture: &'static dyn Architecture,
    program_counter: usize,
    /// Those that may tell the vCPU.
    telling: Vec<usize>,
    /// Whether there are several vCPUs.
    several: bool,
    /// By vCPU: what tells it, and QEMU's number of it.
    known: Vec<(Option<NonZeroU64>, Option<u32>)>,
    present: u32,
    /// Whether the number that a callback gets is fixed when its block is translated: it is taken
    /// for that, until a block is found that gets different ones.
    fixed: bool,
    proven: bool,
    watched: u32,
}

/// As the tracker (see [`crate::following`]), only used by the thread that executes the guest.
static RUNNING: AtomicPtr<Running> = AtomicPtr::new(ptr::null_mut());

fn running() -> Option<&'static mut Running> {
    // SAFETY: set once to what lives as long as the process; functions of this module, which do
    // not call each other with the reference, let it go before they return.
    unsafe { RUNNING.load(Ordering::Relaxed).as_mut() }
}

/// Ask `registers` from now on. `several`: whether the guest has several vCPUs. `fixed`: whether
/// a callback may get the number of the vCPU for which its block was translated.
pub fn begin(
    registers: Box<dyn Registers>,
    architecture: &'static dyn Architecture,
    several: bool,
    fixed: bool,
) {
    let Some(program_counter) = registers.named(architecture.program_counter()) else {
        refuse("QEMU does not name the program counter: use another QEMU")
    };
    let names = architecture.vcpu_registers().iter();
    let telling: Vec<usize> = names.filter_map(|name| registers.named(name)).collect();
    if telling.is_empty() {
        refuse("QEMU does not name the register that tells vCPUs apart: use another QEMU");
    }
    let running = Running {
        registers,
        architecture,
        program_counter,
        telling,
        several,
        known: vec![(None, None)],
        present: UNTOLD,
        fixed,
        proven: false,
        watched: 0,
    };
    RUNNING.store(Box::into_raw(Box::new(running)), Ordering::Relaxed);
}

/// Whether registers can be read.
pub fn is_told() -> bool {
    !RUNNING.load(Ordering::Relaxed).is_null()
}

/// Whether registers tell which of several vCPUs executes.
#[inline]
pub fn are_several() -> bool {
    running().is_some_and(|running| running.several)
}

/// The address of the next instruction, at the begin of a block whose callback may read registers.
#[inline]
pub fn address() -> Option<u64> {
    running().map(|running| running.registers.read(running.program_counter))
}

/// The register that gdb calls `name`, for [`read`].
pub fn named(name: &str) -> Option<usize> {
    running()?.registers.named(name)
}

/// What a register holds, inside a callback that may read registers.
pub fn read(register: usize) -> Option<u64> {
    running().map(|running| running.registers.read(register))
}

/// What a register holds that gdb calls `name`, inside such a callback.
pub fn register(name: &str) -> Option<u64> {
    named(name).and_then(read)
}

/// Up to 8 bytes of the guest's memory, inside such a callback.
pub fn word(address: u64, size: usize) -> Option<u64> {
    running()?.registers.memory(address, size)
}

/// Which vCPU executes: what registers tell, or `number` where they cannot be read. For callbacks
/// that may read registers.
#[inline]
pub fn vcpu(number: u32) -> u32 {
    match running() {
        Some(running) if running.several => running.find(),
        _ => number,
    }
}

/// Which vCPU executed when that was last asked for, which it is until another block begins.
#[inline]
pub fn current(number: u32) -> u32 {
    match running() {
        Some(running) if running.several => running.present,
        _ => number,
    }
}

/// What a callback at the begin of a block asks for, to use [`vcpu`].
pub fn flags() -> u32 {
    if are_several() {
        ffi::CB_READS_REGS
    } else {
        ffi::CB_NO_REGS
    }
}

impl Running {
    fn find(&mut self) -> u32 {
        for register in &self.telling {
            let value = self.registers.read(*register);
            let told = self.architecture.vcpu(value);
            if told.is_none() {
                continue;
            }
            if self.known[self.present as usize].0 == told {
                return self.present;
            }
            let found = self.known.iter().position(|one| one.0 == told);
            self.present = found.unwrap_or(self.known.len()) as u32;
            if found.is_none() {
                self.known.push((told, None));
            }
            return self.present;
        }
        self.present = UNTOLD;
        UNTOLD
    }
}

/// What the callback of a watched block expects.
struct Watched {
    /// The vCPU for which the block was translated.
    vcpu: u32,
    /// QEMU's number of it, if that was known.
    number: AtomicU32,
}
const UNKNOWN: u32 = u32::MAX;

/// How the instructions of a block can be counted.
#[derive(Clone, Copy, Debug)]
pub enum Counted {
    /// Inline, with this number of the vCPU.
    Inline(u32),
    /// By callbacks, since the number is not known.
    Called,
    /// Not at all: what boots the kernel, and never runs in a window. With a counter of such blocks,
    /// where their number can tell that.
    Boot(Option<Counter>),
}

/// A block is translated as `tb`, of the kernel's addresses or others.
///
/// # Safety
/// QEMU is translating `tb`.
pub unsafe fn translates(tb: *mut ffi::Tb, in_kernel: bool) -> Counted {
    let Some(running) = running() else {
        return Counted::Inline(0);
    };
    let vcpu = running.find();
    if vcpu == UNTOLD && !in_kernel && running.architecture.boots_apart() {
        if running.several {
            let (flags, none) = (ffi::CB_NO_REGS, ptr::null_mut());
            // SAFETY: as promised.
            unsafe { ffi::qemu_plugin_register_vcpu_tb_exec_cb(tb, boots, flags, none) };
            return Counted::Boot(None);
        }
        return Counted::Boot(Some(&BOOTED));
    }
    if !running.several {
        return Counted::Inline(0);
    }
    if !running.fixed {
        return Counted::Called;
    }
    let number = running.known[vcpu as usize].1;
    let teaches = number.is_none() && vcpu != UNTOLD;
    if teaches || !running.proven && running.watched < MOST_WATCHED {
        running.watched += u32::from(!teaches);
        let watched = Box::into_raw(Box::new(Watched {
            vcpu,
            number: AtomicU32::new(number.unwrap_or(UNKNOWN)),
        }));
        // SAFETY: as promised; what the callback gets lives as long as the process.
        unsafe {
            ffi::qemu_plugin_register_vcpu_tb_exec_cb(
                tb,
                numbered,
                ffi::CB_READS_REGS,
                watched.cast(),
            );
        }
    }
    number.map_or(Counted::Called, Counted::Inline)
}

/// Whether a window is open.
static COUNTING: AtomicBool = AtomicBool::new(false);
/// How many blocks began that boot the kernel, and how many had at the last mark.
static BOOTED: AtomicU64 = AtomicU64::new(0);
static BOOTED_BEFORE: AtomicU64 = AtomicU64::new(0);

/// From now on what executes is counted, or is not.
pub fn counts(counting: bool) {
    let booted = BOOTED.load(Ordering::Relaxed);
    let before = BOOTED_BEFORE.swap(booted, Ordering::Relaxed);
    if COUNTING.swap(counting, Ordering::Relaxed) && booted != before {
        refuse_boot();
    }
}

/// Whether what executes is counted.
pub fn is_counting() -> bool {
    COUNTING.load(Ordering::Relaxed)
}

extern "C" fn boots(_number: u32, _none: *mut c_void) {
    if is_counting() {
        refuse_boot();
    }
}

fn refuse_boot() -> ! {
    refuse("code of the firmware or of the kernel's start ran in the window: it is not counted")
}

/// A watched block begins, and QEMU says that this vCPU executes it.
extern "C" fn numbered(number: u32, watched: *mut c_void) {
    let Some(running) = running().filter(|running| !running.proven) else {
        return;
    };
    // SAFETY: `translates` made it, and it lives as long as the process.
    let watched = unsafe { &*watched.cast::<Watched>() };
    let before = watched.number.swap(number, Ordering::Relaxed);
    let mut fits = [UNKNOWN, number].contains(&before);
    if watched.vcpu != UNTOLD {
        let known = &mut running.known[watched.vcpu as usize].1;
        fits &= *known.get_or_insert(number) == number;
    }
    if !fits {
        refuse(
            "this QEMU's callbacks get the number of the vCPU that executes, but inline operations \
             were taken to use the one of translation: use one vCPU, or QEMU 10 or later, or 7.2",
        );
    }
    let executes = running.find() as usize;
    running.proven = running.known[executes].1.is_some_and(|real| real != number);
}

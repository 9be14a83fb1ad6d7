//! What QEMU tells. Only the thread that executes the guest calls these, one at a time (`-icount`).

use std::ffi::{c_uint, c_void};
use std::fs::File;
use std::io::BufWriter;
use std::path::PathBuf;
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

use crate::architecture::{Architecture, End, Mark, Memory};
use crate::counting::{Api, Translated};
use crate::ffi;
use crate::marked_window::{self, Effect, Windows};
use crate::memory::{refuse, say, say_unwritten};
use crate::sharing::file::Recorded;
use crate::sharing::kernel_path::{Block, Ends as BlockEnds};
use crate::sharing::recorder::{Ends, Instruction, Recorder};
use crate::sharing::MOST_VCPUS;
use crate::slots::{Place, PlaceNumber, Slots};
use crate::turns::{may_take_turns, Turns, CANNOT};

struct Collector {
    id: ffi::PluginId,
    architecture: &'static dyn Architecture,
    api: Box<dyn Api>,
    out: PathBuf,
    line_size: u64,
    ends: Ends,
    vcpus: usize,
    slots: Slots,
    /// By place: what its callback gets.
    instructions: Vec<*mut Instruction>,
    /// Those of the kernel that were translated since callbacks were registered anew, when a window
    /// opened: what executes in it. Each once, and by place whether it is there.
    executed: Vec<PlaceNumber>,
    is_executed: Vec<bool>,
    /// Made by the thread that executes the guest, when the command begins.
    recorder: Option<Recorder>,
    /// Whether code is translated with callbacks.
    armed: bool,
    windows: Windows,
}

static COLLECTOR: AtomicPtr<Collector> = AtomicPtr::new(ptr::null_mut());

fn collector() -> Option<&'static mut Collector> {
    // SAFETY: set once to what lives as long as the process; callbacks, of one thread, do not nest.
    unsafe { COLLECTOR.load(Ordering::Relaxed).as_mut() }
}

/// Begin to record. What `qemu_plugin_install` returns.
///
/// # Safety
/// `id` and `info` are those that QEMU gave to `qemu_plugin_install`.
pub unsafe fn install(
    id: ffi::PluginId,
    vcpus: usize,
    architecture: &'static dyn Architecture,
    out: PathBuf,
    line_size: u64,
    api: Box<dyn Api>,
) -> i32 {
    if !may_take_turns() {
        say(CANNOT);
        return -1;
    }
    if vcpus > MOST_VCPUS {
        say(&format!(
            "lines of more than {MOST_VCPUS} vCPUs are not recorded"
        ));
        return -1;
    }
    let collector = Collector {
        id,
        architecture,
        api,
        out,
        line_size,
        ends: Ends::Calls,
        vcpus,
        slots: Slots::default(),
        instructions: Vec::new(),
        executed: Vec::new(),
        is_executed: Vec::new(),
        recorder: None,
        armed: false,
        windows: Windows::default(),
    };
    COLLECTOR.store(Box::into_raw(Box::new(collector)), Ordering::Relaxed);
    // SAFETY: as promised.
    unsafe { ffi::register(id, translated, exiting) };
    0
}

impl Collector {
    /// What the callback of an instruction's accesses gets.
    fn instruction(&mut self, place: Place, memory: Memory) -> *mut Instruction {
        let number = self.slots.number(place);
        let at = number as usize;
        if self.instructions.len() <= at {
            self.instructions.resize(at + 1, ptr::null_mut());
        }
        if self.instructions[at].is_null() {
            let (locked, repeated) = (memory == Memory::Locked, memory == Memory::Repeated);
            let made = Instruction::new(number, place.address, locked, repeated);
            self.instructions[at] = Box::into_raw(Box::new(made));
        }
        self.instructions[at]
    }

    /// An instruction of the kernel executes.
    fn executes(&mut self, place: Place) {
        let at = self.slots.number(place) as usize;
        if self.is_executed.len() <= at {
            self.is_executed.resize(at + 1, false);
        }
        if !std::mem::replace(&mut self.is_executed[at], true) {
            self.executed.push(at as PlaceNumber);
        }
    }

    /// What the callback of a block of the kernel gets.
    ///
    /// # Safety
    /// QEMU is translating `tb`.
    unsafe fn follow(&mut self, tb: *mut ffi::Tb, instructions: &[Place]) {
        let (Some(first), Some(last)) = (instructions.first(), instructions.last()) else {
            return;
        };
        let ends = match self.architecture.does(last.bytes(), last.address).end {
            End::Call => BlockEnds::Calling(self.slots.number(*last)),
            End::Return => BlockEnds::Returning,
            End::Leave => BlockEnds::Leaving,
            End::Next { target } | End::Branch { target } => BlockEnds::Going(target),
            _ => BlockEnds::Otherwise,
        };
        let does = self.architecture.does(first.bytes(), first.address);
        let addresses = instructions.iter().map(|one| one.address).collect();
        let behind = last.address + u64::from(last.length);
        let Some(block) = Block::new(addresses, behind, ends, does.iterates.is_some()) else {
            return;
        };
        let (flags, block) = (ffi::CB_NO_REGS, Box::into_raw(Box::new(block)));
        // SAFETY: as promised; the block lives as long as the process.
        unsafe { ffi::qemu_plugin_register_vcpu_tb_exec_cb(tb, block_begins, flags, block.cast()) };
    }

    /// The command begins. Until here the guest ran nearly as without the plugin.
    fn arm(&mut self) {
        if self.recorder.is_none() {
            let Some(turns) = Turns::new(self.vcpus) else {
                refuse("QEMU does not tell which vCPU executes: use another QEMU");
            };
            self.recorder = Some(Recorder::new(turns, self.vcpus, self.line_size));
            self.translate_anew();
        }
    }

    /// All code, with callbacks.
    fn translate_anew(&mut self) {
        self.armed = true;
        self.executed.clear();
        self.is_executed.clear();
        // SAFETY: the id is this plugin's; `was_reset` registers the callbacks again.
        unsafe { ffi::qemu_plugin_reset(self.id, was_reset, ptr::null_mut()) };
    }

    fn marked(&mut self, mark: Mark) {
        if self.windows.have_ended(mark) {
            return;
        }
        if mark == Mark::CommandStart {
            self.arm();
        }
        let effect = self.windows.mark(mark);
        if let Some(recorder) = &mut self.recorder {
            match effect {
                Effect::Opens { .. } => recorder.open = true,
                Effect::Closes => recorder.close(),
                Effect::Nothing => {}
            }
        }
        if effect == (Effect::Opens { first: true }) {
            self.forget();
            self.translate_anew();
        }
        if mark == Mark::Op {
            // The first one shows that system calls are not what operations are.
            if self.ends == Ends::Calls {
                self.ends = Ends::Marks;
                self.forget();
            }
            self.operation_ends();
        }
    }

    /// Forget what was recorded: by other marks than those that count.
    fn forget(&mut self) {
        let open = self.windows.used().is_open();
        if let Some(recorder) = &mut self.recorder {
            recorder.begin(open);
        }
    }

    fn operation_ends(&mut self) {
        if self.windows.command.is_open() {
            if let Some(recorder) = &mut self.recorder {
                recorder.operation_ends();
            }
        }
    }
}

/// The callbacks were taken away, and all code that was translated.
extern "C" fn was_reset(_: usize) {
    if let Some(collector) = collector() {
        // SAFETY: the id is this plugin's.
        unsafe { ffi::register(collector.id, translated, exiting) };
    }
}

extern "C" fn translated(first: usize, second: usize) {
    let Some(collector) = collector() else {
        return;
    };
    let tb = collector.api.block(first, second);
    // SAFETY: `tb` is valid during this callback.
    let n_insns = unsafe { ffi::qemu_plugin_tb_n_insns(tb) };
    let mut kernels = Vec::new();
    for index in 0..n_insns {
        // SAFETY: `index` is below the block's number of instructions.
        let read = unsafe { Translated::of(&*collector.api, tb, index) };
        let (insn, address, code) = (read.insn, read.address, read.code());
        let architecture = collector.architecture;
        if let Some(mark) = architecture.mark(code) {
            // SAFETY: QEMU is translating `insn`.
            unsafe { marked_window::follow(insn, mark, mark_executed) };
            continue;
        }
        if !collector.armed {
            continue;
        }
        let place = Place::new(address, code);
        let in_kernel = architecture.in_kernel(address);
        if in_kernel && collector.recorder.as_ref().is_some_and(|one| one.open) {
            collector.executes(place);
        }
        if in_kernel {
            kernels.push(place);
        }
        if !in_kernel
            && collector.ends == Ends::Calls
            && architecture.does(code, address).end == End::Enter
        {
            let (flags, none) = (ffi::CB_NO_REGS, ptr::null_mut());
            // SAFETY: QEMU is translating `insn`.
            unsafe {
                ffi::qemu_plugin_register_vcpu_insn_exec_cb(insn, call_executed, flags, none)
            };
        }
        let memory = architecture.memory(code);
        if memory == Memory::Nothing {
            continue;
        }
        let instruction = collector.instruction(place, memory);
        // SAFETY: QEMU is translating `insn`; what the callback gets lives as long as the process.
        unsafe {
            ffi::qemu_plugin_register_vcpu_mem_cb(
                insn,
                accessed,
                ffi::CB_NO_REGS,
                ffi::MEM_READ_WRITE,
                instruction.cast(),
            );
        }
    }
    // SAFETY: QEMU is translating `tb`.
    unsafe { collector.follow(tb, &kernels) };
}

extern "C" fn mark_executed(_vcpu: c_uint, mark: *mut c_void) {
    if let (Some(collector), Some(mark)) = (collector(), marked_window::mark(mark)) {
        collector.marked(mark);
    }
}

extern "C" fn call_executed(_vcpu: c_uint, _none: *mut c_void) {
    if let Some(collector) = collector().filter(|one| one.ends == Ends::Calls) {
        collector.operation_ends();
    }
}

extern "C" fn block_begins(_vcpu: c_uint, block: *mut c_void) {
    if let Some(recorder) = collector().and_then(|one| one.recorder.as_mut()) {
        // SAFETY: `follow` made it; nobody changes it, and it lives as long as the process.
        recorder.block_begins(unsafe { &*block.cast::<Block>() });
    }
}

extern "C" fn accessed(_vcpu: c_uint, info: u32, address: u64, instruction: *mut c_void) {
    let Some(recorder) = collector().and_then(|one| one.recorder.as_mut()) else {
        return;
    };
    // SAFETY: `translated` gave it; it lives as long as the process, and no callback keeps it.
    recorder.accessed(unsafe { &mut *instruction.cast() }, info, address);
}

extern "C" fn exiting() {
    let Some(collector) = collector() else {
        return;
    };
    let Some(recorder) = &collector.recorder else {
        return;
    };
    let flags = |place: u32| {
        let found = collector.instructions.get(place as usize);
        // SAFETY: `instruction` made it, and nobody else uses it now.
        let found = found.and_then(|one| unsafe { one.as_ref() });
        found.map_or(0, Instruction::flags)
    };
    let recorded = Recorded {
        recorder,
        places: collector.slots.places(),
        executed: &collector.executed,
        flags: &flags,
        ends: collector.ends,
        kind: collector.windows.kind(),
        window: collector.windows.used(),
    };
    let path = &collector.out;
    let result = File::create(path).and_then(|file| recorded.write(&mut BufWriter::new(file)));
    say_unwritten(path, result);
}

//! The plugin's state, and its callbacks.

use std::ffi::{c_char, c_int, c_uint, c_void, CStr, OsStr};
use std::fs::File;
use std::io::BufWriter;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use crate::blocks::{Block, Counter, Instruction};
use crate::branch::{self, End};
use crate::counts_file::Counted;
use crate::ffi;
use crate::marks::{self, Mark, MARKS};
use crate::memory::{self, say};
use crate::slots::{Place, Slots, MAX_CODE};
use crate::tracker::Tracker;
use crate::window::Window;

/// What differs between the plugin API's versions.
pub trait Api: Send {
    /// Copy the bytes of `insn` into `code`; how many there were.
    fn code(&self, insn: *mut ffi::Insn, code: &mut [u8; MAX_CODE]) -> usize;

    /// Increment counter `number` whenever `insn` starts. Numbers come in order from 0, with
    /// repeats.
    fn count(&mut self, insn: *mut ffi::Insn, number: usize);

    /// Counter `number`, which [`Api::count`] made. With several vCPUs it is the sum of theirs.
    fn counter(&self, number: usize) -> Counter;

    /// All counters, summed over the vCPUs.
    fn counters(&self, into: &mut Vec<u64>);
}

const ARGUMENTS: &str = "it takes out=PATH, memory=MEBIBYTES, and calls=on or calls=off";

struct Collector {
    api: Box<dyn Api>,
    out: PathBuf,
    slots: Slots,
    command: Window,
    marks: Window,
    counters: Vec<u64>,
}

/// Follows the calls, if that was asked for. Only the thread that executes the guest uses it, while
/// a callback of this plugin runs; profdiff's guests have one such thread (`-icount`).
static TRACKER: AtomicPtr<Tracker> = AtomicPtr::new(ptr::null_mut());

fn with_tracker(act: impl FnOnce(&mut Tracker)) {
    // SAFETY: set once to what lives as long as the process; callbacks do not nest.
    if let Some(tracker) = unsafe { TRACKER.load(Ordering::Relaxed).as_mut() } {
        act(tracker);
    }
}

static COLLECTOR: OnceLock<Mutex<Collector>> = OnceLock::new();

fn with_collector(act: impl FnOnce(&mut Collector)) {
    if let Some(collector) = COLLECTOR.get() {
        // Nothing in here panics; were it to, the counts so far would still be right.
        act(&mut collector.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

/// Begin to collect, into the file that the plugin's argument `out=PATH` names, and in at most
/// `memory=MEBIBYTES`; with `calls=on` the call tree too, for which the guest must run in one
/// thread.
///
/// Returns what `qemu_plugin_install` has to: 0, or -1 and a line on standard error.
///
/// # Safety
/// `argc` and `argv` are those that QEMU gave to `qemu_plugin_install`.
pub unsafe fn install(
    id: ffi::PluginId,
    argc: c_int,
    argv: *const *const c_char,
    api: Box<dyn Api>,
) -> c_int {
    let mut out = None;
    let mut memory = None;
    let mut calls = false;
    for index in 0..usize::try_from(argc).unwrap_or(0) {
        // SAFETY: the caller promises `argc` valid C strings.
        let argument = unsafe { CStr::from_ptr(*argv.add(index)) }.to_bytes();
        let after = |name: &str| argument.strip_prefix(name.as_bytes());
        if let Some(path) = after("out=") {
            out = Some(PathBuf::from(OsStr::from_bytes(path)));
        } else if let Some(number) = after("memory=") {
            memory = std::str::from_utf8(number)
                .ok()
                .and_then(|number| number.parse().ok());
        } else if let Some(on @ (b"on" | b"off")) = after("calls=") {
            calls = on == b"on";
        } else {
            let argument = String::from_utf8_lossy(argument);
            say(&format!("unknown argument {argument}; {ARGUMENTS}"));
            return -1;
        }
    }
    let (Some(out), Some(memory)) = (out, memory) else {
        say(&format!("an argument is missing; {ARGUMENTS}"));
        return -1;
    };
    memory::bound(memory);
    let collector = Collector {
        api,
        out,
        slots: Slots::default(),
        command: Window::default(),
        marks: Window::default(),
        counters: Vec::new(),
    };
    if COLLECTOR.set(Mutex::new(collector)).is_err() {
        say("loaded twice");
        return -1;
    }
    if calls {
        TRACKER.store(Box::into_raw(Box::default()), Ordering::Relaxed);
    }
    // SAFETY: `id` is the plugin's own, and the callbacks live as long as the plugin.
    unsafe {
        ffi::qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
        ffi::qemu_plugin_register_atexit_cb(id, exiting, std::ptr::null_mut());
    }
    0
}

/// QEMU translated a block: give each of its instructions a counter, marks a callback, and the
/// tracker what it follows.
extern "C" fn translated(_id: ffi::PluginId, tb: *mut ffi::Tb) {
    with_collector(|collector| {
        // SAFETY: `tb` is valid during this callback.
        let n_insns = unsafe { ffi::qemu_plugin_tb_n_insns(tb) };
        let mut instructions: Vec<Instruction> = Vec::with_capacity(n_insns);
        let mut end = (End::Next { target: 0 }, 0);
        for index in 0..n_insns {
            // SAFETY: `index` is below the block's number of instructions.
            let insn = unsafe { ffi::qemu_plugin_tb_get_insn(tb, index) };
            let mut code = [0; MAX_CODE];
            let length = collector.api.code(insn, &mut code).min(MAX_CODE);
            let code = &code[..length];
            // SAFETY: `insn` is valid during this callback.
            let address = unsafe { ffi::qemu_plugin_insn_vaddr(insn) };
            let number = collector.slots.number(Place::new(address, code));
            end = (
                branch::end(code, address),
                address.wrapping_add(length as u64),
            );
            follow(insn, code, end.0);
            if let Some(mark) = marks::mark_index(code) {
                instructions.push((number as u32, address, None));
                // SAFETY: `insn` is valid; the callback takes numbers as its pointer.
                unsafe {
                    ffi::qemu_plugin_register_vcpu_insn_exec_cb(
                        insn,
                        mark_executed,
                        ffi::CB_NO_REGS,
                        (index * MARKS.len() + mark) as *mut c_void,
                    );
                }
                continue;
            }
            collector.api.count(insn, number);
            let counter = collector.api.counter(number);
            instructions.push((number as u32, address, Some(counter)));
        }
        with_tracker(|tracker| {
            if instructions.is_empty() {
                return;
            }
            let block = tracker.blocks.block(&instructions, end.0, end.1);
            // SAFETY: `tb` is valid during this callback, the block as long as the process.
            unsafe {
                ffi::qemu_plugin_register_vcpu_tb_exec_cb(
                    tb,
                    block_begins,
                    ffi::CB_NO_REGS,
                    block.cast(),
                );
            }
        });
    });
}

/// What the tracker must see of an instruction: where calls and returns have their addresses.
fn follow(insn: *mut ffi::Insn, code: &[u8], end: End) {
    if TRACKER.load(Ordering::Relaxed).is_null() {
        return;
    }
    // SAFETY: `insn` is valid while its block is translated.
    unsafe {
        if branch::switches_stack(code) {
            ffi::qemu_plugin_register_vcpu_insn_exec_cb(
                insn,
                stack_switches,
                ffi::CB_NO_REGS,
                ptr::null_mut(),
            );
        }
        let (callback, access): (ffi::VcpuMemCb, _) = match end {
            End::Call => (call_pushes, ffi::MEM_WRITE),
            End::Return => (return_pops, ffi::MEM_READ_WRITE),
            _ => return,
        };
        ffi::qemu_plugin_register_vcpu_mem_cb(
            insn,
            callback,
            ffi::CB_NO_REGS,
            access,
            ptr::null_mut(),
        );
    }
}

extern "C" fn block_begins(vcpu: c_uint, block: *mut c_void) {
    // SAFETY: `translated` gave a block of the tracker's, which no callback keeps a reference to.
    with_tracker(|tracker| unsafe { tracker.block(vcpu, block.cast::<Block>()) });
}

/// The access is the store: of an indirect call, the load of its target was not asked for.
extern "C" fn call_pushes(_vcpu: c_uint, _access: u32, slot: u64, _userdata: *mut c_void) {
    with_tracker(|tracker| tracker.call(slot));
}

extern "C" fn return_pops(_vcpu: c_uint, _access: u32, slot: u64, _userdata: *mut c_void) {
    with_tracker(|tracker| tracker.ret(slot));
}

extern "C" fn stack_switches(_vcpu: c_uint, _userdata: *mut c_void) {
    with_tracker(Tracker::switches_stack);
}

/// A mark is about to execute. The counters of all instructions before it are up to date, those
/// in its own block too, since generated code increments them in program order.
extern "C" fn mark_executed(_vcpu: c_uint, userdata: *mut c_void) {
    let (index, mark) = (
        userdata as usize / MARKS.len(),
        userdata as usize % MARKS.len(),
    );
    with_collector(|collector| {
        // The command has ended: whoever runs the program now only looks at it.
        if collector.command.closed() > 0 {
            return;
        }
        collector.counters.clear();
        collector.api.counters(&mut collector.counters);
        let now = &collector.counters;
        let had_marks = collector.marks.is_used();
        match MARKS.get(mark) {
            Some(Mark::Start) => collector.marks.start(now),
            Some(Mark::Stop) => collector.marks.stop(now),
            Some(Mark::CommandStart) => collector.command.start(now),
            Some(Mark::CommandStop) => collector.command.stop(now),
            None => {}
        }
        with_tracker(|tracker| {
            let window = if collector.marks.is_used() {
                if !had_marks {
                    tracker.clear(); // what the command's window counted until now
                }
                &collector.marks
            } else {
                &collector.command
            };
            tracker.count_from(index, window.is_open());
        });
    });
}

extern "C" fn exiting(_id: ffi::PluginId, _userdata: *mut c_void) {
    with_collector(|collector| {
        // SAFETY: as in `with_tracker`; the guest has ended.
        let tracker = unsafe { TRACKER.load(Ordering::Relaxed).as_ref() };
        let counted = Counted {
            places: collector.slots.places(),
            command: &collector.command,
            marks: &collector.marks,
            calls: tracker.map(|tracker| (&tracker.tree, &tracker.blocks)),
        };
        let result =
            File::create(&collector.out).and_then(|file| counted.write(&mut BufWriter::new(file)));
        if let Err(error) = result {
            say(&format!(
                "cannot write {}: {error}",
                collector.out.display()
            ));
        }
    });
}

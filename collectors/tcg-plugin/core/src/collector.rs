//! The plugin's state, and its callbacks.

use std::ffi::{c_char, c_int, c_uint, c_void, CStr};
use std::fs::File;
use std::io::BufWriter;
use std::path::PathBuf;
use std::sync::{Mutex, OnceLock, PoisonError};

use crate::counts_file;
use crate::ffi;
use crate::marks::{self, Mark, MARKS};
use crate::slots::{Place, Slots, MAX_CODE};
use crate::window::Window;

/// What differs between the plugin API's versions.
pub trait Api: Send {
    /// Copy the bytes of `insn` into `code`; how many there were.
    fn code(&self, insn: *mut ffi::Insn, code: &mut [u8; MAX_CODE]) -> usize;

    /// Increment counter `number` whenever `insn` starts. Numbers come in order from 0, with
    /// repeats.
    fn count(&mut self, insn: *mut ffi::Insn, number: usize);

    /// All counters, summed over the vCPUs.
    fn counters(&self, into: &mut Vec<u64>);
}

struct Collector {
    api: Box<dyn Api>,
    out: PathBuf,
    slots: Slots,
    command: Window,
    marks: Window,
    counters: Vec<u64>,
}

static COLLECTOR: OnceLock<Mutex<Collector>> = OnceLock::new();

fn with_collector(act: impl FnOnce(&mut Collector)) {
    if let Some(collector) = COLLECTOR.get() {
        // Nothing in here panics; were it to, the counts so far would still be right.
        act(&mut collector.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

/// Begin to collect, into the file that the plugin's argument `out=PATH` names.
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
    for index in 0..usize::try_from(argc).unwrap_or(0) {
        // SAFETY: the caller promises `argc` valid C strings.
        let argument = unsafe { CStr::from_ptr(*argv.add(index)) }.to_string_lossy();
        match argument.split_once('=') {
            Some(("out", path)) => out = Some(PathBuf::from(path)),
            _ => {
                eprintln!("profdiff plugin: unknown argument {argument}; it takes out=PATH");
                return -1;
            }
        }
    }
    let Some(out) = out else {
        eprintln!("profdiff plugin: the argument out=PATH is missing");
        return -1;
    };
    let collector = Collector {
        api,
        out,
        slots: Slots::default(),
        command: Window::default(),
        marks: Window::default(),
        counters: Vec::new(),
    };
    if COLLECTOR.set(Mutex::new(collector)).is_err() {
        eprintln!("profdiff plugin: loaded twice");
        return -1;
    }
    // SAFETY: `id` is the plugin's own, and the callbacks live as long as the plugin.
    unsafe {
        ffi::qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
        ffi::qemu_plugin_register_atexit_cb(id, exiting, std::ptr::null_mut());
    }
    0
}

/// QEMU translated a block: give each of its instructions a counter, and marks a callback.
extern "C" fn translated(_id: ffi::PluginId, tb: *mut ffi::Tb) {
    with_collector(|collector| {
        // SAFETY: `tb` is valid during this callback.
        let n_insns = unsafe { ffi::qemu_plugin_tb_n_insns(tb) };
        for index in 0..n_insns {
            // SAFETY: `index` is below the block's number of instructions.
            let insn = unsafe { ffi::qemu_plugin_tb_get_insn(tb, index) };
            let mut code = [0; MAX_CODE];
            let length = collector.api.code(insn, &mut code).min(MAX_CODE);
            if let Some(mark) = marks::mark_index(&code[..length]) {
                // SAFETY: `insn` is valid; the callback takes the mark's number as its pointer.
                unsafe {
                    ffi::qemu_plugin_register_vcpu_insn_exec_cb(
                        insn,
                        mark_executed,
                        ffi::CB_NO_REGS,
                        mark as *mut c_void,
                    );
                }
                continue;
            }
            // SAFETY: `insn` is valid during this callback.
            let address = unsafe { ffi::qemu_plugin_insn_vaddr(insn) };
            let number = collector.slots.number(Place::new(address, &code[..length]));
            collector.api.count(insn, number);
        }
    });
}

/// A mark is about to execute. The counters of all instructions before it are up to date, those
/// in its own block too, since generated code increments them in program order.
extern "C" fn mark_executed(_vcpu: c_uint, mark: *mut c_void) {
    with_collector(|collector| {
        collector.counters.clear();
        collector.api.counters(&mut collector.counters);
        let now = &collector.counters;
        match MARKS.get(mark as usize) {
            Some(Mark::Start) => collector.marks.start(now),
            Some(Mark::Stop) => collector.marks.stop(now),
            Some(Mark::CommandStart) => collector.command.start(now),
            Some(Mark::CommandStop) => collector.command.stop(now),
            None => {}
        }
    });
}

extern "C" fn exiting(_id: ffi::PluginId, _userdata: *mut c_void) {
    with_collector(|collector| {
        let places = collector.slots.places();
        let result = File::create(&collector.out).and_then(|file| {
            let mut file = BufWriter::new(file);
            counts_file::write(&mut file, places, &collector.command, &collector.marks)
        });
        if let Err(error) = result {
            eprintln!(
                "profdiff plugin: cannot write {}: {error}",
                collector.out.display()
            );
        }
    });
}

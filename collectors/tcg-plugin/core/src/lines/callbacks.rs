//! What QEMU tells. Only the thread that executes the guest calls these, one at a time (`-icount`).

use std::ffi::{c_uint, c_void};
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::PathBuf;
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

use crate::architecture::{Architecture, End, Linkage, Mark, Memory, Watched};
use crate::counting::{Api, Translated};
use crate::ffi;
use crate::lines::contexts::Turn;
use crate::lines::guest::Guest;
use crate::lines::regions::Symbols;
use crate::lines::touched::{By, Of, Touched};
use crate::marked_window::{self, Effect, Windows};
use crate::memory::{refuse, say, say_unwritten};
use crate::turns::symbol;

const CANNOT: &str = "this QEMU does not let a guest's memory be read: use Debian's, or one that \
                      has modules";
/// Prefixes of x86-64 but for REX, which stands behind them.
const PREFIXES: [u8; 11] = [
    0x26, 0x2e, 0x36, 0x3e, 0x64, GS, 0x66, 0x67, 0xf0, 0xf2, 0xf3,
];
const GS: u8 = 0x65;
/// What callbacks get has the number of a [`By`] below that of an [`Of`].
const OF: usize = 4;

struct Collector {
    id: ffi::PluginId,
    architecture: &'static dyn Architecture,
    api: Box<dyn Api>,
    out: PathBuf,
    symbols: Symbols,
    /// Made by the thread that executes the guest, when the command begins. From then on code is
    /// translated with callbacks.
    touched: Option<Touched<Guest>>,
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
/// `id` is that which QEMU gave to `qemu_plugin_install`.
pub unsafe fn install(
    id: ffi::PluginId,
    architecture: &'static dyn Architecture,
    out: PathBuf,
    symbols: Symbols,
    api: Box<dyn Api>,
) -> i32 {
    if symbol(c"cpu_memory_rw_debug").is_none() || symbol(c"current_cpu").is_none() {
        say(CANNOT);
        return -1;
    }
    let collector = Collector {
        id,
        architecture,
        api,
        out,
        symbols,
        touched: None,
        windows: Windows::default(),
    };
    COLLECTOR.store(Box::into_raw(Box::new(collector)), Ordering::Relaxed);
    // SAFETY: as promised.
    unsafe { ffi::register(id, translated, exiting) };
    0
}

impl Collector {
    /// The command begins. Until here the guest ran nearly as without the plugin.
    fn arm(&mut self) {
        if self.touched.is_some() {
            return;
        }
        let Some(guest) = Guest::new() else {
            refuse(CANNOT);
        };
        let stack = match self.architecture.linkage() {
            Linkage::Stack(stack) => stack,
            Linkage::Register => |address| address,
        };
        self.touched = Some(Touched::new(self.symbols, stack, guest));
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
        let Some(touched) = &mut self.touched else {
            return;
        };
        match effect {
            Effect::Opens { first } => {
                touched.open = true;
                if first {
                    touched.begin();
                }
            }
            Effect::Closes => touched.open = false,
            Effect::Nothing => {}
        }
    }

    /// The file, read by `profdiff.collectors.lines.entry`: lines of text, the first of which is
    /// `window KIND OPENED CLOSED MISPLACED`; [`Touched::write`] writes the others.
    fn write(&self, touched: &Touched<Guest>) -> io::Result<()> {
        let mut out = BufWriter::new(File::create(&self.out)?);
        let window = self.windows.used();
        let (kind, marks) = (self.windows.kind(), window.misplaced);
        writeln!(
            out,
            "window {kind} {} {} {marks}",
            window.opened, window.closed
        )?;
        touched.write(&mut out)?;
        out.flush()
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
    for index in 0..n_insns {
        // SAFETY: `index` is below the block's number of instructions.
        let read = unsafe { Translated::of(&*collector.api, tb, index) };
        let (insn, address, code) = (read.insn, read.address, read.code());
        let architecture = collector.architecture;
        if let Some(mark) = architecture.mark(code) {
            // SAFETY: QEMU is translating `insn`.
            unsafe { marked_window::follow(insn, mark, mark_executed) };
        } else if let Some(touched) = &mut collector.touched {
            let turn = match touched.may_interrupt_at(address) {
                true => Some(Turn::Interrupt),
                false => turn(architecture, code),
            };
            let in_kernel = architecture.in_kernel(address);
            if let Some(turn) = turn.filter(|_| in_kernel) {
                let (flags, turn) = (ffi::CB_NO_REGS, turn as usize as *mut c_void);
                // SAFETY: as above.
                unsafe { ffi::qemu_plugin_register_vcpu_insn_exec_cb(insn, turns, flags, turn) };
            }
            let of = match turn {
                _ if !in_kernel => Of::Program,
                Some(Turn::Return) => Of::Leaving,
                _ => Of::Kernel,
            };
            let by = (OF * of as usize + by(architecture, code) as usize) as *mut c_void;
            let (flags, both) = (ffi::CB_NO_REGS, ffi::MEM_READ_WRITE);
            // SAFETY: as above. Of what accesses no memory, QEMU tells nothing.
            unsafe { ffi::qemu_plugin_register_vcpu_mem_cb(insn, accessed, flags, both, by) };
        }
    }
}

fn by(architecture: &dyn Architecture, code: &[u8]) -> By {
    if architecture.memory(code) == Memory::Nothing {
        By::StackPointer
    } else if uses_gs(code) {
        By::OwnBase
    } else {
        By::Address
    }
}

fn turn(architecture: &dyn Architecture, code: &[u8]) -> Option<Turn> {
    let does = architecture.does(code, 0);
    if does.watched == Some(&Watched::SwitchesStack) {
        return Some(Turn::Switch);
    }
    // A return from a system call (`sysret`) ends no interrupt, and finds none.
    (does.end == End::Leave).then_some(Turn::Return)
}

/// Whether an instruction of x86-64 uses `%gs`, where the kernel has a processor's own memory.
fn uses_gs(code: &[u8]) -> bool {
    let prefixes = code.iter().take_while(|byte| PREFIXES.contains(byte));
    prefixes.into_iter().any(|byte| *byte == GS)
}

extern "C" fn mark_executed(_vcpu: c_uint, mark: *mut c_void) {
    if let (Some(collector), Some(mark)) = (collector(), marked_window::mark(mark)) {
        collector.marked(mark);
    }
}

extern "C" fn accessed(_vcpu: c_uint, info: u32, address: u64, by: *mut c_void) {
    let touched = collector().and_then(|one| one.touched.as_mut());
    let (of, by) = (by as usize / OF, by as usize % OF);
    if let (Some(touched), Some(of), Some(by)) = (touched, Of::ALL.get(of), By::ALL.get(by)) {
        touched.accessed(*by, *of, info, address);
    }
}

extern "C" fn turns(_vcpu: c_uint, turn: *mut c_void) {
    let touched = collector().and_then(|one| one.touched.as_mut());
    if let (Some(touched), Some(turn)) = (touched, Turn::ALL.get(turn as usize)) {
        touched.turns(*turn);
    }
}

extern "C" fn exiting() {
    let Some(collector) = collector() else {
        return;
    };
    let Some(touched) = &collector.touched else {
        return;
    };
    say_unwritten(&collector.out, collector.write(touched));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::architecture::x86_64::X86_64;

    #[test]
    fn what_an_instruction_accesses_memory_by() {
        for (code, expected) in [
            (&[0x48, 0x8b, 0x43, 8][..], By::Address), // mov 8(%rbx),%rax
            (&[0x65, 0x48, 0x8b, 4, 0x25, 0, 0, 0, 0], By::OwnBase), // mov %gs:0,%rax
            (&[0xf0, 0x65, 0x48, 0xff, 0], By::OwnBase), // lock incq %gs:(%rax)
            (&[0x48, 0x8b, 0x65, 8], By::Address),     // mov 8(%rbp),%rsp
            (&[0x48, 0x8b, 0x44, 0x24, 8], By::StackPointer), // mov 8(%rsp),%rax
            (&[0x55], By::StackPointer),               // push %rbp
        ] {
            assert_eq!(by(&X86_64, code), expected, "{code:x?}");
        }
    }
}

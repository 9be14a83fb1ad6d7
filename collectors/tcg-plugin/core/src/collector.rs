//! The plugin's state, and its callbacks.

use std::ffi::{c_char, c_int, c_uint, c_void, CStr};
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::PathBuf;
use std::ptr;
use std::sync::{Mutex, OnceLock, PoisonError};

use crate::aliases::{self, Alias, Original};
use crate::architecture::{Architecture, Does, End, Mark};
use crate::architectures;
use crate::arguments::{Arguments, Records};
use crate::counting::{Api, Counting, Translated};
use crate::counts_file::Counted;
use crate::ffi;
use crate::following::{self, follow, follow_anywhere, follow_block, follow_halt, with_tracker};
use crate::idling::{self, Idled};
use crate::lines::callbacks as lines;
use crate::memory::{self, refuse, say, say_unwritten};
use crate::repeated::Repeated;
use crate::sharing::callbacks as sharing;
use crate::slots::{Place, Slots};
use crate::stretches::{self, Instruction, Stretches};
use crate::tracker::Tracker;
use crate::window::Windows;
use crate::{allocations, pages, probes, random_turns, running};

struct Collector {
    architecture: &'static dyn Architecture,
    out: PathBuf,
    vcpus: usize,
    counting: Counting,
    repeated: Repeated,
    windows: Windows,
    /// Of what [`idling`] reads.
    idle: Windows,
    /// The counters' values at a mark.
    now: Vec<u64>,
}

impl Collector {
    /// From the first translation on, registers can be read, if QEMU lets plugins do so.
    fn tell_registers(&mut self) {
        idling::begin(self.vcpus);
        if running::is_told() {
            return;
        }
        let api = &self.counting.api;
        if let Some(registers) = api.registers() {
            let (several, fixed) = (self.vcpus > 1, api.may_fix_numbers());
            running::begin(registers, self.architecture, several, fixed);
        }
    }
}

static COLLECTOR: OnceLock<Mutex<Collector>> = OnceLock::new();

fn with_collector(act: impl FnOnce(&mut Collector)) {
    if let Some(collector) = COLLECTOR.get() {
        // Nothing in here panics; were it to, the counts so far would still be right.
        act(&mut collector.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

/// Begin to collect what the plugin's arguments say.
///
/// Returns what `qemu_plugin_install` has to: 0, or -1 and a line on standard error.
///
/// # Safety
/// The arguments are those that QEMU gave to `qemu_plugin_install`.
pub unsafe fn install(
    id: ffi::PluginId,
    info: *const ffi::Info,
    argc: c_int,
    argv: *const *const c_char,
    api: Box<dyn Api>,
) -> c_int {
    // SAFETY: the caller promises `argc` valid C strings.
    let arguments = match unsafe { Arguments::of(argc, argv) } {
        Ok(arguments) => arguments,
        Err(refused) => {
            say(&refused);
            return -1;
        }
    };
    // SAFETY: QEMU's description of itself is valid during this call, its name a C string.
    let target = unsafe { CStr::from_ptr((*info).target_name) }.to_string_lossy();
    let Some(architecture) = architectures::named(&target) else {
        say(&format!("guests of {target} are not counted"));
        return -1;
    };
    memory::bound(arguments.memory);
    probes::begin(arguments.probes, architecture);
    allocations::begin(arguments.allocators, architecture);
    // SAFETY: as above.
    let vcpus = usize::try_from(unsafe { (*info).smp_vcpus }).unwrap_or(0);
    let out = arguments.out;
    let until = arguments
        .until
        .map(|text| crate::console::Awaited::new(text, &out));
    let (calls, boot) = match arguments.records {
        Records::Counts { calls, seed, boot } => {
            if seed.is_some_and(|seed| !random_turns::begin(seed, vcpus)) {
                return -1;
            }
            (calls, boot)
        }
        Records::Lines(symbols) => {
            // SAFETY: `id` is the plugin's own.
            return unsafe { lines::install(id, architecture, out, symbols, api) };
        }
        Records::Sharing(line_size) => {
            // SAFETY: `id` is the plugin's own.
            return unsafe { sharing::install(id, vcpus, architecture, out, line_size, api) };
        }
    };
    let collector = Collector {
        architecture,
        out,
        vcpus,
        counting: Counting {
            api,
            slots: Slots::default(),
            stretches: Stretches::default(),
            how: running::Counted::Inline(0),
        },
        repeated: Repeated::default(),
        windows: Windows::of(boot, until),
        idle: Windows::default(),
        now: Vec::new(),
    };
    if COLLECTOR.set(Mutex::new(collector)).is_err() {
        say("loaded twice");
        return -1;
    }
    if calls {
        following::begin(Tracker::new(architecture));
    }
    // SAFETY: `id` is the plugin's own.
    unsafe { ffi::register(id, translated, exiting) };
    0
}

/// What is read of an instruction that QEMU translates: itself, what it does, whether it is a mark,
/// and the address behind it.
type Read = (*mut ffi::Insn, Does, Option<Mark>, u64);

/// QEMU translated a block: give each of its instructions a counter, marks a callback, and the
/// tracker what it follows.
extern "C" fn translated(first: usize, second: usize) {
    with_collector(|collector| {
        let tb = collector.counting.api.block(first, second);
        collector.tell_registers();
        // SAFETY: `tb` is valid during this callback, and has an instruction.
        let (n_insns, first_insn, start) = unsafe {
            let first = ffi::qemu_plugin_tb_get_insn(tb, 0);
            let start = ffi::qemu_plugin_insn_vaddr(first);
            (ffi::qemu_plugin_tb_n_insns(tb), first, start)
        };
        let in_kernel = collector.architecture.in_kernel(start);
        // SAFETY: QEMU is translating `tb`.
        collector.counting.how = unsafe { running::translates(tb, in_kernel) };
        if let running::Counted::Boot(blocks) = collector.counting.how {
            if let Some(blocks) = blocks {
                collector.counting.api.count(first_insn, blocks, 0);
            }
            return;
        }
        let (architecture, counting) = (collector.architecture, &mut collector.counting);
        let (repeated, windows) = (&mut collector.repeated, &collector.windows);
        let mut read: Vec<Read> = Vec::with_capacity(n_insns);
        let mut instructions: Vec<Instruction> = Vec::with_capacity(n_insns);
        for index in 0..n_insns {
            // SAFETY: `index` is below the block's number of instructions.
            let one = unsafe { Translated::of(&*counting.api, tb, index) };
            let (insn, address, code) = (one.insn, one.address, one.code());
            let does = architecture.does(code, address);
            let mark = windows.mark_at(architecture, code, address, index == 0);
            instructions.push(Instruction {
                place: counting.slots.number(Place::new(address, code)),
                address,
                sequence: windows.sequence(mark, does.sequence),
                stretch: None,
            });
            read.push((insn, does, mark, address.wrapping_add(code.len() as u64)));
        }
        counting.stretches.assign(&mut instructions);
        let (mut end, mut behind, mut iterations) = (End::Next { target: 0 }, 0, None);
        for (index, (insn, does, mark, next)) in read.into_iter().enumerate() {
            let Instruction { place, address, .. } = instructions[index];
            (end, behind) = (does.end, next);
            if end == End::Halt {
                // SAFETY: `insn` is valid during this callback.
                unsafe { follow_halt(insn) };
            }
            // SAFETY: `insn` is valid during this callback.
            unsafe {
                probes::follow(insn, address, end);
                allocations::follow(insn, address, end);
            }
            if let Some(watched) = does.watched {
                // SAFETY: `insn` is valid during this callback.
                unsafe { follow(insn, watched) };
            }
            if let Some(mark) = mark {
                if matches!(mark, Mark::Op | Mark::Copy) {
                    continue; // counts are those of all operations
                }
                // SAFETY: `insn` is valid; the callback takes numbers as its pointer.
                unsafe {
                    ffi::qemu_plugin_register_vcpu_insn_exec_cb(
                        insn,
                        mark_executed,
                        ffi::CB_NO_REGS,
                        Box::into_raw(Box::new(MarkAt {
                            mark,
                            index,
                            left: n_insns - index,
                            address,
                        }))
                        .cast(),
                    );
                }
                if windows.boot.is_none() {
                    continue;
                }
            }
            if let Some(stretch) = stretches::begins(&instructions, index) {
                // SAFETY: QEMU is translating `insn`.
                unsafe { counting.count(insn, stretch.counter) };
            }
            if let Some(stretch) = instructions[index].stretch {
                repeated.passed(address, stretch.counter);
            }
            iterations = does.iterates.and_then(|how| {
                // SAFETY: `insn` is valid during this callback.
                unsafe { repeated.count(insn, place, behind, how, counting) }
            });
        }
        if instructions.is_empty() {
            return;
        }
        let mut block = ptr::null_mut();
        with_tracker(|tracker| {
            let blocks = &mut tracker.blocks;
            block = blocks.block(&instructions, end, behind, in_kernel, iterations);
        });
        let conditions = counting.api.conditions();
        let conditions = conditions.filter(|_| block.is_null() && !running::are_several());
        let leaves = pages::leaves(start, end, behind, in_kernel);
        if let Some(conditions) = conditions.filter(|_| leaves) {
            // SAFETY: the block has an instruction.
            let last = unsafe { ffi::qemu_plugin_tb_get_insn(tb, n_insns - 1) };
            conditions.store(last, &pages::KNOWN, 0);
        }
        // SAFETY: QEMU is translating `tb`.
        unsafe {
            if in_kernel {
                random_turns::follow(tb, n_insns);
            }
            if !in_kernel && running::is_told() {
                let original = aliases::original(instructions, end, behind, block, alias);
                follow_anywhere(tb, original, conditions);
            } else if !block.is_null() {
                follow_block(tb, block, collector.vcpus > 1);
            }
        }
    });
}

/// The block `original` where it ran at `address`.
fn alias(original: &Original, address: u64) -> Alias {
    let mut made = Alias {
        block: ptr::null_mut(),
        moves: Box::default(),
    };
    with_collector(|collector| {
        let (counting, repeated) = (&mut collector.counting, &mut collector.repeated);
        let moved = address.wrapping_sub(original.instructions[0].address);
        let mut moves = Vec::new();
        let mut iterations = None;
        let mut instructions = original.instructions.to_vec();
        for one in &mut instructions {
            let (place, address) = (one.place, one.address.wrapping_add(moved));
            let there = counting.slots.places()[place as usize].at(address);
            (one.place, one.address) = (counting.slots.number(there), address);
            iterations = repeated.also_at(place, one.place, counting, &mut moves);
        }
        counting.stretches.assign(&mut instructions);
        for (index, here) in original.instructions.iter().enumerate() {
            let there = &instructions[index];
            let (Some(from), Some(to)) = (here.stretch, there.stretch) else {
                continue;
            };
            repeated.passed(there.address, to.counter);
            repeated.passed_too(from.counter, to.counter);
            if stretches::begins(&instructions, index).is_some() {
                moves.push((from.counter, to.counter));
            }
        }
        let behind = original.behind.wrapping_add(moved);
        let in_kernel = collector.architecture.in_kernel(address);
        if !original.block.is_null() {
            with_tracker(|tracker| {
                let (blocks, end) = (&mut tracker.blocks, original.end.moved(moved));
                made.block = blocks.block(&instructions, end, behind, in_kernel, iterations);
            });
        }
        made.moves = moves.into();
    });
    made
}

/// A mark in a block.
struct MarkAt {
    mark: Mark,
    index: usize,
    /// How many instructions of the block there are from it on.
    left: usize,
    address: u64,
}

/// A mark is about to execute. The counters of all instructions before it are up to date, those
/// in its own block too, since generated code increments them in program order.
extern "C" fn mark_executed(_vcpu: c_uint, userdata: *mut c_void) {
    // SAFETY: `translated` made it, and it lives as long as the process.
    let MarkAt {
        mark,
        index,
        left,
        address,
    } = *unsafe { &*userdata.cast::<MarkAt>() };
    aliases::settle();
    with_collector(|collector| {
        // The command has ended: whoever runs the program now only looks at it. Or it rests, while
        // the agent arranges something, and goes on.
        let command = &collector.windows.command;
        let ended = command.closed > 0 && !command.is_open();
        let over = ended && !matches!(mark, Mark::CommandStart);
        if over || !collector.windows.holds(mark) {
            return;
        }
        collector.repeated.settle(address);
        collector.counting.read(&mut collector.now);
        let now = &collector.now;
        let had_marks = collector.windows.marks.is_used();
        collector.windows.mark(mark, now);
        allocations::settle();
        let has_marks = collector.windows.marks.is_used();
        let window = collector.windows.used();
        running::counts(window.is_open());
        random_turns::are_taken(window.is_open());
        if has_marks && !had_marks {
            probes::clear();
            allocations::clear();
        }
        with_tracker(|tracker| {
            if has_marks && !had_marks {
                tracker.clear(); // what the command's window counted until now
            }
            tracker.count_from(index, window.is_open());
        });
        // SAFETY: the reference is not kept.
        let followed = unsafe { following::tracker() }.is_some();
        idling::read(left, followed, &mut collector.now);
        collector.idle.mark(mark, &collector.now);
    });
}

extern "C" fn exiting() {
    with_collector(|collector| {
        // SAFETY: the guest has ended.
        let tracker = unsafe { following::tracker() };
        let windows = &collector.windows;
        let is_used = windows.command.is_used() || windows.marks.is_used();
        if is_used && tracker.is_some_and(|tracker| !tracker.has_switched()) {
            refuse(
                "no task of this kernel was seen to switch to another one, so that nothing tells \
                 who calls whom: record with --no-call-tree",
            );
        }
        let counted = Counted {
            places: collector.counting.slots.places(),
            iterating: &collector.repeated.iterating,
            windows,
            idle: &Idled::of(collector.idle.used().sums()),
            calls: tracker.map(|tracker| (&tracker.tree, &tracker.blocks)),
        };
        let result =
            File::create(&collector.out).and_then(|file| counted.write(&mut BufWriter::new(file)));
        let open = |extension| -> io::Result<Box<dyn Write>> {
            let file = File::create(collector.out.with_extension(extension))?;
            Ok(Box::new(BufWriter::new(file)))
        };
        let result = result.and_then(|()| probes::write(|| open("probes")));
        let result = result.and_then(|()| allocations::write(|| open("memory")));
        say_unwritten(&collector.out, result);
    });
}

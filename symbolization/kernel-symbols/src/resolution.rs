use std::collections::HashMap;

use crate::names::demangled_rust;

/// Why an address has a chain, or has none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Reason {
    /// It has one.
    Resolved = 0,
    /// In code, but no symbol covers it.
    NoSymbol = 1,
    /// Outside the code of everything that is known to be loaded.
    OutsideText = 2,
    /// In user space, where no known object has these instructions.
    NoObject = 3,
    /// In user space, where several objects have these instructions.
    Ambiguous = 4,
    /// In a file that is not on this machine.
    NoFile = 5,
    /// In a file that has been replaced since: its build id is another one.
    OtherBuild = 6,
    /// In memory without a file, and no perf-PID.map names what a JIT put there.
    NoMap = 7,
    /// In a guest of the machine that was recorded.
    Guest = 8,
    /// In the hypervisor below the machine that was recorded.
    Hypervisor = 9,
    /// The recording itself names no function.
    Unnamed = 10,
    /// In the kernel, of which the recording hides where it was (kptr_restrict).
    HiddenKernel = 11,
    /// In a file that cannot be read.
    Unreadable = 12,
}

impl Reason {
    /// Names of the reasons, by code.
    pub const NAMES: [&'static str; 13] = [
        "resolved",
        "no-symbol",
        "outside-text",
        "no-object",
        "ambiguous",
        "no-file",
        "other-build",
        "no-map",
        "guest",
        "hypervisor",
        "unnamed",
        "hidden-kernel",
        "unreadable",
    ];
}

/// Chains of many addresses, as columns. String 0 is empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Resolution {
    /// Names of functions, files and symbols.
    pub strings: Vec<String>,
    /// Per function: its name.
    pub function_name: Vec<u32>,
    /// Per function: the file that declares it.
    pub function_file: Vec<u32>,
    /// Per function: the line of the declaration, or 0.
    pub function_line: Vec<u32>,
    /// Per frame: its function.
    pub frame_function: Vec<u32>,
    /// Per frame: whether it was inlined into the one before it in the chain.
    pub frame_inlined: Vec<bool>,
    /// Per frame: the file where it was executing.
    pub frame_file: Vec<u32>,
    /// Per frame: the line where it was executing, or 0.
    pub frame_line: Vec<u32>,
    /// Address `i` has the frames `chain_frames[chain_offsets[i]..chain_offsets[i + 1]]`,
    /// outermost first.
    pub chain_offsets: Vec<u32>,
    /// Frames of all chains.
    pub chain_frames: Vec<u32>,
    /// Per address: the symbol that covers it.
    pub symbol: Vec<u32>,
    /// Per address: the code of its [`Reason`].
    pub reason: Vec<u8>,
}

/// Builds a [`Resolution`], with each string, function and frame once.
pub(crate) struct ResolutionBuilder {
    out: Resolution,
    strings: HashMap<u64, u32>,
    functions: HashMap<(u32, u32, u32), u32>,
    frames: HashMap<(u32, bool, u32, u32), u32>,
}

/// What tells the keys of functions' names from those of other strings.
const NAME: u64 = 1 << 63;

impl Default for ResolutionBuilder {
    fn default() -> Self {
        let out = Resolution {
            strings: vec![String::new()],
            chain_offsets: vec![0],
            ..Resolution::default()
        };
        ResolutionBuilder {
            out,
            strings: HashMap::from([(0, 0)]),
            functions: HashMap::new(),
            frames: HashMap::new(),
        }
    }
}

impl ResolutionBuilder {
    /// A string by a key of the caller's; key 0 is the empty string.
    pub(crate) fn string(&mut self, key: u64, text: impl FnOnce() -> String) -> u32 {
        let strings = &mut self.out.strings;
        *self.strings.entry(key).or_insert_with(|| {
            strings.push(text());
            (strings.len() - 1) as u32
        })
    }

    /// The name of a function by the key of what its symbol says. Of Rust it is demangled; of C++,
    /// what a name stands for also depends on which others there are.
    pub(crate) fn name(&mut self, key: u64, text: impl FnOnce() -> String) -> u32 {
        let strings = &mut self.out.strings;
        *self.strings.entry(key | NAME).or_insert_with(|| {
            let text = text();
            strings.push(demangled_rust(&text).unwrap_or(text));
            (strings.len() - 1) as u32
        })
    }

    pub(crate) fn function(&mut self, name: u32, file: u32, line: u32) -> u32 {
        let out = &mut self.out;
        *self.functions.entry((name, file, line)).or_insert_with(|| {
            out.function_name.push(name);
            out.function_file.push(file);
            out.function_line.push(line);
            (out.function_name.len() - 1) as u32
        })
    }

    /// Add a frame to the present address's chain.
    pub(crate) fn frame(&mut self, function: u32, inlined: bool, file: u32, line: u32) {
        let out = &mut self.out;
        let frame = *self
            .frames
            .entry((function, inlined, file, line))
            .or_insert_with(|| {
                out.frame_function.push(function);
                out.frame_inlined.push(inlined);
                out.frame_file.push(file);
                out.frame_line.push(line);
                (out.frame_function.len() - 1) as u32
            });
        out.chain_frames.push(frame);
    }

    /// The present address is done: it has one frame, of a function that is known by a symbol alone.
    /// `declared`: the file that it begins in.
    pub(crate) fn symbol(&mut self, name: u32, symbol: u32, declared: u32, file: u32, line: u32) {
        let function = self.function(name, declared, 0);
        self.frame(function, false, file, line);
        self.resolved(symbol);
    }

    /// The present address is done; it has the frames added since the one before.
    pub(crate) fn resolved(&mut self, symbol: u32) {
        self.end(symbol, Reason::Resolved);
    }

    /// The present address has no chain.
    pub(crate) fn unresolved(&mut self, reason: Reason) {
        self.end(0, reason);
    }

    fn end(&mut self, symbol: u32, reason: Reason) {
        self.out
            .chain_offsets
            .push(self.out.chain_frames.len() as u32);
        self.out.symbol.push(symbol);
        self.out.reason.push(reason as u8);
    }

    pub(crate) fn finish(self) -> Resolution {
        self.out
    }
}

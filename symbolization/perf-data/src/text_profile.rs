use hashbrown::HashMap;
use stacks::{FunctionStacks, Tree};

use crate::strings::Strings;

/// A function as text names it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct TextFunction {
    pub(crate) name: String,
    pub(crate) object: String,
    pub(crate) in_kernel: bool,
    pub(crate) unresolved: bool,
}

/// Stacks that came as text, of perf script or folded.
#[derive(Debug, Default)]
pub struct TextProfile {
    /// `perf script` or `folded stacks`.
    pub format: &'static str,
    /// What was counted; empty for folded stacks, which do not say.
    pub events: Vec<String>,
    /// Per function: its name.
    pub function_name: Vec<String>,
    /// Per function: `vmlinux`, a module, the file name of a program; empty if unknown.
    pub function_object: Vec<String>,
    /// Per function: whether it is the kernel's.
    pub function_in_kernel: Vec<bool>,
    /// Per function: whether it stands for addresses without a symbol.
    pub function_unresolved: Vec<bool>,
    /// Whether the text tells the kernel's functions from others.
    pub sides_known: bool,
    /// The stacks, with the entries below.
    pub stacks: FunctionStacks,
    /// Per entry: the event.
    pub entry_event: Vec<u32>,
    /// Per entry: the sum of the periods (the count, for folded stacks).
    pub entry_weight: Vec<u64>,
    /// Per entry: how many samples; 0 if unknown.
    pub entry_samples: Vec<u64>,
    /// Lines that were not understood.
    pub unknown_lines: u64,
}

/// Builds a [`TextProfile`], each function and stack once.
#[derive(Default)]
pub(crate) struct Builder {
    pub(crate) out: TextProfile,
    tree: Tree,
    functions: HashMap<TextFunction, u32>,
    events: Strings,
    entries: HashMap<(i64, u32), usize>,
}

impl Builder {
    pub(crate) fn event(&mut self, name: &str) -> u32 {
        self.events.intern(name)
    }

    /// The function's number.
    pub(crate) fn function(&mut self, function: TextFunction) -> u32 {
        if let Some(number) = self.functions.get(&function) {
            return *number;
        }
        let number = self.out.function_name.len() as u32;
        self.out.function_name.push(function.name.clone());
        self.out.function_object.push(function.object.clone());
        self.out.function_in_kernel.push(function.in_kernel);
        self.out.function_unresolved.push(function.unresolved);
        self.functions.insert(function, number);
        number
    }

    /// Add to the stack with these (function, inlined), root first. An empty one is nothing.
    pub(crate) fn add(
        &mut self,
        frames: impl Iterator<Item = (u32, bool)>,
        event: u32,
        weight: u64,
        samples: u64,
    ) {
        let tree = &mut self.tree;
        let stack = frames.fold(-1, |stack, (function, inlined)| {
            tree.child(stack, function, inlined)
        });
        if stack < 0 {
            return;
        }
        let out = &mut self.out;
        let row = *self.entries.entry((stack, event)).or_insert_with(|| {
            tree.out.entry_stack.push(stack);
            out.entry_event.push(event);
            out.entry_weight.push(0);
            out.entry_samples.push(0);
            out.entry_event.len() - 1
        });
        out.entry_weight[row] = out.entry_weight[row].saturating_add(weight);
        out.entry_samples[row] += samples;
    }

    pub(crate) fn finish(mut self) -> TextProfile {
        self.out.stacks = self.tree.out;
        self.out.events = self.events.list;
        self.out
    }
}

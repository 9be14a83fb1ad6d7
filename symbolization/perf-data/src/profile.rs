use stacks::Samples;

use crate::attribute::Attribute;
use crate::features::Features;
use crate::places::Object;
use crate::statistics::Statistics;

/// A mapping of the kernel's own: its image or a module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelMapping {
    /// `[kernel.kallsyms]_text`, or the path or `[name]` of a module.
    pub name: String,
    /// Where it begins.
    pub start: u64,
    /// Its length in bytes.
    pub length: u64,
    /// For the kernel's image: the avma of the symbol that its name ends with (`_text`, `_stext`),
    /// from which follows what KASLR added (`machine__create_kernel_maps()` of perf).
    pub offset: u64,
    /// In hexadecimal, or empty.
    pub build_id: String,
}

/// Code that the kernel made while it ran: BPF programs, trampolines (PERF_RECORD_KSYMBOL).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelSymbol {
    /// `bpf_prog_…`.
    pub name: String,
    /// Where it begins.
    pub start: u64,
    /// Its length in bytes.
    pub length: u64,
}

/// The stacks of a recording, as columns: callers, the places above them, and what was sampled
/// where. A stack may be there more than once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stacks {
    /// Callers `i` are the places `row_places[row_offsets[i]..row_offsets[i + 1]]`.
    pub row_offsets: Vec<u64>,
    /// Places of callers, outermost first.
    pub row_places: Vec<u32>,
    /// Per callers: the name of their thread, in `strings`.
    pub row_name: Vec<u32>,
    /// Per place: its object.
    pub place_object: Vec<u32>,
    /// Per place: the address, as the object's kind says. A caller's is one less than where it
    /// goes on, so that it lies in the instruction that called.
    pub place_address: Vec<u64>,
    /// Per entry: its callers.
    pub entry_row: Vec<u32>,
    /// Per entry: the place of the innermost frame.
    pub entry_place: Vec<u32>,
    /// Per entry: the event.
    pub entry_event: Vec<u32>,
    /// Per entry: the sum of the periods of its samples.
    pub entry_weight: Vec<u64>,
    /// Per entry: how many samples.
    pub entry_samples: Vec<u64>,
    /// Names of threads.
    pub strings: Vec<String>,
}

impl Stacks {
    /// Per entry: the name of its thread, in `strings`.
    pub fn entry_name(&self) -> impl Iterator<Item = u32> + '_ {
        let name = |row: &u32| self.row_name.get(*row as usize).copied();
        self.entry_row
            .iter()
            .map(move |row| name(row).unwrap_or_default())
    }
}

impl<'s> From<&'s Stacks> for Samples<'s> {
    fn from(from: &'s Stacks) -> Self {
        Samples {
            row_offsets: &from.row_offsets,
            row_places: &from.row_places,
            row_name: &from.row_name,
            entry_row: &from.entry_row,
            entry_place: &from.entry_place,
        }
    }
}

/// A recording of `perf record`, read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Profile {
    /// What was sampled.
    pub events: Vec<Attribute>,
    /// What the recording says of machine and kernel.
    pub features: Features,
    /// What was lost, throttled and not understood.
    pub statistics: Statistics,
    /// What places belong to; the first is the kernel.
    pub objects: Vec<Object>,
    /// The kernel's image and modules.
    pub kernel_mappings: Vec<KernelMapping>,
    /// Code that the kernel made.
    pub kernel_symbols: Vec<KernelSymbol>,
    /// The stacks.
    pub stacks: Stacks,
}

#![doc = include_str!("../README.md")]

mod address_space;
mod attribute;
mod bytes;
mod chain;
mod error;
mod event_name;
mod features;
mod first_pass;
mod folded;
mod header;
mod interner;
mod places;
mod profile;
mod read;
mod records;
mod sample;
mod script;
mod script_frame;
mod script_head;
mod second_pass;
mod simpleperf;
mod statistics;
mod strings;
mod text;
mod text_profile;
mod timeline;
mod tracepoints;
mod unpacker;

pub use attribute::Attribute;
pub use error::{Error, Result};
pub use features::Features;
pub use header::is_perf_data_file;
pub use places::{Object, ObjectKind};
pub use profile::{KernelMapping, KernelSymbol, Profile, Stacks};
pub use statistics::Statistics;
pub use text::parse_text;
pub use text_profile::TextProfile;

/// No reader holds more than this many times the size of its input in memory, and a constant. Of
/// compressed records a reader may keep a GiB, however small they are.
pub const MEMORY_FACTOR: usize = 96;

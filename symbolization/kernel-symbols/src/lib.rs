//! From addresses to chains of functions, inlined ones too: of Linux kernels, their modules, and the
//! programs and libraries that ran on them.
//!
//! Input is untrusted: memory and time are bounded by 256 times the size of the input, nothing
//! recurses, and nothing panics. An ELF file is converted once into a [`SymbolIndex`]; resolving only searches.

mod address;
mod budget;
mod build_id;
mod compression;
mod contents;
mod debug_file;
mod dwarf;
mod elf;
mod elf_code;
mod elf_file;
mod error;
mod file;
mod flatten;
mod image;
mod index;
mod kallsyms;
mod little_endian;
mod module;
mod ranges;
mod relocation;
mod resolution;
mod user;

pub use address::{Avma, Displacement, Svma};
pub use build_id::BuildId;
pub use contents::{SectionPlace, Symbol};
pub use debug_file::DebugFile;
pub use elf::TextSection;
pub use elf_code::elf_code;
pub use elf_file::{elf_build_id, elf_debug_info, file_offsets_to_svma, DebugInfo};
pub use error::{Error, Result};
pub use file::FileBytes;
pub use flatten::{flatten, Segment};
pub use image::KernelImage;
pub use index::SymbolIndex;
pub use kallsyms::Kallsyms;
pub use module::{place_module, LoadedSection};
pub use ranges::SymbolRanges;
pub use resolution::{Reason, Resolution};
pub use user::{place_user, Instruction, Placed};

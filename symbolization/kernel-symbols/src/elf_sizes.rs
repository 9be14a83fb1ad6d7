//! How many bytes the parts of a program take.

use std::path::Path;

use crate::budget::Budget;
use crate::elf::Elf;
use crate::file::FileBytes;
use crate::index::sorted_symbols;
use crate::{Result, Svma};

/// Names with sizes in bytes.
pub type NamedSizes = Vec<(String, u64)>;
/// Names with addresses and sizes.
pub type SizedSymbols = Vec<(String, Svma, u64)>;

/// The sections of the ELF file at `path` (plain, `.zst`, `.xz`, `.gz`) that take memory, in its
/// order, and its functions by address: symbols in executable sections that have a size. Of several
/// at one address there is the one that [`crate::SymbolIndex`] prefers.
pub fn elf_sizes(path: &Path) -> Result<(NamedSizes, SizedSymbols)> {
    let file = FileBytes::map(path)?;
    let packed = file.len();
    let bytes = file.unpacked(path)?.map_or(file, FileBytes::Owned);
    let elf = Elf::parse(path, &bytes)?;
    let mut symbols = sorted_symbols(&elf, &Budget::new(path, packed, bytes.len()))?;
    symbols.retain(|symbol| symbol.size > 0);
    symbols.dedup_by_key(|symbol| symbol.address);
    let functions = symbols.iter().map(|symbol| {
        let name = String::from_utf8_lossy(symbol.name).into_owned();
        (name, Svma(symbol.address), symbol.size)
    });
    Ok((elf.allocated().collect(), functions.collect()))
}

//! The symbol index: everything that resolving needs of one ELF file, sorted and flat, so that it
//! can be mapped from the cache and searched without being parsed.

mod builder;
mod cache;
mod entries;
mod format;
mod merge;
mod open;
mod resolve;
mod symbols;

pub use open::SymbolIndex;
pub(crate) use symbols::sorted as sorted_symbols;

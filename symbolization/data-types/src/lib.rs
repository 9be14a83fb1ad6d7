//! How a compiler laid out structs and unions: sizes, and where each field lies.
//!
//! From DWARF, or from BTF where a file has no DWARF. Input is untrusted: what is read is paid for
//! from the file's budget, nothing recurses without a bound, and nothing panics.

mod btf;
mod dwarf;
mod layout;
mod name;
mod scan;
mod sizes;
mod types;
mod units;

pub use dwarf::Dwarf;
pub use layout::{layouts, sizes, Field, Layout, Layouts};
pub use name::name;
pub use sizes::TypeSize;
pub use types::{Definition, Id, Kind, Member, Type, Types};
pub use units::{Slice, Unit, Units, SECTIONS};

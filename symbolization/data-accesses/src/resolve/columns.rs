use std::collections::HashMap;

use super::calls::Argument;
use crate::flow::Given;

/// What an access is, besides its kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags(pub u16);

impl Flags {
    /// Reads.
    pub const LOAD: u16 = 1;
    /// Writes.
    pub const STORE: u16 = 2;
    /// Unions leave several names.
    pub const AMBIGUOUS: u16 = 4;
    /// Wider than the field.
    pub const WIDER: u16 = 8;
    /// The field is a bit field.
    pub const BIT_FIELD: u16 = 16;
    /// May fault on an address of user space.
    pub const USER: u16 = 32;
    /// As often as a register says.
    pub const REPEATED: u16 = 64;
    /// The offset within the type is computed.
    pub const COMPUTED: u16 = 128;

    pub(super) fn with(self, flag: u16, holds: bool) -> Self {
        Flags(if holds { self.0 | flag } else { self.0 })
    }
}

/// Accesses as columns; texts by their number in `strings`, of which the first is empty. Python's
/// `DataAccesses` says what each is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)] // said there
pub struct Accesses {
    pub strings: Vec<String>,
    pub address: Vec<u64>,
    pub flags: Vec<u16>,
    pub size: Vec<u32>,
    pub kind: Vec<u8>,
    pub reason: Vec<u8>,
    pub r#type: Vec<u32>,
    pub symbol: Vec<u32>,
    pub field: Vec<u32>,
    pub alternatives: Vec<u32>,
    pub nested: Vec<u32>,
    pub origins: Vec<u32>,
    pub offset: Vec<i64>,
    pub type_size: Vec<u32>,
    pub layout_type: Vec<u32>,
    pub layout_size: Vec<u32>,
    pub layout_alignment: Vec<u32>,
    pub field_type: Vec<u32>,
    pub field_name: Vec<u32>,
    pub field_offset: Vec<u64>,
    pub field_size: Vec<u64>,
    pub global_name: Vec<u32>,
    pub global_section: Vec<u32>,
    pub global_address: Vec<u64>,
    pub global_size: Vec<u32>,
    pub global_accessed: Vec<u8>,
}

/// One access.
#[derive(Clone, Debug, Default)]
pub(super) struct Row {
    pub(super) address: u64,
    pub(super) flags: Flags,
    pub(super) size: u32,
    pub(super) kind: u8,
    pub(super) reason: u8,
    pub(super) r#type: u32,
    pub(super) symbol: u32,
    pub(super) field: u32,
    pub(super) alternatives: u32,
    pub(super) nested: u32,
    pub(super) origins: u32,
    pub(super) offset: i64,
    pub(super) type_size: u32,
    /// What of its function's arguments it goes to, and the address of that function.
    pub(super) given: Option<(u64, Given)>,
    /// What a call gives in the first register.
    pub(super) gives: Option<Argument>,
}

impl Accesses {
    pub(super) fn of_rows(mut rows: Vec<Row>) -> Self {
        // Those of one instruction stay in their order.
        rows.sort_by_key(|row| row.address);
        Accesses {
            address: rows.iter().map(|row| row.address).collect(),
            flags: rows.iter().map(|row| row.flags.0).collect(),
            size: rows.iter().map(|row| row.size).collect(),
            kind: rows.iter().map(|row| row.kind).collect(),
            reason: rows.iter().map(|row| row.reason).collect(),
            r#type: rows.iter().map(|row| row.r#type).collect(),
            symbol: rows.iter().map(|row| row.symbol).collect(),
            field: rows.iter().map(|row| row.field).collect(),
            alternatives: rows.iter().map(|row| row.alternatives).collect(),
            nested: rows.iter().map(|row| row.nested).collect(),
            origins: rows.iter().map(|row| row.origins).collect(),
            offset: rows.iter().map(|row| row.offset).collect(),
            type_size: rows.iter().map(|row| row.type_size).collect(),
            ..Accesses::default()
        }
    }
}

/// Texts, each once.
#[derive(Default)]
pub(super) struct Texts {
    pub(super) list: Vec<String>,
    known: HashMap<String, u32>,
}

impl Texts {
    /// The number of a text; a NUL, which ends one, is none of any name.
    pub(super) fn number(&mut self, text: &str) -> u32 {
        if self.list.is_empty() {
            self.list.push(String::new());
            self.known.insert(String::new(), 0);
        }
        if let Some(known) = self.known.get(text) {
            return *known;
        }
        let number = self.list.len() as u32;
        self.list.push(text.replace('\0', " "));
        self.known.insert(text.to_owned(), number);
        number
    }
}

//! The tables by which the kernel patches its own code at boot, or leaves it at a fault: every entry
//! is of a place in the code.

use crate::image::Image;
use crate::sections::Kind;
use crate::symbols::Symbol;

/// A piece of code by where it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Code {
    pub(crate) start: u64,
    pub(crate) size: u64,
}

impl Code {
    /// What a symbol covers.
    pub(crate) fn of(symbol: &Symbol<'_>) -> Self {
        Code {
            start: symbol.address,
            size: symbol.size,
        }
    }

    pub(crate) fn end(self) -> u64 {
        self.start.saturating_add(self.size)
    }
}

/// What a table says of a place.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) site: u64,
    /// Which table.
    pub(crate) table: &'static str,
    /// Which of the tables whose names begin so.
    pub(crate) name: Vec<u8>,
    /// What must be the same as it is.
    pub(crate) raw: Vec<u8>,
    /// Addresses that it names.
    pub(crate) targets: Vec<u64>,
    /// Other code that may stand there.
    pub(crate) replacement: Option<Code>,
}

/// All entries, by place; those of one place in the order of their table.
#[derive(Debug, Default)]
pub(crate) struct Tables {
    entries: Vec<Entry>,
    /// A table that could not be read.
    pub(crate) unreadable: Option<&'static str>,
}

/// How the entries of a table are laid out.
#[derive(Clone, Copy)]
enum Layout {
    /// 4 bytes: the distance to the place.
    Sites,
    /// 8 bytes: the address of the place.
    Addresses,
    /// Two distances, and 4 bytes: `struct exception_table_entry`.
    Exceptions,
    /// Two distances, and 8 bytes of a third: `struct jump_entry`.
    Jumps,
    /// Two distances, of which the second has flags: `struct static_call_site`.
    Calls,
    /// An address, a type and a length: `struct paravirt_patch_site`, gone in 6.8.
    Paravirt,
}

/// The name for a person; the section; the symbols around it where it has none.
const TABLES: [(&str, &str, &str, &str, Layout); 11] = [
    (
        "exception table",
        "__ex_table",
        "__start___ex_table",
        "__stop___ex_table",
        Layout::Exceptions,
    ),
    (
        "jump label",
        "__jump_table",
        "__start___jump_table",
        "__stop___jump_table",
        Layout::Jumps,
    ),
    (
        "static call",
        ".static_call_sites",
        "__start_static_call_sites",
        "__stop_static_call_sites",
        Layout::Calls,
    ),
    (
        "retpoline",
        ".retpoline_sites",
        "__retpoline_sites",
        "__retpoline_sites_end",
        Layout::Sites,
    ),
    (
        "return thunk",
        ".return_sites",
        "__return_sites",
        "__return_sites_end",
        Layout::Sites,
    ),
    (
        "call thunk",
        ".call_sites",
        "__call_sites",
        "__call_sites_end",
        Layout::Sites,
    ),
    (
        "endbr seal",
        ".ibt_endbr_seal",
        "__ibt_endbr_seal",
        "__ibt_endbr_seal_end",
        Layout::Sites,
    ),
    (
        "CFI",
        ".cfi_sites",
        "__cfi_sites",
        "__cfi_sites_end",
        Layout::Sites,
    ),
    (
        "lock prefix",
        ".smp_locks",
        "__smp_locks",
        "__smp_locks_end",
        Layout::Sites,
    ),
    (
        "ftrace call",
        "__mcount_loc",
        "__start_mcount_loc",
        "__stop_mcount_loc",
        Layout::Addresses,
    ),
    (
        "paravirt call",
        ".parainstructions",
        "__parainstructions",
        "__parainstructions_end",
        Layout::Paravirt,
    ),
];
const ALTERNATIVES: &str = "alternative";
const CONSTANTS: &str = "runtime constant";

impl Tables {
    pub(crate) fn of(image: &Image<'_>) -> Self {
        let mut tables = Tables::default();
        for (table, section, first, last, layout) in TABLES {
            let Some((start, bytes)) = place(image, section, first, last) else {
                continue;
            };
            read(
                image,
                table,
                &[],
                start,
                &bytes,
                layout,
                &mut tables.entries,
            );
        }
        for section in image.sections.iter() {
            if let (true, Some(bytes)) = (section.name.starts_with(b"runtime_"), section.bytes) {
                let entries = &mut tables.entries;
                read(
                    image,
                    CONSTANTS,
                    section.name,
                    section.start,
                    bytes,
                    Layout::Sites,
                    entries,
                );
            }
        }
        let around = (
            ".altinstructions",
            "__alt_instructions",
            "__alt_instructions_end",
        );
        if let Some((start, bytes)) = place(image, around.0, around.1, around.2) {
            match alternatives(image, start, &bytes) {
                Some(found) => tables.entries.extend(found),
                None => tables.unreadable = Some(ALTERNATIVES),
            }
        }
        tables
            .entries
            .sort_by_key(|entry| (entry.site, entry.table));
        tables
    }

    /// The entries of places in a piece of code.
    pub(crate) fn within(&self, code: Code) -> &[Entry] {
        let before = |end: u64| self.entries.partition_point(|entry| entry.site < end);
        let (first, last) = (before(code.start), before(code.end()));
        self.entries.get(first..last).unwrap_or_default()
    }
}

/// Where a table is, and its bytes.
fn place(image: &Image<'_>, section: &str, first: &str, last: &str) -> Option<(u64, Vec<u8>)> {
    if let Some(section) = image.sections.named(section.as_bytes()) {
        return Some((section.start, section.bytes?.to_vec()));
    }
    let start = image.symbols.label(first.as_bytes())?;
    let size = image.symbols.label(last.as_bytes())?.checked_sub(start)?;
    Some((start, image.sections.bytes(start, size)?.into_owned()))
}

fn read(
    image: &Image<'_>,
    table: &'static str,
    name: &[u8],
    start: u64,
    bytes: &[u8],
    layout: Layout,
    out: &mut Vec<Entry>,
) {
    let length = match layout {
        Layout::Sites => 4,
        Layout::Addresses | Layout::Calls => 8,
        Layout::Exceptions => 12,
        Layout::Jumps | Layout::Paravirt => 16,
    };
    for (number, one) in bytes.chunks_exact(length).enumerate() {
        let at = start.wrapping_add((number * length) as u64);
        let (site, raw, targets): (u64, &[u8], Vec<u64>) = match layout {
            Layout::Sites => (near(at, one, 0), &[], vec![]),
            Layout::Addresses => (image.pointer(at).unwrap_or(0), &[], vec![]),
            Layout::Exceptions => (near(at, one, 0), &one[8..12], vec![near(at, one, 4)]),
            // The low bits of a key's distance are flags; the key is aligned.
            Layout::Jumps => {
                let key = at.wrapping_add(8).wrapping_add(word(one, 8));
                (near(at, one, 0), &[], vec![near(at, one, 4), key])
            }
            Layout::Calls => (near(at, one, 0), &[], vec![near(at, one, 4)]),
            Layout::Paravirt => (word(one, 0), &one[8..10], vec![]),
        };
        if image.sections.kind(site) == Some(Kind::Code) {
            let (name, raw, replacement) = (name.to_vec(), raw.to_vec(), None);
            out.push(Entry {
                site,
                table,
                name,
                raw,
                targets,
                replacement,
            });
        }
    }
}

/// `struct alt_instr`, of which there were several; the one by which all entries make sense: two
/// distances, a feature with flags, two lengths and in old kernels a third.
fn alternatives(image: &Image<'_>, start: u64, bytes: &[u8]) -> Option<Vec<Entry>> {
    /// The length of an entry, and where its two lengths are.
    const LAYOUTS: [(usize, usize); 4] = [(14, 12), (12, 10), (13, 10), (16, 12)];
    let fitting = |&&(length, lengths): &&(usize, usize)| {
        bytes.len() % length == 0
            && bytes.chunks_exact(length).enumerate().all(|(number, one)| {
                let at = start.wrapping_add((number * length) as u64);
                let (site, other) = (near(at, one, 0), near(at, one, 4));
                let code = |address| image.sections.kind(address) == Some(Kind::Code);
                let replaced = one[lengths + 1] != 0;
                one[lengths] != 0 && code(site) && (!replaced || code(other))
            })
    };
    let &(length, lengths) = LAYOUTS.iter().find(fitting)?;
    let entries = bytes.chunks_exact(length).enumerate().map(|(number, one)| {
        let at = start.wrapping_add((number * length) as u64);
        let other = near(at, one, 4);
        let size = u64::from(one[lengths + 1]);
        Entry {
            site: near(at, one, 0),
            table: ALTERNATIVES,
            name: Vec::new(),
            raw: one[8..].to_vec(),
            targets: vec![],
            replacement: (size > 0).then_some(Code { start: other, size }),
        }
    });
    Some(entries.collect())
}

/// The address that a distance at `offset` of an entry leads to.
fn near(at: u64, entry: &[u8], offset: usize) -> u64 {
    let distance = entry
        .get(offset..offset + 4)
        .and_then(|part| part.try_into().ok())
        .map_or(0, i32::from_le_bytes);
    at.wrapping_add(offset as u64)
        .wrapping_add_signed(i64::from(distance))
}

fn word(entry: &[u8], offset: usize) -> u64 {
    let part = entry.get(offset..offset + 8);
    part.and_then(|part| part.try_into().ok())
        .map_or(0, u64::from_le_bytes)
}

use std::collections::{BTreeMap, BTreeSet};

use data_types::Id;
use kernel_symbols::Result;

use super::columns::{Accesses, Texts};
use crate::fields::{leaves, Fields};
use crate::program::Static;

/// Bytes of a cache line.
const LINE: u64 = 64;

/// How many neighbours of one variable are named.
const MOST_NEIGHBOURS: usize = 64;

/// What a field takes in memory.
const FIELD: usize = 128;

/// How the types are laid out that were accessed, by name.
pub(super) fn types(
    fields: &Fields<'_, '_>,
    types: &BTreeMap<String, Id>,
    texts: &mut Texts,
    out: &mut Accesses,
) -> Result<()> {
    let file = fields.view.program.types.units.file;
    for (number, (name, id)) in types.iter().enumerate() {
        out.layout_type.push(texts.number(name));
        out.layout_size
            .push(u32::try_from(fields.view.size(*id)).unwrap_or(u32::MAX));
        let (defined, _) = fields.view.stripped(*id);
        let alignment = fields.view.program.alignment(defined);
        out.layout_alignment
            .push(u32::try_from(alignment).unwrap_or(0));
        let found = leaves(&fields.view, *id);
        file.spend(found.len() * FIELD)?;
        for leaf in found {
            out.field_type.push(number as u32);
            out.field_name.push(texts.number(&leaf.path));
            out.field_offset.push(leaf.offset);
            out.field_size.push(leaf.size);
        }
    }
    Ok(())
}

/// The variables that were accessed, by address, and what shares cache lines with them.
pub(super) fn variables(
    fields: &Fields<'_, '_>,
    accessed: &BTreeMap<(u64, String), Static>,
    texts: &mut Texts,
    out: &mut Accesses,
) {
    let program = fields.view.program;
    let statics = &program.statics;
    let mut found: BTreeMap<(u64, String), (u64, bool)> = BTreeMap::new();
    for one in accessed.values() {
        found.insert((one.start, one.name.clone()), (one.size, true));
    }
    // Sections of a module have no addresses of their own.
    let own = accessed.values().filter(|_| !program.is_relocatable());
    let starts: BTreeSet<u64> = accessed.keys().map(|(start, _)| *start).collect();
    for one in own {
        let Some(section) = statics.section(one.start) else {
            continue;
        };
        let first = one.start & !(LINE - 1);
        let last = one.start.saturating_add(one.size.max(1) - 1) | (LINE - 1);
        let near = statics.between(first, last).filter(|symbol| {
            let inside = symbol.start >= section.start;
            let here = inside && symbol.start - section.start < section.size;
            here && symbol.size > 0 && symbol.is_object && !starts.contains(&symbol.start)
        });
        for symbol in near.take(MOST_NEIGHBOURS) {
            let name = String::from_utf8_lossy(symbol.name).into_owned();
            found
                .entry((symbol.start, name))
                .or_insert((symbol.size, false));
        }
    }
    for ((start, name), (size, is_accessed)) in found {
        let section = statics.section(start).filter(|_| !program.is_relocatable());
        out.global_name.push(texts.number(&name));
        out.global_section
            .push(section.map_or(0, |one| texts.number(&one.name)));
        out.global_address.push(start);
        out.global_size
            .push(u32::try_from(size).unwrap_or(u32::MAX));
        out.global_accessed.push(u8::from(is_accessed));
    }
}

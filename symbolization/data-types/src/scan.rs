use std::collections::HashMap;

use gimli::constants as dw;
use gimli::AttributeValue;
use kernel_symbols::DebugFile;

use crate::types::Id;
use crate::units::{Slice, Unit, Units};

/// A struct, union or typedef at the top level of a unit.
pub(crate) struct Candidate<K> {
    pub(crate) key: K,
    pub(crate) is_union: bool,
    pub(crate) is_alias: bool,
    pub(crate) id: Id,
    /// What two that are alike have in common: size and line of the declaration.
    pub(crate) likeness: (u64, u64),
}

/// Where in `.debug_str` each name stands: also at the end of a longer one.
pub(crate) fn offsets(file: &DebugFile, names: &[&str]) -> HashMap<usize, usize> {
    let section = file.section(".debug_str");
    let ends = section.iter().enumerate().filter(|(_, byte)| **byte == 0);
    let mut found = HashMap::new();
    for (end, _) in ends {
        for (number, name) in names.iter().enumerate() {
            if section[..end].ends_with(name.as_bytes()) && !name.is_empty() {
                found.insert(end - name.len(), number);
            }
        }
    }
    found
}

/// Which of `names` an attribute is, whose places are `offsets`.
pub(crate) fn number<'d>(
    units: &Units<'d>,
    unit: &Unit<'d>,
    names: &[&str],
    offsets: &HashMap<usize, usize>,
    value: &AttributeValue<Slice<'d>>,
) -> Option<usize> {
    match value {
        AttributeValue::String(own) => names.iter().position(|name| name.as_bytes() == own.slice()),
        other => units
            .string_offset(unit, other)
            .and_then(|at| offsets.get(&at).copied()),
    }
}

/// The definitions at the top level of a unit whose names have a `key`, and the steps that it took.
pub(crate) fn scan<'d, K>(
    units: &Units<'d>,
    unit: &Unit<'d>,
    key: impl Fn(&AttributeValue<Slice<'d>>) -> Option<K>,
) -> gimli::Result<(usize, Vec<Candidate<K>>)> {
    let mut entries = unit.header.entries_raw(&unit.abbreviations, None)?;
    let (mut depth, mut steps, mut found) = (0usize, 0usize, Vec::new());
    while !entries.is_empty() {
        let offset = entries.next_offset();
        steps += 1;
        let Some(abbreviation) = entries.read_abbreviation()? else {
            depth = depth.saturating_sub(1);
            if depth == 0 {
                break; // padding may follow the unit's own entry
            }
            continue;
        };
        let tag = abbreviation.tag();
        let record = matches!(tag, dw::DW_TAG_structure_type | dw::DW_TAG_union_type);
        let is_alias = tag == dw::DW_TAG_typedef;
        let (mut sibling, mut known, mut declared) = (None, None, false);
        let mut likeness = (0, 0);
        if depth == 1 && (record || is_alias) || abbreviation.has_children() {
            for spec in abbreviation.attributes() {
                let attribute = entries.read_attribute(*spec)?;
                let value = attribute.value();
                match attribute.name() {
                    dw::DW_AT_sibling => sibling = units.reference(unit, &value),
                    dw::DW_AT_name if depth == 1 && (record || is_alias) => {
                        known = key(&value);
                    }
                    dw::DW_AT_declaration => declared = true,
                    dw::DW_AT_byte_size => likeness.0 = value.udata_value().unwrap_or(0),
                    dw::DW_AT_decl_line => likeness.1 = value.udata_value().unwrap_or(0),
                    _ => {}
                }
            }
        } else {
            entries.skip_attributes(abbreviation.attributes())?;
        }
        if let (Some(key), false) = (known, declared) {
            found.push(Candidate {
                key,
                is_union: tag == dw::DW_TAG_union_type,
                is_alias,
                id: (unit.start + offset.0) as Id,
                likeness,
            });
        }
        if abbreviation.has_children() {
            let to = sibling.and_then(|at| at.checked_sub(unit.start));
            let to = to.map(gimli::UnitOffset);
            match to {
                // Only ever forwards, so that a hostile file cannot make a loop.
                Some(to)
                    if depth > 0
                        && to >= entries.next_offset()
                        && to.is_in_bounds(&unit.header) =>
                {
                    entries = unit.header.entries_raw(&unit.abbreviations, Some(to))?;
                }
                _ => depth += 1,
            }
        } else if depth == 0 {
            break;
        }
    }
    Ok((steps, found))
}

use data_types::{Unit, Units};
use gimli::{constants as dw, AttributeValue, Operation};

use super::entry::{Entry, Head};

/// What stands at the top level of a unit. Places are offsets in `.debug_info`.
#[derive(Default)]
pub(super) struct Found {
    /// Start, end, and the function's number in `functions`.
    pub(super) ranges: Vec<(u64, u64, u32)>,
    pub(super) functions: Vec<usize>,
    /// Address and place of variables.
    pub(super) statics: Vec<(u64, usize)>,
    /// Name, as an offset in `.debug_str`, and place of structs and unions that are defined.
    pub(super) records: Vec<(usize, usize)>,
    /// Those whose name stands beside them.
    pub(super) named_records: Vec<(String, usize)>,
    /// Functions that are only declared: what they return.
    pub(super) declared: Vec<(Vec<u8>, Option<u64>)>,
    /// How many entries were read.
    pub(super) steps: usize,
}

/// Ranges that a function may have; those of a kernel have two.
const MOST_RANGES: usize = 64;

/// `relocatable`: whether functions of other files are of interest.
pub(super) fn scan<'d>(
    units: &Units<'d>,
    unit: &Unit<'d>,
    relocatable: bool,
) -> gimli::Result<Found> {
    let mut entries = unit.header.entries_raw(&unit.abbreviations, None)?;
    let (mut depth, mut found) = (0usize, Found::default());
    while !entries.is_empty() {
        let offset = entries.next_offset();
        found.steps += 1;
        let Some(abbreviation) = entries.read_abbreviation()? else {
            depth = depth.saturating_sub(1);
            if depth == 0 {
                break; // padding may follow the unit's own entry
            }
            continue;
        };
        let (tag, has_children) = (abbreviation.tag(), abbreviation.has_children());
        let sibling;
        let place = unit.start + offset.0;
        match tag {
            dw::DW_TAG_subprogram if depth == 1 => {
                let entry = Entry::read(units, unit, &mut entries, abbreviation)?;
                sibling = entry.sibling;
                function(units, unit, relocatable, place, &entry, &mut found)?;
            }
            dw::DW_TAG_variable | dw::DW_TAG_structure_type | dw::DW_TAG_union_type
                if depth == 1 =>
            {
                let head = Head::read(units, unit, &mut entries, abbreviation, true)?;
                sibling = head.sibling;
                if tag == dw::DW_TAG_variable {
                    variable(units, unit, place, &head, &mut found)?;
                } else if !head.declared {
                    record(units, unit, place, &head, &mut found);
                }
            }
            _ if has_children => {
                let head = Head::read(units, unit, &mut entries, abbreviation, false)?;
                sibling = head.sibling;
            }
            _ => {
                entries.skip_attributes(abbreviation.attributes())?;
                sibling = None;
            }
        }
        if !has_children {
            if depth == 0 {
                break;
            }
            continue;
        }
        let to = sibling.and_then(|at| at.checked_sub(unit.start));
        match to.map(gimli::UnitOffset) {
            // Only ever forwards, so that a hostile file cannot make a loop.
            Some(to)
                if depth > 0 && to >= entries.next_offset() && to.is_in_bounds(&unit.header) =>
            {
                entries = unit.header.entries_raw(&unit.abbreviations, Some(to))?;
            }
            _ => depth += 1,
        }
    }
    Ok(found)
}

fn function<'d>(
    units: &Units<'d>,
    unit: &Unit<'d>,
    relocatable: bool,
    place: usize,
    entry: &Entry<'d>,
    found: &mut Found,
) -> gimli::Result<()> {
    let (number, before) = (found.functions.len() as u32, found.ranges.len());
    let ranges = &mut found.ranges;
    entry.ranges(units, unit, &mut |low, high| {
        ranges.push((low, high, number));
        ranges.len() - before < MOST_RANGES
    })?;
    if ranges.len() > before {
        found.functions.push(place);
    } else if entry.declared && relocatable {
        if let Some(name) = &entry.name {
            let name = units.string(unit, name).to_vec();
            let target = entry.target.map(|at| at as u64);
            found.declared.push((name, target));
        }
    }
    Ok(())
}

fn variable<'d>(
    units: &Units<'d>,
    unit: &Unit<'d>,
    place: usize,
    head: &Head<'d>,
    found: &mut Found,
) -> gimli::Result<()> {
    if let Some(AttributeValue::Exprloc(expression)) = head.location {
        let mut operations = expression.operations(unit.header.encoding());
        let address = match operations.next()? {
            Some(Operation::Address { address }) => Some(address),
            Some(Operation::AddressIndex { index }) => {
                let value = AttributeValue::DebugAddrIndex(index);
                unit.address(&units.dwarf, &value)
            }
            _ => None,
        };
        found
            .statics
            .extend(address.map(|address| (address, place)));
    }
    Ok(())
}

fn record<'d>(
    units: &Units<'d>,
    unit: &Unit<'d>,
    place: usize,
    head: &Head<'d>,
    found: &mut Found,
) {
    match &head.name {
        Some(AttributeValue::String(own)) => {
            let name = String::from_utf8_lossy(own.slice()).into_owned();
            found.named_records.push((name, place));
        }
        Some(name) => {
            let at = units.string_offset(unit, name);
            found.records.extend(at.map(|at| (at, place)));
        }
        None => {}
    }
}

//! What holds a variable at an address.

use data_types::{Slice, Unit, Units};
use gimli::{constants as dw, AttributeValue, Expression, Operation};

use super::entry::Entry;
use super::location::operations;

/// How many types lead to a number's: typedefs, qualifiers.
const MOST_TYPES: usize = 32;

/// What holds a variable. Registers have DWARF's numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Held {
    /// A register, plus a number.
    Value(u16, i64),
    /// Memory, so far behind where a register points to.
    Memory(u16, i64),
    /// Memory, so far behind the frame's address (the CFA), where a physical function begins.
    Frame(i64),
    /// Nothing: it is always this.
    Constant(i64),
    /// A register, when the function returns.
    Returned(u16),
    /// What is not known here, and why.
    Nothing(&'static str),
}

/// What holds a variable at an address.
pub(super) fn held<'d>(
    units: &Units<'d>,
    unit: &Unit<'d>,
    entry: &Entry<'d>,
    address: u64,
) -> gimli::Result<Held> {
    if let Some(constant) = &entry.constant {
        let known = constant.sdata_value();
        let known = known.or_else(|| constant.udata_value().map(|value| value as i64));
        return Ok(known.map_or(Held::Nothing("it is no number"), Held::Constant));
    }
    let encoding = unit.header.encoding();
    let offset = match &entry.location {
        Some(AttributeValue::Exprloc(expression)) => return Ok(said(unit, *expression)),
        Some(AttributeValue::LocationListsRef(offset)) => *offset,
        Some(AttributeValue::DebugLocListsIndex(index)) => {
            let lists = &units.dwarf.locations;
            lists.get_offset(encoding, unit.locations, *index)?
        }
        _ => return Ok(Held::Nothing("it was optimized out")),
    };
    let (debug_addr, base) = (&units.dwarf.debug_addr, unit.addresses);
    let lists = &units.dwarf.locations;
    let mut list = lists.locations(offset, encoding, unit.low, debug_addr, base)?;
    while let Some(one) = list.next()? {
        if (one.range.begin..one.range.end).contains(&address) {
            return Ok(said(unit, one.data));
        }
    }
    Ok(Held::Nothing(
        "it has no value yet where the function begins",
    ))
}

/// What an expression says (DWARF 5, 2.6.1).
fn said(unit: &Unit<'_>, expression: Expression<Slice<'_>>) -> Held {
    let found = operations(unit.header.encoding(), expression).unwrap_or_default();
    match found.as_slice() {
        [Operation::Register { register }] => Held::Value(register.0, 0),
        [Operation::RegisterOffset {
            register, offset, ..
        }, rest @ ..] => match rest {
            [] => Held::Memory(register.0, *offset),
            [Operation::StackValue] => Held::Value(register.0, *offset),
            [Operation::PlusConstant { value }, Operation::StackValue] => {
                Held::Value(register.0, offset.wrapping_add_unsigned(*value))
            }
            _ => Held::Nothing("it is computed from others"),
        },
        [Operation::FrameOffset { offset }] => Held::Frame(*offset),
        [Operation::UnsignedConstant { value }, Operation::StackValue] => {
            Held::Constant(*value as i64)
        }
        [Operation::SignedConstant { value }, Operation::StackValue] => Held::Constant(*value),
        [Operation::EntryValue { .. }, ..] => {
            Held::Nothing("only a caller's caller had it where the function begins")
        }
        [] => Held::Nothing("it was optimized out"),
        _ => Held::Nothing("it is computed from others"),
    }
}

/// Bytes of a type, and whether it is signed; none where it is no number, pointer, or struct of
/// the size of one.
pub(super) fn number(units: &Units<'_>, mut at: usize) -> Option<(u8, bool)> {
    for _ in 0..MOST_TYPES {
        let (unit, within) = units.at(at)?;
        let mut entries = unit
            .header
            .entries_raw(&unit.abbreviations, Some(within))
            .ok()?;
        let abbreviation = entries.read_abbreviation().ok()??;
        let (mut size, mut signed, mut target) = (None, false, None);
        for spec in abbreviation.attributes() {
            let attribute = entries.read_attribute(*spec).ok()?;
            let value = attribute.value();
            match attribute.name() {
                dw::DW_AT_byte_size => size = value.udata_value(),
                dw::DW_AT_encoding => {
                    signed = matches!(
                        value,
                        AttributeValue::Encoding(dw::DW_ATE_signed | dw::DW_ATE_signed_char)
                    );
                }
                dw::DW_AT_type => target = units.reference(unit, &value),
                _ => {}
            }
        }
        match abbreviation.tag() {
            dw::DW_TAG_typedef
            | dw::DW_TAG_const_type
            | dw::DW_TAG_volatile_type
            | dw::DW_TAG_atomic_type
            | dw::DW_TAG_restrict_type => at = target?,
            dw::DW_TAG_pointer_type => return Some((8, false)),
            dw::DW_TAG_base_type
            | dw::DW_TAG_enumeration_type
            | dw::DW_TAG_structure_type
            | dw::DW_TAG_union_type => {
                let size = size.filter(|size| (1..=8).contains(size))? as u8;
                return Some((size, signed));
            }
            _ => return None,
        }
    }
    None
}

use gimli::constants as dw;
use gimli::{AttributeValue, UnitOffset};

use super::origin::Origin;
use super::table::RANGE_STEPS;
use super::{Failure, Slice};
use crate::budget::Account;

/// The attributes of an entry, of a function or a unit, that say where it is.
#[derive(Default)]
pub(crate) struct Place<'d> {
    pub(crate) low: Option<u64>,
    pub(crate) high: Option<AttributeValue<Slice<'d>>>,
    pub(crate) ranges: Option<AttributeValue<Slice<'d>>>,
    pub(crate) origin: Option<Origin>,
    pub(crate) call_file: Option<u64>,
    pub(crate) call_line: u32,
    pub(crate) sibling: Option<UnitOffset>,
}

impl<'d> Place<'d> {
    /// Take one attribute; false if it is none of a place.
    #[inline(always)] // it is called for each attribute of each function
    pub(crate) fn take(
        &mut self,
        dwarf: &gimli::Dwarf<Slice<'d>>,
        unit: &gimli::Unit<Slice<'d>>,
        attribute: &gimli::Attribute<Slice<'d>>,
    ) -> gimli::Result<bool> {
        match attribute.name() {
            dw::DW_AT_low_pc => self.low = dwarf.attr_address(unit, attribute.value())?,
            dw::DW_AT_high_pc => self.high = Some(attribute.value()),
            dw::DW_AT_ranges => self.ranges = Some(attribute.value()),
            dw::DW_AT_abstract_origin | dw::DW_AT_specification => {
                self.origin = Origin::of(&attribute.value());
            }
            dw::DW_AT_call_file => {
                if let AttributeValue::FileIndex(index) = attribute.value() {
                    self.call_file = Some(index);
                }
            }
            dw::DW_AT_call_line => {
                self.call_line = attribute
                    .udata_value()
                    .map_or(0, |line| line.min(1 << 31) as u32);
            }
            dw::DW_AT_sibling => {
                if let AttributeValue::UnitRef(to) = attribute.value() {
                    self.sibling = Some(to);
                }
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Whether it says where all of its code is, and `is_wanted` is true of no (start, end) of that.
    pub(crate) fn is_outside(
        &self,
        dwarf: &gimli::Dwarf<Slice<'d>>,
        unit: &gimli::Unit<Slice<'d>>,
        account: &mut Account<'_>,
        is_wanted: impl Fn(u64, u64) -> bool,
    ) -> Result<bool, Failure> {
        let mut known = false;
        if let Some(ranges) = self.ranges {
            let Ok(Some(mut ranges)) = dwarf.attr_ranges(unit, ranges) else {
                return Ok(false);
            };
            loop {
                account.spend(RANGE_STEPS)?;
                let Ok(raw) = ranges.next_raw() else {
                    return Ok(false);
                };
                let Some(raw) = raw else {
                    return Ok(known);
                };
                match ranges.convert_raw(raw) {
                    Ok(Some(range)) if is_wanted(range.begin, range.end) => return Ok(false),
                    Ok(Some(_)) => known = true,
                    Ok(None) => {}
                    Err(_) => return Ok(false),
                }
            }
        }
        if let (Some(low), Some(AttributeValue::Udata(size))) = (self.low, self.high) {
            known = size > 0 && !is_wanted(low, low.saturating_add(size));
        }
        Ok(known)
    }
}

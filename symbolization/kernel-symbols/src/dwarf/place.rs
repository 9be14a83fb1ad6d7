use gimli::constants as dw;
use gimli::{AttributeValue, UnitOffset};

use super::origin::Origin;
use super::Slice;

/// The attributes of a function's entry that say where it is.
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
}

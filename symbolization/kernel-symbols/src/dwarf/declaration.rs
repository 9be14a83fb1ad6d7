use std::borrow::Cow;

use gimli::constants as dw;
use gimli::AttributeValue;

use super::origin::Origin;
use super::sections::OpenUnit;
use super::table::ATTRIBUTE;
use super::{Debug, Failure, Slice};
use crate::budget::Account;
use crate::names::is_mangled;

/// What an entry, or the entries that it refers to, says of a function.
#[derive(Default)]
pub(crate) struct Declaration<'d> {
    pub(crate) name: Option<Slice<'d>>,
    /// The entry that has the name.
    pub(crate) named: Option<gimli::DebugInfoOffset>,
    pub(crate) linkage_name: Option<Slice<'d>>,
    pub(crate) file: Option<File>,
    pub(crate) line: u32,
}

/// A declaring file.
pub(crate) enum File {
    /// An index into the line table of the unit that is being read.
    Own(u64),
    /// A name from another unit.
    Other(Vec<u8>),
}

impl<'d> Declaration<'d> {
    /// Take one attribute if it is of use. What an outer entry said stays.
    pub(crate) fn take(
        &mut self,
        debug: &Debug<'d>,
        unit: &OpenUnit<'d>,
        attribute: &gimli::Attribute<Slice<'d>>,
        entry: gimli::UnitOffset,
        own: bool,
        account: &mut Account<'_>,
    ) -> Result<(), Failure> {
        let mut text = || {
            let text = debug.dwarf.attr_string(&unit.unit, attribute.value()).ok();
            account.spend(text.map_or(0, |text| text.len()))?;
            Ok::<_, Failure>(text)
        };
        match attribute.name() {
            dw::DW_AT_name if self.name.is_none() => {
                self.name = text()?;
                self.named = entry.to_debug_info_offset(&unit.unit.header);
            }
            dw::DW_AT_linkage_name if self.linkage_name.is_none() => self.linkage_name = text()?,
            dw::DW_AT_decl_file if self.file.is_none() => {
                if let AttributeValue::FileIndex(index) = attribute.value() {
                    self.file = Some(if own {
                        File::Own(index)
                    } else {
                        let name = unit.paths.name(&debug.dwarf, &unit.unit, index, account)?;
                        File::Other(name)
                    });
                }
            }
            dw::DW_AT_decl_line if self.line == 0 => {
                self.line = attribute
                    .udata_value()
                    .map_or(0, |line| line.min(1 << 31) as u32);
            }
            _ => {}
        }
        Ok(())
    }

    /// The mangled name, if there is one of a kind that is known; else the name in its scopes.
    pub(crate) fn whole_name(
        &self,
        debug: &Debug<'d>,
        unit: &OpenUnit<'d>,
        account: &mut Account<'_>,
    ) -> Result<Cow<'d, [u8]>, Failure> {
        let linkage = self.linkage_name.map(|name| name.slice());
        match (self.name, self.named) {
            _ if linkage.is_some_and(is_mangled) => {}
            (Some(name), Some(named)) => return debug.scoped(unit, named, name, account),
            _ => {}
        }
        Ok(Cow::Borrowed(linkage.unwrap_or_default()))
    }

    /// Follow `DW_AT_abstract_origin` and `DW_AT_specification` from entry to entry. Where one
    /// leads nowhere, what is known by then is all.
    pub(crate) fn follow(
        &mut self,
        debug: &Debug<'d>,
        own: &OpenUnit<'d>,
        mut origin: Origin,
        account: &mut Account<'_>,
    ) -> Result<(), Failure> {
        const MOST_STEPS: usize = 8;
        let mut unit = own;
        for _ in 0..MOST_STEPS {
            let offset = match origin {
                Origin::Own(offset) => offset,
                Origin::Other(offset) => match debug.unit_at(offset) {
                    Some((other, offset)) => {
                        unit = other;
                        offset
                    }
                    None => return Ok(()),
                },
            };
            let Ok(mut entries) = unit.unit.entries_raw(Some(offset)) else {
                return Ok(());
            };
            let Ok(Some(abbreviation)) = entries.read_abbreviation() else {
                return Ok(());
            };
            account.spend(1 + abbreviation.attributes().len() * ATTRIBUTE)?;
            let mut next = None;
            for spec in abbreviation.attributes() {
                let before = entries.next_offset();
                let Ok(attribute) = entries.read_attribute(*spec) else {
                    return Ok(());
                };
                account.spend(entries.next_offset().0 - before.0)?;
                match spec.name() {
                    dw::DW_AT_abstract_origin | dw::DW_AT_specification => {
                        next = Origin::of(&attribute.value());
                    }
                    _ => {
                        let own = std::ptr::eq(unit, own);
                        self.take(debug, unit, &attribute, offset, own, account)?;
                    }
                }
            }
            match next {
                Some(next) => origin = next,
                None => return Ok(()),
            }
        }
        Ok(())
    }
}

use std::borrow::Cow;

use gimli::constants as dw;
use gimli::AttributeValue;

use super::paths::Paths;
use super::{Debug, Slice};

type Unit<'d> = gimli::Unit<Slice<'d>>;

/// What an entry, or the entries that it refers to, says of a function.
#[derive(Default)]
pub(crate) struct Declaration<'d> {
    pub(crate) name: Option<Slice<'d>>,
    pub(crate) linkage_name: Option<Slice<'d>>,
    pub(crate) file: Option<File<'d>>,
    pub(crate) line: u32,
}

/// A declaring file.
pub(crate) enum File<'d> {
    /// An index into the line table of the unit that is being read.
    Own(u64),
    /// A name from another unit.
    Other(Cow<'d, [u8]>),
}

/// Where a function's attributes continue.
#[derive(Clone, Copy)]
pub(crate) enum Origin {
    Own(gimli::UnitOffset),
    Other(gimli::DebugInfoOffset),
}

impl Origin {
    pub(crate) fn of(value: &AttributeValue<Slice<'_>>) -> Option<Self> {
        match value {
            AttributeValue::UnitRef(offset) => Some(Origin::Own(*offset)),
            AttributeValue::DebugInfoRef(offset) => Some(Origin::Other(*offset)),
            _ => None,
        }
    }
}

impl<'d> Declaration<'d> {
    /// Take one attribute if it is of use. What an outer entry said stays.
    pub(crate) fn take(
        &mut self,
        debug: &Debug<'d>,
        unit: &Unit<'d>,
        attribute: &gimli::Attribute<Slice<'d>>,
        own: bool,
    ) {
        let text = || debug.dwarf().attr_string(unit, attribute.value()).ok();
        match attribute.name() {
            dw::DW_AT_name if self.name.is_none() => self.name = text(),
            dw::DW_AT_linkage_name if self.linkage_name.is_none() => self.linkage_name = text(),
            dw::DW_AT_decl_file if self.file.is_none() => {
                if let AttributeValue::FileIndex(index) = attribute.value() {
                    self.file = Some(if own {
                        File::Own(index)
                    } else {
                        File::Other(Paths::new(unit).name(debug.dwarf(), unit, index))
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
    }

    /// Follow `DW_AT_abstract_origin` and `DW_AT_specification` from entry to entry.
    pub(crate) fn follow(&mut self, debug: &Debug<'d>, own: &Unit<'d>, mut origin: Origin) {
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
                    None => return,
                },
            };
            let Ok(mut entries) = unit.header.entries_raw(&unit.abbreviations, Some(offset)) else {
                return;
            };
            let Ok(Some(abbreviation)) = entries.read_abbreviation() else {
                return;
            };
            let mut next = None;
            for spec in abbreviation.attributes() {
                let Ok(attribute) = entries.read_attribute(*spec) else {
                    return;
                };
                match spec.name() {
                    dw::DW_AT_abstract_origin | dw::DW_AT_specification => {
                        next = Origin::of(&attribute.value());
                    }
                    _ => self.take(debug, unit, &attribute, std::ptr::eq(unit, own)),
                }
            }
            match next {
                Some(next) => origin = next,
                None => return,
            }
        }
    }

    /// The name that a person knows the function by. Rust's short names (`new`) say too little.
    pub(crate) fn display_name(&self) -> Cow<'d, [u8]> {
        if let Some(linkage) = self.linkage_name.and_then(|name| name.to_string().ok()) {
            if let Ok(name) = rustc_demangle::try_demangle(linkage) {
                return Cow::Owned(format!("{name:#}").into_bytes());
            }
        }
        Cow::Borrowed(
            self.name
                .or(self.linkage_name)
                .map_or(&[], |name| name.slice()),
        )
    }
}

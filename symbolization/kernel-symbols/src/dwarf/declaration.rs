use std::borrow::Cow;
use std::fmt::{self, Write};

use gimli::constants as dw;
use gimli::AttributeValue;

use super::sections::OpenUnit;
use super::table::ATTRIBUTE;
use super::{Debug, Failure, Slice};
use crate::budget::Account;

/// A mangled name that stands for more bytes stays mangled. Rust's names refer back to their own
/// parts, so that 100 bytes can stand for gigabytes. The longest name of this project's own libraries
/// has 2,600 bytes.
const MOST_NAME_BYTES: usize = 64 << 10;

/// The steps that a byte of a demangled name may take: the demangler descends through empty parts.
const STEPS_PER_BYTE: usize = 16;

/// What an entry, or the entries that it refers to, says of a function.
#[derive(Default)]
pub(crate) struct Declaration<'d> {
    pub(crate) name: Option<Slice<'d>>,
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
        unit: &OpenUnit<'d>,
        attribute: &gimli::Attribute<Slice<'d>>,
        own: bool,
        account: &mut Account<'_>,
    ) -> Result<(), Failure> {
        let mut text = || {
            let text = debug.dwarf.attr_string(&unit.unit, attribute.value()).ok();
            account.spend(text.map_or(0, |text| text.len()))?;
            Ok::<_, Failure>(text)
        };
        match attribute.name() {
            dw::DW_AT_name if self.name.is_none() => self.name = text()?,
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
                        self.take(debug, unit, &attribute, own, account)?;
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

    /// The name that a person knows the function by. Rust's short names (`new`) say too little.
    pub(crate) fn display_name(&self, account: &mut Account<'_>) -> Result<Cow<'d, [u8]>, Failure> {
        if let Some(linkage) = self.linkage_name.and_then(|name| name.to_string().ok()) {
            if let Ok(name) = rustc_demangle::try_demangle(linkage) {
                let mut out = Name(String::new());
                let whole = write!(out, "{name:#}").is_ok();
                account.spend(out.0.len() * STEPS_PER_BYTE)?;
                if whole {
                    return Ok(Cow::Owned(out.0.into_bytes()));
                }
                return Ok(Cow::Borrowed(linkage.as_bytes()));
            }
        }
        let name = self.name.or(self.linkage_name);
        Ok(Cow::Borrowed(name.map_or(&[], |name| name.slice())))
    }
}

/// Text of at most `MOST_NAME_BYTES`; writing more is an error.
struct Name(String);

impl fmt::Write for Name {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        if self.0.len() + text.len() > MOST_NAME_BYTES {
            return Err(fmt::Error);
        }
        self.0.push_str(text);
        Ok(())
    }
}

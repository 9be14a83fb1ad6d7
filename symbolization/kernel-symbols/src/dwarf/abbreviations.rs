use std::collections::BTreeSet;

use gimli::constants::DW_FORM_implicit_const;
use gimli::Reader;

use super::{Failure, Slice};
use crate::budget::Account;

/// What an abbreviation takes in memory, at least (it has room for five attributes).
const ABBREVIATION: usize = 128;

/// What an attribute of it takes.
const ATTRIBUTE: usize = 16;

/// Pay for reading the tables of abbreviations that start at `offsets` of `.debug_abbrev`.
///
/// Tables may overlap: each of many could go on to the end of the section. gimli does not say how
/// much it reads, hence this look ahead. Damage is left for gimli to find.
pub(crate) fn pay(
    section: Slice<'_>,
    offsets: impl Iterator<Item = usize>,
    account: &mut Account<'_>,
) -> Result<(), Failure> {
    for offset in offsets.collect::<BTreeSet<usize>>() {
        let mut table = section;
        if table.skip(offset).is_ok() {
            while let Ok(Some(attributes)) = abbreviation(&mut table) {
                account.spend(ABBREVIATION + attributes * ATTRIBUTE)?;
            }
        }
    }
    Ok(())
}

/// Step over one abbreviation (DWARF 5, 7.5.3); how many attributes it has, or none at the end.
fn abbreviation(table: &mut Slice<'_>) -> gimli::Result<Option<usize>> {
    if table.is_empty() || table.read_uleb128()? == 0 {
        return Ok(None);
    }
    table.read_uleb128()?; // tag
    table.read_u8()?; // has children
    let mut count = 0;
    loop {
        let (name, form) = (table.read_uleb128()?, table.read_uleb128()?);
        if form == u64::from(DW_FORM_implicit_const.0) {
            table.read_sleb128()?;
        }
        if name == 0 && form == 0 {
            return Ok(Some(count));
        }
        count += 1;
    }
}

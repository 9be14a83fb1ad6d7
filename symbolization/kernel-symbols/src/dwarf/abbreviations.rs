use std::slice::Iter;

use gimli::constants::DW_FORM_implicit_const;
use rayon::prelude::*;

use crate::budget::{Account, Budget, Exhausted};

/// What an abbreviation takes in memory, at least (it has room for five attributes).
const ABBREVIATION: usize = 128;

/// What an attribute of it takes.
const ATTRIBUTE: usize = 16;

/// Pay for reading the tables of abbreviations that start at `offsets` of `.debug_abbrev`.
///
/// Tables may overlap: each of many could go on to the end of the section. gimli does not say how
/// much it reads, hence this look ahead. Damage is left for gimli to find.
pub(crate) fn pay(
    section: &[u8],
    mut offsets: Vec<usize>,
    budget: &Budget,
) -> Result<(), Exhausted> {
    offsets.sort_unstable();
    offsets.dedup();
    offsets.par_iter().try_for_each(|offset| {
        let mut account = Account::new(budget);
        let mut table = section.get(*offset..).unwrap_or_default().iter();
        while let Some(attributes) = abbreviation(&mut table) {
            account.spend(ABBREVIATION + attributes * ATTRIBUTE)?;
        }
        account.settle()
    })
}

/// Step over one abbreviation (DWARF 5, 7.5.3); how many attributes it has, or none at the end.
fn abbreviation(table: &mut Iter<'_, u8>) -> Option<usize> {
    if number(table)? == 0 {
        return None;
    }
    number(table)?; // tag
    table.next()?; // has children
    let mut count = 0;
    loop {
        let (name, form) = (number(table)?, number(table)?);
        if form == u64::from(DW_FORM_implicit_const.0) {
            number(table)?;
        }
        if name == 0 && form == 0 {
            return Some(count);
        }
        count += 1;
    }
}

/// A LEB128 number; none if it has more than 64 bits, where gimli stops as well.
fn number(table: &mut Iter<'_, u8>) -> Option<u64> {
    let mut value = 0;
    for shift in (0..u64::BITS).step_by(7) {
        let byte = *table.next()?;
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Some(value);
        }
    }
    None
}

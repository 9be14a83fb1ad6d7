use std::ops::Range;

use rayon::prelude::*;

use super::unit::UnitReader;
use super::{Debug, Failure, UnitTable};
use crate::budget::Account;
use crate::{Error, Result};

/// Convert all units, in parallel; the result is in the order of the file.
pub(crate) fn convert<'d>(debug: &Debug<'d>, text: &[Range<u64>]) -> Result<Vec<UnitTable<'d>>> {
    // Units differ in size by a factor of 100: one at a time keeps both cores busy.
    let units = debug.headers.par_iter().with_max_len(1).map(|header| {
        let mut account = Account::new(debug.budget);
        let unit = debug.open(*header, &mut account);
        unit.and_then(|unit| UnitReader::convert(debug, &unit, text, account))
            .map_err(|failure| match failure {
                Failure::Exhausted => debug.budget.error(),
                failure => {
                    let at = header.debug_info_offset().map_or(0, |offset| offset.0);
                    let what = format!("unit at {at:#x} of .debug_info: {failure}");
                    Error::damaged(debug.path, what)
                }
            })
    });
    units.collect()
}

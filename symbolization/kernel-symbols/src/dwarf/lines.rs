use std::ops::Range;

use super::table::{Row, END};
use super::{Failure, Slice};

/// Decode a unit's line program into rows of `text`. `file` maps an index to a string.
///
/// Rows of equal file and line are one; of rows at one address the last one counts. Sequences of
/// code that the linker dropped start at 0 or elsewhere outside the text and are left out.
pub(crate) fn rows<'d>(
    program: gimli::IncompleteLineProgram<Slice<'d>>,
    text: &[Range<u64>],
    mut file: impl FnMut(u64) -> Result<u32, Failure>,
) -> Result<Vec<Row>, Failure> {
    let mut out: Vec<Row> = Vec::new();
    let mut sequence = 0;
    let mut wanted: Option<&Range<u64>> = None;
    let mut last = (u64::MAX, 0);
    let mut rows = program.rows();
    while let Some((_, row)) = rows.next_row()? {
        let address = row.address();
        if out.len() == sequence && !row.end_sequence() {
            wanted = range_of(text, address);
        }
        let Some(range) = wanted else { continue };
        if row.end_sequence() {
            if out.len() > sequence {
                let address = address.min(range.end);
                push(
                    &mut out,
                    sequence,
                    Row {
                        address,
                        file: END,
                        line: 0,
                    },
                );
            }
            sequence = out.len();
            wanted = None;
            continue;
        }
        if last.0 != row.file_index() {
            last = (row.file_index(), file(row.file_index())?);
        }
        let line = row.line().map_or(0, |line| line.get().min(1 << 31) as u32);
        push(
            &mut out,
            sequence,
            Row {
                address,
                file: last.1,
                line,
            },
        );
    }
    out.truncate(sequence); // a sequence without an end is not one
    Ok(out)
}

fn push(out: &mut Vec<Row>, sequence: usize, row: Row) {
    if let Some(last) = out[sequence..].last() {
        if last.address > row.address {
            return; // DWARF demands ascending addresses within a sequence
        }
        if (last.file, last.line) == (row.file, row.line) {
            return;
        }
        if last.address == row.address {
            out.pop();
            // What is left may now equal the new row.
            return push(out, sequence, row);
        }
    }
    out.push(row);
}

/// The range of `text` that holds an address.
pub(crate) fn range_of(text: &[Range<u64>], address: u64) -> Option<&Range<u64>> {
    let at = text.partition_point(|range| range.start <= address);
    text.get(at.checked_sub(1)?)
        .filter(|range| range.contains(&address))
}

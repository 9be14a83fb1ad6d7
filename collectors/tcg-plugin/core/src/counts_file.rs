//! The counts file, read by `profdiff.collectors.counts`. All numbers are little endian.
//!
//! | bytes | header |
//! |---|---|
//! | 8 | `PDCOUNTS` |
//! | 4 | version of this format: 1 |
//! | 4 | window: 0 none was opened, 1 the command, 2 the workload's marks |
//! | 8 | windows opened |
//! | 8 | windows closed |
//! | 8 | misplaced marks |
//! | 8 | number of records |
//!
//! A record is 32 bytes: address (8), count (8), length of the code (1), code (15). Records are
//! sorted by address, then code; counts are not zero.

use std::io::{self, Write};

use crate::slots::Place;
use crate::window::Window;

const MAGIC: &[u8; 8] = b"PDCOUNTS";
const VERSION: u32 = 1;

/// Write what was counted: the workload's own windows if it opened any, else the command's.
pub fn write(
    out: &mut impl Write,
    places: &[Place],
    command: &Window,
    marks: &Window,
) -> io::Result<()> {
    // A stray stop mark counts as a use of marks: its window never opened, which must be told.
    let (kind, window) = if marks.opened() + marks.misplaced() > 0 {
        (2u32, marks)
    } else {
        (u32::from(command.opened() > 0), command)
    };
    let mut records: Vec<(Place, u64)> = places
        .iter()
        .copied()
        .zip(window.sums().iter().copied())
        .filter(|(_, count)| *count > 0)
        .collect();
    records.sort_unstable_by_key(|(place, _)| *place);

    out.write_all(MAGIC)?;
    out.write_all(&VERSION.to_le_bytes())?;
    out.write_all(&kind.to_le_bytes())?;
    for number in [
        window.opened(),
        window.closed(),
        window.misplaced(),
        records.len() as u64,
    ] {
        out.write_all(&number.to_le_bytes())?;
    }
    for (place, count) in records {
        out.write_all(&place.address.to_le_bytes())?;
        out.write_all(&count.to_le_bytes())?;
        out.write_all(&[place.length])?;
        out.write_all(&place.code)?;
    }
    out.flush()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn marks_win_over_the_command_and_records_are_sorted() {
        let places = [
            Place::new(0xffff_ffff_8000_0000, &[0x90]),
            Place::new(0x40_0000, &[0xc3]),
            Place::new(0x30_0000, &[0xc3]),
        ];
        let (mut command, mut marks) = (Window::default(), Window::default());
        command.start(&[0, 0, 0]);
        marks.start(&[1, 1, 1]);
        marks.stop(&[3, 2, 1]);
        command.stop(&[9, 9, 9]);
        let mut bytes = Vec::new();
        write(&mut bytes, &places, &command, &marks).unwrap();
        assert_eq!(bytes.len(), 48 + 2 * 32);
        assert_eq!(bytes[12..16], 2u32.to_le_bytes());
        assert_eq!(bytes[40..48], 2u64.to_le_bytes());
        assert_eq!(bytes[48..56], 0x40_0000u64.to_le_bytes());
        assert_eq!(bytes[56..64], 1u64.to_le_bytes());
        assert_eq!(bytes[64..66], [1, 0xc3]);
        assert_eq!(bytes[80..88], 0xffff_ffff_8000_0000u64.to_le_bytes());
        assert_eq!(bytes[88..98], [2, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    }
}

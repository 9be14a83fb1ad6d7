//! The marking instructions: `nopl MARK(%rax)`, encoded `0f 1f 80` and MARK in little endian.
//!
//! They touch no memory and change no state, so a marked program runs the same everywhere.
//! `collectors/guest/profdiff.h` emits the same bytes.

/// What a mark does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// The workload opens its window.
    Start,
    /// The workload closes its window.
    Stop,
    /// The agent is about to start the command.
    CommandStart,
    /// The command has ended.
    CommandStop,
}

/// All marks; a mark's index here is what its callback is given.
pub const MARKS: [Mark; 4] = [
    Mark::Start,
    Mark::Stop,
    Mark::CommandStart,
    Mark::CommandStop,
];

const PREFIX: [u8; 3] = [0x0f, 0x1f, 0x80];
const FIRST: u32 = 0x5044_4901;

/// The index in [`MARKS`] of the mark that `code` encodes.
pub fn mark_index(code: &[u8]) -> Option<usize> {
    let operand = code.strip_prefix(&PREFIX)?;
    let operand = u32::from_le_bytes(operand.try_into().ok()?);
    let index = operand.checked_sub(FIRST)? as usize;
    (index < MARKS.len()).then_some(index)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_documented_bytes_are_marks() {
        for (last, mark) in [
            (0x01, Mark::Start),
            (0x02, Mark::Stop),
            (0x03, Mark::CommandStart),
            (0x04, Mark::CommandStop),
        ] {
            let code = [0x0f, 0x1f, 0x80, last, 0x49, 0x44, 0x50];
            assert_eq!(mark_index(&code).map(|i| MARKS[i]), Some(mark));
        }
    }

    #[test]
    fn other_nops_are_not() {
        assert_eq!(mark_index(&[0x0f, 0x1f, 0x80, 0, 0x49, 0x44, 0x50]), None);
        assert_eq!(mark_index(&[0x0f, 0x1f, 0x80, 5, 0x49, 0x44, 0x50]), None);
        assert_eq!(mark_index(&[0x0f, 0x1f, 0x80, 0, 0, 0, 0]), None);
        assert_eq!(mark_index(&[0x0f, 0x1f, 0x00]), None);
        assert_eq!(mark_index(&[]), None);
    }
}

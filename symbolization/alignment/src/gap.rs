//! Between anchors: the alignment with the highest score, where gaps cost when they open (Gotoh,
//! "An improved algorithm for matching biological sequences", 1982).

use std::ops::Range;

use crate::align::{Instruction, Kind, Pair};
use crate::matched::equal_runs;

/// What equal instructions are worth; those of one operation; more if they may be of one line.
/// A gap costs as much as half an equal instruction, so that a single one in the middle of other
/// code, which splits two gaps, is worth nothing unless the line says so.
const SAME: i32 = 8;
const OPERATION: i32 = 2;
const LINE: i32 = 1;
const OPEN: i32 = 4;
const NEVER: i32 = i32::MIN / 2;

/// Larger products of two lengths are cut at what a patience diff finds.
const MOST_CELLS: usize = 1 << 23;

/// Add the pairs of two ranges of code.
pub(crate) fn align(
    old: &[Instruction],
    new: &[Instruction],
    old_range: Range<usize>,
    new_range: Range<usize>,
    pairs: &mut Vec<Pair>,
) {
    let (inner_old, inner_new) = trimmed(old, new, old_range.clone(), new_range.clone());
    let same = |old, new| Pair {
        old,
        new,
        kind: Kind::Same,
    };
    pairs.extend(
        (old_range.start..inner_old.start)
            .zip(new_range.start..inner_new.start)
            .map(|(old, new)| same(old, new)),
    );
    if inner_old.len().saturating_mul(inner_new.len()) <= MOST_CELLS {
        best(old, new, inner_old.clone(), inner_new.clone(), pairs);
    } else {
        cut(old, new, inner_old.clone(), inner_new.clone(), pairs);
    }
    pairs.extend(
        (inner_old.end..old_range.end)
            .zip(inner_new.end..new_range.end)
            .map(|(old, new)| same(old, new)),
    );
}

/// The ranges without what is equal at their beginnings and ends.
fn trimmed(
    old: &[Instruction],
    new: &[Instruction],
    mut old_range: Range<usize>,
    mut new_range: Range<usize>,
) -> (Range<usize>, Range<usize>) {
    while !old_range.is_empty()
        && !new_range.is_empty()
        && old[old_range.start].key == new[new_range.start].key
    {
        old_range.start += 1;
        new_range.start += 1;
    }
    while !old_range.is_empty()
        && !new_range.is_empty()
        && old[old_range.end - 1].key == new[new_range.end - 1].key
    {
        old_range.end -= 1;
        new_range.end -= 1;
    }
    (old_range, new_range)
}

/// Cut what is too large at the equal runs of a patience diff, and align what is between them.
fn cut(
    old: &[Instruction],
    new: &[Instruction],
    old_range: Range<usize>,
    new_range: Range<usize>,
    pairs: &mut Vec<Pair>,
) {
    let keys = |code: &[Instruction]| code.iter().map(|one| one.key).collect::<Vec<_>>();
    let (mut old_at, mut new_at) = (old_range.start, new_range.start);
    let runs = equal_runs(
        &keys(&old[old_range.clone()]),
        &keys(&new[new_range.clone()]),
    );
    let end = (old_range.len(), new_range.len(), 0);
    for (start, other, length) in runs.into_iter().chain([end]) {
        let (start, other) = (old_range.start + start, new_range.start + other);
        if (start - old_at).saturating_mul(other - new_at) <= MOST_CELLS {
            best(old, new, old_at..start, new_at..other, pairs);
        }
        pairs.extend((0..length).map(|step| Pair {
            old: start + step,
            new: other + step,
            kind: Kind::Same,
        }));
        (old_at, new_at) = (start + length, other + length);
    }
}

/// What came before a cell: in each of the three states, which state.
#[derive(Clone, Copy)]
struct From(u8);

const PAIRED: u8 = 0;
const OLD_ONLY: u8 = 1;
const NEW_ONLY: u8 = 2;

fn best(
    old: &[Instruction],
    new: &[Instruction],
    old_range: Range<usize>,
    new_range: Range<usize>,
    pairs: &mut Vec<Pair>,
) {
    let (rows, columns) = (old_range.len(), new_range.len());
    if rows == 0 || columns == 0 {
        return;
    }
    let width = columns + 1;
    let mut from = vec![From(0); (rows + 1) * width];
    // Scores of the row above and of this row, in each state.
    let mut above = [vec![NEVER; width], vec![NEVER; width], vec![NEVER; width]];
    let mut here = above.clone();
    above[usize::from(PAIRED)][0] = 0;
    for column in 1..width {
        above[usize::from(NEW_ONLY)][column] = -OPEN;
        let before = if column == 1 { PAIRED } else { NEW_ONLY };
        from[column] = From(before << 4);
    }
    for row in 1..=rows {
        let one = &old[old_range.start + row - 1];
        for state in &mut here {
            state[0] = NEVER;
        }
        here[usize::from(OLD_ONLY)][0] = -OPEN;
        let before = if row == 1 { PAIRED } else { OLD_ONLY };
        from[row * width] = From(before << 2);
        for column in 1..width {
            let other = &new[new_range.start + column - 1];
            let (diagonal, paired) = highest([
                above[0][column - 1],
                above[1][column - 1],
                above[2][column - 1],
            ]);
            let (over, old_only) = highest([
                above[0][column] - OPEN,
                above[1][column],
                above[2][column] - OPEN,
            ]);
            let (beside, new_only) = highest([
                here[0][column - 1] - OPEN,
                here[1][column - 1] - OPEN,
                here[2][column - 1],
            ]);
            here[0][column] = worth(one, other).map_or(NEVER, |worth| diagonal + worth);
            here[1][column] = over;
            here[2][column] = beside;
            from[row * width + column] = From(paired | old_only << 2 | new_only << 4);
        }
        std::mem::swap(&mut above, &mut here);
    }
    let last = [above[0][columns], above[1][columns], above[2][columns]];
    let start = pairs.len();
    let (mut row, mut column, (_, mut state)) = (rows, columns, highest(last));
    while row > 0 || column > 0 {
        let before = from[row * width + column].0;
        match state {
            PAIRED => {
                (row, column) = (row - 1, column - 1);
                let (at, with) = (old_range.start + row, new_range.start + column);
                let same = old[at].key == new[with].key;
                pairs.push(Pair {
                    old: at,
                    new: with,
                    kind: if same { Kind::Same } else { Kind::Changed },
                });
                state = before & 3;
            }
            OLD_ONLY => {
                row -= 1;
                state = before >> 2 & 3;
            }
            _ => {
                column -= 1;
                state = before >> 4 & 3;
            }
        }
    }
    pairs[start..].reverse();
}

/// The highest score, and the state that has it: a pair only if it is better than none.
fn highest(scores: [i32; 3]) -> (i32, u8) {
    let mut found = (scores[1], OLD_ONLY);
    if scores[2] > found.0 {
        found = (scores[2], NEW_ONLY);
    }
    if scores[0] > found.0 {
        found = (scores[0], PAIRED);
    }
    found
}

fn worth(old: &Instruction, new: &Instruction) -> Option<i32> {
    let line = if old.line != 0 && old.line == new.line {
        LINE
    } else {
        0
    };
    if old.key == new.key {
        Some(SAME + line)
    } else if old.operation == new.operation {
        Some(OPERATION + line)
    } else {
        None
    }
}

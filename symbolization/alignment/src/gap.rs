//! Between anchors: the alignment with the highest score, where gaps cost when they open (Gotoh,
//! "An improved algorithm for matching biological sequences", 1982).

use std::ops::Range;

use crate::equal_runs::equal_runs;
use crate::instruction::Instruction;
use crate::pair::{Kind, Pair};
use crate::worth::{Worth, OPEN};

const NEVER: i32 = i32::MIN / 2;

/// Larger products of two lengths are cut at what a patience diff finds.
const MOST_CELLS: usize = 1 << 23;

/// What is aligned.
pub(crate) struct Codes<'c> {
    pub(crate) old: &'c [Instruction],
    pub(crate) new: &'c [Instruction],
    pub(crate) worth: &'c Worth,
}

/// Add the pairs of two ranges of code.
pub(crate) fn align(
    code: &Codes<'_>,
    old_range: Range<usize>,
    new_range: Range<usize>,
    pairs: &mut Vec<Pair>,
) {
    let (inner_old, inner_new) = trimmed(code, old_range.clone(), new_range.clone());
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
        best(code, inner_old.clone(), inner_new.clone(), pairs);
    } else {
        cut(code, inner_old.clone(), inner_new.clone(), pairs);
    }
    pairs.extend(
        (inner_old.end..old_range.end)
            .zip(inner_new.end..new_range.end)
            .map(|(old, new)| same(old, new)),
    );
}

/// The ranges without what is equal at their beginnings and ends.
fn trimmed(
    code: &Codes<'_>,
    mut old_range: Range<usize>,
    mut new_range: Range<usize>,
) -> (Range<usize>, Range<usize>) {
    let same = |at: usize, with: usize| {
        let (one, other) = (&code.old[at], &code.new[with]);
        (one.key, one.ran) == (other.key, other.ran)
    };
    while !old_range.is_empty() && !new_range.is_empty() && same(old_range.start, new_range.start) {
        old_range.start += 1;
        new_range.start += 1;
    }
    while !old_range.is_empty()
        && !new_range.is_empty()
        && same(old_range.end - 1, new_range.end - 1)
    {
        old_range.end -= 1;
        new_range.end -= 1;
    }
    (old_range, new_range)
}

/// Cut what is too large at the equal runs of a patience diff, and align what is between them.
fn cut(code: &Codes<'_>, old_range: Range<usize>, new_range: Range<usize>, pairs: &mut Vec<Pair>) {
    let keys = |code: &[Instruction]| code.iter().map(|one| one.key).collect::<Vec<_>>();
    let (mut old_at, mut new_at) = (old_range.start, new_range.start);
    let runs = equal_runs(
        &keys(&code.old[old_range.clone()]),
        &keys(&code.new[new_range.clone()]),
    );
    let end = (old_range.len(), new_range.len(), 0);
    for (start, other, length) in runs.into_iter().chain([end]) {
        let (start, other) = (old_range.start + start, new_range.start + other);
        if (start - old_at).saturating_mul(other - new_at) <= MOST_CELLS {
            best(code, old_at..start, new_at..other, pairs);
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

fn best(code: &Codes<'_>, old_range: Range<usize>, new_range: Range<usize>, pairs: &mut Vec<Pair>) {
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
        let one = &code.old[old_range.start + row - 1];
        for state in &mut here {
            state[0] = NEVER;
        }
        here[usize::from(OLD_ONLY)][0] = -OPEN;
        let before = if row == 1 { PAIRED } else { OLD_ONLY };
        from[row * width] = From(before << 2);
        for column in 1..width {
            let other = &code.new[new_range.start + column - 1];
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
            here[0][column] = code
                .worth
                .of_pair(one, other)
                .map_or(NEVER, |worth| diagonal + worth);
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
                let same = code.old[at].key == code.new[with].key;
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

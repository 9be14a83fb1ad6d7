//! Stacks as a table: stack `i` is stack `parent[i]` (-1: none) with `function[i]` on top. Parents
//! stand before their children.

/// The distinct stacks of a table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DistinctStacks {
    /// Per distinct stack, ordered by depth, then parent, then function.
    pub parent: Vec<i64>,
    /// Per distinct stack.
    pub function: Vec<i64>,
    /// Per distinct stack: how many frames are below the last.
    pub depth: Vec<i64>,
    /// Per stack of the table: which of these it is.
    pub place: Vec<i64>,
}

/// Make equal stacks one. None where a parent does not stand before its child, or a number is below
/// zero or above 2^32.
pub fn distinct_stacks(parent: &[i64], function: &[i64]) -> Option<DistinctStacks> {
    let depth = depths(parent)?;
    let (ends, order) = by_number(&depth);
    let mut out = DistinctStacks {
        place: vec![-1; parent.len()],
        ..DistinctStacks::default()
    };
    let mut level: Vec<(u64, u32)> = Vec::new();
    let mut start = 0;
    for (depth, end) in ends.into_iter().enumerate() {
        level.clear();
        for row in order.get(start..end)? {
            let at = *row as usize;
            let below = above(parent[at]).map_or(0, |parent| out.place[parent] + 1);
            let function = u32::try_from(*function.get(at)?).ok()?;
            level.push(((below as u64) << 32 | u64::from(function), *row));
        }
        level.sort_unstable();
        let mut last = None;
        for (key, row) in &level {
            if last != Some(*key) {
                out.parent.push((key >> 32) as i64 - 1);
                out.function.push((key & u64::from(u32::MAX)) as i64);
                out.depth.push(depth as i64);
                last = Some(*key);
            }
            out.place[*row as usize] = out.parent.len() as i64 - 1;
        }
        start = end;
    }
    Some(out)
}

/// Add to `counts`, `columns` for each stack, those of all stacks on top of it. None where a parent
/// does not stand before its child, or the lengths do not fit.
pub fn add_to_parents(parent: &[i64], counts: &mut [i64], columns: usize) -> Option<()> {
    if parent.len().checked_mul(columns)? != counts.len() {
        return None;
    }
    for (row, parent) in parent.iter().enumerate().rev() {
        let Some(parent) = above(*parent) else {
            continue;
        };
        let (before, mine) = counts.split_at_mut_checked(row * columns)?;
        let below = before.get_mut(parent * columns..(parent + 1) * columns)?;
        for (sum, count) in below.iter_mut().zip(mine) {
            *sum = sum.wrapping_add(*count);
        }
    }
    Some(())
}

/// Per stack: the nearest one below it with the same function on top, or -1. Functions are numbers
/// below `functions`. None where one is not, or a parent does not stand before its child.
pub fn outer_calls(parent: &[i64], function: &[i64], functions: usize) -> Option<Vec<i64>> {
    let mut last = vec![-1i64; functions];
    let mut outer = vec![-1i64; parent.len()];
    // Children side by side; the roots come first.
    let mut shifted = Vec::with_capacity(parent.len());
    for (row, parent) in parent.iter().enumerate() {
        if *parent >= row as i64 {
            return None;
        }
        shifted.push(above(*parent).map_or(0, |parent| parent as u32 + 1));
    }
    let (ends, children) = by_number(&shifted);
    let below = |number: usize| -> &[u32] {
        let end = ends.get(number).copied().unwrap_or(children.len());
        let start = number.checked_sub(1).and_then(|before| ends.get(before));
        let start = start.copied().unwrap_or(if number == 0 { 0 } else { end });
        children.get(start..end).unwrap_or_default()
    };
    // What is to be entered, and left after all on top of it.
    let mut pending: Vec<(u32, bool)> = below(0).iter().map(|row| (*row, true)).collect();
    while let Some((row, entered)) = pending.pop() {
        let at = row as usize;
        let known = last.get_mut(usize::try_from(*function.get(at)?).ok()?)?;
        if !entered {
            *known = outer[at];
            continue;
        }
        outer[at] = *known;
        *known = i64::from(row);
        pending.push((row, false));
        pending.extend(below(at + 1).iter().map(|row| (*row, true)));
    }
    Some(outer)
}

fn above(parent: i64) -> Option<usize> {
    usize::try_from(parent).ok()
}

fn depths(parent: &[i64]) -> Option<Vec<u32>> {
    u32::try_from(parent.len()).ok()?;
    let mut depths: Vec<u32> = Vec::with_capacity(parent.len());
    for parent in parent {
        let below = match above(*parent) {
            Some(parent) => *depths.get(parent)? + 1,
            None => 0,
        };
        depths.push(below);
    }
    Some(depths)
}

/// The rows by their number, lowest first, and where those of each number end.
fn by_number(numbers: &[u32]) -> (Vec<usize>, Vec<u32>) {
    let most = numbers.iter().max().map_or(0, |most| *most as usize + 1);
    let mut next = vec![0usize; most + 1];
    for number in numbers {
        next[*number as usize + 1] += 1;
    }
    for number in 1..next.len() {
        next[number] += next[number - 1];
    }
    let mut order = vec![0u32; numbers.len()];
    for (row, number) in numbers.iter().enumerate() {
        let place = &mut next[*number as usize];
        order[*place] = row as u32;
        *place += 1;
    }
    next.pop();
    (next, order)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_stacks_become_one() {
        // 7, 7;3, 7 again, 7;3 on that, 2.
        let out = distinct_stacks(&[-1, 0, -1, 2, -1], &[7, 3, 7, 3, 2]);
        let out = out.unwrap_or_default();
        assert_eq!(out.parent, [-1, -1, 1]);
        assert_eq!(out.function, [2, 7, 3]);
        assert_eq!(out.depth, [0, 0, 1]);
        assert_eq!(out.place, [1, 2, 1, 2, 0]);
        assert_eq!(distinct_stacks(&[], &[]), Some(DistinctStacks::default()));
    }

    #[test]
    fn counts_are_added_to_all_below() {
        let mut counts = [1, 10, 2, 20, 4, 40, i64::MAX, 0];
        assert_eq!(add_to_parents(&[-1, 0, 1, -1], &mut counts, 2), Some(()));
        assert_eq!(counts, [7, 70, 6, 60, 4, 40, i64::MAX, 0]);
    }

    #[test]
    fn outer_calls_are_the_nearest() {
        // 5;6;5;5 and 5;6;6, and 5 alone with 6 on it, which is called in nothing of the first.
        let parent = [-1, 0, 1, 2, 1, -1, 5];
        let function = [5, 6, 5, 5, 6, 6, 5];
        let outer = outer_calls(&parent, &function, 7);
        assert_eq!(outer, Some(vec![-1, -1, 0, 2, 1, -1, -1]));
        assert_eq!(outer_calls(&[], &[], 0), Some(vec![]));
    }

    #[test]
    fn tables_that_are_none_are_refused() {
        for parent in [[0, -1], [1, -1], [-1, 1], [-1, 7]] {
            assert_eq!(distinct_stacks(&parent, &[0, 0]), None);
            assert_eq!(outer_calls(&parent, &[0, 0], 1), None);
            assert_eq!(add_to_parents(&parent, &mut [1, 1], 1), None);
        }
        assert_eq!(distinct_stacks(&[-1], &[-1]), None);
        assert_eq!(distinct_stacks(&[-1], &[1 << 32]), None);
        assert_eq!(distinct_stacks(&[-1], &[]), None);
        assert_eq!(outer_calls(&[-1], &[3], 3), None);
        assert_eq!(outer_calls(&[-1], &[], 3), None);
        assert_eq!(add_to_parents(&[-1], &mut [1, 1], 1), None);
    }
}

use similar::{capture_diff_slices, Algorithm, DiffOp};

/// For each item of `old` the item of `new` that is the same one, by a patience diff: both rise.
pub fn matched(old: &[u32], new: &[u32]) -> Vec<Option<usize>> {
    let mut found = vec![None; old.len()];
    for (start, other, length) in equal_runs(old, new) {
        for step in 0..length {
            found[start + step] = Some(other + step);
        }
    }
    found
}

/// Runs of equal items as (where in old, where in new, length), in order.
pub(crate) fn equal_runs(old: &[u32], new: &[u32]) -> Vec<(usize, usize, usize)> {
    let operations = capture_diff_slices(Algorithm::Patience, old, new);
    let equal = operations
        .into_iter()
        .filter_map(|operation| match operation {
            DiffOp::Equal {
                old_index,
                new_index,
                len,
            } => Some((old_index, new_index, len)),
            _ => None,
        });
    equal.collect()
}

#[cfg(test)]
mod tests {
    use super::matched;

    #[test]
    fn unique_items_are_anchors() {
        // A brace between two functions belongs to the function that it closes.
        let (old, new) = ([1, 9, 2, 9], [3, 9, 1, 9, 2, 9]);
        assert_eq!(matched(&old, &new), [Some(2), Some(3), Some(4), Some(5)]);
    }

    #[test]
    fn nothing_matches_nothing() {
        assert_eq!(matched(&[], &[1]), []);
        assert_eq!(matched(&[1, 2], &[]), [None, None]);
        assert_eq!(matched(&[1], &[2]), [None]);
    }
}

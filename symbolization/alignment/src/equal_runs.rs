use similar::{capture_diff_slices, Algorithm, DiffOp};

/// Runs of equal items by a patience diff, as (where in old, where in new, length), in order.
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
    use super::equal_runs;

    #[test]
    fn unique_items_are_anchors() {
        // A brace between two functions belongs to the function that it closes.
        let (old, new) = ([1, 9, 2, 9], [3, 9, 1, 9, 2, 9]);
        assert_eq!(equal_runs(&old, &new), [(0, 2, 4)]);
    }

    #[test]
    fn nothing_equals_nothing() {
        assert_eq!(equal_runs(&[], &[1]), []);
        assert_eq!(equal_runs(&[1, 2], &[]), []);
        assert_eq!(equal_runs(&[1], &[2]), []);
    }
}

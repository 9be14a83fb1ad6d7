use std::collections::HashMap;

use crate::instruction::Instruction;
use crate::pair::{Kind, Pair};
use crate::worth::{Worth, SURE};

/// As many equal instructions in a row, which are left over once on each side, are the same code.
const SEED: usize = 3;

/// Add pairs of code that stands elsewhere: what is left over on both sides and equal.
pub(crate) fn add(old: &[Instruction], new: &[Instruction], worth: &Worth, pairs: &mut Vec<Pair>) {
    let mut old_left = vec![true; old.len()];
    let mut new_left = vec![true; new.len()];
    for pair in pairs.iter() {
        old_left[pair.old] = false;
        new_left[pair.new] = false;
    }
    let (in_old, in_new) = (seeds(old, &old_left), seeds(new, &new_left));
    for start in 0..old.len().saturating_sub(SEED - 1) {
        let keys = old[start..start + SEED].iter().map(|one| one.key);
        let keys: Vec<u32> = keys.collect();
        let (Some(Some(at)), Some(Some(other))) = (in_old.get(&keys), in_new.get(&keys)) else {
            continue;
        };
        let equal = |old_at: usize, new_at: usize, old_left: &[bool], new_left: &[bool]| {
            old_at < old.len()
                && new_at < new.len()
                && old_left[old_at]
                && new_left[new_at]
                && old[old_at].key == new[new_at].key
        };
        let whole = (0..SEED).all(|step| equal(at + step, other + step, &old_left, &new_left));
        let sure = keys.iter().map(|key| worth.of_key(*key)).sum::<i32>() >= SURE;
        if *at != start || !whole || !sure {
            continue;
        }
        let (mut first, mut second) = (*at, *other);
        while first > 0 && second > 0 && equal(first - 1, second - 1, &old_left, &new_left) {
            (first, second) = (first - 1, second - 1);
        }
        while equal(first, second, &old_left, &new_left) {
            pairs.push(Pair {
                old: first,
                new: second,
                kind: Kind::Moved,
            });
            (old_left[first], new_left[second]) = (false, false);
            (first, second) = (first + 1, second + 1);
        }
    }
}

/// Where each sequence of keys is left over, None where it is so more than once.
fn seeds(code: &[Instruction], left: &[bool]) -> HashMap<Vec<u32>, Option<usize>> {
    let mut found = HashMap::new();
    for (at, window) in code.windows(SEED).enumerate() {
        if left[at..at + SEED].iter().all(|free| *free) {
            let keys = window.iter().map(|one| one.key).collect();
            found
                .entry(keys)
                .and_modify(|place| *place = None)
                .or_insert(Some(at));
        }
    }
    found
}

use crate::instruction::Instruction;
use crate::pair::{Kind, Pair};
use crate::worth::Worth;
use crate::{anchors, gap, moved};

/// Pairs of instructions, by their number in the old code; each is in one pair at most. With old and
/// new swapped, the pairs are the same ones, if equal keys mean the same and compare alike.
pub fn align(old: &[Instruction], new: &[Instruction]) -> Vec<Pair> {
    // If several ways are equally good, the choice does not depend on which code is the old one.
    let swapped = new < old;
    let (first, second) = if swapped { (new, old) } else { (old, new) };
    let worth = Worth::new(first, second);
    let mut pairs = in_order(first, second, &worth);
    moved::add(first, second, &worth, &mut pairs);
    for pair in &mut pairs {
        if swapped {
            std::mem::swap(&mut pair.old, &mut pair.new);
        }
    }
    pairs.sort_unstable();
    pairs
}

fn in_order(old: &[Instruction], new: &[Instruction], worth: &Worth) -> Vec<Pair> {
    let mut pairs = Vec::new();
    let code = gap::Codes { old, new, worth };
    let (mut old_at, mut new_at) = (0, 0);
    for (old_start, new_start, length) in anchors::blocks(old, new) {
        gap::align(&code, old_at..old_start, new_at..new_start, &mut pairs);
        pairs.extend((0..length).map(|step| Pair {
            old: old_start + step,
            new: new_start + step,
            kind: Kind::Same,
        }));
        (old_at, new_at) = (old_start + length, new_start + length);
    }
    gap::align(&code, old_at..old.len(), new_at..new.len(), &mut pairs);
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(keys: &[u32]) -> Vec<Instruction> {
        let with_block = |(at, key): (usize, &u32)| Instruction {
            key: *key,
            operation: *key / 10,
            line: 0,
            starts_block: at == 0,
            ran: true,
        };
        keys.iter().enumerate().map(with_block).collect()
    }

    fn told(pairs: &[Pair]) -> Vec<(usize, usize, Kind)> {
        pairs.iter().map(|p| (p.old, p.new, p.kind)).collect()
    }

    #[test]
    fn other_operands_of_one_operation_are_changed() {
        let (old, new) = (code(&[10, 20, 30]), code(&[10, 21, 30]));
        let wanted = [
            (0, 0, Kind::Same),
            (1, 1, Kind::Changed),
            (2, 2, Kind::Same),
        ];
        assert_eq!(told(&align(&old, &new)), wanted);
    }

    #[test]
    fn one_equal_instruction_within_other_code_is_chance() {
        let old = code(&[10, 100, 110, 50, 120, 130, 20]);
        let new = code(&[10, 200, 210, 50, 220, 230, 20]);
        let wanted = [(0, 0, Kind::Same), (6, 6, Kind::Same)];
        assert_eq!(told(&align(&old, &new)), wanted);
    }

    #[test]
    fn what_was_executed_belongs_to_what_was_executed() {
        // The same instructions twice in one, once in the other.
        let mut old = code(&[10, 20, 30, 400, 10, 20, 30, 410]);
        let new = code(&[10, 20, 30, 420]);
        for one in &mut old[..4] {
            one.ran = false;
        }
        let wanted = [(4, 0, Kind::Same), (5, 1, Kind::Same), (6, 2, Kind::Same)];
        assert_eq!(told(&align(&old, &new))[..3], wanted);
    }

    #[test]
    fn a_block_that_was_moved_is_found() {
        let old = code(&[10, 20, 30, 40, 500, 510, 520, 530]);
        let new = code(&[500, 510, 520, 530, 10, 20, 30, 40]);
        let pairs = align(&old, &new);
        assert_eq!(pairs.len(), 8);
        assert_eq!(pairs.iter().filter(|p| p.kind == Kind::Moved).count(), 4);
    }

    #[test]
    fn large_gaps_are_aligned_too() {
        let old: Vec<u32> = (0..6_000).map(|n| n * 10).collect();
        let mut new = old.clone();
        new[3_000] += 1;
        new.insert(1_500, 999_990);
        // What is before and behind differs, so that nothing can be cut off.
        let (mut old, mut new) = (code(&old), code(&new));
        for (code, mark) in [(&mut old, 7), (&mut new, 8)] {
            let end = code.len() - 1;
            for at in [0, end] {
                code[at].key = mark;
                code[at].operation = mark;
            }
        }
        let pairs = align(&old, &new);
        let same = pairs.iter().filter(|p| p.kind == Kind::Same).count();
        assert_eq!(same, 5_997);
        assert!(pairs.contains(&Pair {
            old: 3_000,
            new: 3_001,
            kind: Kind::Changed
        }));
    }
}

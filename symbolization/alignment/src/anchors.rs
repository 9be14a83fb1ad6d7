use std::collections::HashMap;
use std::ops::Range;

use crate::equal_runs::equal_runs;
use crate::instruction::Instruction;

/// Shorter blocks are alike by chance.
const FEWEST: usize = 3;

/// Basic blocks that both have, once each, in the same order: where they start in old and new, and
/// their length.
pub(crate) fn blocks(old: &[Instruction], new: &[Instruction]) -> Vec<(usize, usize, usize)> {
    let (old_blocks, new_blocks) = (split(old), split(new));
    let mut numbers: HashMap<Vec<u32>, u32> = HashMap::new();
    let mut number = |code: &[Instruction], block: &Range<usize>| {
        let keys = code[block.clone()].iter().map(|one| one.key).collect();
        let next = numbers.len() as u32;
        *numbers.entry(keys).or_insert(next)
    };
    let old_numbers: Vec<u32> = old_blocks.iter().map(|b| number(old, b)).collect();
    let new_numbers: Vec<u32> = new_blocks.iter().map(|b| number(new, b)).collect();
    let (in_old, in_new) = (times(&old_numbers), times(&new_numbers));
    let once = |number: &u32| in_old.get(number) == Some(&1) && in_new.get(number) == Some(&1);
    let kept = |blocks: &[Range<usize>], numbers: &[u32]| -> Vec<usize> {
        (0..blocks.len())
            .filter(|at| blocks[*at].len() >= FEWEST && once(&numbers[*at]))
            .collect()
    };
    let old_kept = kept(&old_blocks, &old_numbers);
    let new_kept = kept(&new_blocks, &new_numbers);
    let pick = |numbers: &[u32], kept: &[usize]| -> Vec<u32> {
        kept.iter().map(|at| numbers[*at]).collect()
    };
    let runs = equal_runs(
        &pick(&old_numbers, &old_kept),
        &pick(&new_numbers, &new_kept),
    );
    let mut found = Vec::new();
    for (start, other, length) in runs {
        for step in 0..length {
            let block = &old_blocks[old_kept[start + step]];
            let same = &new_blocks[new_kept[other + step]];
            found.push((block.start, same.start, block.len()));
        }
    }
    found
}

fn split(code: &[Instruction]) -> Vec<Range<usize>> {
    let mut starts: Vec<usize> = (0..code.len())
        .filter(|at| *at == 0 || code[*at].starts_block)
        .collect();
    starts.push(code.len());
    starts.windows(2).map(|pair| pair[0]..pair[1]).collect()
}

fn times(numbers: &[u32]) -> HashMap<u32, u32> {
    let mut found = HashMap::new();
    for number in numbers {
        *found.entry(*number).or_insert(0) += 1;
    }
    found
}

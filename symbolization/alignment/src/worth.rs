use std::collections::HashMap;

use crate::instruction::Instruction;

/// A gap costs as much as half a telling instruction: a single one in the middle of other code, which
/// splits two gaps, is chance unless the line says more.
pub(crate) const OPEN: i32 = 4;
const TELLING: i32 = 8;
const COMMON: i32 = 6;
const OPERATION: i32 = 2;
const LINE: i32 = 2;
const RAN: i32 = 2;

/// Instructions that are there more often, in both codes together, say less.
const OFTEN: u32 = 4;

/// What it is worth to pair instructions of two codes.
pub(crate) struct Worth(HashMap<u32, u32>);

impl Worth {
    pub(crate) fn new(old: &[Instruction], new: &[Instruction]) -> Self {
        let mut times = HashMap::new();
        for one in old.iter().chain(new) {
            *times.entry(one.key).or_insert(0) += 1;
        }
        Worth(times)
    }

    /// The worth of instructions with this key, whatever else they are.
    pub(crate) fn of_key(&self, key: u32) -> i32 {
        if self.0.get(&key).is_some_and(|times| *times > OFTEN) {
            COMMON
        } else {
            TELLING
        }
    }

    /// The worth of two instructions; none if they do not even have one operation.
    pub(crate) fn of_pair(&self, old: &Instruction, new: &Instruction) -> Option<i32> {
        let worth = if old.key == new.key {
            self.of_key(old.key)
        } else if old.operation == new.operation {
            OPERATION
        } else {
            return None;
        };
        let line = if old.line != 0 && old.line == new.line {
            LINE
        } else {
            0
        };
        let ran = if old.ran == new.ran { 0 } else { RAN };
        Some(worth + line - ran)
    }
}

/// Equal instructions that are worth as much in a row are the same code wherever they stand.
pub(crate) const SURE: i32 = 2 * COMMON + TELLING;

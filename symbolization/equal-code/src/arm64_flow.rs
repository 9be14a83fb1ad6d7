//! AArch64: with what in its registers each instruction may be reached.

use hashbrown::{HashMap, HashSet};

use crate::arm64_held::{Registers, NOTHING, REGISTERS, UNCLEAR};
use crate::arm64_machine::Machine;
use crate::arm64_words::{jump, leaves, words, LENGTH};

/// What is known around the code.
pub(crate) struct Around<'a> {
    /// Other pieces of code that it jumps into, or that jump into it, with their addresses.
    pub(crate) others: &'a [(Vec<u8>, u64)],
    /// From where to where execution gets without a branch that stands there.
    pub(crate) hidden: &'a [(u64, u64)],
    /// It is entered with registers that hold what nobody knows.
    pub(crate) entered: bool,
    /// Equal for addresses of one variable.
    pub(crate) key: &'a dyn Fn(u64) -> u64,
    /// Whether a number is an address of the kernel.
    pub(crate) knows: &'a dyn Fn(u64) -> bool,
    /// The pointer that is at an address.
    pub(crate) pointer: &'a dyn Fn(u64) -> Option<u64>,
}

/// How often each instruction is executed at most until nothing new is found, and how many targets
/// of branches a function has. Honest ones have far fewer.
const MOST_STEPS: usize = 256;
const MOST_TARGETS: usize = 1 << 16;

pub(crate) struct Flow<'a> {
    pieces: Vec<(&'a [u8], u64)>,
    around: &'a Around<'a>,
    /// What may be held before each instruction that a branch leads to.
    before: HashMap<u64, Registers>,
    /// Instructions that a branch leads to, or where one begins to execute.
    targets: HashSet<u64>,
    /// From where execution gets to another place without a branch that stands there.
    hidden: HashMap<u64, Vec<u64>>,
    waiting: Vec<u64>,
    /// Where ADRP stand that something used.
    pub(crate) used: HashSet<u64>,
    visited: HashSet<u64>,
    steps: usize,
    /// The piece and the instruction before which each one was executed.
    cursor: (usize, usize),
}

impl<'a> Flow<'a> {
    pub(crate) fn new(code: &'a [u8], address: u64, around: &'a Around<'a>) -> Self {
        let mut pieces = vec![(code, address)];
        pieces.extend(around.others.iter().map(|(code, at)| (&code[..], *at)));
        let mut hidden: HashMap<u64, Vec<u64>> = HashMap::new();
        for (from, to) in around.hidden {
            hidden.entry(*from).or_default().push(*to);
        }
        let instructions: usize = pieces.iter().map(|(code, _)| code.len() / LENGTH).sum();
        Flow {
            pieces,
            around,
            before: HashMap::new(),
            targets: HashSet::new(),
            hidden,
            waiting: Vec::new(),
            used: HashSet::new(),
            visited: HashSet::new(),
            steps: instructions.saturating_mul(MOST_STEPS),
            cursor: (0, 0),
        }
    }

    /// What may be held before an instruction, where that is not what the one before it leaves.
    pub(crate) fn before(&self, at: u64) -> Option<&Registers> {
        self.before.get(&at)
    }

    /// Follow all paths. Returns whether that was done to the end.
    pub(crate) fn run(&mut self, machine: &mut Machine<'_>) -> bool {
        self.find_targets();
        if self.targets.len() > MOST_TARGETS {
            return false;
        }
        let entry = match self.around.entered {
            true => [UNCLEAR; REGISTERS],
            false => [NOTHING; REGISTERS],
        };
        // Another piece is entered from this one, or this one from it.
        let first = self.pieces[0].1;
        self.reach(first, &entry, machine);
        for (_, start) in self.around.others {
            if !self.around.hidden.iter().any(|(_, to)| to == start) {
                self.reach(*start, &[NOTHING; REGISTERS], machine);
            }
        }
        let mut anywhere = [NOTHING; REGISTERS];
        let mut indirect: Option<Registers> = None;
        loop {
            while let Some(at) = self.waiting.pop() {
                if !self.follow(at, machine, &mut anywhere, &mut indirect) {
                    return false;
                }
            }
            if std::mem::take(&mut machine.spilled) {
                self.waiting.extend(self.before.keys().copied());
                self.waiting.sort_unstable_by(|a, b| b.cmp(a));
                continue;
            }
            // What nothing leads to is where an indirect branch goes, or else anything may be held.
            let Some(orphan) = self.orphan() else {
                return true;
            };
            let held = match indirect {
                Some(held) => held,
                None => anywhere.map(|set| if set == NOTHING { NOTHING } else { UNCLEAR }),
            };
            self.before.insert(orphan, held);
            self.waiting.push(orphan);
        }
    }

    fn find_targets(&mut self) {
        for (code, start) in &self.pieces {
            let every = words(code, *start);
            self.targets
                .extend(every.filter_map(|(here, word)| jump(word, here)));
        }
        self.targets.extend(self.hidden.values().flatten());
    }

    fn word(&self, at: u64) -> Option<u32> {
        let mut pieces = self.pieces.iter();
        pieces.find_map(|(code, start)| {
            let offset = usize::try_from(at.checked_sub(*start)?).ok()?;
            let bytes = code.get(offset..offset.checked_add(LENGTH)?)?;
            let word = bytes.try_into().ok().map(u32::from_le_bytes);
            word.filter(|_| offset % LENGTH == 0)
        })
    }

    /// The first instruction that was never executed.
    fn orphan(&mut self) -> Option<u64> {
        while let Some((code, start)) = self.pieces.get(self.cursor.0) {
            match words(code, *start).nth(self.cursor.1) {
                Some((here, word)) if word != 0 && !self.visited.contains(&here) => {
                    return Some(here);
                }
                Some(_) => self.cursor.1 += 1,
                None => self.cursor = (self.cursor.0 + 1, 0),
            }
        }
        None
    }

    /// Add what registers may hold at an instruction, which is then executed again if that is more.
    fn reach(&mut self, at: u64, held: &Registers, machine: &mut Machine<'_>) {
        if self.word(at).is_none() {
            return;
        }
        let grown = match self.before.get_mut(&at) {
            Some(known) => machine.sets.meet(known, held),
            None => {
                self.before.insert(at, *held);
                true
            }
        };
        if grown {
            self.waiting.push(at);
        }
    }

    /// Execute from an instruction on to the next that a branch leads to.
    fn follow(
        &mut self,
        start: u64,
        machine: &mut Machine<'_>,
        anywhere: &mut Registers,
        indirect: &mut Option<Registers>,
    ) -> bool {
        let mut held = self.before[&start];
        let mut at = start;
        loop {
            let Some(word) = self.word(at) else {
                return true;
            };
            let Some(left) = self.steps.checked_sub(1) else {
                return false;
            };
            self.steps = left;
            self.visited.insert(at);
            for to in self.hidden.get(&at).cloned().unwrap_or_default() {
                self.reach(to, &held, machine);
            }
            let found = machine.step(word, at, &mut held);
            self.used.extend(found.used);
            machine.sets.meet(anywhere, &held);
            if let Some(target) = jump(word, at) {
                self.reach(target, &held, machine);
            }
            if word & 0xfe00_0000 == 0xd600_0000 && word >> 21 & 0b11 == 0b00 {
                let known = indirect.get_or_insert(held);
                machine.sets.meet(known, &held);
            }
            if leaves(word) || word >> 26 == 0b00_0101 {
                return true;
            }
            at = at.wrapping_add(LENGTH as u64);
            if self.targets.contains(&at) || self.before.contains_key(&at) {
                self.reach(at, &held, machine);
                return true;
            }
        }
    }
}

//! What an AArch64 instruction does with the addresses that registers and the stack may hold.

use hashbrown::HashMap;

use crate::arm64_held::{Registers, Set, Sets, Value, NOTHING, UNCLEAR};
use crate::arm64_registers::effects;
use crate::arm64_words::{beside, branch, field, has_low_part, is_call, is_move, is_page, offset};
use crate::reference::Use;

/// The stack pointer, or the register that is always 0.
const STACK: usize = 31;
/// What GCC makes of the stack pointer.
const FRAME: usize = 29;

/// What an instruction does with addresses.
#[derive(Default)]
pub(crate) struct Found {
    pub(crate) references: Vec<(u64, Use)>,
    /// Bits of the word that are part of an address.
    pub(crate) mask: u32,
    /// Where ADRP stand whose pages it completes.
    pub(crate) used: Vec<u64>,
    /// It uses what is not known to be one address.
    pub(crate) unresolved: bool,
}

/// What registers and the stack may hold.
pub(crate) struct Machine<'a> {
    pub(crate) sets: Sets<'a>,
    /// What was stored beside the stack pointer.
    slots: HashMap<i64, Set>,
    /// Whether a slot got more than it had.
    pub(crate) spilled: bool,
}

impl<'a> Machine<'a> {
    pub(crate) fn new(sets: Sets<'a>) -> Self {
        Machine {
            sets,
            slots: HashMap::new(),
            spilled: false,
        }
    }

    /// Execute an instruction.
    pub(crate) fn step(&mut self, word: u32, here: u64, held: &mut Registers) -> Found {
        let mut found = Found::default();
        let d = (word & 0x1f) as usize;
        if let Some((target, mask)) = branch(word, here) {
            found.mask = mask;
            found.references.push((target, Use::Branch));
            found.unresolved = self.page_in(effects(word).reads, held);
            if is_call(word) {
                called(held);
            }
            return found;
        }
        if word & 0x3b00_0000 == 0x1800_0000 {
            // A literal of LDR, LDRSW and vectors, or PRFM.
            let size = match word >> 30 {
                0b01 => 8,
                0b10 if word >> 26 & 1 == 1 => 16,
                _ => 4,
            };
            found.mask = 0x00ff_ffe0;
            let target = here.wrapping_add_signed(field(word, 5, 19) << 2);
            found.references.push((target, Use::Access(size)));
            if word >> 26 & 1 == 0 {
                held[d] = NOTHING;
            }
        } else if let Some(address) = beside(word, here) {
            found.mask = 0x60ff_ffe0;
            let value = if is_page(word) {
                Value::Page(address, here)
            } else {
                found.references.push((address, Use::Address));
                Value::Address(address)
            };
            held[d] = self.sets.set(vec![value]);
        } else {
            self.follow(word, held, &mut found);
        }
        held[STACK] = NOTHING;
        found
    }

    fn page_in(&self, registers: u32, held: &Registers) -> bool {
        let mut every = held.iter().enumerate();
        every.any(|(number, set)| registers >> number & 1 == 1 && self.sets.has_page(*set))
    }

    /// An instruction that is neither a direct branch nor makes an address of its own.
    fn follow(&mut self, word: u32, held: &mut Registers, found: &mut Found) {
        let (d, n, m) = (
            (word & 0x1f) as usize,
            (word >> 5 & 0x1f) as usize,
            (word >> 16 & 0x1f) as usize,
        );
        let effects = effects(word);
        if is_move(word) {
            held[d] = held[m];
            return;
        }
        if word & 0xffe0_0800 == 0x9a80_0000 {
            // CSEL, CSINC.
            held[d] = self.sets.join(held[n], held[m]);
            return;
        }
        if let Some((offset, how)) = offset(word) {
            let result = self.add(word, offset, how, held[n], found);
            let rest = effects.reads & !(1 << n);
            found.unresolved |= self.page_in(rest, held);
            self.store(word, effects.stores, offset, held, found);
            let memory = how != Use::Address;
            let loaded = memory.then(|| self.loaded(word, effects.writes, offset));
            for (number, one) in held.iter_mut().enumerate() {
                if effects.writes >> number & 1 == 1 {
                    *one = NOTHING;
                }
            }
            for (register, set) in loaded.into_iter().flatten() {
                held[register] = set;
            }
            if !memory {
                held[d] = result;
            }
            return;
        }
        found.unresolved |= self.page_in(effects.reads | effects.stores, held);
        let result = self.index(word, held);
        // What a call, or an access with an index, does not tell, was told where the address was made.
        for (number, one) in held.iter_mut().enumerate() {
            if effects.writes >> number & 1 == 1 {
                *one = NOTHING;
            }
        }
        if let Some(result) = result {
            held[d] = result;
        }
        if word & 0xfe00_0000 == 0xd600_0000 && word >> 21 & 0b11 == 0b01 {
            called(held); // BLR
        }
    }

    /// The sum of a number and each of what a register may hold.
    fn add(&mut self, word: u32, offset: i64, how: Use, base: Set, found: &mut Found) -> Set {
        found.unresolved |= base == UNCLEAR;
        let mut sums = Vec::new();
        for value in self.sets.values(base) {
            let sum = match value {
                Value::Page(page, maker) => {
                    if !has_low_part(word) {
                        found.unresolved = true;
                        continue;
                    }
                    found.mask = 0x003f_fc00;
                    found.used.push(maker);
                    page.wrapping_add_signed(offset)
                }
                Value::Address(address) => address.wrapping_add_signed(offset),
            };
            if !found.references.contains(&(sum, how)) {
                found.references.push((sum, how));
            }
            sums.push(Value::Address(sum));
        }
        self.sets.set(sums)
    }

    /// An address to which a register is added leads into the same variable, or beside it.
    fn index(&mut self, word: u32, held: &Registers) -> Option<Set> {
        let [n, m, a] = [5, 16, 10].map(|lowest| held[(word >> lowest & 0x1f) as usize]);
        let sum = word & 0xdf20_0000 == 0x8b00_0000 || word & 0xdfe0_0000 == 0x8b20_0000;
        let product = word & 0x7f00_0000 == 0x1b00_0000;
        let masked = word & 0xff80_0000 == 0x9200_0000 || word & 0xff80_0000 == 0xb200_0000;
        let either = match (sum, product, masked) {
            (true, ..) if word >> 30 & 1 == 0 => self.sets.join(n, m),
            (true, ..) => n,
            (_, true, _) => a,
            (.., true) => n,
            _ => return None,
        };
        Some(self.sets.addresses(either))
    }

    /// What is stored beside the stack pointer comes back from there; elsewhere it is lost.
    fn store(&mut self, word: u32, stored: u32, offset: i64, held: &Registers, found: &mut Found) {
        for (register, place) in slots(word, offset) {
            let set = held[register];
            if stored >> register & 1 == 0 || set == NOTHING {
                continue;
            }
            if !beside_stack(word) {
                found.unresolved |= self.sets.has_page(set);
                continue;
            }
            let known = self.slots.get(&place).copied().unwrap_or(NOTHING);
            let joined = self.sets.join(known, set);
            if joined != known {
                self.slots.insert(place, joined);
                self.spilled = true;
            }
        }
    }

    fn loaded(&self, word: u32, written: u32, offset: i64) -> Vec<(usize, Set)> {
        if !beside_stack(word) {
            return Vec::new();
        }
        let every = slots(word, offset).into_iter();
        every
            .filter(|(register, _)| written >> register & 1 == 1)
            .filter_map(|(register, place)| Some((register, *self.slots.get(&place)?)))
            .collect()
    }
}

/// The registers that a load or store moves, and where to beside its base.
fn slots(word: u32, offset: i64) -> Vec<(usize, i64)> {
    let register = |lowest: u32| (word >> lowest & 0x1f) as usize;
    if word & 0x3a00_0000 == 0x2800_0000 {
        return vec![(register(0), offset), (register(10), offset + 8)];
    }
    vec![(register(0), offset)]
}

/// Whether a load or store names the stack, which it does not move.
fn beside_stack(word: u32) -> bool {
    let base = (word >> 5 & 0x1f) as usize;
    let moves = writes_back(word);
    matches!(base, STACK | FRAME) && !moves
}

fn writes_back(word: u32) -> bool {
    let pair = word & 0x3a00_0000 == 0x2800_0000 && word >> 23 & 1 == 1;
    pair || word & 0x3b20_0400 == 0x3800_0400
}

/// A call may change x0 to x18 and x30 (AAPCS64). GCC keeps some of them where it knows what is
/// called (-fipa-ra), but not the one for what is returned.
fn called(held: &mut Registers) {
    held[0] = NOTHING;
    held[1] = NOTHING;
    held[30] = NOTHING;
}

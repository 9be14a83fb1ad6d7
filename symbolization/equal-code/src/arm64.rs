//! AArch64: which bits of a word are part of an address, by the encodings of the Arm Architecture
//! Reference Manual (DDI 0487). An address often takes two words: ADRP has its page, and what uses
//! the register adds the rest.

use hashbrown::HashMap;

use crate::arm64_flow::Flow;
use crate::arm64_held::{Registers, Set, Sets, Value, NOTHING, UNCLEAR};
use crate::arm64_registers::effects;
use crate::arm64_words::{branch, field, has_low_part, is_page, offset};
use crate::reference::{Scanned, Use};

pub(crate) const LENGTH: usize = 4;
/// The stack pointer, or the register that is always 0.
const STACK: usize = 31;
/// What GCC makes of the stack pointer.
const FRAME: usize = 29;

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

/// Code at an address.
pub(crate) fn scan(code: &[u8], address: u64, around: &Around<'_>) -> Scanned {
    let mut out = Scanned {
        masked: code.to_vec(),
        ..Scanned::default()
    };
    let mut machine = Machine {
        sets: Sets::new(around.key),
        slots: HashMap::new(),
        spilled: false,
    };
    let mut flow = Flow::new(code, address, around);
    if !flow.run(&mut machine) {
        out.unresolved = Some(0);
    }
    let mut held = [NOTHING; 32];
    let mut numbers = [None; 32];
    // ADRP by their place, and whether something used it.
    let mut made: Vec<(u64, bool)> = Vec::new();
    for (number, bytes) in code.chunks(LENGTH).enumerate() {
        let at = number * LENGTH;
        out.starts.push(at as u32);
        let Ok(bytes) = <[u8; LENGTH]>::try_from(bytes) else {
            break;
        };
        let word = u32::from_le_bytes(bytes);
        let here = address.wrapping_add(at as u64);
        if let Some(known) = flow.before(here) {
            held = *known;
            numbers = [None; 32];
        }
        if is_page(word) {
            made.push((here, false));
        }
        let found = machine.step(word, here, &mut held);
        clear(&mut out, at, found.mask);
        for (target, how) in &found.references {
            out.refer(at, *target, *how);
        }
        for maker in found.used {
            if let Ok(place) = made.binary_search_by_key(&maker, |one| one.0) {
                made[place].1 = true;
            } else {
                // It stands behind, or in another piece.
                flow.used.insert(maker);
            }
        }
        if found.unresolved && out.unresolved.is_none() {
            out.unresolved = Some(at as u32);
        }
        whole(word, &mut numbers);
        let number = numbers[(word & 0x1f) as usize].filter(|number| (around.knows)(*number));
        let literal = word & 0xff00_0000 == 0x5800_0000;
        let loaded = literal
            .then(|| (around.pointer)(here.wrapping_add_signed(field(word, 5, 19) << 2)))
            .flatten();
        // They are compared as numbers, too: nothing of them is masked.
        for target in number.into_iter().chain(loaded) {
            if (around.knows)(target) {
                out.refer(at, target, Use::Address);
            }
        }
    }
    // A page that nothing used went where nobody sees it, or to another piece.
    let lost = made
        .iter()
        .find(|(at, used)| !used && !flow.used.contains(at));
    if let (Some((at, _)), None) = (lost, out.unresolved) {
        out.unresolved = Some(at.wrapping_sub(address) as u32);
    }
    out
}

/// What an instruction does with addresses.
#[derive(Default)]
pub(crate) struct Found {
    references: Vec<(u64, Use)>,
    mask: u32,
    /// Where ADRP stand whose pages it completes.
    pub(crate) used: Vec<u64>,
    /// It uses what is not known to be one address.
    unresolved: bool,
}

/// What registers and the stack may hold.
pub(crate) struct Machine<'a> {
    pub(crate) sets: Sets<'a>,
    /// What was stored beside the stack pointer.
    slots: HashMap<i64, Set>,
    /// Whether a slot got more than it had.
    pub(crate) spilled: bool,
}

impl Machine<'_> {
    /// Execute an instruction.
    pub(crate) fn step(&mut self, word: u32, here: u64, held: &mut Registers) -> Found {
        let mut found = Found::default();
        let d = (word & 0x1f) as usize;
        if let Some((target, mask)) = branch(word, here) {
            found.mask = mask;
            found.references.push((target, Use::Branch));
            found.unresolved = self.page_in(effects(word).reads, held);
            if word >> 26 == 0b10_0101 {
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
        } else if word >> 24 & 0x1f == 0x10 {
            let distance = field(word, 5, 19) << 2 | i64::from(word >> 29 & 0b11);
            found.mask = 0x60ff_ffe0;
            let value = if is_page(word) {
                let page = (here & !0xfff).wrapping_add_signed(distance << 12);
                Value::Page(page, here)
            } else {
                let target = here.wrapping_add_signed(distance);
                found.references.push((target, Use::Address));
                Value::Address(target)
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
        if word & 0xffe0_ffe0 == 0xaa00_03e0 {
            held[d] = held[m]; // MOV
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

/// Numbers that MOVZ, MOVN and MOVK make.
fn whole(word: u32, numbers: &mut [Option<u64>; 32]) {
    let d = (word & 0x1f) as usize;
    if word & 0x9f80_0000 == 0x9280_0000 {
        let shift = (word >> 21 & 0b11) * 16;
        let part = u64::from(word >> 5 & 0xffff) << shift;
        numbers[d] = match word >> 29 & 0b11 {
            0b00 => Some(!part),
            0b10 => Some(part),
            _ => numbers[d].map(|number| number & !(0xffff << shift) | part),
        };
    } else if effects(word).writes >> d & 1 == 1 {
        numbers[d] = None;
    }
}

/// A call may change x0 to x18 and x30 (AAPCS64). GCC keeps some of them where it knows what is
/// called (-fipa-ra), but not the one for what is returned.
fn called(held: &mut Registers) {
    held[0] = NOTHING;
    held[1] = NOTHING;
    held[30] = NOTHING;
}

fn clear(out: &mut Scanned, at: usize, mask: u32) {
    for (byte, mask) in out
        .masked
        .iter_mut()
        .skip(at)
        .zip(mask.to_le_bytes())
        .take(LENGTH)
    {
        *byte &= !mask;
    }
}

/// The addresses that code makes of pages, in the order in which it stands, or beside itself.
pub(crate) fn named(code: &[u8], address: u64, note: &mut impl FnMut(u64)) {
    let mut pages: [Option<u64>; 32] = [None; 32];
    for (number, bytes) in code.chunks_exact(LENGTH).enumerate() {
        let word = bytes.try_into().map_or(0, u32::from_le_bytes);
        let here = address.wrapping_add((number * LENGTH) as u64);
        let (d, n) = ((word & 0x1f) as usize, (word >> 5 & 0x1f) as usize);
        if word >> 24 & 0x1f == 0x10 {
            let distance = field(word, 5, 19) << 2 | i64::from(word >> 29 & 0b11);
            if is_page(word) {
                pages[d] = Some((here & !0xfff).wrapping_add_signed(distance << 12));
            } else {
                note(here.wrapping_add_signed(distance));
            }
        } else if word & 0xffe0_ffe0 == 0xaa00_03e0 {
            pages[d] = pages[(word >> 16 & 0x1f) as usize];
        } else if has_low_part(word) {
            if let (Some(page), Some((offset, _))) = (pages[n], offset(word)) {
                note(page.wrapping_add_signed(offset));
            }
        }
    }
}

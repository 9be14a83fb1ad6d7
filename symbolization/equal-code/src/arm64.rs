//! AArch64: which bits of a word are part of an address, by the encodings of the Arm Architecture
//! Reference Manual (DDI 0487). An address often takes two words: ADRP has its page, and what uses
//! the register adds the rest.

use crate::arm64_flow::{Around, Flow};
use crate::arm64_held::{Sets, NOTHING};
use crate::arm64_machine::Machine;
use crate::arm64_registers::effects;
use crate::arm64_words::{beside, field, has_low_part, is_move, is_page, offset, words, LENGTH};
use crate::reference::{Scanned, Use};

/// Code at an address.
pub(crate) fn scan(code: &[u8], address: u64, around: &Around<'_>) -> Scanned {
    let mut out = Scanned {
        masked: code.to_vec(),
        ..Scanned::default()
    };
    let mut machine = Machine::new(Sets::new(around.key));
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
    for (here, word) in words(code, address) {
        let (d, n) = ((word & 0x1f) as usize, (word >> 5 & 0x1f) as usize);
        if let Some(address) = beside(word, here) {
            if is_page(word) {
                pages[d] = Some(address);
            } else {
                note(address);
            }
        } else if is_move(word) {
            pages[d] = pages[(word >> 16 & 0x1f) as usize];
        } else if has_low_part(word) {
            if let (Some(page), Some((offset, _))) = (pages[n], offset(word)) {
                note(page.wrapping_add_signed(offset));
            }
        }
    }
}

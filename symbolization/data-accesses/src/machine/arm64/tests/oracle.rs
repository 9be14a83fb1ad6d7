use std::collections::BTreeSet;

use capstone::prelude::*;

use super::accesses::accesses;
use super::expected::{memory, operands, written};
use super::random::Words;
use super::values::{control, value, written_back};
use super::{Effect, Operation, ADDRESS};
use crate::machine::arm64::Arm64;
use crate::machine::effect::Control;
use crate::machine::model::Machine;

/// Parts of the encoding that are small beside the whole: a mask, and its bits.
const PARTS: [(u32, u32); 22] = [
    (0x3f00_0000, 0x0800_0000), // exclusive, ordered
    (0x3f00_0000, 0x1900_0000), // unscaled and ordered, copies, tags
    (0x3f20_0c00, 0x3820_0000), // atomics
    (0x3f20_0c00, 0x3820_0800), // register offset
    (0x3f20_0000, 0x3800_0000), // unscaled, pre-indexed, post-indexed
    (0x3800_0000, 0x2800_0000), // pairs
    (0xbe00_0000, 0x0c00_0000), // structures
    (0xff00_0000, 0xd500_0000), // system
    (0xfff8_0000, 0xd508_0000), // system instructions
    (0xfe1f_0000, 0xd61f_0000), // branches
    (0xff00_0000, 0xd400_0000), // exceptions
    (0x5fe0_0000, 0x1ac0_0000), // two sources
    (0x7ffe_0000, 0x5ac0_0000), // one source
    (0x1fe0_0000, 0x1a80_0000), // selection
    (0x1fe0_0000, 0x1a00_0000), // carry
    (0x1f00_0000, 0x1b00_0000), // three sources
    (0x1f80_0000, 0x1200_0000), // logical immediates
    (0x5f00_0000, 0x1e00_0000), // conversions
    (0xbfe0_8400, 0x0e00_0400), // elements of vectors
    (0xff20_c000, 0x0420_c000), // counts of SVE
    (0xff30_c000, 0x2520_8000), // and of predicates
    (0xff3c_e000, 0x0520_a000), // last elements
];

/// Registers and memory as capstone's text has them, which is made of LLVM's tables.
#[test]
fn as_capstone_says() -> Result<(), capstone::Error> {
    let capstone = Capstone::new().arm64().mode(arch::arm64::ArchMode::Arm);
    let capstone = capstone.detail(false).build()?;
    let mut compared = 0;
    // Accesses, bases that change, values, branches.
    let mut told = [0; 4];
    let mut wrong = Vec::new();
    for (turn, word) in Words::new().take(120_000).enumerate() {
        let word = match PARTS.get(turn % (2 * PARTS.len())) {
            Some((mask, bits)) => word & !mask | bits,
            None => word,
        };
        let code = word.to_le_bytes();
        let Ok(found) = capstone.disasm_count(&code, ADDRESS, 1) else {
            continue;
        };
        let Some(one) = found.first() else {
            continue;
        };
        let (name, text) = (one.mnemonic().unwrap_or(""), one.op_str().unwrap_or(""));
        if text.contains("xzr!") {
            continue; // reserved registers of copies
        }
        compared += 1;
        if let Some(difference) = difference(word, name, text, &mut told) {
            wrong.push(format!("{word:08x} {name} {text}: {difference}"));
        }
    }
    assert!(
        wrong.is_empty(),
        "{} of {compared}:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    assert!(compared > 35_000, "{compared}");
    assert!(told.iter().all(|count| *count > 3_000), "{told:?}");
    Ok(())
}

/// Where it is not what the text says; counts what the text tells.
fn difference(word: u32, name: &str, text: &str, told: &mut [usize; 4]) -> Option<String> {
    let mut operation = Operation::default();
    if !Arm64.decode(ADDRESS, &word.to_le_bytes(), &mut operation) {
        return Some("not decoded".to_owned());
    }
    let operands = operands(text);
    let registers: BTreeSet<u8> = operation
        .effects
        .iter()
        .filter_map(|effect| match effect {
            Effect::Set(register, _) => Some(*register),
            Effect::Store(..) => None,
        })
        .collect();
    let expected = written(name, &operands);
    if registers != expected {
        return Some(format!("writes {registers:?}, not {expected:?}"));
    }
    let loads = operation.accesses.iter().any(|access| access.load);
    let stores = operation.accesses.iter().any(|access| access.store);
    let expected = memory(name, &operands);
    if (loads, stores) != expected {
        return Some(format!("memory {:?}, not {expected:?}", (loads, stores)));
    }
    let is_once = !operation.accesses.iter().any(|access| access.repeated);
    if let Some(expected) = accesses(name, &operands).filter(|_| is_once && (loads || stores)) {
        let found = operation.accesses.iter();
        let found: Vec<_> = found.map(|access| (access.address, access.size)).collect();
        if found != expected {
            return Some(format!("accesses {found:?}, not {expected:?}"));
        }
        told[0] += 1;
    }
    let expected = [written_back(name, &operands), value(name, &operands)];
    for (told, expected) in told[1..].iter_mut().zip(expected) {
        let Some(expected) = expected else { continue };
        if !operation.effects.contains(&expected) {
            return Some(format!("does {:?}, not {expected:?}", operation.effects));
        }
        *told += 1;
    }
    let expected = control(name, &operands);
    if operation.control != expected {
        return Some(format!("{:?}, not {expected:?}", operation.control));
    }
    told[3] += usize::from(expected != Control::Next);
    None
}

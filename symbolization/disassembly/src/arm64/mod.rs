//! AArch64: text by capstone; what the instruction does by the bits of its word, as the Arm
//! Architecture Reference Manual (DDI 0487) encodes it. Capstone's lists of what an instruction
//! reads and writes have errors, and these encodings do not change.

mod classes;
mod flow;
mod memory;
mod reference;
mod text;
mod unprivileged;

use capstone::prelude::*;
use hashbrown::HashMap;

use crate::decode::Decode;
use crate::instruction::Instruction;
use crate::instructions::Instructions;

const LENGTH: usize = 4;

/// 64-bit Arm.
pub(crate) struct Arm64;

impl Instructions for Arm64 {
    fn names(&self) -> &'static [&'static str] {
        &["aarch64", "arm64"]
    }

    /// All have 4 bytes; what is left at the end has its own length.
    fn split(&self, code: &[u8]) -> Vec<u8> {
        code.chunks(LENGTH).map(|one| one.len() as u8).collect()
    }

    fn decoder(&self) -> Box<dyn Decode> {
        Box::new(Decoder::new())
    }
}

/// Decodes and formats.
struct Decoder {
    /// None if capstone has no memory left for it.
    capstone: Option<Capstone>,
    /// What words are that name no address: they occur again and again.
    known: HashMap<u32, Instruction>,
}

impl Decoder {
    fn new() -> Self {
        let capstone = Capstone::new().arm64().mode(arch::arm64::ArchMode::Arm);
        Decoder {
            capstone: capstone.detail(false).build().ok(),
            known: HashMap::new(),
        }
    }
}

impl Decode for Decoder {
    fn decode(&mut self, address: u64, code: &[u8], out: &mut Instruction) {
        let Ok(bytes) = <[u8; LENGTH]>::try_from(code) else {
            return out.bad();
        };
        let word = u32::from_le_bytes(bytes);
        if let Some(known) = self.known.get(&word) {
            return out.clone_from(known);
        }
        let Some(capstone) = &self.capstone else {
            return out.bad();
        };
        out.reference = reference::reference(word, address);
        let mut vector = false;
        let mut decoded = capstone.disasm_iter(code, address).ok();
        if let Some(one) = decoded.as_mut().and_then(|all| all.next()) {
            let (operation, operands) = (one.mnemonic(), one.op_str());
            vector = text::write(
                operation.unwrap_or_default(),
                operands.unwrap_or_default(),
                out,
            );
        } else if let Some((operation, operands)) = unprivileged::text(word) {
            text::write(operation, &operands, out);
        } else if word >> 16 == 0 {
            text::write("udf", &format!("#{word}"), out);
        } else {
            return out.bad();
        }
        out.flow = flow::flow(word);
        out.classes = classes::classes(word, &out.operation, out.flow, vector);
        if out.reference == 0 {
            self.known.insert(word, out.clone());
        }
    }
}

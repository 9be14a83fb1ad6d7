//! RISC-V of 64 bits: text by capstone; what the instruction does by its bits, as the RISC-V
//! Instruction Set Manual encodes it. An instruction of 16 bits is another way to write one of 32
//! ("C" extension), and is shown as that, as objdump does.

mod classes;
mod compressed;
mod flow;
mod newer;
mod text;
mod word;

use capstone::prelude::*;
use hashbrown::HashMap;

use crate::decode::Decode;
use crate::instruction::Instruction;
use crate::instructions::Instructions;

/// RISC-V of 64 bits.
pub(crate) struct Riscv64;

impl Instructions for Riscv64 {
    fn names(&self) -> &'static [&'static str] {
        &["riscv64", "riscv"]
    }

    /// 2, or 4 where the lowest two bits are set ("Base Instruction-Length Encoding").
    fn split(&self, code: &[u8]) -> Vec<u8> {
        let mut lengths = Vec::with_capacity(code.len() / 3);
        let mut rest = code;
        while let Some(first) = rest.first() {
            let length = if first & 0b11 == 0b11 { 4 } else { 2 };
            let length = length.min(rest.len());
            lengths.push(length as u8);
            rest = &rest[length..];
        }
        lengths
    }

    fn decoder(&self) -> Box<dyn Decode> {
        let capstone = Capstone::new().riscv().mode(arch::riscv::ArchMode::RiscV64);
        Box::new(Decoder {
            capstone: capstone.detail(false).build().ok(),
            known: HashMap::new(),
        })
    }
}

/// Decodes and formats.
struct Decoder {
    /// None if capstone has no memory left for it.
    capstone: Option<Capstone>,
    /// What words are that name no address: they occur again and again.
    known: HashMap<u32, Instruction>,
}

impl Decode for Decoder {
    fn decode(&mut self, address: u64, code: &[u8], out: &mut Instruction) {
        let word = match *code {
            [a, b] => compressed::expand(u16::from_le_bytes([a, b]).into()),
            [a, b, c, d] if a & 0b11 == 0b11 => Some(u32::from_le_bytes([a, b, c, d])),
            _ => None,
        };
        let (Some(word), Some(capstone)) = (word, &self.capstone) else {
            return out.bad();
        };
        if let Some(known) = self.known.get(&word) {
            return out.clone_from(known);
        }
        out.reference = flow::target(word, address);
        let bytes = word.to_le_bytes();
        let mut decoded = capstone.disasm_iter(&bytes, address).ok();
        if let Some((operation, operands)) = text::own(word).or_else(|| newer::text(word)) {
            text::write(operation, &operands, out);
        } else if let Some(one) = decoded.as_mut().and_then(|all| all.next()) {
            let (operation, operands) = (one.mnemonic(), one.op_str());
            text::write(
                operation.unwrap_or_default(),
                operands.unwrap_or_default(),
                out,
            );
        } else {
            return out.bad();
        }
        out.flow = flow::flow(word);
        out.classes = classes::classes(word, out.flow);
        if out.reference == 0 {
            self.known.insert(word, out.clone());
        }
    }
}

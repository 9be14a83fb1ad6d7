//! x86-64, by iced-x86.

mod classes;
mod flow;
mod prefixes;
mod reference;
mod text;

use iced_x86::{Decoder as Iced, DecoderOptions, Formatter, GasFormatter, Register};

use self::classes::Classifier;
use self::text::Text;
use crate::decode::Decode;
use crate::instruction::Instruction;
use crate::instructions::Instructions;

const BITS: u32 = 64;

/// 64-bit x86.
pub(crate) struct X86_64;

impl Instructions for X86_64 {
    fn names(&self) -> &'static [&'static str] {
        &["x86_64"]
    }

    /// 1 for a byte that begins none.
    fn split(&self, code: &[u8]) -> Vec<u8> {
        let mut lengths = Vec::with_capacity(code.len() / 3);
        let mut decoder = Iced::new(BITS, code, DecoderOptions::NONE);
        let mut instruction = iced_x86::Instruction::default();
        let mut at = 0;
        while at < code.len() {
            // Only a position past the end is refused.
            if decoder.set_position(at).is_err() {
                break;
            }
            decoder.decode_out(&mut instruction);
            let length = if instruction.is_invalid() {
                1
            } else {
                instruction.len().max(1)
            };
            lengths.push(length as u8);
            at += length;
        }
        lengths
    }

    fn decoder(&self) -> Box<dyn Decode> {
        Box::new(Decoder::new())
    }
}

/// Decodes and formats.
struct Decoder {
    formatter: GasFormatter,
    classifier: Classifier,
}

impl Decoder {
    fn new() -> Self {
        let mut formatter = GasFormatter::new();
        let options = formatter.options_mut();
        options.set_rip_relative_addresses(true);
        options.set_show_branch_size(false);
        options.set_branch_leading_zeros(false);
        options.set_uppercase_hex(false);
        options.set_small_hex_numbers_in_decimal(false);
        options.set_signed_immediate_operands(false);
        options.set_show_zero_displacements(true);
        Decoder {
            formatter,
            classifier: Classifier::default(),
        }
    }

    fn format(&mut self, instruction: &iced_x86::Instruction, code: &[u8], out: &mut Instruction) {
        let formatter = &mut self.formatter;
        // objdump names comparisons of vectors by what they compare for, and shortens nothing else.
        let shortened = classes::is_vector(instruction);
        let index = instruction.memory_index() != Register::None;
        let options = formatter.options_mut();
        options.set_use_pseudo_ops(shortened);
        options.set_always_show_scale(index);
        let mut text = Text::new(out);
        prefixes::idle(instruction, code, &mut text);
        formatter.format_mnemonic(instruction, &mut text);
        for operand in 0..formatter.operand_count(instruction) {
            let kind = formatter
                .get_instruction_operand(instruction, operand)
                .ok()
                .flatten()
                .and_then(|operand| instruction.try_op_kind(operand).ok());
            text.begin_operand(instruction, kind);
            // Only an operand past the last one is refused.
            let formatted = formatter.format_operand(instruction, &mut text, operand);
            debug_assert!(formatted.is_ok());
        }
    }
}

impl Decode for Decoder {
    fn decode(&mut self, address: u64, code: &[u8], out: &mut Instruction) {
        let mut decoder = Iced::with_ip(BITS, code, address, DecoderOptions::NONE);
        let instruction = decoder.decode();
        if instruction.is_invalid() || instruction.len() != code.len() {
            return out.bad();
        }
        out.flow = flow::flow(&instruction);
        out.classes = self.classifier.classes(&instruction, out.flow);
        out.reference = reference::reference(&instruction);
        self.format(&instruction, code, out);
    }
}

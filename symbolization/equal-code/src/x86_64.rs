//! x86-64: which bytes of an instruction are part of an address.

use iced_x86::{Decoder, DecoderOptions, Instruction, Mnemonic, OpKind, Register};

use crate::reference::{Reference, Scanned, Use};
use crate::sections::Sections;

/// From where on the kernel's half of the address space lies.
const KERNEL: u64 = 1 << 63;
/// Smaller numbers take one byte in an instruction; an address never does.
const LEAST: u64 = 128;

/// Code at an address of a kernel with these sections.
pub(crate) fn scan(code: &[u8], address: u64, sections: &Sections<'_>) -> Scanned {
    let mut out = Scanned {
        masked: code.to_vec(),
        ..Scanned::default()
    };
    let mut decoder = Decoder::with_ip(64, code, address, DecoderOptions::NONE);
    let mut instruction = Instruction::default();
    while decoder.can_decode() {
        let at = decoder.position();
        decoder.decode_out(&mut instruction);
        out.starts.push(at as u32);
        if instruction.is_invalid() {
            // Data between code, or hostile: the bytes are compared as they are, from here on one
            // by one, as objdump does.
            if decoder.set_position(at + 1).is_err() {
                break;
            }
            decoder.set_ip(address.wrapping_add(at as u64 + 1));
            continue;
        }
        let offsets = decoder.get_constant_offsets(&instruction);
        let immediate = (at + offsets.immediate_offset(), offsets.immediate_size());
        let displacement = (
            at + offsets.displacement_offset(),
            offsets.displacement_size(),
        );
        for operand in 0..instruction.op_count() {
            match instruction.op_kind(operand) {
                OpKind::NearBranch64 => {
                    out.mask(immediate.0, immediate.1);
                    out.refer(at, instruction.near_branch64(), Use::Branch);
                }
                OpKind::Memory if displacement.1 >= 4 => {
                    memory(&mut out, &instruction, at, displacement, sections);
                }
                OpKind::Immediate32 | OpKind::Immediate32to64 | OpKind::Immediate64 => {
                    number(
                        &mut out,
                        at,
                        immediate,
                        instruction.immediate(operand),
                        sections,
                    );
                }
                _ => {}
            }
        }
    }
    out
}

/// Memory at an address that stands in the instruction, perhaps with registers added.
fn memory(
    out: &mut Scanned,
    instruction: &Instruction,
    at: usize,
    (start, size): (usize, usize),
    sections: &Sections<'_>,
) {
    let beside = instruction.is_ip_rel_memory_operand();
    let target = if beside {
        instruction.ip_rel_memory_address()
    } else {
        instruction.memory_displacement64()
    };
    let alone = beside
        || instruction.memory_base() == Register::None
            && instruction.memory_index() == Register::None;
    let how = match (instruction.mnemonic(), alone) {
        (Mnemonic::Lea, _) => Use::Address,
        (Mnemonic::Jmp, false) => Use::Table,
        (_, false) => Use::Address,
        (_, true) => match instruction.memory_size().size() {
            0 => Use::Address,
            bytes => Use::Access(bytes as u32),
        },
    };
    // A variable for each processor lies behind %gs.
    let own = instruction.segment_prefix() == Register::GS && sections.at(target).is_some();
    if beside || own || sections.knows(target) {
        out.mask(start, size);
        out.refer(at, target, how);
    } else {
        perhaps(out, at, target, sections);
    }
}

/// A number that may be an address.
fn number(
    out: &mut Scanned,
    at: usize,
    (start, size): (usize, usize),
    value: u64,
    sections: &Sections<'_>,
) {
    if sections.knows(value) {
        out.mask(start, size);
        out.refer(at, value, Use::Address);
    } else {
        perhaps(out, at, value, sections);
    }
}

fn perhaps(out: &mut Scanned, at: usize, target: u64, sections: &Sections<'_>) {
    if (LEAST..KERNEL).contains(&target) && sections.at(target).is_some() {
        out.maybe.push(Reference {
            at: at as u32,
            target,
            how: Use::Address,
        });
    }
}

/// The addresses that code names beside %rip or as numbers.
pub(crate) fn named(code: &[u8], address: u64, note: &mut impl FnMut(u64)) {
    let mut decoder = Decoder::with_ip(64, code, address, DecoderOptions::NONE);
    let mut instruction = Instruction::default();
    while decoder.can_decode() {
        decoder.decode_out(&mut instruction);
        for operand in 0..instruction.op_count() {
            match instruction.op_kind(operand) {
                OpKind::Memory => note(instruction.memory_displacement64()),
                OpKind::Immediate32to64 | OpKind::Immediate64 => {
                    note(instruction.immediate(operand));
                }
                _ => {}
            }
        }
    }
}

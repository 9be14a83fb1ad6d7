use iced_x86::{Instruction, InstructionInfo, Mnemonic, OpAccess, OpKind};

use super::super::effect::{Address, Effect, Operation, Register, Role, Source};
use super::operand::{memory, number, source, RSP};

const RBP: Register = 5;
const RSI: Register = 6;
const RDI: Register = 7;

/// What an instruction changes, given what it accesses.
pub(super) fn effects(instruction: &Instruction, info: &InstructionInfo, out: &mut Operation) {
    if !stack(instruction, out) && !moved(instruction, out) {
        others(instruction, info, out);
    }
}

fn behind(base: Register, displacement: i64) -> Address {
    Address {
        base: Some(base),
        displacement,
        ..Address::default()
    }
}

/// PUSH, POP and LEAVE. What calls and returns do to the stack cancels out.
fn stack(instruction: &Instruction, out: &mut Operation) -> bool {
    match instruction.mnemonic() {
        Mnemonic::Push => {
            let value = source(instruction, 0);
            out.effects.push(Effect::Store(behind(RSP, -8), 8, value));
            out.effects
                .push(Effect::Set(RSP, Source::Sum(behind(RSP, -8))));
        }
        Mnemonic::Pushfq => {
            out.effects
                .push(Effect::Store(behind(RSP, -8), 8, Source::Number));
            out.effects
                .push(Effect::Set(RSP, Source::Sum(behind(RSP, -8))));
        }
        Mnemonic::Popfq => out
            .effects
            .push(Effect::Set(RSP, Source::Sum(behind(RSP, 8)))),
        Mnemonic::Pop => {
            let value = Source::Load(behind(RSP, 0));
            out.effects
                .push(Effect::Set(RSP, Source::Sum(behind(RSP, 8))));
            match instruction.op0_kind() {
                OpKind::Memory => out
                    .effects
                    .push(Effect::Store(memory(instruction), 8, value)),
                _ => set(out, instruction, value),
            }
        }
        Mnemonic::Leave => {
            out.effects
                .push(Effect::Set(RSP, Source::Sum(behind(RBP, 8))));
            out.effects
                .push(Effect::Set(RBP, Source::Load(behind(RBP, 0))));
        }
        _ => return false,
    }
    true
}

/// Set the register that is the first operand.
fn set(out: &mut Operation, instruction: &Instruction, value: Source) {
    let register = instruction.op0_register();
    if let Some(number) = number(register) {
        let value = match (register.size(), value) {
            (8, _) => value,
            // A constant of 32 bits sets those above to 0.
            (4, Source::Constant(constant)) => Source::Constant(constant & 0xffff_ffff),
            _ => Source::Number,
        };
        out.effects.push(Effect::Set(number, value));
    }
}

/// What gives a value to a register or to memory, and is followed.
fn moved(instruction: &Instruction, out: &mut Operation) -> bool {
    if instruction.op_count() == 0 {
        return false;
    }
    let to_register = instruction.op0_kind() == OpKind::Register;
    let own = number(instruction.op0_register()).filter(|_| to_register);
    let wide = own.filter(|_| instruction.op0_register().size() == 8);
    match (instruction.mnemonic(), own, wide) {
        (Mnemonic::Mov, Some(_), _) => set(out, instruction, source(instruction, 1)),
        (Mnemonic::Mov, None, _) if instruction.op0_kind() == OpKind::Memory => {
            let size = instruction.memory_size().size() as u32;
            let value = source(instruction, 1);
            out.effects
                .push(Effect::Store(memory(instruction), size, value));
        }
        (Mnemonic::Lea, Some(_), Some(_)) => {
            let address = Address {
                per_cpu: false,
                ..memory(instruction)
            };
            set(out, instruction, Source::Sum(address));
        }
        (Mnemonic::Add, _, Some(own)) => {
            let value = match source(instruction, 1) {
                Source::Constant(constant) => Source::Sum(behind(own, constant as i64)),
                Source::Register(other) => Source::Sum(Address {
                    base: Some(own),
                    index: Some((other, 1)),
                    ..Address::default()
                }),
                Source::Load(address) => Source::SumWithLoad(own, address),
                _ => Source::Computed,
            };
            set(out, instruction, value);
        }
        (Mnemonic::Sub, _, Some(own)) => {
            let value = match source(instruction, 1) {
                Source::Constant(constant) => {
                    Source::Sum(behind(own, (constant as i64).wrapping_neg()))
                }
                Source::Register(other) if other == own => Source::Constant(0),
                Source::Register(other) => Source::Difference(own, other),
                _ => Source::Computed,
            };
            set(out, instruction, value);
        }
        (Mnemonic::Imul, _, Some(_)) if instruction.op_count() > 1 => {
            let count = instruction.op_count();
            let last = source(instruction, count - 1);
            let value = match (source(instruction, count - 2), last) {
                (Source::Register(one), Source::Constant(factor)) => {
                    Source::Product(one, (factor as i64).unsigned_abs())
                }
                (Source::Register(one), Source::Register(other)) => {
                    Source::SumWithProduct(None, one, other)
                }
                (_, Source::Constant(factor)) => Source::Multiple((factor as i64).unsigned_abs()),
                _ => Source::Computed,
            };
            set(out, instruction, value);
        }
        (Mnemonic::Shl, _, Some(own)) => {
            let value = match source(instruction, 1) {
                Source::Constant(shift) => Source::Product(own, 1 << (shift & 63)),
                _ => Source::Computed,
            };
            set(out, instruction, value);
        }
        (Mnemonic::Inc, _, Some(own)) => set(out, instruction, Source::Sum(behind(own, 1))),
        (Mnemonic::Dec, _, Some(own)) => set(out, instruction, Source::Sum(behind(own, -1))),
        (Mnemonic::And, _, Some(own)) => {
            let value = match source(instruction, 1) {
                Source::Constant(mask) => Source::Masked(own, mask),
                Source::Register(other) => Source::Both(own, other),
                _ => Source::Computed,
            };
            set(out, instruction, value);
        }
        (Mnemonic::Xor, Some(_), _)
            if instruction.op1_kind() == OpKind::Register
                && instruction.op0_register() == instruction.op1_register() =>
        {
            set(out, instruction, Source::Constant(0));
        }
        (mnemonic, _, Some(own)) if is_conditional_move(mnemonic) => {
            let value = match source(instruction, 1) {
                Source::Register(other) => Source::Either(other, own),
                Source::Load(address) => Source::EitherLoad(own, address),
                _ => Source::Computed,
            };
            set(out, instruction, value);
        }
        (Mnemonic::Xchg | Mnemonic::Xadd, ..) if instruction.op0_kind() == OpKind::Memory => {
            let (own, size) = (instruction.op1_register(), instruction.memory_size().size());
            let (into, loaded) = match (instruction.mnemonic(), size) {
                (Mnemonic::Xchg, 8) => (source(instruction, 1), source(instruction, 0)),
                (_, 8) => (Source::Computed, source(instruction, 0)),
                _ => (Source::Number, Source::Number),
            };
            out.effects
                .push(Effect::Store(memory(instruction), size as u32, into));
            out.effects
                .extend(number(own).map(|own| Effect::Set(own, loaded)));
        }
        _ => return false,
    }
    true
}

/// What is computed some other way: registers and memory that an instruction writes.
fn others(instruction: &Instruction, info: &InstructionInfo, out: &mut Operation) {
    let string = instruction.is_string_instruction();
    for used in info.used_registers() {
        let writes = matches!(
            used.access(),
            OpAccess::Write | OpAccess::ReadWrite | OpAccess::CondWrite | OpAccess::ReadCondWrite
        );
        let Some(own) = number(used.register()).filter(|own| writes && *own != RSP) else {
            continue;
        };
        // String operations move their pointers within what these point to.
        if string && matches!(own, RSI | RDI) {
            continue;
        }
        let value = match used.register().size() {
            8 => Source::Computed,
            _ => Source::Number,
        };
        out.effects.push(Effect::Set(own, value));
    }
    for access in &out.accesses {
        if access.store && access.role == Role::Plain {
            // How far a repeated one goes is in a register.
            let size = if access.repeated { 0 } else { access.size };
            let store = Effect::Store(access.address, size, Source::Computed);
            out.effects.push(store);
        }
    }
}

pub(super) fn is_conditional_move(mnemonic: Mnemonic) -> bool {
    matches!(
        mnemonic,
        Mnemonic::Cmova
            | Mnemonic::Cmovae
            | Mnemonic::Cmovb
            | Mnemonic::Cmovbe
            | Mnemonic::Cmove
            | Mnemonic::Cmovg
            | Mnemonic::Cmovge
            | Mnemonic::Cmovl
            | Mnemonic::Cmovle
            | Mnemonic::Cmovne
            | Mnemonic::Cmovno
            | Mnemonic::Cmovnp
            | Mnemonic::Cmovns
            | Mnemonic::Cmovo
            | Mnemonic::Cmovp
            | Mnemonic::Cmovs
    )
}

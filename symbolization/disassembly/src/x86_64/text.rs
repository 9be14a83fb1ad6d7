use std::fmt::Write as _;

use iced_x86::{
    FormatterOutput, FormatterTextKind, Instruction as Iced, Mnemonic, NumberKind, OpKind,
    PrefixKind, Register,
};

use crate::instruction::Instruction;

/// Collects what the formatter writes: first the mnemonic with its prefixes, then the operands.
pub(super) struct Text<'o> {
    out: &'o mut Instruction,
    in_operands: bool,
    minus: bool,
}

impl<'o> Text<'o> {
    pub(super) fn new(out: &'o mut Instruction) -> Self {
        Text {
            out,
            in_operands: false,
            minus: false,
        }
    }

    /// Write a prefix that the formatter leaves out.
    pub(super) fn prefix(&mut self, name: &str) {
        self.both(name, name);
        self.both(" ", " ");
    }

    /// Write what stands before an operand.
    pub(super) fn begin_operand(&mut self, instruction: &Iced, kind: Option<OpKind>) {
        if self.in_operands {
            self.both(",", ",");
        } else {
            self.in_operands = true;
            self.out.shape.push(' ');
        }
        let segment = match kind {
            Some(OpKind::MemoryESRDI | OpKind::MemoryESEDI) => "%es:",
            Some(OpKind::MemorySegRSI | OpKind::MemorySegESI)
                if instruction.segment_prefix() == Register::None =>
            {
                "%ds:"
            }
            _ => return,
        };
        self.both(segment, segment);
    }

    fn both(&mut self, text: &str, shape: &str) {
        if !self.in_operands {
            self.out.operation.push_str(text);
            self.out.shape.push_str(shape);
            return;
        }
        self.out.operands.push_str(text);
        self.out.shape.push_str(shape);
    }
}

impl FormatterOutput for Text<'_> {
    fn write(&mut self, text: &str, _kind: FormatterTextKind) {
        if text == "-" {
            // An address is written without it.
            self.minus = true;
        } else {
            self.both(text, text);
        }
    }

    fn write_prefix(&mut self, instruction: &Iced, text: &str, prefix: PrefixKind) {
        let name = match prefix {
            PrefixKind::Repe => "repz",
            PrefixKind::Repne => "repnz",
            PrefixKind::Rep if !instruction.is_string_instruction() => "repz",
            _ => text,
        };
        self.both(name, name);
    }

    fn write_mnemonic(&mut self, _instruction: &Iced, text: &str) {
        // In 64-bit mode these have no other width that they could have.
        let name = match text {
            "jmpq" => "jmp",
            "callq" => "call",
            "pushq" => "push",
            "popq" => "pop",
            "retq" => "ret",
            "leaveq" => "leave",
            _ => text,
        };
        self.both(name, name);
    }

    fn write_number(
        &mut self,
        instruction: &Iced,
        _operand: u32,
        instruction_operand: Option<u32>,
        text: &str,
        value: u64,
        _number_kind: NumberKind,
        kind: FormatterTextKind,
    ) {
        let minus = std::mem::take(&mut self.minus);
        let reference = self.out.reference;
        let memory = instruction_operand
            .is_some_and(|operand| matches!(instruction.try_op_kind(operand), Ok(OpKind::Memory)));
        let named = match kind {
            FormatterTextKind::LabelAddress | FormatterTextKind::FunctionAddress => true,
            // Beside %rip stands the distance to the address.
            FormatterTextKind::Number => {
                value == reference || memory && instruction.is_ip_rel_memory_operand()
            }
            _ => false,
        };
        if reference != 0 && named {
            let mut hexadecimal = String::with_capacity(18);
            let _ = write!(hexadecimal, "{reference:#x}");
            return self.both(&hexadecimal, "@");
        }
        if minus {
            self.both("-", "-");
        }
        self.both(text, text);
    }

    fn write_register(
        &mut self,
        instruction: &Iced,
        _operand: u32,
        _instruction_operand: Option<u32>,
        text: &str,
        register: Register,
    ) {
        if register == Register::DX && is_port(instruction.mnemonic()) {
            return self.both("(%dx)", "(%dx)");
        }
        self.both(text, kind(register, text));
    }
}

/// Whether an instruction works with the port that %dx names.
fn is_port(mnemonic: Mnemonic) -> bool {
    matches!(
        mnemonic,
        Mnemonic::In
            | Mnemonic::Out
            | Mnemonic::Insb
            | Mnemonic::Insw
            | Mnemonic::Insd
            | Mnemonic::Outsb
            | Mnemonic::Outsw
            | Mnemonic::Outsd
    )
}

/// A register as its kind and width; those that are not interchangeable by their names.
fn kind(register: Register, name: &str) -> &str {
    let stack = matches!(
        register,
        Register::RSP | Register::ESP | Register::SP | Register::SPL
    );
    if stack {
        name
    } else if register.is_gpr64() {
        "r64"
    } else if register.is_gpr32() {
        "r32"
    } else if register.is_gpr16() {
        "r16"
    } else if register.is_gpr8() {
        "r8"
    } else if register.is_xmm() {
        "xmm"
    } else if register.is_ymm() {
        "ymm"
    } else if register.is_zmm() {
        "zmm"
    } else if register.is_mm() {
        "mm"
    } else if register.is_k() {
        "k"
    } else if register.is_st() {
        "st"
    } else {
        name
    }
}

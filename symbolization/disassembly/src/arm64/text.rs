use std::fmt::Write as _;

use crate::instruction::Instruction;

/// Write what capstone prints as GNU objdump prints it, and the shape. Tells whether an operand is a
/// vector register.
///
/// They differ in the base of numbers, in the sign of masks, and in two names of conditions.
pub(super) fn write(operation: &str, operands: &str, out: &mut Instruction) -> bool {
    match operation {
        "b.hs" => out.operation.push_str("b.cs"),
        "b.lo" => out.operation.push_str("b.cc"),
        _ => out.operation.push_str(operation),
    }
    out.shape.push_str(&out.operation);
    if operands.is_empty() {
        return false;
    }
    out.shape.push(' ');
    let mut vector = false;
    let mut numbers = Numbers::new(operation);
    let mut rest = operands;
    while let Some(first) = rest.chars().next() {
        let is_word = |one: char| one.is_ascii_alphanumeric() || matches!(one, '_' | '.');
        let length = if first == '#' {
            1 + rest[1..]
                .find(|one: char| !is_word(one) && one != '-' && one != '+')
                .unwrap_or(rest.len() - 1)
        } else if is_word(first) {
            rest.find(|one| !is_word(one)).unwrap_or(rest.len())
        } else {
            first.len_utf8()
        };
        let (token, tail) = rest.split_at(length);
        rest = tail;
        if first == '#' {
            number(token, &numbers, out);
        } else if is_word(first) {
            vector |= word(token, &mut numbers, out);
        } else {
            numbers.punctuation(first);
            out.operands.push(first);
            out.shape.push(first);
        }
    }
    vector
}

/// A register or a name. Tells whether it is a vector register.
fn word(token: &str, numbers: &mut Numbers, out: &mut Instruction) -> bool {
    let name = match token {
        "hs" => "cs",
        "lo" => "cc",
        _ => token,
    };
    numbers.name(name);
    out.operands.push_str(name);
    match register(name) {
        Some((kind, suffix)) => {
            out.shape.push(kind);
            out.shape.push_str(suffix);
            !matches!(kind, 'x' | 'w')
        }
        None => {
            out.shape.push_str(name);
            false
        }
    }
}

/// The kind of a numbered register, and what stands behind its number.
fn register(name: &str) -> Option<(char, &str)> {
    let kind = name.chars().next()?;
    if !matches!(
        kind,
        'x' | 'w' | 'v' | 'q' | 'd' | 's' | 'h' | 'b' | 'z' | 'p'
    ) {
        return None;
    }
    let rest = &name[1..];
    let digits = rest.find(|one: char| !one.is_ascii_digit());
    let (number, suffix) = rest.split_at(digits.unwrap_or(rest.len()));
    let known = matches!(number.len(), 1 | 2) && (suffix.is_empty() || suffix.starts_with('.'));
    known.then_some((kind, suffix))
}

/// A number, with `#` before it.
fn number(token: &str, numbers: &Numbers, out: &mut Instruction) {
    let Some(value) = parse(&token[1..]) else {
        out.operands.push_str(token); // a floating point constant
        out.shape.push_str(token);
        return;
    };
    if out.reference != 0 && value == out.reference {
        let _ = write!(out.operands, "{value:#x}");
        out.shape.push('@');
        return;
    }
    let start = out.operands.len();
    // Writing into a String does not fail.
    let _ = match numbers.decimal() {
        true => write!(out.operands, "#{}", value as i64),
        false if numbers.narrow => write!(out.operands, "#{:#x}", value as u32),
        false => write!(out.operands, "#{value:#x}"),
    };
    let Instruction {
        operands, shape, ..
    } = out;
    shape.push_str(&operands[start..]);
}

fn parse(text: &str) -> Option<u64> {
    let (minus, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text),
    };
    let value = match digits.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok()?,
        None => digits.parse().ok()?,
    };
    Some(if minus { value.wrapping_neg() } else { value })
}

/// In which base the next number is written: offsets and amounts of shifts are decimal.
struct Numbers {
    shifts: bool,
    in_brackets: bool,
    behind_brackets: bool,
    behind_shift: bool,
    /// Masks have 32 bits, since the first register has.
    narrow: bool,
    first: bool,
}

impl Numbers {
    fn new(operation: &str) -> Self {
        let shifts = matches!(
            operation,
            "lsl"
                | "lsr"
                | "asr"
                | "ror"
                | "extr"
                | "bfi"
                | "bfxil"
                | "bfc"
                | "ubfx"
                | "ubfiz"
                | "sbfx"
                | "sbfiz"
                | "tbz"
                | "tbnz"
                | "shl"
                | "ushr"
                | "sshr"
                | "usra"
                | "ssra"
                | "sri"
                | "sli"
                | "shrn"
                | "shrn2"
                | "rshrn"
                | "rshrn2"
                | "sshll"
                | "sshll2"
                | "ushll"
                | "ushll2"
                | "urshr"
                | "srshr"
                | "ursra"
                | "srsra"
                | "ext"
                | "udf"
                | "cmeq"
                | "rdvl"
        );
        Numbers {
            shifts,
            in_brackets: false,
            behind_brackets: false,
            behind_shift: false,
            narrow: false,
            first: true,
        }
    }

    fn name(&mut self, name: &str) {
        if self.first {
            self.narrow = name.starts_with('w');
            self.first = false;
        }
        self.behind_shift = matches!(
            name,
            "lsl"
                | "lsr"
                | "asr"
                | "ror"
                | "msl"
                | "uxtb"
                | "uxth"
                | "uxtw"
                | "uxtx"
                | "sxtb"
                | "sxth"
                | "sxtw"
                | "sxtx"
                | "mul"
        );
    }

    fn punctuation(&mut self, sign: char) {
        match sign {
            '[' => self.in_brackets = true,
            ']' => (self.in_brackets, self.behind_brackets) = (false, true),
            ',' => self.behind_shift = false,
            _ => {}
        }
    }

    fn decimal(&self) -> bool {
        self.shifts || self.in_brackets || self.behind_brackets || self.behind_shift
    }
}

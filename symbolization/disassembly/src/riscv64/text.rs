use std::fmt::Write as _;

use super::word::field;
use crate::instruction::Instruction;

/// The text of what objdump writes in other forms than capstone does.
pub(super) fn own(word: u32) -> Option<(&'static str, String)> {
    let (rd, rs1, number) = (field(word, 7, 5), field(word, 15, 5), word as i32 >> 20);
    let to = match number {
        0 => name(rs1).to_owned(),
        _ => format!("{number}({})", name(rs1)),
    };
    Some(match (word & 0x707f, rd) {
        (0x13, 1..) if rs1 == 0 => ("li", format!("{}, {number}", name(rd))),
        (0x67, 0) if (rs1, number) == (1, 0) => ("ret", String::new()),
        (0x67, 0) => ("jr", to),
        (0x67, 1) => ("jalr", to),
        (0x67, _) => ("jalr", format!("{}, {to}", name(rd))),
        _ => return None,
    })
}

/// Write what capstone prints as GNU objdump prints it, and the shape. They differ in blanks and in
/// the base of numbers.
pub(super) fn write(operation: &str, operands: &str, out: &mut Instruction) {
    out.operation.push_str(operation);
    out.shape.push_str(operation);
    if operands.is_empty() {
        return;
    }
    out.shape.push(' ');
    let shifts = matches!(operation.get(..2), Some("sl" | "sr")) && !operation.starts_with("slt");
    let hexadecimal = shifts || matches!(operation, "lui" | "auipc") || operation.contains("rori");
    let last = operands.rfind(", ").map_or(0, |at| at + 2);
    let mut rest = operands;
    while let Some(first) = rest.chars().next() {
        let is_word = |one: char| one.is_ascii_alphanumeric() || matches!(one, '_' | '.' | '-');
        let length = match rest.find(|one: char| !is_word(one)) {
            Some(0) => first.len_utf8(),
            Some(length) => length,
            None => rest.len(),
        };
        let at = operands.len() - rest.len();
        let (token, tail) = rest.split_at(length);
        rest = tail;
        if first == ' ' {
            continue;
        }
        let start = out.operands.len();
        // Writing into a String does not fail.
        let _ = match parse(token) {
            Some(_) if out.reference != 0 && at >= last => {
                let _ = write!(out.operands, "{:#x}", out.reference);
                out.shape.push('@');
                continue;
            }
            Some(number) if hexadecimal => write!(out.operands, "{number:#x}"),
            Some(number) => write!(out.operands, "{number}"),
            None => {
                out.operands.push_str(token);
                out.shape.push_str(register(token).unwrap_or(token));
                continue;
            }
        };
        out.shape.push_str(&out.operands[start..]);
    }
}

fn parse(token: &str) -> Option<i64> {
    let (minus, digits) = match token.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, token),
    };
    let value = match digits.strip_prefix("0x") {
        Some(digits) => i64::from_str_radix(digits, 16).ok()?,
        None => digits.parse().ok()?,
    };
    Some(if minus { -value } else { value })
}

/// A register's name in the ABI.
pub(super) fn name(register: u32) -> &'static str {
    const NAMES: [&str; 32] = [
        "zero", "ra", "sp", "gp", "tp", "t0", "t1", "t2", "s0", "s1", "a0", "a1", "a2", "a3", "a4",
        "a5", "a6", "a7", "s2", "s3", "s4", "s5", "s6", "s7", "s8", "s9", "s10", "s11", "t3", "t4",
        "t5", "t6",
    ];
    NAMES[register as usize & 31]
}

/// The kind of a numbered register.
fn register(name: &str) -> Option<&'static str> {
    let digits = name.trim_start_matches(|one: char| one.is_ascii_lowercase());
    let known = matches!(digits.len(), 1 | 2) && digits.bytes().all(|one| one.is_ascii_digit());
    match name.strip_suffix(digits).filter(|_| known)? {
        "a" | "s" | "t" => Some("x"),
        "fa" | "fs" | "ft" => Some("f"),
        "v" => Some("v"),
        _ => None,
    }
}

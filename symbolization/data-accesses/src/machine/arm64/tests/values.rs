//! What the text of an instruction says of values and of what runs next.

use super::accesses::address;
use super::expected::{general, number};
use super::{behind, indexed, Effect, Source};
use crate::machine::effect::Control;

/// The new value of a destination that is no zero register, where the text tells.
pub(super) fn value(name: &str, operands: &[&str]) -> Option<Effect> {
    let destination = general(operands.first()?)?;
    let is_wide = !operands[0].starts_with('w');
    let source = match name {
        "adr" | "adrp" => Source::Constant(number(operands[1])? as u64),
        "mov" | "movz" | "movn" if operands[1].starts_with('#') => {
            let shift = operands.get(2).and_then(|one| one.strip_prefix("lsl "));
            let value = number(operands[1])? << shift.map_or(Some(0), number)?;
            let value = if name == "movn" { !value } else { value };
            let narrow = if is_wide {
                u64::MAX
            } else {
                u64::from(u32::MAX)
            };
            Source::Constant(value as u64 & narrow)
        }
        "mov" => match general(operands[1]) {
            Some(register) if is_wide => Source::Register(register),
            None if operands[1].ends_with("zr") => Source::Constant(0),
            _ => return None,
        },
        _ if !is_wide => return None,
        "ldr" | "ldur" | "ldtr" | "ldxr" | "ldaxr" | "ldar" | "ldapr" | "ldapur" => {
            let is_post = operands.len() == 3;
            if general(operands[0]) == address(operands[1]).and_then(|one| one.base) && is_post {
                return None;
            }
            Source::Load(address(operands[1])?)
        }
        "and" | "ands" if operands[2].starts_with('#') => {
            Source::Masked(general(operands[1])?, number(operands[2])? as u64)
        }
        "and" if operands.len() == 3 && operands[1] != operands[2] => {
            Source::Both(general(operands[1])?, general(operands[2])?)
        }
        "add" | "adds" | "sub" | "subs" => sum(name, operands)?,
        "csel" if operands[1] != operands[2] => {
            Source::Either(general(operands[1])?, general(operands[2])?)
        }
        "mrs" => match operands[1] {
            "sp_el0" => Source::Task,
            "tpidr_el1" | "tpidr_el2" => Source::PerCpu,
            _ => Source::Number,
        },
        _ => return None,
    };
    Some(Effect::Set(destination, source))
}

fn sum(name: &str, operands: &[&str]) -> Option<Source> {
    let n = general(operands[1])?;
    let (extension, shift) = match operands.get(3) {
        Some(text) => (
            text.split(' ').next()?,
            number(text.split_once('#').map_or("0", |(_, shift)| shift))?,
        ),
        None => ("lsl", 0),
    };
    let is_sum = name.starts_with("add");
    if operands[2].starts_with('#') {
        let distance = number(operands[2])? << shift;
        let displacement = if is_sum { distance } else { -distance };
        return Some(match distance {
            0 => Source::Register(n),
            _ => Source::Sum(behind(n, displacement)),
        });
    }
    let m = general(operands[2])?;
    let is_multiple = !matches!(extension, "lsr" | "asr") || shift == 0;
    let is_whole = matches!(extension, "lsl" | "lsr" | "asr" | "uxtx" | "sxtx");
    Some(match is_sum {
        true if is_multiple && shift <= 7 => Source::Sum(indexed(n, m, 1 << shift)),
        false if shift == 0 && is_whole => Source::Difference(n, m),
        _ => Source::Computed,
    })
}

/// Which instruction runs next.
pub(super) fn control(name: &str, operands: &[&str]) -> Control {
    let target = || operands.last().and_then(|one| number(one)).unwrap_or(0) as u64;
    let register = || operands.first().and_then(|one| general(one));
    match name {
        "b" => Control::Jump(target()),
        "bl" => Control::Call(target()),
        "br" | "braa" | "braaz" | "brab" | "brabz" => {
            register().map_or(Control::Leave, Control::IndirectJump)
        }
        "blr" | "blraa" | "blraaz" | "blrab" | "blrabz" => {
            register().map_or(Control::Leave, Control::IndirectCall)
        }
        "ret" | "retaa" | "retab" | "eret" | "eretaa" | "eretab" | "drps" | "hlt" | "udf"
        | "dcps1" | "dcps2" | "dcps3" | "tcancel" => Control::Leave,
        "cbz" | "cbnz" | "tbz" | "tbnz" => Control::Branch(target()),
        _ if name.starts_with("b.") || name.starts_with("bc.") => Control::Branch(target()),
        _ => Control::Next,
    }
}

/// The change of a base register by `[x0, #8]!` and `[x0], #8`.
pub(super) fn written_back(name: &str, operands: &[&str]) -> Option<Effect> {
    let at = operands.iter().position(|one| one.starts_with('['))?;
    let is_move = name.starts_with("ld") || name.starts_with("st");
    let there = address(operands[at]).filter(|_| is_move)?;
    let base = there.base?;
    let after = match operands.get(at + 1) {
        None if operands[at].ends_with('!') => there,
        None => return None,
        Some(offset) => match general(offset) {
            Some(index) => indexed(base, index, 1),
            None => behind(base, number(offset)?),
        },
    };
    Some(Effect::Set(base, Source::Sum(after)))
}

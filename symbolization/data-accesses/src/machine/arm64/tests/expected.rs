//! What the text of an instruction, as a disassembler writes it, says that it does.

use std::collections::BTreeSet;

/// A number where the base is in `x0`, the stack pointer is 31, and the zero register is none.
pub(super) fn general(text: &str) -> Option<u8> {
    let text = text.trim_end_matches('!');
    match text {
        "sp" | "wsp" => Some(31),
        "lr" => Some(30),
        "fp" => Some(29),
        _ => text.strip_prefix(['x', 'w'])?.parse().ok(),
    }
}

/// The parts between commas that are in no brackets.
pub(super) fn operands(text: &str) -> Vec<&str> {
    let (mut depth, mut start, mut found) = (0, 0, Vec::new());
    for (at, letter) in text.char_indices() {
        match letter {
            '[' | '{' => depth += 1,
            ']' | '}' => depth -= 1,
            ',' if depth == 0 => {
                found.push(text[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
    }
    found.push(text[start..].trim());
    found.retain(|one| !one.is_empty());
    found
}

/// A number as both disassemblers write it: decimal or hexadecimal, with a sign or without.
pub(super) fn number(text: &str) -> Option<i64> {
    let text = text.trim_start_matches('#');
    let (negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text),
    };
    let value = match digits.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok()?,
        None => digits.parse().ok()?,
    } as i64;
    Some(if negative {
        value.wrapping_neg()
    } else {
        value
    })
}

fn starts_with_any(name: &str, starts: &[&str]) -> bool {
    starts.iter().any(|start| name.starts_with(start))
}

/// Whether it is one of LSE's, and whether it is named without its load (STADD).
fn atomic(name: &str) -> (bool, bool) {
    const OPERATIONS: [&str; 8] = ["add", "clr", "eor", "set", "smax", "smin", "umax", "umin"];
    let rest = name.get(2..).unwrap_or("");
    let is_known = starts_with_any(rest, &OPERATIONS);
    (
        name.starts_with("swp") || name.starts_with("ld") && is_known,
        name.starts_with("st") && is_known,
    )
}

/// Whether memory is read, and whether it is written.
pub(super) fn memory(name: &str, operands: &[&str]) -> (bool, bool) {
    let (is_atomic, is_nameless) = atomic(name);
    if is_atomic || is_nameless || name.starts_with("cas") || name.starts_with("cpy") {
        return (true, true);
    }
    if name == "dc" {
        let block = ["zva", "gva", "gzva"];
        return (
            false,
            operands.first().is_some_and(|one| block.contains(one)),
        );
    }
    let is_behind = operands.iter().any(|one| one.starts_with('['));
    let is_literal = name.starts_with("ld") && !is_behind;
    let is_set = starts_with_any(name, &["setp", "setm", "sete", "setg"]);
    (
        name.starts_with("ld") && (is_behind || is_literal),
        is_behind && (name.starts_with("st") || is_set),
    )
}

/// Those that write no general register that they name first.
const WITHOUT_RESULT: [&str; 57] = [
    "cmp", "cmn", "cmpp", "tst", "ccmp", "ccmn", "fccmp", "fcmp", "b", "bl", "blr", "br", "braa",
    "braaz", "brab", "brabz", "blraa", "blraaz", "blrab", "blrabz", "cbz", "cbnz", "tbz", "tbnz",
    "ret", "retaa", "retab", "msr", "sys", "dc", "ic", "at", "tlbi", "cfp", "cpp", "dvp", "cosp",
    "prfm", "prfum", "prfb", "prfh", "prfw", "prfd", "rmif", "setf8", "setf16", "svc", "hvc",
    "smc", "ctermeq", "ctermne", "rprfm", "wfet", "wfit", "msrr", "sysp", "trcit",
];

/// The general registers that it writes.
pub(super) fn written(name: &str, operands: &[&str]) -> BTreeSet<u8> {
    let mut found = BTreeSet::new();
    let named = |number: usize| operands.get(number).and_then(|one| general(one));
    let (is_atomic, is_nameless) = atomic(name);
    let is_pointer = starts_with_any(name, &["pac", "aut", "xpac"]) && name != "pacga";
    // The status of an exclusive store.
    let has_status = starts_with_any(name, &["stx", "stlx", "st64bv"]);
    let is_store = name.starts_with("st") && !has_status;
    if is_atomic {
        found.extend(named(1));
    } else if starts_with_any(name, &["casp", "ldp", "ldnp", "ldxp", "ldaxp"]) {
        found.extend(named(0));
        found.extend(named(1));
    } else if name == "ld64b" {
        let first = named(0).unwrap_or(0);
        found.extend(first..first + 8);
    } else if starts_with_any(
        name,
        &[
            "cpyf", "cpyp", "cpym", "cpye", "setp", "setm", "sete", "setg",
        ],
    ) {
        let bases = operands.iter().filter(|one| one.ends_with('!'));
        found.extend(bases.filter_map(|one| general(one.trim_matches(['[', ']', '!']))));
    } else if !is_store
        && !is_nameless
        && !is_pointer
        && !name.starts_with("b.")
        && !name.starts_with("bc.")
        && !WITHOUT_RESULT.contains(&name)
    {
        found.extend(named(0));
    }
    // The base: [x0, #8]! and [x0], #8.
    for (at, operand) in operands.iter().enumerate() {
        let Some(inner) = operand.strip_prefix('[') else {
            continue;
        };
        let is_memory = starts_with_any(name, &["ld", "st"]);
        if is_memory && (operand.ends_with('!') || at + 1 < operands.len()) {
            let base = inner.split([',', ']']).next().unwrap_or("");
            found.extend(general(base));
        }
    }
    found
}

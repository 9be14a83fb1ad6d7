//! What the text of a load or store says of addresses and sizes.

use super::expected::{general, number};
use super::{behind, Address};

/// The accesses, as addresses and sizes, of what is neither scalable nor repeated; none where the text
/// does not tell.
pub(super) fn accesses(name: &str, operands: &[&str]) -> Option<Vec<(Address, u32)>> {
    if operands.iter().any(|one| one.contains("mul vl")) {
        return None;
    }
    let at = operands.iter().position(|one| one.starts_with('['));
    let Some(at) = at else {
        let literal = name.starts_with("ldr") && operands.len() == 2;
        let address = Address {
            displacement: number(operands.get(1)?)?,
            ..Address::default()
        };
        return literal.then_some(vec![(address, size(name, operands[0])?)]);
    };
    let has_status = ["stx", "stlx", "st64bv"]
        .iter()
        .any(|one| name.starts_with(one));
    let moved = operands.get(usize::from(has_status)..at)?;
    let address = address(operands[at])?;
    if name.contains("64b") {
        return Some(vec![(address, 64)]);
    }
    if name.starts_with("st2g") || name.starts_with("stz2g") {
        return Some(vec![(address, 32)]);
    }
    if name == "ldg" || name == "stg" || name == "stzg" {
        return Some(vec![(address, 16)]);
    }
    if name.ends_with("gm") {
        return Some(vec![(address, 0)]);
    }
    if name.starts_with("cas") {
        let factor = if name.starts_with("casp") { 2 } else { 1 };
        return Some(vec![(address, factor * size(name, moved.first()?)?)]);
    }
    if let Some(list) = moved.first()?.strip_prefix('{') {
        return Some(vec![(address, structures(name, list)?)]);
    }
    let is_atomic = name.starts_with("swp") || name.starts_with("ld") && moved.len() == 2;
    let is_pair = name.contains('p') && !name.starts_with("swp") && !name.starts_with("ldap");
    let is_pair = is_pair && moved.len() == 2;
    let size = size(name, moved.first()?)?;
    let next = Address {
        displacement: address.displacement + i64::from(size),
        ..address
    };
    match is_pair {
        true => Some(vec![(address, size), (next, size)]),
        false => (is_atomic || moved.len() == 1).then_some(vec![(address, size)]),
    }
}

/// The bytes that move to or from a register.
fn size(name: &str, register: &str) -> Option<u32> {
    let size = match register.chars().next()? {
        'q' => 16,
        'd' => 8,
        's' if register != "sp" => 4,
        'h' => 2,
        'b' => 1,
        'x' | 'w' => match name {
            "ldraa" | "ldrab" => 8,
            _ if name.ends_with("sw") => 4,
            _ if name.ends_with('b') => 1,
            _ if name.ends_with('h') => 2,
            _ if register.starts_with('x') => 8,
            _ => 4,
        },
        _ => return None,
    };
    Some(size)
}

/// The bytes of `v0.8b, v1.8b}` and `v0.s}[1]`; LD1R and its kin repeat one element.
fn structures(name: &str, list: &str) -> Option<u32> {
    let (list, lane) = list.split_once('}')?;
    let registers = list.split(',').count() as u32;
    let arrangement = list.split(',').next()?.split_once('.')?.1;
    let element = match arrangement.trim_start_matches(|one: char| one.is_ascii_digit()) {
        "b" => 1,
        "h" => 2,
        "s" => 4,
        "d" => 8,
        _ => return None,
    };
    let elements = match arrangement[..arrangement.len() - 1].parse() {
        Ok(elements) if lane.is_empty() && !name.ends_with('r') => elements,
        _ => 1,
    };
    Some(registers * elements * element)
}

/// `[x0, #8]!`, `[x0, x1, lsl #3]`, `[x0, w1, sxtw]`.
pub(super) fn address(text: &str) -> Option<Address> {
    let inner = text.trim_end_matches('!').strip_prefix('[')?;
    let mut parts = inner.strip_suffix(']')?.split(',').map(str::trim);
    let mut address = behind(general(parts.next()?)?, 0);
    let Some(offset) = parts.next() else {
        return Some(address);
    };
    if offset.starts_with('#') {
        address.displacement = number(offset)?;
        return Some(address);
    }
    let shift = match parts.next() {
        Some(extension) => extension.split_once('#').map_or("0", |(_, shift)| shift),
        None => "0",
    };
    if offset != "xzr" && offset != "wzr" {
        let shift = number(shift)?;
        address.index = Some((general(offset)?, 1 << shift));
    }
    Some(address)
}

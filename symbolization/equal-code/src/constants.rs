//! Constants without a symbol: where they end.

use crate::image::Image;
use crate::sections::{Kind, Sections};
use crate::symbols::Number;

const WORD: u64 = 8;
/// The longest constant without a symbol that is compared.
const LONGEST: u64 = 4096;
/// So many characters in a row are text; of fewer, so many bytes around them decide.
const TEXT: usize = 4;
const AROUND: u64 = 16;
/// Where other constants begin. An empty string may be the end of what is not text.
const ALIGNED: u64 = 4;

/// The length of the string at an address with its end, if that is one.
pub(crate) fn string(sections: &Sections<'_>, address: u64) -> Option<u64> {
    let size = sections.left(address).min(LONGEST);
    let bytes = sections.bytes(address, size)?;
    let length = bytes.iter().position(|byte| *byte == 0)?;
    if !bytes[..length].iter().all(is_text) {
        return None;
    }
    let start = sections.at(address)?.start;
    let before = sections.bytes(
        start.max(address.saturating_sub(AROUND)),
        AROUND.min(address - start),
    )?;
    // The linker lets a string begin within a longer one that ends alike.
    let run = length + before.iter().rev().take_while(|byte| is_text(byte)).count();
    let behind_other =
        length == 0 && address % ALIGNED != 0 && !matches!(before.last(), Some(0) | None);
    let among = run >= TEXT || behind_other || {
        let end = (length as u64 + 1 + AROUND).min(size);
        let behind = sections.bytes(address, end)?;
        let part = [&before[..], &behind[..]].concat();
        let plain = |byte: &u8| *byte == 0 || is_text(byte);
        part.iter().all(plain) && 2 * part.iter().filter(|byte| is_text(byte)).count() > part.len()
    };
    among.then_some(length as u64 + 1)
}

/// What printk and terminals take as text; \x01 begins a level of printk.
fn is_text(byte: &u8) -> bool {
    matches!(byte, 0x20..=0x7e | b'\t' | b'\n' | b'\r' | 0x01 | 0x1b)
}

/// Whether a pointer into the middle of a function is there: a table of jumps.
pub(crate) fn leads_into_code(image: &Image<'_>, address: u64) -> bool {
    entry(image, address).is_some_and(|(symbol, target)| image.symbols.get(symbol).address < target)
}

/// How many entries a table of jumps has, or more: pointers into one function and its parts.
pub(crate) fn jumps(image: &Image<'_>, address: u64) -> u64 {
    let stem = |symbol| {
        let name = image.symbols.get(symbol).name;
        name.split(|byte| *byte == b'.').next().unwrap_or_default()
    };
    let Some((first, _)) = entry(image, address) else {
        return 0;
    };
    let next = image.symbols.next(address);
    (0..LONGEST / WORD)
        .take_while(|number| {
            let here = address.saturating_add(number * WORD);
            here < next && entry(image, here).is_some_and(|(other, _)| stem(other) == stem(first))
        })
        .count() as u64
}

fn entry(image: &Image<'_>, address: u64) -> Option<(Number, u64)> {
    if address % WORD != 0 {
        return None;
    }
    let target = image.pointer(address)?;
    if !image.holds(target) || image.sections.kind(target) != Some(Kind::Code) {
        return None;
    }
    Some((image.symbols.covering(target)?, target))
}

/// How far the constant reaches that is at these addresses of two kernels and has at least so many
/// bytes: no farther than to the next symbol or constant behind those of either. None where that is
/// too far.
pub(crate) fn extent(
    images: [&Image<'_>; 2],
    anchors: &[Vec<u64>; 2],
    addresses: [u64; 2],
    least: u64,
) -> Option<u64> {
    let sizes = images
        .iter()
        .zip(anchors)
        .zip(addresses)
        .map(|((image, anchors), address)| {
            let end = address.saturating_add(least);
            let next = anchors.partition_point(|anchor| *anchor < end);
            let anchor = anchors.get(next).copied().unwrap_or(u64::MAX);
            let symbol = image.symbols.next(end - 1);
            let left = image.sections.left(address);
            left.min(anchor.min(symbol) - address)
        });
    Some(sizes.min().unwrap_or(0)).filter(|size| *size <= LONGEST)
}

/// The constant for a person.
pub(crate) fn shown(sections: &Sections<'_>, address: u64) -> String {
    const LONGEST: usize = 40;
    let length = string(sections, address).unwrap_or(0).saturating_sub(1);
    let bytes = sections.bytes(address, length).unwrap_or_default();
    match bytes.is_empty() {
        true => "a constant".to_owned(),
        false => {
            let text = String::from_utf8_lossy(&bytes[..bytes.len().min(LONGEST)]);
            format!("the string \"{}\"", text.escape_default())
        }
    }
}

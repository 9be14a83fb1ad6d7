//! Where data without a symbol begins: what any code of a kernel, or any pointer in its data, names.

use crate::image::Image;
use crate::sections::Kind;
use crate::x86_64;

/// Addresses of constants that have no symbol, sorted.
pub(crate) fn anchors(image: &Image<'_>) -> Vec<u64> {
    let mut found = Vec::new();
    let mut note = |target: u64| {
        if target >> 63 == 1 && image.sections.kind(target) == Some(Kind::Constant) {
            found.push(target);
        }
    };
    for section in image.sections.iter() {
        let Some(bytes) = section.bytes else { continue };
        match section.kind {
            Kind::Code => x86_64::named(bytes, section.start, &mut note),
            _ => pointers(bytes, section.start, &mut note),
        }
        if section.name == b"__bug_table" {
            distances(bytes, section.start, &mut note);
        }
    }
    found.sort_unstable();
    found.dedup();
    found
}

fn pointers(bytes: &[u8], start: u64, note: &mut impl FnMut(u64)) {
    const WORD: usize = 8;
    let first = (start.wrapping_neg() % WORD as u64) as usize;
    for word in bytes.get(first..).unwrap_or_default().chunks_exact(WORD) {
        note(word.try_into().map_or(0, u64::from_le_bytes));
    }
}

/// Names of source files in the table of warnings: distances from where they stand.
fn distances(bytes: &[u8], start: u64, note: &mut impl FnMut(u64)) {
    const HALF: usize = 4;
    for (number, half) in bytes.chunks_exact(HALF).enumerate() {
        let distance = half.try_into().map_or(0, i32::from_le_bytes);
        let here = start.wrapping_add((number * HALF) as u64);
        note(here.wrapping_add_signed(distance.into()));
    }
}

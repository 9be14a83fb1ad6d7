use std::collections::HashMap;

use crate::{Avma, Kallsyms, Svma, SymbolIndex};

/// A name that a module has more often says nothing of where its sections are.
const MOST_NAMESAKES: usize = 64;

/// An executable section of a module, and where the guest loaded it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoadedSection {
    /// Where it starts in the index's layout.
    pub svma: Svma,
    /// Its length in bytes.
    pub size: u64,
    /// Where it starts in the guest.
    pub avma: Avma,
}

/// Find where a module's sections were loaded.
///
/// `stated` are lines of "module section address", from /sys/module/*/sections/*; what they do not
/// say is found by votes: each kallsyms symbol of the module, less its offset in the section of the
/// symbol of that name, is a vote for that section's address. Names that occur twice vote for
/// several addresses, and the true one still gets the most votes.
///
/// A section without votes (freed init code) is left out. One that a single symbol vouches for is
/// taken, since small modules have no more.
pub fn place_module(
    index: &SymbolIndex,
    name: &str,
    kallsyms: &Kallsyms,
    stated: &[u8],
) -> Vec<LoadedSection> {
    let sections = index.sections();
    let mut by_name: HashMap<&[u8], Vec<(usize, u64)>> = HashMap::new();
    for (svma, symbol) in index.symbols() {
        let after = sections.partition_point(|section| section.svma <= svma);
        if let Some(section) = after.checked_sub(1) {
            by_name
                .entry(symbol)
                .or_default()
                .push((section, svma.0 - sections[section].svma.0));
        }
    }
    // Else as many symbols of one name here and there would have the square of votes.
    by_name.retain(|_, places| places.len() <= MOST_NAMESAKES);
    let mut votes: Vec<HashMap<u64, u32>> = vec![HashMap::new(); sections.len()];
    for (avma, symbol) in kallsyms.module_symbols(name) {
        for (section, offset) in by_name.get(symbol).into_iter().flatten() {
            *votes[*section]
                .entry(avma.0.wrapping_sub(*offset))
                .or_default() += 1;
        }
    }
    let stated = stated_sections(name, stated);
    let mut out: Vec<LoadedSection> = sections
        .iter()
        .zip(&votes)
        .filter_map(|(section, votes)| {
            let most = || {
                // Equal votes: the lower address, so that the answer does not vary.
                let best = votes
                    .iter()
                    .max_by_key(|(at, count)| (**count, u64::MAX - **at));
                best.map(|(at, _)| *at)
            };
            let avma = stated.get(section.name.as_bytes()).copied().or_else(most)?;
            // A section must not wrap around the address space.
            avma.checked_add(section.size)?;
            Some(LoadedSection {
                svma: section.svma,
                size: section.size,
                avma: Avma(avma),
            })
        })
        .collect();
    out.sort_by_key(|section| section.avma);
    out
}

fn stated_sections<'t>(module: &str, text: &'t [u8]) -> HashMap<&'t [u8], u64> {
    let lines = text.split(|byte| *byte == b'\n');
    lines
        .filter_map(|line| {
            let mut fields = line
                .split(u8::is_ascii_whitespace)
                .filter(|f| !f.is_empty());
            if fields.next()? != module.as_bytes() {
                return None;
            }
            let section = fields.next()?;
            let address = std::str::from_utf8(fields.next()?).ok()?;
            let address = u64::from_str_radix(address.trim_start_matches("0x"), 16).ok()?;
            (address != 0).then_some((section, address))
        })
        .collect()
}

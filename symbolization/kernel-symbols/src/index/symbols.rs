use std::borrow::Cow;

use super::merge::Strings;
use crate::budget::{Account, Budget};
use crate::elf::{Elf, ElfSymbol};
use crate::Result;

/// A symbol with the addresses that it covers.
pub(crate) struct Symbol {
    pub(crate) start: u64,
    pub(crate) end: u64,
    pub(crate) name: u32,
    /// Whether the file says how long it is.
    pub(crate) sized: bool,
}

/// The symbols of an ELF file, sorted. The first of several symbols at one address is the one to show:
/// functions before labels, global before weak before local, fewest leading underscores, then by
/// name.
pub(crate) fn sorted<'d>(elf: &Elf<'d>, budget: &Budget) -> Result<Vec<ElfSymbol<'d>>> {
    let mut account = Account::new(budget);
    let symbols = elf.symbols(&mut account);
    let paid = account.settle();
    let mut symbols = symbols
        .and_then(|symbols| paid.map(|()| symbols))
        .map_err(|_| budget.error())?;
    let underscores = |name: &[u8]| name.iter().take_while(|byte| **byte == b'_').count();
    symbols.sort_by(|a, b| {
        let key = |s: &ElfSymbol<'d>| (s.address, s.rank, underscores(s.name), s.name);
        key(a).cmp(&key(b))
    });
    Ok(symbols)
}

/// Sorted symbols with what they cover: one without a size (a label in assembly) reaches to the next.
pub(crate) fn covering<'d>(symbols: &[ElfSymbol<'d>], strings: &mut Strings<'d>) -> Vec<Symbol> {
    let mut next = None;
    let mut out: Vec<Symbol> = Vec::with_capacity(symbols.len());
    for i in (0..symbols.len()).rev() {
        let symbol = &symbols[i];
        if let Some(after) = symbols
            .get(i + 1)
            .filter(|after| after.address > symbol.address)
        {
            next = Some(after.address);
        }
        let section_end = symbol.address.saturating_add(symbol.limit);
        let end = match symbol.size {
            0 => next.map_or(section_end, |next| next.min(section_end)),
            size => symbol.address.saturating_add(size),
        };
        let name = strings.intern(Cow::Borrowed(symbol.name));
        out.push(Symbol {
            start: symbol.address,
            end,
            name,
            sized: symbol.size > 0,
        });
    }
    out.reverse();
    out
}

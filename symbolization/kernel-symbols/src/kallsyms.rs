use std::collections::HashMap;
use std::ops::Range;

use crate::resolution::{Reason, Resolution, ResolutionBuilder};
use crate::{Avma, Displacement, SymbolIndex};

/// No function is larger. kallsyms has no sizes, so that this bounds the last symbol before a gap
/// (between modules, after the kernel's text).
const MOST_FUNCTION_BYTES: u64 = 1 << 20;

/// A guest's /proc/kallsyms.
pub struct Kallsyms {
    text: Vec<u8>,
    /// By address; of symbols at one address the preferred one comes first.
    symbols: Vec<Symbol>,
    /// Names in brackets: modules, `bpf`, `__builtin__ftrace`. The first is empty: the kernel.
    modules: Vec<String>,
}

struct Symbol {
    address: u64,
    name: Range<u32>,
    module: u32,
    kind: u8,
}

impl Symbol {
    fn is_code(&self) -> bool {
        matches!(self.kind, b't' | b'T' | b'w' | b'W')
    }
}

impl Kallsyms {
    /// Read lines of "address kind name [module]". Lines of another form are skipped, and so are
    /// all lines when the guest hid the addresses (kptr_restrict): they are 0 then.
    pub fn parse(text: Vec<u8>) -> Self {
        let mut symbols = Vec::new();
        let mut modules = vec![String::new()];
        let mut known: HashMap<&[u8], u32> = HashMap::new();
        let mut start = 0;
        for line in text.split(|byte| *byte == b'\n') {
            let at = start;
            start += line.len() + 1;
            // A range of u32 keeps the table small; kallsyms of a kernel has 10 MB.
            let Some(symbol) = u32::try_from(at).ok().and_then(|at| parse_line(line, at)) else {
                continue;
            };
            let (mut symbol, module) = symbol;
            if !module.is_empty() {
                symbol.module = *known.entry(module).or_insert_with(|| {
                    modules.push(String::from_utf8_lossy(module).into_owned());
                    (modules.len() - 1) as u32
                });
            }
            symbols.push(symbol);
        }
        let name = |symbol: &Symbol| &text[symbol.name.start as usize..symbol.name.end as usize];
        symbols.sort_by(|a, b| {
            // Code first, so that an address needs to look at one symbol only.
            let key = |symbol: &Symbol| (!symbol.is_code(), rank(symbol, name(symbol)));
            a.address
                .cmp(&b.address)
                .then_with(|| (key(a), name(a)).cmp(&(key(b), name(b))))
        });
        Kallsyms {
            text,
            symbols,
            modules,
        }
    }

    fn name(&self, symbol: &Symbol) -> &[u8] {
        self.text
            .get(symbol.name.start as usize..symbol.name.end as usize)
            .unwrap_or_default()
    }

    /// How many symbols there are.
    pub fn len(&self) -> usize {
        self.symbols.len()
    }

    /// Whether there are none: the guest hid them, or has no kallsyms.
    pub fn is_empty(&self) -> bool {
        self.symbols.is_empty()
    }

    /// The address of a symbol of the kernel itself.
    pub fn address(&self, name: &str) -> Option<Avma> {
        self.symbols
            .iter()
            .find(|symbol| symbol.module == 0 && self.name(symbol) == name.as_bytes())
            .map(|symbol| Avma(symbol.address))
    }

    /// Names of modules and other owners, in brackets in the file. The first is empty.
    pub fn modules(&self) -> &[String] {
        &self.modules
    }

    /// The code symbols of a module as (address, name), by address.
    pub fn module_symbols<'k>(
        &'k self,
        module: &str,
    ) -> impl Iterator<Item = (Avma, &'k [u8])> + 'k {
        let wanted = self
            .modules
            .iter()
            .position(|name| name == module && !name.is_empty());
        let symbols = self.symbols.iter();
        symbols
            .filter(move |symbol| Some(symbol.module as usize) == wanted && symbol.is_code())
            .map(|symbol| (Avma(symbol.address), self.name(symbol)))
    }

    /// What KASLR added to the kernel's addresses; None if it cannot be told.
    pub fn displacement(&self, kernel: &SymbolIndex) -> Option<Displacement> {
        ["_text", "_stext", "startup_64", "schedule"]
            .iter()
            .find_map(|name| Some(self.address(name)?.minus(kernel.symbol_address(name)?)))
    }

    /// For each address the index of its owner in [`Kallsyms::modules`]; None if no symbol covers
    /// it.
    pub fn owners(&self, addresses: &[Avma]) -> Vec<Option<u32>> {
        addresses
            .iter()
            .map(|address| Some(self.at(*address)?.module))
            .collect()
    }

    /// Chains of one frame each.
    pub fn resolve(&self, addresses: &[Avma]) -> Resolution {
        let mut out = ResolutionBuilder::default();
        for address in addresses {
            match self.at(*address) {
                Some(symbol) => {
                    let key = u64::from(symbol.name.start) + 1;
                    let name = self.name(symbol);
                    let text = || String::from_utf8_lossy(name).into_owned();
                    let symbol = out.string(key, text);
                    let name = out.name(key, text);
                    out.symbol(name, symbol, 0, 0, 0);
                }
                None => out.unresolved(Reason::OutsideText),
            }
        }
        out.finish()
    }

    /// For each address the nearest symbol at or before it, of code or data, and how many bytes lie
    /// between them; None if they are too many: kallsyms has no sizes, and what has no symbol, such
    /// as a string, must not be named after what happens to stand before it.
    pub fn nearest(&self, addresses: &[Avma]) -> Vec<Option<(&[u8], u64)>> {
        const MOST_DATA_BYTES: u64 = 1 << 16;
        const MOST_CONSTANT_BYTES: u64 = 1 << 8;
        let nearest = |address: &Avma| {
            let symbol = self.nearest_symbol(*address)?;
            let most = match symbol.kind {
                _ if symbol.is_code() => MOST_FUNCTION_BYTES,
                b'r' | b'R' => MOST_CONSTANT_BYTES,
                _ => MOST_DATA_BYTES,
            };
            let offset = address.0 - symbol.address;
            (offset < most).then_some((self.name(symbol), offset))
        };
        addresses.iter().map(nearest).collect()
    }

    /// The symbol that covers an address: the nearest at or before it, if it is code.
    fn at(&self, address: Avma) -> Option<&Symbol> {
        let symbol = self.nearest_symbol(address)?;
        (symbol.is_code() && address.0 - symbol.address < MOST_FUNCTION_BYTES).then_some(symbol)
    }

    /// The preferred one of the symbols at the nearest address that has some, at or before this one.
    fn nearest_symbol(&self, address: Avma) -> Option<&Symbol> {
        let after = self
            .symbols
            .partition_point(|symbol| symbol.address <= address.0);
        let start = self.symbols[..after].last()?.address;
        let first = self
            .symbols
            .partition_point(|symbol| symbol.address < start);
        self.symbols.get(first)
    }
}

/// Lowest first: what `nm` shows as a global function, before marks such as `_text`.
fn rank(symbol: &Symbol, name: &[u8]) -> (u8, usize) {
    let mark = [&b"_start"[..], b"_end", b"_begin", b"text"]
        .iter()
        .any(|end| name.ends_with(end));
    let binding = match symbol.kind {
        b'T' => 0,
        b'W' | b'w' => 1,
        b't' => 2,
        _ => 3,
    };
    let underscores = name.iter().take_while(|byte| **byte == b'_').count();
    (
        binding + if mark && underscores > 0 { 4 } else { 0 },
        underscores,
    )
}

fn parse_line(line: &[u8], at: u32) -> Option<(Symbol, &[u8])> {
    let mut fields = line
        .split(|byte| matches!(byte, b' ' | b'\t'))
        .filter(|f| !f.is_empty());
    let address = fields.next()?;
    let address = u64::from_str_radix(std::str::from_utf8(address).ok()?, 16).ok()?;
    let kind = match fields.next()? {
        [kind] => *kind,
        _ => return None,
    };
    let name = fields.next()?;
    let module = fields.next().unwrap_or_default();
    let module = module
        .strip_prefix(b"[")
        .and_then(|m| m.strip_suffix(b"]"))
        .unwrap_or_default();
    if address == 0 {
        return None;
    }
    let start =
        at.checked_add(u32::try_from(name.as_ptr() as usize - line.as_ptr() as usize).ok()?)?;
    let end = start.checked_add(u32::try_from(name.len()).ok()?)?;
    Some((
        Symbol {
            address,
            name: start..end,
            module: 0,
            kind,
        },
        module,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &[u8] = b"ffffffff81000000 T _stext\nffffffff81000000 T _text\n\
        ffffffff81000000 T startup_64\nffffffff81000100 t helper.isra.0\n\
        ffffffff81000100 D not_code\nffffffff81000200 T __do_it\nffffffff81000200 T do_it\n\
        garbage\nffffffffc0000000 t mod_fn\t[mod]\nffffffffc0000040 d mod_data\t[mod]\n\
        ffffffffc0100000 t bpf_prog_1 [bpf]\n";

    fn names(addresses: &[u64]) -> Vec<String> {
        let kallsyms = Kallsyms::parse(TEXT.to_vec());
        let addresses: Vec<Avma> = addresses.iter().map(|address| Avma(*address)).collect();
        let resolution = kallsyms.resolve(&addresses);
        resolution
            .symbol
            .iter()
            .map(|i| resolution.strings[*i as usize].clone())
            .collect()
    }

    #[test]
    fn aliases_are_chosen_as_a_person_would() {
        assert_eq!(
            names(&[
                0xffff_ffff_8100_0010,
                0xffff_ffff_8100_01ff,
                0xffff_ffff_8100_0200
            ]),
            ["startup_64", "helper.isra.0", "do_it"]
        );
    }

    #[test]
    fn gaps_and_data_are_not_code() {
        assert_eq!(
            names(&[
                0xffff_ffff_80ff_ffff,
                0xffff_ffff_9000_0000,
                0xffff_ffff_c000_0041
            ]),
            ["", "", ""]
        );
    }

    #[test]
    fn owners_are_named() {
        let kallsyms = Kallsyms::parse(TEXT.to_vec());
        assert_eq!(kallsyms.modules(), ["", "mod", "bpf"]);
        let owners = kallsyms.owners(&[Avma(0xffff_ffff_c000_0001), Avma(0xffff_ffff_c010_0001)]);
        assert_eq!(owners, [Some(1), Some(2)]);
        assert_eq!(kallsyms.address("_text"), Some(Avma(0xffff_ffff_8100_0000)));
        assert_eq!(kallsyms.address("mod_fn"), None);
    }

    #[test]
    fn hidden_addresses_are_no_symbols() {
        assert!(Kallsyms::parse(b"0000000000000000 T _text\n".to_vec()).is_empty());
    }
}

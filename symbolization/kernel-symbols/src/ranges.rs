use crate::resolution::{Reason, Resolution, ResolutionBuilder};
use crate::Avma;

/// Functions as ranges of addresses, without any file: what a JIT wrote into `perf-PID.map`, or
/// what the kernel told of BPF programs.
#[derive(Clone, Debug, Default)]
pub struct SymbolRanges {
    /// Sorted by start; of those that overlap the later one wins.
    ranges: Vec<(u64, u64, String)>,
}

impl SymbolRanges {
    /// From (start, length, name) in the order in which they were made.
    pub fn new(ranges: impl IntoIterator<Item = (u64, u64, String)>) -> Self {
        let mut ranges: Vec<_> = ranges.into_iter().collect();
        ranges.sort_by_key(|(start, _, _)| *start);
        SymbolRanges { ranges }
    }

    /// Parse `perf-PID.map`: lines of start, size (both hexadecimal) and name
    /// (tools/perf/Documentation/jit-interface.txt). Other lines are passed over.
    pub fn parse_perf_map(text: &[u8]) -> Self {
        let text = String::from_utf8_lossy(text);
        let lines = text.lines().filter_map(|line| {
            let mut words = line.splitn(3, ' ');
            let number = |word: &str| u64::from_str_radix(word.trim_start_matches("0x"), 16).ok();
            Some((
                number(words.next()?)?,
                number(words.next()?)?,
                words.next()?.trim().to_owned(),
            ))
        });
        SymbolRanges::new(lines)
    }

    /// The function at each address, which is not inlined and of no known file.
    pub fn resolve(&self, addresses: &[Avma]) -> Resolution {
        let mut out = ResolutionBuilder::default();
        for address in addresses {
            let after = self
                .ranges
                .partition_point(|(start, _, _)| *start <= address.0);
            let last = after.checked_sub(1).map(|row| (row, &self.ranges[row]));
            match last.filter(|(_, (start, length, _))| address.0 - start < *length) {
                Some((row, (_, _, name))) => {
                    let key = row as u64 + 1;
                    let symbol = out.string(key, || name.clone());
                    let name = out.name(key, || name.clone());
                    out.symbol(name, symbol, 0, 0, 0);
                }
                None => out.unresolved(Reason::NoSymbol),
            }
        }
        out.finish()
    }
}

use hashbrown::HashMap;

use crate::sections::Sections;

/// How deep symbols that lie in each other are followed.
const DEEPEST: usize = 64;

/// A name for an address.
#[derive(Clone, Debug)]
pub(crate) struct Symbol<'d> {
    pub(crate) address: u64,
    /// To the next symbol or the end of the section where the file has no size.
    pub(crate) size: u64,
    pub(crate) sized: bool,
    pub(crate) name: &'d [u8],
    /// The source file of a local symbol, without its folder; empty for a global one.
    pub(crate) file: &'d [u8],
    /// The lower the more it is what a person means.
    pub(crate) rank: u8,
}

impl Symbol<'_> {
    fn end(&self) -> u64 {
        self.address.saturating_add(self.size)
    }

    pub(crate) fn covers(&self, address: u64) -> bool {
        self.address <= address && address < self.end()
    }

    /// Its name without the number that the compiler gave it: `__func__` of `__func__.12`.
    pub(crate) fn plain(&self) -> &[u8] {
        let digits = self
            .name
            .iter()
            .rev()
            .take_while(|one| one.is_ascii_digit());
        let rest = &self.name[..self.name.len() - digits.count()];
        match rest.strip_suffix(b".") {
            Some(plain) if !plain.is_empty() && rest.len() < self.name.len() => plain,
            _ => self.name,
        }
    }

    /// Its name for a person.
    pub(crate) fn shown(&self) -> String {
        const LONGEST: usize = 200;
        let part = &self.name[..self.name.len().min(LONGEST)];
        String::from_utf8_lossy(part).into_owned()
    }
}

/// A symbol by its number, of one file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Number(pub(crate) u32);

/// One symbol for each address that has any.
#[derive(Debug)]
pub(crate) struct Symbols<'d> {
    sorted: Vec<Symbol<'d>>,
    /// The nearest sized one before each that reaches behind where it starts.
    around: Vec<Option<u32>>,
    named: HashMap<&'d [u8], Vec<u32>>,
    /// Names without a size, of the linker's or of assembly, also where another name is better.
    labels: HashMap<&'d [u8], u64>,
}

impl<'d> Symbols<'d> {
    pub(crate) fn new(mut symbols: Vec<Symbol<'d>>, sections: &Sections<'_>) -> Self {
        symbols.sort_unstable_by(|a, b| {
            let underscores = |name: &[u8]| name.iter().take_while(|one| **one == b'_').count();
            let key = |one: &Symbol<'d>| (one.address, !one.sized, one.rank, underscores(one.name));
            key(a).cmp(&key(b)).then_with(|| a.name.cmp(b.name))
        });
        let unsized_ = symbols.iter().filter(|symbol| !symbol.sized);
        let labels = unsized_
            .map(|symbol| (symbol.name, symbol.address))
            .collect();
        symbols.dedup_by_key(|symbol| symbol.address);
        let mut around = Vec::with_capacity(symbols.len());
        let mut open: Vec<u32> = Vec::new();
        for number in 0..symbols.len() {
            let start = symbols[number].address;
            while open
                .last()
                .is_some_and(|last| symbols[*last as usize].end() <= start)
            {
                open.pop();
            }
            around.push(open.last().copied());
            let next = symbols.get(number + 1).map_or(u64::MAX, |one| one.address);
            let symbol = &mut symbols[number];
            let left = sections.left(start);
            if symbol.sized {
                symbol.size = symbol.size.min(left);
                open.push(number as u32);
            } else {
                symbol.size = left.min(next - start);
            }
        }
        let mut named: HashMap<&[u8], Vec<u32>> = HashMap::new();
        for (number, symbol) in symbols.iter().enumerate() {
            named.entry(symbol.name).or_default().push(number as u32);
        }
        Symbols {
            sorted: symbols,
            around,
            named,
            labels,
        }
    }

    pub(crate) fn get(&self, number: Number) -> &Symbol<'d> {
        &self.sorted[number.0 as usize]
    }

    /// The innermost symbol with a size that covers an address, or else the label before it.
    pub(crate) fn covering(&self, address: u64) -> Option<Number> {
        let last = self.before(address)?;
        let mut next = Some(last);
        for _ in 0..DEEPEST {
            let Some(number) = next else { break };
            let symbol = &self.sorted[number as usize];
            if symbol.sized && symbol.covers(address) {
                return Some(Number(number));
            }
            next = self.around[number as usize];
        }
        let label = &self.sorted[last as usize];
        (!label.sized && label.covers(address)).then_some(Number(last))
    }

    /// The last symbol at or before an address.
    fn before(&self, address: u64) -> Option<u32> {
        let next = self.sorted.partition_point(|one| one.address <= address);
        next.checked_sub(1).map(|last| last as u32)
    }

    pub(crate) fn last(&self, address: u64) -> Option<Number> {
        self.before(address).map(Number)
    }

    /// Where the next symbol behind an address is.
    pub(crate) fn next(&self, address: u64) -> u64 {
        let next = self.sorted.partition_point(|one| one.address <= address);
        self.sorted.get(next).map_or(u64::MAX, |one| one.address)
    }

    /// Where a label without a size is.
    pub(crate) fn label(&self, name: &[u8]) -> Option<u64> {
        self.labels.get(name).copied()
    }

    /// The one of these symbols that `symbol` of another file's, `others`, is: by its name, of
    /// namesakes by source file and order. None where that is not certain.
    pub(crate) fn counterpart(&self, symbol: Number, others: &Symbols<'_>) -> Option<Number> {
        let wanted = others.get(symbol);
        let every = self.named.get(wanted.name)?;
        let namesakes = others.named.get(wanted.name)?;
        if let ([one], [_]) = (&every[..], &namesakes[..]) {
            return Some(Number(*one));
        }
        /// Nobody names more functions alike; whoever does would have all compared with all.
        const MOST: usize = 256;
        if every.len().max(namesakes.len()) > MOST {
            return None;
        }
        let of = |table: &[Symbol<'_>], numbers: &[u32]| -> Vec<u32> {
            let same = |one: &&u32| table[**one as usize].file == wanted.file;
            numbers.iter().filter(same).copied().collect()
        };
        let mine = of(&self.sorted, every);
        let theirs = of(&others.sorted, namesakes);
        let place = theirs.iter().position(|one| *one == symbol.0)?;
        (mine.len() == theirs.len()).then(|| Number(mine[place]))
    }
}

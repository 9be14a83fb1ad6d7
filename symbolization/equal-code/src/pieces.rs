//! What belongs to a function's code, though it stands elsewhere: the part that the compiler takes
//! for seldom executed (GCC: `NAME.cold`), and ways that the kernel's tables tell.

use object::Architecture;

use crate::arm64_flow::Around;
use crate::arm64_words::{jump, words, LENGTH};
use crate::budget::Budget;
use crate::image::Image;
use crate::reference::Scanned;
use crate::sections::Kind;
use crate::symbols::Number;
use crate::tables::{Code, Tables};
use crate::verdict::Difference;
use crate::{arm64, x86_64};

const COLD: &[u8] = b".cold";

/// The code of a function that lies beside what its symbol covers, and how that is reached.
#[derive(Debug, Default)]
pub(crate) struct Pieces {
    /// Bytes and address of each.
    pub(crate) others: Vec<(Vec<u8>, u64)>,
    /// From where to where execution gets without a branch that stands there.
    pub(crate) hidden: Vec<(u64, u64)>,
    /// Whether it is entered with registers that hold what nobody knows.
    pub(crate) entered: bool,
}

impl Pieces {
    /// For a function with this code. On x86-64 no address takes two instructions.
    pub(crate) fn of(
        image: &Image<'_>,
        tables: &Tables,
        function: Number,
        code: &[u8],
        budget: &Budget,
    ) -> Result<Self, Difference> {
        let mut pieces = Pieces::default();
        if image.architecture == Architecture::X86_64 {
            return Ok(pieces);
        }
        let symbol = image.symbols.get(function);
        let cold = is_cold(symbol.name);
        let mut found: Vec<Number> = targets(code, symbol.address)
            .filter(|target| !symbol.covers(*target))
            .filter_map(|target| Some((target, image.symbols.covering(target)?)))
            .filter(|(target, other)| {
                let other = image.symbols.get(*other);
                let code = image.sections.kind(*target) == Some(Kind::Code);
                code && (is_cold(other.name) || cold && other.address != *target)
            })
            .map(|(_, other)| other)
            .collect();
        if cold && found.is_empty() {
            found.extend(image.symbols.only(stem(symbol.name)));
            pieces.entered = found.is_empty();
        }
        found.sort_unstable_by_key(|number| number.0);
        found.dedup();
        pieces.hide(image, tables, Code::of(symbol));
        for other in found {
            let other = image.symbols.get(other);
            budget.spend(other.size)?;
            let bytes = image.sections.bytes(other.address, other.size);
            let bytes = bytes.ok_or_else(|| Difference::unknown("a part is not in the file"))?;
            pieces.others.push((bytes.into_owned(), other.address));
            pieces.hide(image, tables, Code::of(other));
        }
        Ok(pieces)
    }

    /// The addresses that code names, which execution reaches as these tell.
    pub(crate) fn scan(&self, image: &Image<'_>, code: &[u8], address: u64) -> Scanned {
        if image.architecture == Architecture::X86_64 {
            return x86_64::scan(code, address, &image.sections);
        }
        let around = Around {
            others: &self.others,
            hidden: &self.hidden,
            entered: self.entered,
            key: &|address| image.symbols.last(address).map_or(0, |last| last.0.into()),
            knows: &|address| image.holds(address),
            pointer: &|address| image.pointer(address),
        };
        arm64::scan(code, address, &around)
    }

    /// Ways out of a piece that its tables tell: a branch that the kernel writes, or takes away, and
    /// where a fault leads.
    fn hide(&mut self, image: &Image<'_>, tables: &Tables, code: Code) {
        for entry in tables.within(code) {
            let behind = entry.site.wrapping_add(LENGTH as u64);
            self.hidden.push((entry.site, behind));
            self.hidden
                .extend(entry.targets.first().map(|to| (entry.site, *to)));
            let bytes = entry.replacement.and_then(|code| {
                let bytes = image.sections.bytes(code.start, code.size)?;
                Some((code.start, bytes))
            });
            if let Some((start, bytes)) = bytes {
                let ways = targets(&bytes, start).map(|to| (entry.site, to));
                self.hidden.extend(ways);
            }
        }
    }
}

fn is_cold(name: &[u8]) -> bool {
    name.windows(COLD.len()).any(|part| part == COLD)
}

/// The name without the compiler's word for what is seldom executed.
fn stem(name: &[u8]) -> &[u8] {
    let end = name.windows(COLD.len()).position(|part| part == COLD);
    &name[..end.unwrap_or(name.len())]
}

/// Where code branches to, other than to call.
fn targets(code: &[u8], start: u64) -> impl Iterator<Item = u64> + '_ {
    words(code, start).filter_map(|(here, word)| jump(word, here))
}

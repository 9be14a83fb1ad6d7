//! Data against data: pointers by where they lead, all else as it is.

use crate::budget::Budget;
use crate::constants;
use crate::objects::{Extent, Thing, Things};
use crate::reference::Use;
use crate::sections::Kind;
use crate::symbols::Number;
use crate::targets::Targets;
use crate::verdict::{Difference, Verdict};

const WORD: u64 = 8;
/// What of a label among data is compared: nothing says where its own data ends.
const MOST_OF_LABEL: u64 = 1 << 16;

/// Compares data; `things` gets the constants that it points to.
pub(crate) struct Contents<'a, 'b, 'd> {
    pub(crate) targets: &'a mut Targets<'b, 'd>,
    pub(crate) things: &'a mut Things,
    pub(crate) budget: &'a Budget,
    /// Where other data without a symbol begins in each kernel, sorted.
    pub(crate) anchors: &'a [Vec<u64>; 2],
}

impl Contents<'_, '_, '_> {
    /// A variable or constant with a symbol.
    pub(crate) fn object(&mut self, old: Number, new: Number) -> Result<Vec<u32>, Difference> {
        let one = self.targets.old.symbols.get(old);
        let other = self.targets.new.symbols.get(new);
        let (name, sized) = (one.shown(), one.sized);
        let size = one.size.min(other.size);
        let (first, second) = (one.address, other.address);
        if !sized && is_end(one.name) {
            return Ok(Vec::new());
        }
        if !sized && size > MOST_OF_LABEL {
            return Err(Difference::unknown(format!(
                "nothing tells the size of {name}"
            )));
        }
        let zeros = |start| matches!(start, Some(None));
        let (one, other) = (&self.targets.old.sections, &self.targets.new.sections);
        if zeros(one.at(first).map(|section| section.bytes))
            && zeros(other.at(second).map(|section| section.bytes))
        {
            return Ok(Vec::new());
        }
        self.bytes(first, second, size).map_err(|inner| {
            let detail = format!("{name}: {}", inner.detail);
            Difference::new(inner.verdict, detail)
        })
    }

    /// Data without a symbol.
    pub(crate) fn constant(
        &mut self,
        old: u64,
        new: u64,
        extent: Extent,
    ) -> Result<Vec<u32>, Difference> {
        let images = [self.targets.old, self.targets.new];
        let extent_of = |least: u64, unknown: &str| {
            constants::extent(images, self.anchors, [old, new], least)
                .ok_or_else(|| Difference::unknown(unknown))
        };
        let size = match extent {
            Extent::Bytes(bytes) => u64::from(bytes),
            Extent::Table => return self.table(old, new),
            // The same code reads both: one that is a string makes the other one.
            Extent::Open => match constants::string(&images[0].sections, old)
                .into_iter()
                .chain(constants::string(&images[1].sections, new))
                .min()
            {
                // To the end of the string where something else begins right behind that. Of strings
                // of different lengths, the first byte that differs is the end of one.
                Some(length) => extent_of(length, "a string has no end")?,
                None if constants::leads_into_code(images[0], old) => return self.table(old, new),
                None => extent_of(1, "a constant without a symbol has no end")?,
            },
        };
        self.bytes(old, new, size).map_err(|inner| {
            let text = constants::shown(&self.targets.old.sections, old);
            Difference::new(inner.verdict, format!("{text}: {}", inner.detail))
        })
    }

    /// A table of jumps: addresses in one function, of whatever number.
    fn table(&mut self, old: u64, new: u64) -> Result<Vec<u32>, Difference> {
        let first = constants::jumps(self.targets.old, old);
        let second = constants::jumps(self.targets.new, new);
        if first == 0 || second == 0 {
            return Err(Difference::unknown("a table of jumps has no entries"));
        }
        // An entry more or less is another table's: code that is equal has the same number.
        self.bytes(old, new, first.min(second) * WORD)
    }

    /// `size` bytes of each kernel. What they point to is followed only if it is constant.
    fn bytes(&mut self, old: u64, new: u64, size: u64) -> Result<Vec<u32>, Difference> {
        self.budget.spend(size)?;
        let images = (self.targets.old, self.targets.new);
        let missing = || Difference::unknown("its content is not in the file");
        let first = images.0.sections.bytes(old, size).ok_or_else(missing)?;
        let second = images.1.sections.bytes(new, size).ok_or_else(missing)?;
        let mut found = Vec::new();
        let mut at = 0;
        while at < size {
            let (here, there) = (old + at, new + at);
            let step = (WORD - here % WORD).min(size - at);
            if step == WORD {
                let one = images.0.pointer(here).unwrap_or(0);
                let other = images.1.pointer(there).unwrap_or(0);
                if images.0.holds(one) || images.1.holds(other) {
                    let same = self.targets.same((one, other), Use::Address, None);
                    let thing = same.map_err(|inner| {
                        Difference::new(Verdict::Data, format!("+{at:#x}: {}", inner.detail))
                    })?;
                    if images.0.sections.kind(one) == Some(Kind::Constant) {
                        found.extend(thing.map(|thing| self.things.number(thing)));
                    }
                    at += step;
                    continue;
                }
            }
            let part = at as usize..(at + step) as usize;
            if first[part.clone()] != second[part] && !self.distances(old, new, at, step) {
                return Err(Difference::new(Verdict::Data, format!("+{at:#x} differs")));
            }
            at += step;
        }
        Ok(found)
    }

    /// Whether words that differ are distances from themselves to the same places.
    fn distances(&mut self, old: u64, new: u64, at: u64, step: u64) -> bool {
        const HALF: u64 = 4;
        if step % HALF != 0 {
            return false;
        }
        (0..step / HALF).all(|half| {
            let places = (old + at + half * HALF, new + at + half * HALF);
            let images = (self.targets.old, self.targets.new);
            let (Some(one), Some(other)) = (
                images.0.sections.bytes(places.0, HALF),
                images.1.sections.bytes(places.1, HALF),
            ) else {
                return false;
            };
            let distance = |bytes: &[u8]| bytes.try_into().map_or(0, i32::from_le_bytes);
            let (one, other) = (distance(&one), distance(&other));
            let ends = (
                places.0.wrapping_add_signed(i64::from(one)),
                places.1.wrapping_add_signed(i64::from(other)),
            );
            if one == other {
                return true;
            }
            let held = images.0.holds(ends.0) && images.1.holds(ends.1);
            let same = held.then(|| self.targets.same(ends, Use::Address, None));
            // Constants that it leads to would have to be compared, too.
            matches!(same, Some(Ok(thing)) if !matches!(thing, Some(Thing::Constant(..))))
        })
    }
}

/// Whether a label of the linker says where something ends: what lies behind it is not meant.
fn is_end(name: &[u8]) -> bool {
    name.ends_with(b"_end") || name.starts_with(b"__stop_")
}

//! Code against code: bytes without addresses, addresses by what is there, tables by place.

use crate::budget::Budget;
use crate::image::Image;
use crate::objects::Things;
use crate::reference::{Reference, Scanned, Use};
use crate::sections::Kind;
use crate::tables::{Code, Entry, Tables};
use crate::targets::{Function, Targets};
use crate::verdict::{Difference, Verdict};
use crate::x86_64;

/// Compares code; `things` gets what it refers to.
pub(crate) struct CodeComparer<'a, 'b, 'd> {
    pub(crate) targets: &'a mut Targets<'b, 'd>,
    pub(crate) things: &'a mut Things,
    pub(crate) tables: [&'a Tables; 2],
    pub(crate) budget: &'a Budget,
}

impl CodeComparer<'_, '_, '_> {
    /// The things that a function refers to in both kernels.
    pub(crate) fn function(&mut self, function: Function) -> Result<Vec<u32>, Difference> {
        let (old, new) = (
            Code::of(self.targets.old.symbols.get(function.0)),
            Code::of(self.targets.new.symbols.get(function.1)),
        );
        let mut found = self.code(old, new, Some(function))?;
        for tables in self.tables {
            if let Some(table) = tables.unreadable {
                return Err(Difference::unknown(format!(
                    "the table of {table}s is unreadable"
                )));
            }
        }
        found.extend(self.patched(old, new, function)?);
        Ok(found)
    }

    /// Two pieces of code.
    fn code(
        &mut self,
        old: Code,
        new: Code,
        function: Option<Function>,
    ) -> Result<Vec<u32>, Difference> {
        let (first, second) = self.scanned(old, new)?;
        let different = |text: String| Err(Difference::new(Verdict::Instructions, text));
        let shorter = first.masked.len().min(second.masked.len());
        let at = (0..shorter).find(|at| first.masked[*at] != second.masked[*at]);
        if let Some(at) = at {
            return different(format!(
                "another instruction at +{:#x}",
                first.instruction_at(at)
            ));
        }
        let rest = [&first.masked[shorter..], &second.masked[shorter..]].concat();
        let sized = function.is_none_or(|(one, _)| self.targets.old.symbols.get(one).sized);
        let idle = |byte: &u8| matches!(byte, 0 | 0x90 | 0xcc);
        if !rest.is_empty() && (sized || !rest.iter().all(idle)) {
            return different(format!("{} bytes became {}", old.size, new.size));
        }
        let mut found = Vec::new();
        let pairs = first.references.iter().zip(&second.references);
        if first.references.len() != second.references.len() {
            return different("an address became a number, or a number an address".to_owned());
        }
        for (one, other) in pairs {
            found.extend(self.reference(one, other, function)?);
            if one.how == Use::Address {
                found.extend(self.behind(one, other, function)?);
            }
        }
        if self.targets.old.starts_at_zero() && self.targets.new.starts_at_zero() {
            for (one, other) in first.maybe.iter().zip(&second.maybe) {
                // What it holds is compared where it is read: this may be a number.
                self.reference(one, other, function)?;
            }
        }
        Ok(found)
    }

    fn scanned(&self, old: Code, new: Code) -> Result<(Scanned, Scanned), Difference> {
        self.budget.spend(old.size.saturating_add(new.size))?;
        let scan = |image: &Image<'_>, code: Code| {
            let bytes = image.sections.bytes(code.start, code.size);
            let bytes = bytes.ok_or_else(|| Difference::unknown("its code is not in the file"))?;
            Ok(x86_64::scan(&bytes, code.start, &image.sections))
        };
        Ok((scan(self.targets.old, old)?, scan(self.targets.new, new)?))
    }

    fn reference(
        &mut self,
        old: &Reference,
        new: &Reference,
        function: Option<Function>,
    ) -> Result<Option<u32>, Difference> {
        if (old.at, old.how) != (new.at, new.how) {
            let detail = format!("an address became a number at +{:#x}", old.at);
            return Err(Difference::new(Verdict::Instructions, detail));
        }
        let same = self
            .targets
            .same((old.target, new.target), old.how, function);
        match same {
            Ok(thing) => Ok(thing.map(|thing| self.things.number(thing))),
            Err(Difference { verdict, detail }) => Err(Difference::new(
                verdict,
                format!("at +{:#x} {detail}", old.at),
            )),
        }
    }

    /// What lies behind a place near the end of a variable: an index that begins at 1 is folded into
    /// the address of what it is added to.
    fn behind(
        &mut self,
        old: &Reference,
        new: &Reference,
        function: Option<Function>,
    ) -> Result<Option<u32>, Difference> {
        let ends = (
            behind(self.targets.old, old.target),
            behind(self.targets.new, new.target),
        );
        let unknown = |detail: &str| {
            let at = old.at;
            let detail = format!("at +{at:#x} it may mean what lies behind: {detail}");
            Err(Difference::unknown(detail))
        };
        match ends {
            (None, None) => Ok(None),
            (Some(one), Some(other)) => {
                match self.targets.same((one, other), Use::Address, function) {
                    Ok(thing) => Ok(thing.map(|thing| self.things.number(thing))),
                    Err(inner) => unknown(&inner.detail),
                }
            }
            _ => unknown("only one has something there"),
        }
    }

    /// What the tables say of places in a function.
    fn patched(
        &mut self,
        old: Code,
        new: Code,
        function: Function,
    ) -> Result<Vec<u32>, Difference> {
        let [first, second] = self.tables;
        let (first, second) = (first.within(old), second.within(new));
        let mut found = Vec::new();
        for number in 0..first.len().max(second.len()) {
            let key = |entry: &Entry, start: u64| (entry.site - start, entry.table);
            let (one, other) = match (first.get(number), second.get(number)) {
                (Some(one), Some(other)) if key(one, old.start) == key(other, new.start) => {
                    (one, other)
                }
                (one, other) => {
                    let keys = [
                        one.map(|one| key(one, old.start)),
                        other.map(|one| key(one, new.start)),
                    ];
                    let Some((at, table)) = keys.into_iter().flatten().min() else {
                        break;
                    };
                    let detail = format!("{table} at +{at:#x}: only one has an entry");
                    return Err(Difference::new(Verdict::Patched, detail));
                }
            };
            let at = one.site - old.start;
            let differ = |what: &str| {
                let detail = format!("{} at +{at:#x}: {what}", one.table);
                Difference::new(Verdict::Patched, detail)
            };
            let same = (&one.name, &one.raw) == (&other.name, &other.raw);
            if !same || one.targets.len() != other.targets.len() {
                return Err(differ("another entry"));
            }
            for (target, counterpart) in one.targets.iter().zip(&other.targets) {
                let addresses = (*target, *counterpart);
                let same = self.targets.same(addresses, Use::Address, Some(function));
                let thing = same.map_err(|inner| differ(&inner.detail))?;
                found.extend(thing.map(|thing| self.things.number(thing)));
            }
            match (one.replacement, other.replacement) {
                (Some(one), Some(other)) => {
                    let things = self.code(one, other, Some(function));
                    found.extend(things.map_err(|inner| differ(&inner.detail))?);
                }
                (None, None) => {}
                _ => return Err(differ("a replacement for nothing")),
            }
        }
        Ok(found)
    }

    /// Code without a symbol: to the first instruction that nothing follows.
    pub(crate) fn nameless(&mut self, old: u64, new: u64) -> Result<Vec<u32>, Difference> {
        /// What follows a test of a processor's feature is some jumps.
        const MOST: u64 = 128;
        let piece = |image: &Image<'_>, start: u64| {
            let left = image.symbols.next(start) - start;
            let size = image.sections.left(start).min(left).min(MOST);
            let bytes = image.sections.bytes(start, size)?;
            let scanned = x86_64::scan(&bytes, start, &image.sections);
            let last = |at: &&u32| is_last(&bytes[**at as usize..]);
            let at = scanned.starts.iter().position(|at| last(&at))?;
            let end = scanned
                .starts
                .get(at + 1)
                .map_or(size, |next| u64::from(*next));
            Some(Code { start, size: end })
        };
        let Some((one, other)) = piece(self.targets.old, old).zip(piece(self.targets.new, new))
        else {
            return Err(Difference::unknown("code without a symbol has no end"));
        };
        self.code(one, other, None).map_err(|inner| {
            let detail = format!("in code without a symbol, {}", inner.detail);
            Difference::new(inner.verdict, detail)
        })
    }
}

/// The next variable, if an address is in the middle or at the end of another one and near to it.
fn behind(image: &Image<'_>, address: u64) -> Option<u64> {
    const NEAR: u64 = 64;
    let kind = image.sections.kind(address)?;
    let next = image.symbols.next(address);
    let starts = image
        .symbols
        .last(address)
        .is_some_and(|last| image.symbols.get(last).address == address);
    let near = next.checked_sub(address)? <= NEAR;
    let data = kind != Kind::Code && image.sections.kind(next) == Some(kind);
    // Strings and tables of jumps have no symbol, and stand before anything.
    let nameless = kind == Kind::Constant && image.symbols.covering(address).is_none();
    (data && near && !starts && !nameless).then_some(next)
}

/// Whether an instruction is a direct jump or a return.
fn is_last(code: &[u8]) -> bool {
    matches!(code, [0xe9 | 0xeb | 0xc3, ..])
}

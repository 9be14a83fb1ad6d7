//! Whether two addresses are of the same thing.

use hashbrown::HashMap;

use crate::image::Image;
use crate::objects::{Extent, Thing};
use crate::reference::Use;
use crate::sections::Kind;
use crate::symbols::{Number, Symbol};
use crate::verdict::{Difference, Verdict};

/// Which symbols of two files stand for each other: each for one only, so that a name with several
/// variables is not taken for any of them.
#[derive(Debug, Default)]
pub(crate) struct Pairs {
    forward: HashMap<Number, Number>,
    backward: HashMap<Number, Number>,
}

impl Pairs {
    /// Whether two symbols may be a pair, which they are from now on.
    pub(crate) fn pair(&mut self, old: Number, new: Number) -> bool {
        *self.forward.entry(old).or_insert(new) == new
            && *self.backward.entry(new).or_insert(old) == old
    }
}

/// The symbols of a function in both kernels.
pub(crate) type Function = (Number, Number);

/// Two kernels, and what is known to be the same in them.
pub(crate) struct Targets<'a, 'd> {
    pub(crate) old: &'a Image<'d>,
    pub(crate) new: &'a Image<'d>,
    pub(crate) pairs: Pairs,
}

impl Targets<'_, '_> {
    /// Whether `old` and `new` are the same place, named by code of `function`. Returns what of it
    /// is still to be compared.
    pub(crate) fn same(
        &mut self,
        (old, new): (u64, u64),
        how: Use,
        function: Option<Function>,
    ) -> Result<Option<Thing>, Difference> {
        let kinds = (self.old.sections.kind(old), self.new.sections.kind(new));
        let kind = match kinds {
            (None, None) if old == new || self.same_edge(old, new) => return Ok(None),
            (Some(one), Some(other)) if one == other => one,
            _ => return Err(self.differ(old, new)),
        };
        if let Some((first, second)) = function {
            let (first, second) = (self.old.symbols.get(first), self.new.symbols.get(second));
            match (first.covers(old), second.covers(new)) {
                (true, true) if old - first.address == new - second.address => return Ok(None),
                (false, false) => {}
                _ => return Err(self.differ(old, new)),
            }
        }
        let (first, second) = (place(self.old, old, kind), place(self.new, new, kind));
        match (first, second, kind) {
            (Some(first), Some(second), Kind::Code) if self.are_labels(first, second) => {
                // What the linker put behind a label has nothing to do with it.
                let same = self.same_distance((first, second), (old, new))
                    && self.same_symbol(first, second, kind);
                Ok((!same).then_some(Thing::Code(old, new)))
            }
            (Some(first), Some(second), _) => {
                if !self.same_distance((first, second), (old, new))
                    || !self.same_symbol(first, second, kind)
                {
                    return Err(self.differ(old, new));
                }
                Ok((kind != Kind::Code).then_some(Thing::Object(first, second)))
            }
            (None, None, Kind::Code) => Ok(Some(Thing::Code(old, new))),
            (None, None, Kind::Constant) => Ok(Some(Thing::Constant(old, new, Extent::of(how)))),
            (None, None, Kind::Data) => {
                // Behind what has a name: its end, or what the linker put there.
                let (first, second) = (self.old.symbols.last(old), self.new.symbols.last(new));
                match (first, second) {
                    (Some(first), Some(second))
                        if self.same_distance((first, second), (old, new))
                            && self.same_symbol(first, second, kind) =>
                    {
                        Ok(Some(Thing::Constant(old, new, Extent::of(how))))
                    }
                    _ => Err(self.differ(old, new)),
                }
            }
            _ => Err(self.differ(old, new)),
        }
    }

    fn are_labels(&self, first: Number, second: Number) -> bool {
        !self.old.symbols.get(first).sized && !self.new.symbols.get(second).sized
    }

    /// Whether the linker has a name for both addresses, behind what it put there.
    fn same_edge(&self, old: u64, new: u64) -> bool {
        let names = self.new.sections.edge(new);
        self.old
            .sections
            .edge(old)
            .iter()
            .any(|name| names.contains(name))
    }

    fn same_distance(&self, (first, second): Function, (old, new): (u64, u64)) -> bool {
        let (first, second) = (self.old.symbols.get(first), self.new.symbols.get(second));
        old - first.address == new - second.address
    }

    /// Whether two symbols name the same: in code by name, of data also by size. What the compiler
    /// numbers has other numbers if anything else of its source file changed.
    fn same_symbol(&mut self, old: Number, new: Number, kind: Kind) -> bool {
        let (one, other) = (self.old.symbols.get(old), self.new.symbols.get(new));
        if one.file != other.file || one.sized != other.sized {
            return false;
        }
        let same = match kind {
            Kind::Code => one.name == other.name,
            _ if !one.sized => one.name == other.name,
            _ => one.plain() == other.plain() && one.size == other.size,
        };
        // Which of several equal constants is read makes no difference.
        same && (kind == Kind::Constant || self.pairs.pair(old, new))
    }

    fn differ(&self, old: u64, new: u64) -> Difference {
        let size = |image: &Image<'_>, address| match image.sections.kind(address) {
            None | Some(Kind::Code) => 0,
            Some(_) => {
                let number = image.symbols.covering(address);
                number.map_or(0, |number| image.symbols.get(number).size)
            }
        };
        let sizes = (size(self.old, old), size(self.new, new));
        let (old, new) = (named(self.old, old), named(self.new, new));
        let other = match (old == new, sizes.0 == sizes.1) {
            (true, true) => "another of that name".to_owned(),
            (true, false) => format!("one of {} bytes instead of {}", sizes.1, sizes.0),
            (false, _) => new,
        };
        Difference::new(Verdict::Operand, format!("{old} became {other}"))
    }
}

/// The symbol that an address is of. Among data a label names only where it is: what the linker put
/// behind it may be anything.
fn place(image: &Image<'_>, address: u64, kind: Kind) -> Option<Number> {
    let number = image.symbols.covering(address)?;
    let symbol = image.symbols.get(number);
    (kind == Kind::Code || symbol.sized || symbol.address == address).then_some(number)
}

/// An address for a person.
pub(crate) fn named(image: &Image<'_>, address: u64) -> String {
    let shown = |symbol: &Symbol<'_>| match address - symbol.address {
        0 => symbol.shown(),
        offset => format!("{}+{offset:#x}", symbol.shown()),
    };
    let kind = image.sections.kind(address).unwrap_or(Kind::Data);
    if let Some(number) = place(image, address, kind) {
        return shown(image.symbols.get(number));
    }
    match image.sections.at(address) {
        Some(section) => format!("a place in {}", String::from_utf8_lossy(section.name)),
        None => match image.sections.edge(address) {
            [name, ..] => String::from_utf8_lossy(name).into_owned(),
            [] => format!("{address:#x}"),
        },
    }
}

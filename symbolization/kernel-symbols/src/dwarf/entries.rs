use gimli::constants as dw;
use gimli::{
    Abbreviation, Abbreviations, AttributeValue, EndianSlice, LittleEndian, Reader, UnitHeader,
    UnitOffset,
};

use super::action::Action;
use super::table::{ATTRIBUTE, NONE};
use super::{Failure, Slice};
use crate::budget::Account;
use crate::little_endian::u32_at;

/// What is known of entries is kept for codes up to here. Compilers count abbreviations from 1.
const MOST_CODES: usize = 1 << 12;

/// The node that encloses an entry, and how deep that is.
pub(crate) type Enclosing = (u32, u32);

/// The entries of a unit, of which only functions that may have code are read.
///
/// Most of `.debug_info` are types and declarations, and their abbreviation tells how long they are.
/// Nothing recurses: a hostile file may nest entries at will.
pub(crate) struct Entries<'a, 'd> {
    header: &'a UnitHeader<Slice<'d>>,
    abbreviations: &'a Abbreviations,
    /// The unit is written in C, whose types have no member functions.
    types_hold_none: bool,
    /// Where `bytes` start in the unit.
    start: usize,
    bytes: &'d [u8],
    /// Of `bytes`: the next entry.
    at: usize,
    /// For each open entry, what encloses its children.
    open: Vec<Enclosing>,
    /// By code, filled as codes appear.
    kinds: Vec<Option<Kind>>,
}

/// What an abbreviation says of its entries.
#[derive(Clone, Copy)]
enum Kind {
    /// A function that may have code.
    Function { inlined: bool },
    /// Anything else.
    Other(Other),
}

#[derive(Clone, Copy)]
struct Other {
    has_children: bool,
    /// Whether functions may be somewhere below.
    holds_functions: bool,
    /// The size of all attributes, if each entry has the same.
    size: Option<usize>,
    /// Where among them is the reference to the next sibling.
    sibling: Option<usize>,
    cost: usize,
}

/// A function that may have code.
pub(crate) struct FunctionEntry {
    pub(crate) offset: UnitOffset,
    pub(crate) inlined: bool,
    pub(crate) enclosing: Enclosing,
}

impl<'a, 'd> Entries<'a, 'd> {
    pub(crate) fn new(
        header: &'a UnitHeader<Slice<'d>>,
        abbreviations: &'a Abbreviations,
        types_hold_none: bool,
        account: &mut Account<'_>,
    ) -> Result<Self, Failure> {
        let start = header.root_offset();
        let mut entries = Entries {
            header,
            abbreviations,
            types_hold_none,
            start: start.0,
            bytes: header.range_from(start..)?.slice(),
            at: 0,
            open: Vec::new(),
            kinds: Vec::new(),
        };
        let mut root = header.entries_raw(abbreviations, None)?;
        let Some(abbreviation) = root.read_abbreviation()? else {
            return Ok(entries);
        };
        account.spend(1 + abbreviation.attributes().len() * ATTRIBUTE)?;
        root.skip_attributes(abbreviation.attributes())?;
        let end = root.next_offset();
        entries.leave(end, None, abbreviation.has_children(), (NONE, 0));
        Ok(entries)
    }

    /// The next function that may have code. Whoever read it says where it ends ([`Self::leave`]).
    pub(crate) fn next_function(
        &mut self,
        account: &mut Account<'_>,
    ) -> Result<Option<FunctionEntry>, Failure> {
        // Behind the end of the unit's own entry may be padding.
        while let Some(enclosing) = self.open.last().copied() {
            let Some(first) = self.bytes.get(self.at) else {
                return Ok(None);
            };
            let (code, attributes) = match first {
                0..0x80 => (u64::from(*first), self.at + 1),
                _ => {
                    let mut rest = EndianSlice::new(&self.bytes[self.at..], LittleEndian);
                    let code = rest.read_uleb128()?;
                    (code, self.bytes.len() - rest.len())
                }
            };
            if code == 0 {
                self.open.pop();
                self.at = attributes;
                continue;
            }
            match self.kind(code)? {
                Kind::Function { inlined } => {
                    return Ok(Some(FunctionEntry {
                        offset: UnitOffset(self.start + self.at),
                        inlined,
                        enclosing,
                    }));
                }
                Kind::Other(other) => {
                    account.spend(other.cost)?;
                    self.pass(other, attributes, enclosing)?;
                }
            }
        }
        Ok(None)
    }

    /// Go on behind an entry whose attributes end at `end`: with its children, which `inner` encloses,
    /// or with its sibling.
    pub(crate) fn leave(
        &mut self,
        end: UnitOffset,
        sibling: Option<UnitOffset>,
        has_children: bool,
        inner: Enclosing,
    ) {
        self.at = end.0 - self.start;
        if !has_children {
            return;
        }
        match sibling {
            // Only ever forwards, so that a hostile file cannot make a loop.
            Some(to) if to >= end && to.is_in_bounds(self.header) => self.at = to.0 - self.start,
            _ => self.open.push(inner),
        }
    }

    /// Pass over an entry whose attributes start at `attributes`.
    #[inline]
    fn pass(
        &mut self,
        other: Other,
        attributes: usize,
        enclosing: Enclosing,
    ) -> Result<(), Failure> {
        let end = other.size.map(|size| attributes + size);
        let Some(end) = end.filter(|end| *end <= self.bytes.len()) else {
            return self.read(other, enclosing);
        };
        if !other.has_children {
            self.at = end;
            return Ok(());
        }
        let sibling = other
            .sibling
            .and_then(|sibling| u32_at(self.bytes, attributes + sibling));
        let sibling = sibling.map(|to| UnitOffset(to as usize));
        self.leave(UnitOffset(end + self.start), sibling, true, enclosing);
        Ok(())
    }

    /// Pass over an entry that only its attributes tell the length of.
    fn read(&mut self, other: Other, enclosing: Enclosing) -> Result<(), Failure> {
        let from = UnitOffset(self.start + self.at);
        let mut entry = self.header.entries_raw(self.abbreviations, Some(from))?;
        let Some(abbreviation) = entry.read_abbreviation()? else {
            self.open.clear(); // it has one: kind() found it
            return Ok(());
        };
        let mut sibling = None;
        if other.has_children && !other.holds_functions {
            for spec in abbreviation.attributes() {
                let attribute = entry.read_attribute(*spec)?;
                if let (dw::DW_AT_sibling, AttributeValue::UnitRef(to)) =
                    (spec.name(), attribute.value())
                {
                    sibling = Some(to);
                }
            }
        } else {
            entry.skip_attributes(abbreviation.attributes())?;
        }
        let end = entry.next_offset();
        self.leave(end, sibling, other.has_children, enclosing);
        Ok(())
    }

    #[inline]
    fn kind(&mut self, code: u64) -> Result<Kind, Failure> {
        match self.kinds.get(code as usize) {
            Some(Some(kind)) => Ok(*kind),
            _ => self.new_kind(code),
        }
    }

    #[cold]
    fn new_kind(&mut self, code: u64) -> Result<Kind, Failure> {
        let abbreviation = self.abbreviations.get(code);
        let abbreviation = abbreviation.ok_or(gimli::Error::InvalidAbbreviationCode(code))?;
        let kind = self.kind_of(abbreviation);
        let code = code as usize;
        if code < MOST_CODES {
            if self.kinds.len() <= code {
                self.kinds.resize(code + 1, None);
            }
            self.kinds[code] = Some(kind);
        }
        Ok(kind)
    }

    fn kind_of(&self, abbreviation: &Abbreviation) -> Kind {
        let attributes = abbreviation.attributes();
        let mut has_code = false;
        let mut sibling = None;
        let mut size = Some(0);
        for spec in attributes {
            match spec.name() {
                dw::DW_AT_low_pc | dw::DW_AT_ranges => has_code = true,
                dw::DW_AT_sibling if spec.form() == dw::DW_FORM_ref4 => sibling = size,
                _ => {}
            }
            size = size.and_then(|size| Some(size + spec.size(self.header)?));
        }
        let action = Action::of(abbreviation.tag(), self.types_hold_none);
        if let (Action::Function { inlined }, true) = (action, has_code) {
            return Kind::Function { inlined };
        }
        Kind::Other(Other {
            has_children: abbreviation.has_children(),
            holds_functions: action == Action::Descend,
            size,
            sibling: sibling.filter(|_| action != Action::Descend),
            cost: 1 + attributes.len() * ATTRIBUTE,
        })
    }
}

use data_types::{Id, Slice, Unit, Units};
use gimli::{constants as dw, AttributeValue};

use super::entry::{described, Entry};
use super::location::{location, Frame, Location};
use crate::machine::Machine;

/// How many scopes and variables of one function are read; the largest of a kernel has some 5,000.
const MOST_PARTS: usize = 1 << 16;

/// How many types of variables of one function are looked at.
const MOST_TYPES: usize = 256;

/// How many ranges of addresses a list may have.
const MOST_RANGES: usize = 1 << 10;

/// A function, one inlined into it, or a block.
pub(crate) struct Scope {
    /// The name of the function that it is, or that it is a block of.
    pub(crate) name: String,
    pub(crate) ranges: Vec<(u64, u64)>,
    pub(crate) depth: usize,
}

impl Scope {
    pub(crate) fn has(&self, address: u64) -> bool {
        let mut every = self.ranges.iter();
        every.any(|(start, end)| (*start..*end).contains(&address))
    }
}

/// A variable at one of the places that it is in, while the code is at some addresses.
pub(crate) struct Variable {
    pub(crate) start: u64,
    pub(crate) end: u64,
    pub(crate) location: Location,
    pub(crate) target: Id,
    pub(crate) name: u32,
    pub(crate) scope: u32,
}

/// What debug information says of a function's code.
#[derive(Default)]
pub(crate) struct Function {
    /// The outermost first.
    pub(crate) scopes: Vec<Scope>,
    pub(crate) variables: Vec<Variable>,
    /// Names of variables.
    pub(crate) names: Vec<String>,
    /// Types of all its variables, also of those that are nowhere.
    pub(crate) types: Vec<Id>,
    /// Where in `.debug_info` the functions are declared that it consists of.
    pub(crate) origins: Vec<usize>,
    /// Types of its parameters.
    pub(crate) parameters: Vec<Id>,
    pub(crate) is_assembly: bool,
    /// Whether other files may call it.
    pub(crate) is_external: bool,
    /// Static variables: address, type, name.
    pub(crate) statics: Vec<(u64, Id, String)>,
}

struct Reader<'r, 'd> {
    units: &'r Units<'d>,
    unit: &'r Unit<'d>,
    machine: &'r dyn Machine,
    frame: Frame,
    function: Function,
}

/// Macros' variables have such names; those of guards (include/linux/cleanup.h, seqlock.h) are locks
/// whose pointers are cast to what they are not.
const UNIQUE: &[u8] = b"__UNIQUE_ID_";

/// The variable of the kernel's container_of() (include/linux/container_of.h).
pub(crate) const CONTAINED: &str = "__mptr";

/// What is said of the variables of a function where it is declared: an instance lacks those that are
/// nowhere.
#[derive(Default)]
pub(crate) struct Declared {
    pub(crate) types: Vec<Id>,
    /// Whether it uses container_of().
    pub(crate) has_container: bool,
}

impl Declared {
    /// Those of the function that is declared at an offset of `.debug_info`.
    pub(super) fn read(units: &Units<'_>, place: usize) -> Self {
        let mut found = Declared::default();
        // What was read before is of use all the same.
        let _ = found.tree(units, place);
        found
    }

    fn tree(&mut self, units: &Units<'_>, place: usize) -> gimli::Result<()> {
        let Some((unit, within)) = units.at(place) else {
            return Ok(());
        };
        let mut entries = unit.header.entries_raw(&unit.abbreviations, Some(within))?;
        let mut depth = 0usize;
        while !entries.is_empty() && self.types.len() < MOST_TYPES {
            let Some(abbreviation) = entries.read_abbreviation()? else {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    break;
                }
                continue;
            };
            if matches!(
                abbreviation.tag(),
                dw::DW_TAG_variable | dw::DW_TAG_formal_parameter
            ) {
                let entry = Entry::read(units, unit, &mut entries, abbreviation)?;
                let name = entry.name.as_ref().map(|name| units.string(unit, name));
                self.has_container |= name == Some(CONTAINED.as_bytes());
                self.types.extend(entry.target.map(|at| at as Id));
            } else {
                entries.skip_attributes(abbreviation.attributes())?;
            }
            if abbreviation.has_children() {
                depth += 1;
            } else if depth == 0 {
                break;
            }
        }
        Ok(())
    }
}

/// Read the function at an offset of `.debug_info`. What makes no sense ends it early.
pub(super) fn read(units: &Units<'_>, machine: &dyn Machine, place: usize) -> Function {
    let Some((unit, within)) = units.at(place) else {
        return Function::default();
    };
    let mut reader = Reader {
        units,
        unit,
        machine,
        frame: Frame::Cfa,
        function: Function {
            is_assembly: unit.is_assembly,
            ..Function::default()
        },
    };
    // What was read before is of use all the same.
    let _ = reader.tree(within);
    reader.function
}

impl<'d> Reader<'_, 'd> {
    fn tree(&mut self, within: gimli::UnitOffset) -> gimli::Result<()> {
        let header = &self.unit.header;
        let mut entries = header.entries_raw(&self.unit.abbreviations, Some(within))?;
        // Of each entry around the present one its scope, or none where it has no code.
        let mut around: Vec<Option<usize>> = Vec::new();
        let mut parts = 0;
        while !entries.is_empty() && parts < MOST_PARTS {
            let Some(abbreviation) = entries.read_abbreviation()? else {
                around.pop();
                if around.is_empty() {
                    break;
                }
                continue;
            };
            let (tag, has_children) = (abbreviation.tag(), abbreviation.has_children());
            let parent = around.last().copied().flatten();
            let outermost = around.is_empty();
            let scope = match tag {
                dw::DW_TAG_subprogram if outermost => true,
                dw::DW_TAG_inlined_subroutine | dw::DW_TAG_lexical_block => parent.is_some(),
                _ => false,
            };
            let variable = parent.is_some()
                && matches!(tag, dw::DW_TAG_variable | dw::DW_TAG_formal_parameter);
            let mut own = None;
            if scope || variable {
                parts += 1;
                let entry = Entry::read(self.units, self.unit, &mut entries, abbreviation)?;
                if scope {
                    own = Some(self.scope(&entry, tag, parent)?);
                } else if let Some(parent) = parent {
                    self.variable(&entry, tag, parent)?;
                }
            } else {
                entries.skip_attributes(abbreviation.attributes())?;
            }
            if has_children {
                around.push(own);
            } else if outermost {
                break;
            }
        }
        Ok(())
    }

    fn scope(
        &mut self,
        entry: &Entry<'d>,
        tag: gimli::DwTag,
        parent: Option<usize>,
    ) -> gimli::Result<usize> {
        let mut ranges = Vec::new();
        entry.ranges(self.units, self.unit, &mut |start, end| {
            ranges.push((start, end));
            ranges.len() < MOST_RANGES
        })?;
        let around = parent.map(|parent| &self.function.scopes[parent]);
        let (mut name, mut depth) = (String::new(), 0);
        if let Some(around) = around {
            depth = around.depth + 1;
            // A block without ranges has those of what it is in.
            if entry.low.is_none() && entry.ranges.is_none() {
                ranges.clone_from(&around.ranges);
            }
            if tag == dw::DW_TAG_lexical_block {
                name.clone_from(&around.name);
            }
        }
        let origins = &mut self.function.origins;
        if let Some(origin) = entry.origin.filter(|_| origins.len() < MOST_TYPES) {
            if !origins.contains(&origin) {
                origins.push(origin);
            }
        }
        if tag != dw::DW_TAG_lexical_block {
            let (known, _) = described(self.units, self.unit, entry);
            name = String::from_utf8_lossy(known).into_owned();
        }
        if parent.is_none() {
            let origin = entry.origin.and_then(|at| Entry::at(self.units, at));
            self.function.is_external =
                entry.external || origin.is_some_and(|(_, origin)| origin.external);
            if let Some(expression) = entry.frame {
                self.frame = Frame::of(self.machine, self.unit.header.encoding(), expression);
            }
        }
        self.units
            .file
            .spend(size_of::<Scope>() + ranges.len() * 16)
            .map_err(|_| {
                gimli::Error::UnexpectedEof(gimli::ReaderOffsetId(0)) // the budget is spent
            })?;
        self.function.scopes.push(Scope {
            name,
            ranges,
            depth,
        });
        Ok(self.function.scopes.len() - 1)
    }

    fn variable(
        &mut self,
        entry: &Entry<'d>,
        tag: gimli::DwTag,
        scope: usize,
    ) -> gimli::Result<()> {
        let is_parameter = tag == dw::DW_TAG_formal_parameter && scope == 0;
        let (name, target) = described(self.units, self.unit, entry);
        let Some(target) = target.map(|at| at as Id) else {
            return Ok(());
        };
        if name.starts_with(UNIQUE) {
            return Ok(());
        }
        if !self.function.types.contains(&target) && self.function.types.len() < MOST_TYPES {
            self.function.types.push(target);
        }
        if is_parameter {
            self.function.parameters.push(target);
        }
        let name_number = self.function.names.len() as u32;
        self.function
            .names
            .push(String::from_utf8_lossy(name).into_owned());
        match entry.location {
            Some(AttributeValue::Exprloc(expression)) => {
                let (units, unit) = (self.units, self.unit);
                let found = location(units, unit, self.machine, self.frame, expression);
                if let Some(Location::Static(address)) = found {
                    let name = self.function.names[name_number as usize].clone();
                    self.function.statics.push((address, target, name));
                } else if let Some(location) = found.map(Location::always) {
                    let ranges = self.function.scopes[scope].ranges.clone();
                    for (start, end) in ranges {
                        self.add(start, end, location, target, name_number, scope);
                    }
                }
            }
            Some(list) => {
                // A file may lack the lists, and still say what types its variables have.
                let _ = self.in_list(&list, target, name_number, scope);
            }
            None => {}
        }
        Ok(())
    }

    /// Add a variable wherever a list says that it is.
    fn in_list(
        &mut self,
        list: &AttributeValue<Slice<'d>>,
        target: Id,
        name: u32,
        scope: usize,
    ) -> gimli::Result<()> {
        let (units, unit, encoding) = (self.units, self.unit, self.unit.header.encoding());
        let dwarf = &units.dwarf;
        let offset = match list {
            AttributeValue::LocationListsRef(offset) => *offset,
            AttributeValue::DebugLocListsIndex(index) => {
                dwarf
                    .locations
                    .get_offset(encoding, unit.locations, *index)?
            }
            _ => return Ok(()),
        };
        let (debug_addr, base) = (&dwarf.debug_addr, unit.addresses);
        let mut list = dwarf
            .locations
            .locations(offset, encoding, unit.low, debug_addr, base)?;
        let mut left = MOST_RANGES;
        while let Some(one) = list.next()? {
            left -= 1;
            if left == 0 {
                break;
            }
            let found = location(units, unit, self.machine, self.frame, one.data);
            if let Some(location) = found.filter(|_| one.range.begin < one.range.end) {
                let (start, end) = (one.range.begin, one.range.end);
                self.add(start, end, location, target, name, scope);
            }
        }
        Ok(())
    }

    fn add(
        &mut self,
        start: u64,
        end: u64,
        location: Location,
        target: Id,
        name: u32,
        scope: usize,
    ) {
        self.function.variables.push(Variable {
            start,
            end,
            location,
            target,
            name,
            scope: scope as u32,
        });
    }
}

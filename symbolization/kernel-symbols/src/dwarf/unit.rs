use std::ops::Range;

use gimli::{AttributeValue, UnitOffset};
use hashbrown::HashMap;

use super::declaration::{Declaration, File};
use super::entries::Entries;
use super::lines::{range_of, rows};
use super::origin::Origin;
use super::place::Place;
use super::sections::OpenUnit;
use super::table::{Function, Node, UnitTable, ATTRIBUTE, NONE, RANGE, RANGE_STEPS, ROW};
use super::{Debug, Failure};
use crate::budget::Account;
use crate::flatten::{flatten, Segment};
use crate::names::is_mangled;

/// How many functions may be inlined into each other: an address's chain has a frame for each.
/// Kernels reach 17, programs in Rust 29.
const MOST_DEPTH: u32 = 512;

/// Reads one compilation unit into a table.
pub(crate) struct UnitReader<'a, 'd> {
    debug: &'a Debug<'d>,
    unit: &'a OpenUnit<'d>,
    text: &'a [Range<u64>],
    account: Account<'a>,
    /// Strings of the line table's files, as far as they were needed.
    files: HashMap<u64, u32>,
    /// Functions by the entry that declares them.
    functions: HashMap<usize, u32>,
    /// What the functions cover, a function before those inlined into it.
    covered: Vec<Segment>,
    table: UnitTable<'d>,
}

impl<'a, 'd> UnitReader<'a, 'd> {
    pub(crate) fn convert(
        debug: &'a Debug<'d>,
        unit: &'a OpenUnit<'d>,
        text: &'a [Range<u64>],
        account: Account<'a>,
    ) -> Result<UnitTable<'d>, Failure> {
        let mut table = UnitTable::default();
        table.strings.push(Default::default());
        let mut reader = UnitReader {
            debug,
            unit,
            text,
            account,
            files: HashMap::new(),
            functions: HashMap::new(),
            covered: Vec::new(),
            table,
        };
        reader.walk()?;
        reader.table.segments = flatten(&reader.covered);
        // Units may share a program (dwz); its rows are needed once.
        let program = unit.paths.program();
        if let Some(program) = program.filter(|program| debug.first_use(program.header().offset()))
        {
            // Programs may overlap: each of many could go on to the end of the section.
            let length = program.header().raw_program_buf().len();
            reader.account.spend(length + unit.paths.cost())?;
            let rows = rows(program.clone(), text, |index| reader.file(index))?;
            reader.account.spend(rows.len() * ROW)?;
            reader.table.rows = rows;
        }
        if !unit.is_c {
            reader.table.files_by_lines();
        }
        reader.account.settle()?;
        Ok(reader.table)
    }

    /// The string of a file of the unit's line table.
    fn file(&mut self, index: u64) -> Result<u32, Failure> {
        if let Some(file) = self.files.get(&index) {
            return Ok(*file);
        }
        let unit = self.unit;
        let dwarf = &self.debug.dwarf;
        let name = unit
            .paths
            .name(dwarf, &unit.unit, index, &mut self.account)?;
        let file = self.table.string(name.into(), &mut self.account)?;
        self.files.insert(index, file);
        Ok(file)
    }

    /// Read the functions that have code.
    fn walk(&mut self) -> Result<(), Failure> {
        let (debug, unit) = (self.debug, self.unit);
        let header = unit.unit.header;
        let abbreviations = &unit.unit.abbreviations;
        let mut entries = Entries::new(&header, abbreviations, unit.is_c, &mut self.account)?;
        while let Some(found) = entries.next_function(&mut self.account)? {
            let mut entry = header.entries_raw(abbreviations, Some(found.offset))?;
            let Some(abbreviation) = entry.read_abbreviation()? else {
                return Ok(()); // it has one: that of a function
            };
            let attributes = abbreviation.attributes();
            self.account.spend(1 + attributes.len() * ATTRIBUTE)?;
            let mut place = Place::default();
            let mut declaration = Declaration::default();
            for spec in attributes {
                let attribute = entry.read_attribute(*spec)?;
                if !place.take(&debug.dwarf, &unit.unit, &attribute)? {
                    let account = &mut self.account;
                    declaration.take(debug, unit, &attribute, found.offset, true, account)?;
                }
            }
            let mut sibling = place.sibling;
            let mut inner = found.enclosing;
            if place.low.is_some() || place.ranges.is_some() {
                let (parent, depth) = if found.inlined { inner } else { (NONE, 0) };
                inner = match self.function(found.offset, parent, place, declaration)? {
                    Some(_) if depth == MOST_DEPTH => return Err(Failure::TooDeep(MOST_DEPTH)),
                    Some(node) => (node, depth + 1),
                    None => (parent, depth),
                };
                sibling = None;
            }
            let has_children = abbreviation.has_children();
            entries.leave(entry.next_offset(), sibling, has_children, inner);
        }
        Ok(())
    }

    /// Add a node for a function that has code; none if all of it was dropped.
    fn function(
        &mut self,
        offset: UnitOffset,
        parent: u32,
        place: Place<'d>,
        declaration: Declaration<'d>,
    ) -> Result<Option<u32>, Failure> {
        let (dwarf, unit) = (&self.debug.dwarf, &self.unit.unit);
        let node = self.table.nodes.len() as u32;
        let before = self.covered.len();
        match (place.ranges, place.low) {
            (Some(ranges), _) => {
                if let Some(mut ranges) = dwarf.attr_ranges(unit, ranges)? {
                    // Raw, because an entry that is not a range (a base address) is a step as well.
                    while let Some(raw) = ranges.next_raw()? {
                        self.account.spend(RANGE_STEPS)?;
                        if let Some(range) = ranges.convert_raw(raw)? {
                            self.cover(range.begin, range.end, node)?;
                        }
                    }
                }
            }
            (None, Some(low)) => {
                let high = match place.high {
                    Some(AttributeValue::Udata(size)) => low.saturating_add(size),
                    Some(value) => dwarf.attr_address(unit, value)?.unwrap_or(low),
                    None => low,
                };
                self.cover(low, high, node)?;
            }
            (None, None) => {}
        }
        if self.covered.len() == before {
            return Ok(None);
        }
        let key = match place.origin {
            Some(Origin::Own(declared)) if declaration.name.is_none() => declared.0,
            _ => offset.0,
        };
        let function = match self.functions.get(&key) {
            Some(function) => *function,
            None => self.declare(key, declaration, place.origin)?,
        };
        if parent == NONE && !self.unit.is_c {
            self.name_by_symbol(function, before)?;
        }
        let call_file = match place.call_file {
            Some(index) if parent != NONE => self.file(index)?,
            _ => 0,
        };
        let new = Node {
            function,
            parent,
            call_file,
            call_line: place.call_line,
        };
        self.table.node(new, &mut self.account)?;
        Ok(Some(node))
    }

    /// Give a function without a mangled name that of its symbol: GCC tells none of what one file
    /// sees alone, and line tables none at all.
    fn name_by_symbol(&mut self, function: u32, covered: usize) -> Result<(), Failure> {
        let Some(start) = self.covered.get(covered).map(|part| part.start) else {
            return Ok(());
        };
        let known = self.table.functions[function as usize].name;
        if is_mangled(&self.table.strings[known as usize]) {
            return Ok(());
        }
        if let Some(symbol) = self.debug.mangled_at(start) {
            let name = self.table.string(symbol.into(), &mut self.account)?;
            self.table.functions[function as usize].name = name;
        }
        Ok(())
    }

    fn declare(
        &mut self,
        key: usize,
        mut declaration: Declaration<'d>,
        origin: Option<Origin>,
    ) -> Result<u32, Failure> {
        let account = &mut self.account;
        if let Some(origin) = origin {
            declaration.follow(self.debug, self.unit, origin, account)?;
        }
        let name = declaration.whole_name(self.debug, self.unit, account)?;
        let name = self.table.string(name, account)?;
        let file = match declaration.file {
            Some(File::Own(index)) => self.file(index)?,
            Some(File::Other(name)) => self.table.string(name.into(), account)?,
            None => 0,
        };
        let line = declaration.line;
        let function = Function { name, file, line };
        let function = self.table.function(function, &mut self.account)?;
        self.functions.insert(key, function);
        Ok(function)
    }

    fn cover(&mut self, start: u64, end: u64, node: u32) -> Result<(), Failure> {
        if let Some(range) = range_of(self.text, start) {
            let end = end.min(range.end);
            if start < end {
                self.account.spend(RANGE)?;
                self.covered.push(Segment { start, end, node });
            }
        }
        Ok(())
    }
}

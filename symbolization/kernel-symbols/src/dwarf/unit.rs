use std::collections::HashMap;
use std::ops::Range;

use gimli::constants as dw;
use gimli::{AttributeValue, UnitOffset};

use super::action::Action;
use super::declaration::{Declaration, File, Origin};
use super::lines::{range_of, rows};
use super::place::Place;
use super::sections::OpenUnit;
use super::table::{Function, Node, UnitTable, ATTRIBUTE, NONE, RANGE, RANGE_STEPS, ROW};
use super::{Debug, Failure};
use crate::budget::Account;
use crate::flatten::{flatten, Segment};

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

    /// Walk the entries without recursion: a hostile file may nest them at will.
    fn walk(&mut self) -> Result<(), Failure> {
        let (debug, unit) = (self.debug, self.unit);
        let header = unit.unit.header;
        let abbreviations = &unit.unit.abbreviations;
        let mut entries = header.entries_raw(abbreviations, None)?;
        let mut c = false;
        // For each open entry, the node that encloses its children, and how deep that is.
        let mut open: Vec<(u32, u32)> = Vec::new();
        while !entries.is_empty() {
            let offset = entries.next_offset();
            let Some(abbreviation) = entries.read_abbreviation()? else {
                open.pop();
                if open.is_empty() {
                    break; // padding may follow the unit's own entry
                }
                continue;
            };
            let (parent, depth) = open.last().copied().unwrap_or((NONE, 0));
            let attributes = abbreviation.attributes();
            self.account.spend(1 + attributes.len() * ATTRIBUTE)?;
            let mut sibling = None;
            let mut inner = (parent, depth);
            match Action::of(abbreviation.tag(), c) {
                Action::Function { inlined } => {
                    let mut place = Place::default();
                    let mut declaration = Declaration::default();
                    for spec in attributes {
                        let attribute = entries.read_attribute(*spec)?;
                        if !place.take(&debug.dwarf, &unit.unit, &attribute)? {
                            let account = &mut self.account;
                            declaration.take(debug, unit, &attribute, true, account)?;
                        }
                    }
                    sibling = place.sibling;
                    if place.low.is_some() || place.ranges.is_some() {
                        let (parent, depth) = if inlined { inner } else { (NONE, 0) };
                        inner = match self.function(offset, parent, place, declaration)? {
                            Some(_) if depth == MOST_DEPTH => {
                                return Err(Failure::TooDeep(MOST_DEPTH))
                            }
                            Some(node) => (node, depth + 1),
                            None => (parent, depth),
                        };
                        sibling = None;
                    }
                }
                Action::Descend if open.is_empty() => {
                    for spec in attributes {
                        let attribute = entries.read_attribute(*spec)?;
                        if spec.name() == dw::DW_AT_language {
                            c = matches!(
                                attribute.value(),
                                AttributeValue::Language(
                                    dw::DW_LANG_C
                                        | dw::DW_LANG_C89
                                        | dw::DW_LANG_C99
                                        | dw::DW_LANG_C11
                                        | dw::DW_LANG_C17
                                        | dw::DW_LANG_Mips_Assembler
                                )
                            );
                        }
                    }
                }
                Action::Descend => entries.skip_attributes(attributes)?,
                Action::Skip if abbreviation.has_children() => {
                    let at = attributes
                        .iter()
                        .position(|spec| spec.name() == dw::DW_AT_sibling);
                    let (before, after) = attributes.split_at(at.unwrap_or(attributes.len()));
                    entries.skip_attributes(before)?;
                    if let Some((spec, after)) = after.split_first() {
                        if let AttributeValue::UnitRef(to) = entries.read_attribute(*spec)?.value()
                        {
                            sibling = Some(to);
                        }
                        entries.skip_attributes(after)?;
                    }
                }
                Action::Skip => entries.skip_attributes(attributes)?,
            }
            if !abbreviation.has_children() {
                if open.is_empty() {
                    break;
                }
                continue;
            }
            match sibling {
                // Only ever forwards, so that a hostile file cannot make a loop.
                Some(to) if to >= entries.next_offset() && to.is_in_bounds(&header) => {
                    entries = header.entries_raw(abbreviations, Some(to))?;
                }
                _ => open.push(inner),
            }
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
        let name = declaration.display_name(account)?;
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

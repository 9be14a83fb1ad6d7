use std::collections::HashMap;
use std::ops::Range;

use gimli::constants as dw;
use gimli::{AttributeValue, UnitOffset};

use super::action::Action;
use super::declaration::{Declaration, File, Origin};
use super::lines::{range_of, rows};
use super::paths::Paths;
use super::table::{Function, Node, UnitTable, NONE};
use super::{Debug, Slice};
use crate::flatten::{flatten, Segment};

/// A unit may have this many ranges and one more for each of its bytes. Real ones have one in 20.
const FEWEST_RANGES: usize = 4096;

/// Reads one compilation unit into a table.
pub(crate) struct UnitReader<'a, 'd> {
    debug: &'a Debug<'d>,
    unit: gimli::Unit<Slice<'d>>,
    text: &'a [Range<u64>],
    paths: Paths<'d>,
    /// Strings of the line table's files, as far as they were needed.
    files: HashMap<u64, u32>,
    /// Functions by the entry that declares them.
    functions: HashMap<usize, u32>,
    /// What the functions cover, a function before those inlined into it.
    covered: Vec<Segment>,
    table: UnitTable<'d>,
    /// How many ranges may still be read: a hostile unit may name one long list again and again.
    ranges_left: usize,
}

/// The attributes of a function's entry that say where it is.
#[derive(Default)]
struct Place<'d> {
    low: Option<u64>,
    high: Option<AttributeValue<Slice<'d>>>,
    ranges: Option<AttributeValue<Slice<'d>>>,
    origin: Option<Origin>,
    call_file: Option<u64>,
    call_line: u32,
    sibling: Option<UnitOffset>,
}

impl<'a, 'd> UnitReader<'a, 'd> {
    pub(crate) fn convert(
        debug: &'a Debug<'d>,
        header: gimli::UnitHeader<Slice<'d>>,
        text: &'a [Range<u64>],
    ) -> gimli::Result<UnitTable<'d>> {
        let unit = debug.dwarf().unit(header)?;
        let paths = Paths::new(&unit);
        let mut table = UnitTable::default();
        table.strings.push(Default::default());
        let mut reader = UnitReader {
            debug,
            unit,
            text,
            paths,
            files: HashMap::new(),
            functions: HashMap::new(),
            covered: Vec::new(),
            table,
            ranges_left: header.unit_length() + FEWEST_RANGES,
        };
        reader.walk()?;
        reader.table.segments = flatten(&reader.covered);
        let program = reader.unit.line_program.take();
        // Units may share a program (dwz); its rows are needed once.
        if let Some(program) = program.filter(|program| debug.first_use(program.header().offset()))
        {
            reader.table.rows = rows(program, text, |index| {
                reader_file(
                    debug,
                    &reader.unit,
                    &reader.paths,
                    &mut reader.files,
                    &mut reader.table,
                    index,
                )
            })?;
        }
        Ok(reader.table)
    }

    fn file(&mut self, index: u64) -> u32 {
        reader_file(
            self.debug,
            &self.unit,
            &self.paths,
            &mut self.files,
            &mut self.table,
            index,
        )
    }

    /// Walk the entries without recursion: a hostile file may nest them at will.
    fn walk(&mut self) -> gimli::Result<()> {
        let header = self.unit.header;
        let abbreviations = self.unit.abbreviations.clone();
        let mut entries = header.entries_raw(&abbreviations, None)?;
        let mut c = false;
        // For each open entry, the node that encloses its children.
        let mut open: Vec<u32> = Vec::new();
        while !entries.is_empty() {
            let offset = entries.next_offset();
            let Some(abbreviation) = entries.read_abbreviation()? else {
                open.pop();
                if open.is_empty() {
                    break; // padding may follow the unit's own entry
                }
                continue;
            };
            let parent = open.last().copied().unwrap_or(NONE);
            let attributes = abbreviation.attributes();
            let mut sibling = None;
            let mut node = parent;
            match Action::of(abbreviation.tag(), c) {
                Action::Function { inlined } => {
                    let mut place = Place::default();
                    let mut declaration = Declaration::default();
                    for spec in attributes {
                        let attribute = entries.read_attribute(*spec)?;
                        self.take(&attribute, &mut place, &mut declaration)?;
                    }
                    sibling = place.sibling;
                    if place.low.is_some() || place.ranges.is_some() {
                        let parent = if inlined { parent } else { NONE };
                        node = self.function(offset, parent, place, declaration)?;
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
                    entries = header.entries_raw(&abbreviations, Some(to))?;
                }
                _ => open.push(node),
            }
        }
        Ok(())
    }

    fn take(
        &self,
        attribute: &gimli::Attribute<Slice<'d>>,
        place: &mut Place<'d>,
        declaration: &mut Declaration<'d>,
    ) -> gimli::Result<()> {
        match attribute.name() {
            dw::DW_AT_low_pc => {
                place.low = self
                    .debug
                    .dwarf()
                    .attr_address(&self.unit, attribute.value())?;
            }
            dw::DW_AT_high_pc => place.high = Some(attribute.value()),
            dw::DW_AT_ranges => place.ranges = Some(attribute.value()),
            dw::DW_AT_abstract_origin | dw::DW_AT_specification => {
                place.origin = Origin::of(&attribute.value());
            }
            dw::DW_AT_call_file => {
                if let AttributeValue::FileIndex(index) = attribute.value() {
                    place.call_file = Some(index);
                }
            }
            dw::DW_AT_call_line => {
                place.call_line = attribute
                    .udata_value()
                    .map_or(0, |line| line.min(1 << 31) as u32);
            }
            dw::DW_AT_sibling => {
                if let AttributeValue::UnitRef(to) = attribute.value() {
                    place.sibling = Some(to);
                }
            }
            _ => declaration.take(self.debug, &self.unit, attribute, true),
        }
        Ok(())
    }

    /// Add a node for a function that has code; returns the parent if all of it was dropped.
    fn function(
        &mut self,
        offset: UnitOffset,
        parent: u32,
        place: Place<'d>,
        declaration: Declaration<'d>,
    ) -> gimli::Result<u32> {
        let node = self.table.nodes.len() as u32;
        let before = self.covered.len();
        match (place.ranges, place.low) {
            (Some(ranges), _) => {
                if let Some(mut ranges) = self.debug.dwarf().attr_ranges(&self.unit, ranges)? {
                    while let Some(range) = ranges.next()? {
                        let left = self.ranges_left.checked_sub(1);
                        self.ranges_left = left.ok_or(gimli::Error::TooManyIterations)?;
                        self.cover(range.begin, range.end, node);
                    }
                }
            }
            (None, Some(low)) => {
                let high = match place.high {
                    Some(AttributeValue::Udata(size)) => low.saturating_add(size),
                    Some(value) => self
                        .debug
                        .dwarf()
                        .attr_address(&self.unit, value)?
                        .unwrap_or(low),
                    None => low,
                };
                self.cover(low, high, node);
            }
            (None, None) => {}
        }
        if self.covered.len() == before {
            return Ok(parent);
        }
        let key = match place.origin {
            Some(Origin::Own(offset)) if declaration.name.is_none() => offset.0,
            _ => offset.0,
        };
        let function = match self.functions.get(&key) {
            Some(function) => *function,
            None => self.declare(key, declaration, place.origin),
        };
        let call_file = match place.call_file {
            Some(index) if parent != NONE => self.file(index),
            _ => 0,
        };
        self.table.nodes.push(Node {
            function,
            parent,
            call_file,
            call_line: place.call_line,
        });
        Ok(node)
    }

    fn declare(
        &mut self,
        key: usize,
        mut declaration: Declaration<'d>,
        origin: Option<Origin>,
    ) -> u32 {
        if let Some(origin) = origin {
            declaration.follow(self.debug, &self.unit, origin);
        }
        let name = self.table.string(declaration.display_name());
        let file = match declaration.file {
            Some(File::Own(index)) => self.file(index),
            Some(File::Other(name)) => self.table.string(name),
            None => 0,
        };
        let function = self.table.functions.len() as u32;
        self.table.functions.push(Function {
            name,
            file,
            line: declaration.line,
        });
        self.functions.insert(key, function);
        function
    }

    fn cover(&mut self, start: u64, end: u64, node: u32) {
        if let Some(range) = range_of(self.text, start) {
            let end = end.min(range.end);
            if start < end {
                self.covered.push(Segment { start, end, node });
            }
        }
    }
}

/// The string of a file of the unit's line table. A function of its parts, because the line
/// program is read while the rest of the reader is borrowed.
fn reader_file<'d>(
    debug: &Debug<'d>,
    unit: &gimli::Unit<Slice<'d>>,
    paths: &Paths<'d>,
    files: &mut HashMap<u64, u32>,
    table: &mut UnitTable<'d>,
    index: u64,
) -> u32 {
    if let Some(file) = files.get(&index) {
        return *file;
    }
    let name = paths.name(debug.dwarf(), unit, index);
    let file = table.string(name);
    files.insert(index, file);
    file
}

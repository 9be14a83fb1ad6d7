use std::borrow::Cow;
use std::collections::HashMap;

use crate::dwarf::{Function, Node, Row, UnitTable, END, NONE};
use crate::flatten::{flatten, Segment};

/// The tables of all units as one, with each string and function once.
#[derive(Default)]
pub(crate) struct Merged<'d> {
    pub(crate) strings: Strings<'d>,
    pub(crate) functions: Vec<Function>,
    pub(crate) nodes: Vec<Node>,
    pub(crate) segments: Vec<Segment>,
    pub(crate) rows: Vec<Row>,
}

/// Distinct strings; the first is empty.
pub(crate) struct Strings<'d> {
    pub(crate) list: Vec<Cow<'d, [u8]>>,
    known: HashMap<Cow<'d, [u8]>, u32>,
}

impl Default for Strings<'_> {
    fn default() -> Self {
        Strings {
            list: vec![Cow::Borrowed(&[])],
            known: HashMap::from([(Cow::Borrowed(&[][..]), 0)]),
        }
    }
}

impl<'d> Strings<'d> {
    pub(crate) fn intern(&mut self, text: Cow<'d, [u8]>) -> u32 {
        if let Some(index) = self.known.get(&text) {
            return *index;
        }
        let index = self.list.len() as u32;
        self.list.push(text.clone());
        self.known.insert(text, index);
        index
    }
}

pub(crate) fn merge(units: Vec<UnitTable<'_>>) -> Merged<'_> {
    let mut merged = Merged::default();
    let mut known: HashMap<Function, u32> = HashMap::new();
    let mut sequences: Vec<Vec<Row>> = Vec::new();
    for unit in units {
        let strings: Vec<u32> = unit
            .strings
            .into_iter()
            .map(|text| merged.strings.intern(text))
            .collect();
        let functions: Vec<u32> = unit
            .functions
            .iter()
            .map(|function| {
                let function = Function {
                    name: strings[function.name as usize],
                    file: strings[function.file as usize],
                    line: function.line,
                };
                *known.entry(function).or_insert_with(|| {
                    merged.functions.push(function);
                    (merged.functions.len() - 1) as u32
                })
            })
            .collect();
        let first = merged.nodes.len() as u32;
        merged.nodes.extend(unit.nodes.iter().map(|node| Node {
            function: functions[node.function as usize],
            parent: if node.parent == NONE {
                NONE
            } else {
                node.parent + first
            },
            call_file: strings[node.call_file as usize],
            call_line: node.call_line,
        }));
        merged
            .segments
            .extend(unit.segments.iter().map(|segment| Segment {
                node: segment.node + first,
                ..*segment
            }));
        let mut sequence = Vec::new();
        for row in unit.rows {
            let end = row.file == END;
            let file = if end { END } else { strings[row.file as usize] };
            sequence.push(Row { file, ..row });
            if end {
                sequences.push(std::mem::take(&mut sequence));
            }
        }
    }
    merged.segments.sort_by_key(|segment| segment.start);
    if merged
        .segments
        .windows(2)
        .any(|pair| pair[0].end > pair[1].start)
    {
        // Two units claim the same code (identical code folding): the later start wins.
        merged.segments = flatten(&merged.segments);
    }
    sequences.sort_by_key(|sequence| sequence.first().map_or(0, |row| row.address));
    merged.rows = sequences.concat();
    if !merged.rows.is_sorted_by_key(|row| row.address) {
        merged.rows.sort_by_key(|row| row.address);
    }
    merged
}

use std::borrow::Cow;
use std::hash::BuildHasher;
use std::ops::Range;

use hashbrown::hash_table::{Entry, HashTable};
use hashbrown::{DefaultHashBuilder, HashMap};
use rayon::prelude::*;

use crate::dwarf::{Function, Node, Row, UnitTable, END, NONE};
use crate::flatten::{flatten, Segment};

/// The tables of all units as one, with each string and function once.
pub(crate) struct Merged<'d> {
    pub(crate) strings: Strings<'d>,
    pub(crate) functions: Vec<Function>,
    pub(crate) nodes: Vec<Node>,
    /// By address.
    pub(crate) segments: Vec<Segment>,
    /// By address.
    pub(crate) rows: Vec<Row>,
}

/// Distinct strings; the first is empty.
pub(crate) struct Strings<'d> {
    pub(crate) list: Vec<Cow<'d, [u8]>>,
    known: HashTable<u32>,
    hasher: DefaultHashBuilder,
}

impl Default for Strings<'_> {
    fn default() -> Self {
        let mut strings = Strings {
            list: Vec::new(),
            known: HashTable::new(),
            hasher: DefaultHashBuilder::default(),
        };
        strings.intern(Cow::Borrowed(&[]));
        strings
    }
}

impl<'d> Strings<'d> {
    pub(crate) fn intern(&mut self, text: Cow<'d, [u8]>) -> u32 {
        let Strings {
            list,
            known,
            hasher,
        } = self;
        let entry = known.entry(
            hasher.hash_one(&*text),
            |index| list[*index as usize] == text,
            |index| hasher.hash_one(&*list[*index as usize]),
        );
        match entry {
            Entry::Occupied(entry) => *entry.get(),
            Entry::Vacant(entry) => {
                let index = list.len() as u32;
                entry.insert(index);
                list.push(text);
                index
            }
        }
    }
}

/// Puts the tables of units together, in the order of the file.
#[derive(Default)]
pub(crate) struct Merger<'d> {
    strings: Strings<'d>,
    functions: Vec<Function>,
    known: HashMap<Function, u32>,
    nodes: Vec<Node>,
    segments: Vec<Segment>,
    rows: Vec<Row>,
    /// Of `rows`.
    sequences: Vec<Range<usize>>,
}

impl<'d> Merger<'d> {
    pub(crate) fn add(&mut self, unit: UnitTable<'d>) {
        let strings: Vec<u32> = unit
            .strings
            .into_iter()
            .map(|text| self.strings.intern(text))
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
                *self.known.entry(function).or_insert_with(|| {
                    self.functions.push(function);
                    (self.functions.len() - 1) as u32
                })
            })
            .collect();
        let first = self.nodes.len() as u32;
        self.nodes.extend(unit.nodes.iter().map(|node| Node {
            function: functions[node.function as usize],
            parent: if node.parent == NONE {
                NONE
            } else {
                node.parent + first
            },
            call_file: strings[node.call_file as usize],
            call_line: node.call_line,
        }));
        self.segments
            .extend(unit.segments.iter().map(|segment| Segment {
                node: segment.node + first,
                ..*segment
            }));
        let mut start = self.rows.len();
        for row in unit.rows {
            let end = row.file == END;
            let file = if end { END } else { strings[row.file as usize] };
            self.rows.push(Row { file, ..row });
            if end {
                self.sequences.push(start..self.rows.len());
                start = self.rows.len();
            }
        }
    }

    /// All tables that were added, as one.
    pub(crate) fn finish(self) -> Merged<'d> {
        let Merger {
            mut segments,
            rows,
            mut sequences,
            ..
        } = self;
        let (segments, rows) = rayon::join(
            || {
                segments.par_sort_by_key(|segment| segment.start);
                let overlap = |pair: &[Segment]| pair[0].end > pair[1].start;
                if segments.windows(2).any(overlap) {
                    // Two units claim the same code (identical code folding): the later start wins.
                    segments = flatten(&segments);
                }
                segments
            },
            || {
                sequences.sort_by_key(|sequence| rows[sequence.start].address);
                let mut sorted = Vec::with_capacity(rows.len());
                for sequence in sequences {
                    sorted.extend_from_slice(&rows[sequence]);
                }
                if !sorted.is_sorted_by_key(|row: &Row| row.address) {
                    sorted.sort_by_key(|row| row.address);
                }
                sorted
            },
        );
        Merged {
            strings: self.strings,
            functions: self.functions,
            nodes: self.nodes,
            segments,
            rows,
        }
    }
}

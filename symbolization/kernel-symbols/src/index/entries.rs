use super::merge::Merged;
use super::symbols::Symbol;
use crate::dwarf::{Row, END, NONE};
use crate::flatten::Segment;

/// Give a function the first instructions of its symbol.
///
/// With `-fpatchable-function-entry`, which arm64 kernels are built with for ftrace, GCC 12 lets
/// `DW_AT_low_pc` and the line table begin behind the instructions to patch (GCC bug 98776). They
/// would be code without a declaration, on the last line of the function before.
///
/// `segments` and `rows` are sorted and stay so; `symbols` are sorted.
pub(crate) fn cover_entries(merged: &mut Merged<'_>, symbols: &[Symbol]) {
    let mut segments: Vec<Segment> = Vec::new();
    let mut rows: Vec<Row> = Vec::new();
    let mut after = symbols;
    while let Some(symbol) = after.first() {
        after = &after[after.partition_point(|other| other.start == symbol.start)..];
        let Some(first) = first_segment(&merged.segments, symbol) else {
            continue;
        };
        // Another symbol in between may be another function, without debug information.
        if after
            .first()
            .is_some_and(|other| other.start <= first.start)
        {
            continue;
        }
        let node = root(merged, first.node);
        segments.push(Segment {
            start: symbol.start,
            end: first.start,
            node,
        });
        rows.extend(entry_row(merged, symbol.start, first, node));
    }
    merged.segments.extend(segments);
    merged.segments.sort_by_key(|segment| segment.start);
    merged.rows.extend(rows);
    // Stable: an entry's row comes behind one that ends a sequence at the same address.
    merged.rows.sort_by_key(|row| row.address);
}

/// The first segment within a symbol whose own first address lies in none.
fn first_segment(segments: &[Segment], symbol: &Symbol) -> Option<Segment> {
    let next = segments.partition_point(|segment| segment.start <= symbol.start);
    let covered = next > 0 && segments[next - 1].end > symbol.start;
    let first = segments.get(next)?;
    (symbol.sized && !covered && first.start < symbol.end).then_some(*first)
}

/// The function that a node is inlined into, or itself.
fn root(merged: &Merged<'_>, mut node: u32) -> u32 {
    loop {
        let parent = merged.nodes[node as usize].parent;
        if parent == NONE || parent >= node {
            return node;
        }
        node = parent;
    }
}

/// The row of what precedes a function's first segment: the line of the function's own first
/// instruction or, if that is inlined, of its declaration. None where the line table has one.
fn entry_row(merged: &Merged<'_>, start: u64, first: Segment, root: u32) -> Option<Row> {
    let before = merged.rows.partition_point(|row| row.address < start);
    let behind = merged
        .rows
        .partition_point(|row| row.address <= first.start);
    let (own, others) = merged.rows[before..behind].split_last()?;
    let known = others
        .iter()
        .any(|row| row.address < first.start && row.file != END);
    if known || own.address < first.start || own.file == END {
        return None;
    }
    let function = merged.functions[merged.nodes[root as usize].function as usize];
    let (file, line) = if first.node == root {
        (own.file, own.line)
    } else {
        (function.file, function.line)
    };
    Some(Row {
        address: start,
        file,
        line,
    })
}

use std::path::Path;

use super::entries::cover_entries;
use super::format::{written, Column, Values};
use super::merge::{Merged, Merger};
use super::symbols::{covering, sorted};
use crate::budget::Budget;
use crate::build_id::BuildId;
use crate::dwarf::{convert, Debug, DebugData, Node, NONE};
use crate::elf::{Elf, ElfSymbol};
use crate::{Error, Result};

/// Of so few functions, debug information may tell that none was inlined.
const FEW_FUNCTIONS: usize = 64;

/// Whether debug information tells where functions were inlined. Lines alone, or units without
/// functions (assembly, split DWARF), do not; what a compiler made of a whole kernel has some.
fn tells_inlines(nodes: &[Node]) -> bool {
    let inlined = nodes.iter().any(|node| node.parent != NONE);
    inlined || (1..FEW_FUNCTIONS).contains(&nodes.len())
}

/// Convert an ELF file into the bytes of its index. Where its debug information cannot be read, or
/// costs too much of a `budget`, its symbols serve alone; it is an error where they cannot, either.
pub(crate) fn build(path: &Path, elf: &Elf<'_>, budget: impl Fn() -> Budget) -> Result<Vec<u8>> {
    let text: Vec<_> = elf
        .text()
        .map(|text| text.svma.0..text.svma.0 + text.size)
        .collect();
    let own = budget();
    let read = DebugData::load(path, elf, &own).and_then(|data| {
        let debug = Debug::new(&data, elf, &own)?;
        let mut merger = Merger::default();
        let (converted, symbols) = rayon::join(
            || convert(&debug, &text, |table| merger.add(table)),
            || sorted(elf, &own),
        );
        let unread = converted?.unwrap_or_default();
        let merged = merger.finish();
        bytes(path, elf, merged, &symbols?, &unread)
    });
    read.or_else(|error| {
        let merged = Merger::default().finish();
        bytes(path, elf, merged, &sorted(elf, &budget())?, &error.what())
    })
}

fn bytes<'d>(
    path: &Path,
    elf: &Elf<'d>,
    mut merged: Merged<'d>,
    symbols: &[ElfSymbol<'d>],
    unread: &str,
) -> Result<Vec<u8>> {
    let symbols = covering(symbols, &mut merged.strings);
    cover_entries(&mut merged, &symbols);
    let names: Vec<u32> = elf
        .text()
        .map(|text| merged.strings.intern(text.name.clone().into_bytes().into()))
        .collect();
    let Merged {
        strings,
        functions,
        nodes,
        segments,
        rows,
    } = merged;
    let string_bytes: usize = strings.list.iter().map(|text| text.len()).sum();
    if u32::try_from(string_bytes).is_err() {
        return Err(Error::damaged(path, "its names take more than 4 GiB"));
    }
    let ends = strings.list.iter().scan(0, |end, text| {
        *end += text.len() as u32;
        Some(*end)
    });
    let offsets: Vec<u32> = std::iter::once(0).chain(ends).collect();
    let build_id = elf.build_id();
    let build_id = build_id.as_ref().map_or(&[][..], BuildId::bytes);
    let inlines = [u8::from(tells_inlines(&nodes))];
    let text: Vec<_> = elf.text().collect();
    Ok(written([
        (Column::BuildId, Values::bytes(build_id)),
        (Column::Inlines, Values::bytes(&inlines)),
        (Column::Unread, Values::bytes(unread.as_bytes())),
        (
            Column::StringOffsets,
            Values::u32s(&offsets, |offset| *offset),
        ),
        (
            Column::StringBytes,
            Values::strings(&strings.list, string_bytes),
        ),
        (Column::FunctionName, Values::u32s(&functions, |f| f.name)),
        (Column::FunctionFile, Values::u32s(&functions, |f| f.file)),
        (Column::FunctionLine, Values::u32s(&functions, |f| f.line)),
        (Column::NodeFunction, Values::u32s(&nodes, |n| n.function)),
        (Column::NodeParent, Values::u32s(&nodes, |n| n.parent)),
        (Column::NodeCallFile, Values::u32s(&nodes, |n| n.call_file)),
        (Column::NodeCallLine, Values::u32s(&nodes, |n| n.call_line)),
        (Column::SegmentStart, Values::u64s(&segments, |s| s.start)),
        (Column::SegmentEnd, Values::u64s(&segments, |s| s.end)),
        (Column::SegmentNode, Values::u32s(&segments, |s| s.node)),
        (Column::RowAddress, Values::u64s(&rows, |r| r.address)),
        (Column::RowFile, Values::u32s(&rows, |r| r.file)),
        (Column::RowLine, Values::u32s(&rows, |r| r.line)),
        (Column::SymbolStart, Values::u64s(&symbols, |s| s.start)),
        (Column::SymbolEnd, Values::u64s(&symbols, |s| s.end)),
        (Column::SymbolName, Values::u32s(&symbols, |s| s.name)),
        (Column::TextName, Values::u32s(&names, |name| *name)),
        (Column::TextStart, Values::u64s(&text, |text| text.svma.0)),
        (Column::TextSize, Values::u64s(&text, |text| text.size)),
    ]))
}

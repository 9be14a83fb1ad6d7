use std::path::Path;

use super::entries::cover_entries;
use super::format::{Column, Writer};
use super::merge::{merge, Merged};
use super::symbols::symbols;
use crate::budget::Budget;
use crate::build_id::BuildId;
use crate::dwarf::{convert, Debug, DebugData};
use crate::elf::Elf;
use crate::{Error, Result};

/// Convert an ELF file into the bytes of its index.
pub(crate) fn build(path: &Path, elf: &Elf<'_>, budget: &Budget) -> Result<Vec<u8>> {
    let text: Vec<_> = elf
        .text()
        .map(|text| text.svma.0..text.svma.0 + text.size)
        .collect();
    let data = DebugData::load(path, elf, budget)?;
    let debug = Debug::new(&data, budget)?;
    let mut merged = merge(convert(&debug, &text)?);
    let symbols = symbols(elf, &mut merged.strings, budget)?;
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
    let capacity = string_bytes
        + strings.list.len() * 4
        + functions.len() * 12
        + nodes.len() * 16
        + segments.len() * 20
        + rows.len() * 16
        + symbols.len() * 20
        + (64 << 10);
    let mut out = Writer::new(capacity);
    let build_id = elf.build_id();
    out.bytes(
        Column::BuildId,
        build_id.as_ref().map_or(&[], BuildId::bytes),
    );
    out.bytes(Column::Inlines, &[u8::from(!debug.headers.is_empty())]);
    let mut offset = 0;
    let ends = strings.list.iter().map(|text| {
        offset += text.len() as u32;
        offset
    });
    out.u32s(Column::StringOffsets, std::iter::once(0).chain(ends));
    out.bytes(Column::StringBytes, &strings.list.concat());
    out.u32s(Column::FunctionName, functions.iter().map(|f| f.name));
    out.u32s(Column::FunctionFile, functions.iter().map(|f| f.file));
    out.u32s(Column::FunctionLine, functions.iter().map(|f| f.line));
    out.u32s(Column::NodeFunction, nodes.iter().map(|n| n.function));
    out.u32s(Column::NodeParent, nodes.iter().map(|n| n.parent));
    out.u32s(Column::NodeCallFile, nodes.iter().map(|n| n.call_file));
    out.u32s(Column::NodeCallLine, nodes.iter().map(|n| n.call_line));
    out.u64s(Column::SegmentStart, segments.iter().map(|s| s.start));
    out.u64s(Column::SegmentEnd, segments.iter().map(|s| s.end));
    out.u32s(Column::SegmentNode, segments.iter().map(|s| s.node));
    out.u64s(Column::RowAddress, rows.iter().map(|r| r.address));
    out.u32s(Column::RowFile, rows.iter().map(|r| r.file));
    out.u32s(Column::RowLine, rows.iter().map(|r| r.line));
    out.u64s(Column::SymbolStart, symbols.iter().map(|s| s.start));
    out.u64s(Column::SymbolEnd, symbols.iter().map(|s| s.end));
    out.u32s(Column::SymbolName, symbols.iter().map(|s| s.name));
    out.u32s(Column::TextName, names.into_iter());
    out.u64s(Column::TextStart, elf.text().map(|text| text.svma.0));
    out.u64s(Column::TextSize, elf.text().map(|text| text.size));
    Ok(out.finish())
}

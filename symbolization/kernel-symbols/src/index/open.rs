use std::ops::Range;
use std::path::Path;

use super::builder::build;
use super::cache::Cache;
use super::format::{columns, Column};
use crate::budget::Budget;
use crate::build_id::BuildId;
use crate::compression::Compression;
use crate::dwarf::NONE;
use crate::elf::{Elf, TextSection};
use crate::file::{FileBytes, FileIdentity};
use crate::little_endian::{u32_at, u64_at};
use crate::{Error, Result, Svma};

/// The functions, inlined ones too, of one ELF file: vmlinux, a module, a program, a library.
pub struct SymbolIndex {
    bytes: FileBytes,
    columns: Vec<Range<usize>>,
    build_id: Option<BuildId>,
}

impl SymbolIndex {
    /// Index the ELF file at `path` (plain, `.zst`, `.xz` or `.gz`), or take its index from the
    /// `cache` folder. A damaged index there is replaced.
    pub fn open(path: &Path, cache: Option<&Path>) -> Result<Self> {
        let (file, identity) = FileBytes::map_identified(path)?;
        Elf::check_size(path, file.len())?;
        if Compression::of(&file).is_none() {
            Elf::check(path, &file)?;
        }
        let kept = cache.map(Cache).map(|cache| {
            let content = cache.content(&identity, &file);
            (cache, content)
        });
        if let Some((cache, content)) = &kept {
            if let Some(index) = cache.load(content).and_then(Self::from_bytes) {
                return Ok(index);
            }
        }
        let unpacked = file.unpacked(path)?;
        let data = unpacked.as_deref().unwrap_or(&file);
        let elf = Elf::parse(path, data)?;
        let budget = || Budget::new(path, file.len(), data.len());
        let bytes = build(path, &elf, budget)?;
        drop(elf);
        let store = || {
            if let Some((cache, content)) = &kept {
                // A file that was written to meanwhile has an index of neither content.
                let now = FileIdentity::of(path).map(|now| now.to_string());
                if now == Some(identity.to_string()) {
                    cache.store(content, &bytes);
                }
            }
        };
        // To let a large file go takes as long as to write a small one.
        rayon::join(store, || drop((unpacked, file)));
        Self::from_bytes(FileBytes::Owned(bytes))
            .ok_or_else(|| Error::damaged(path, "its index contradicts itself"))
    }

    /// An index from the bytes of its file; None if they are damaged or of another version.
    pub(crate) fn from_bytes(bytes: FileBytes) -> Option<Self> {
        let columns = columns(&bytes)?;
        let build_id = BuildId::new(bytes.get(columns[Column::BuildId as usize].clone())?);
        Some(SymbolIndex {
            bytes,
            columns,
            build_id,
        })
    }

    /// The GNU build id, if the file has one.
    pub fn build_id(&self) -> Option<&BuildId> {
        self.build_id.as_ref()
    }

    /// Whether the file tells where functions were inlined.
    pub fn has_inlines(&self) -> bool {
        self.column(Column::Inlines).first() == Some(&1)
    }

    /// Why debug information, or a part of it, was not read; none if all was. The symbols of the file
    /// serve where it is missing.
    pub fn unread(&self) -> Option<String> {
        let text = String::from_utf8_lossy(self.column(Column::Unread));
        (!text.is_empty()).then(|| text.into_owned())
    }

    /// The address of a symbol in an executable section.
    pub fn symbol_address(&self, name: &str) -> Option<Svma> {
        let names = self.column(Column::SymbolName).chunks_exact(4);
        let found = names
            .enumerate()
            .find(|(i, _)| self.string(self.u32(Column::SymbolName, *i)) == name.as_bytes())?;
        Some(Svma(self.u64(Column::SymbolStart, found.0)))
    }

    /// All symbols as (address, name), by address.
    pub fn symbols(&self) -> impl Iterator<Item = (Svma, &[u8])> {
        (0..self.rows(Column::SymbolStart, 8)).map(|i| {
            let name = self.string(self.u32(Column::SymbolName, i));
            (Svma(self.u64(Column::SymbolStart, i)), name)
        })
    }

    /// Where the stretches of code that debug information describes start and end, by address: each
    /// has one chain, but for lines.
    pub fn segments(&self) -> Vec<(Svma, Svma)> {
        (0..self.rows(Column::SegmentStart, 8))
            .filter(|row| self.u32(Column::SegmentNode, *row) != NONE)
            .map(|row| {
                let end = self.u64(Column::SegmentEnd, row);
                (Svma(self.u64(Column::SegmentStart, row)), Svma(end))
            })
            .collect()
    }

    /// The executable sections, by address.
    pub fn sections(&self) -> Vec<TextSection> {
        (0..self.rows(Column::TextStart, 8))
            .map(|i| TextSection {
                name: self.text(self.u32(Column::TextName, i)),
                svma: Svma(self.u64(Column::TextStart, i)),
                size: self.u64(Column::TextSize, i),
            })
            .collect()
    }

    fn column(&self, column: Column) -> &[u8] {
        self.bytes
            .get(self.columns[column as usize].clone())
            .unwrap_or_default()
    }

    /// How many values a column has.
    pub(super) fn rows(&self, column: Column, width: usize) -> usize {
        self.columns[column as usize].len() / width
    }

    /// A value, or the highest number past the column's end: no index, address or line is that.
    pub(super) fn u32(&self, column: Column, row: usize) -> u32 {
        u32_at(self.column(column), row.saturating_mul(4)).unwrap_or(u32::MAX)
    }

    pub(super) fn u64(&self, column: Column, row: usize) -> u64 {
        u64_at(self.column(column), row.saturating_mul(8)).unwrap_or(u64::MAX)
    }

    pub(super) fn string(&self, index: u32) -> &[u8] {
        let index = index as usize;
        let start = self.u32(Column::StringOffsets, index) as usize;
        let end = self.u32(Column::StringOffsets, index.saturating_add(1)) as usize;
        self.column(Column::StringBytes)
            .get(start..end)
            .unwrap_or_default()
    }

    pub(super) fn text(&self, index: u32) -> String {
        String::from_utf8_lossy(self.string(index)).into_owned()
    }

    /// The last row of an ascending u64 column whose value is at most `address`.
    pub(super) fn last_at_most(&self, column: Column, address: u64) -> Option<usize> {
        let (mut low, mut high) = (0, self.rows(column, 8));
        while low < high {
            let middle = low + (high - low) / 2;
            if self.u64(column, middle) <= address {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low.checked_sub(1)
    }
}

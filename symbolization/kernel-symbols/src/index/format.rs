use std::ops::Range;

use crate::little_endian::{u32_at, u64_at};

/// What every index file starts with.
pub(crate) const MAGIC: &[u8; 8] = b"PDSYMIDX";

/// Raised whenever the layout, or what is put into it, changes.
pub(crate) const VERSION: u32 = 3;

/// The columns of an index file, in their order. A column is an array of little-endian integers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub(crate) enum Column {
    /// Build id bytes.
    BuildId,
    /// One byte: 1 if the file had debug information.
    Inlines,
    /// u32 offsets into `StringBytes`, one more than there are strings.
    StringOffsets,
    StringBytes,
    FunctionName,
    FunctionFile,
    FunctionLine,
    NodeFunction,
    NodeParent,
    NodeCallFile,
    NodeCallLine,
    /// u64, ascending.
    SegmentStart,
    SegmentEnd,
    SegmentNode,
    /// u64, ascending.
    RowAddress,
    RowFile,
    RowLine,
    /// u64, ascending; of symbols at one address the preferred one comes first.
    SymbolStart,
    SymbolEnd,
    SymbolName,
    /// Executable sections.
    TextName,
    TextStart,
    TextSize,
}

pub(crate) const COLUMNS: usize = Column::TextSize as usize + 1;

/// magic, version, checksum of what follows, then for each column its first byte and length.
pub(crate) const HEADER: usize = 16 + COLUMNS * 16;

/// Collects columns into the bytes of an index file.
pub(crate) struct Writer {
    bytes: Vec<u8>,
    ranges: Vec<Range<usize>>,
}

impl Writer {
    pub(crate) fn new(capacity: usize) -> Self {
        let mut bytes = Vec::with_capacity(capacity);
        bytes.resize(HEADER, 0);
        Writer {
            bytes,
            ranges: vec![0..0; COLUMNS],
        }
    }

    pub(crate) fn bytes(&mut self, column: Column, data: &[u8]) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(data);
        self.ranges[column as usize] = start..self.bytes.len();
    }

    pub(crate) fn u32s(&mut self, column: Column, values: impl Iterator<Item = u32>) {
        let start = self.bytes.len();
        self.bytes.extend(values.flat_map(u32::to_le_bytes));
        self.ranges[column as usize] = start..self.bytes.len();
    }

    pub(crate) fn u64s(&mut self, column: Column, values: impl Iterator<Item = u64>) {
        let start = self.bytes.len();
        self.bytes.extend(values.flat_map(u64::to_le_bytes));
        self.ranges[column as usize] = start..self.bytes.len();
    }

    pub(crate) fn finish(mut self) -> Vec<u8> {
        for (i, range) in self.ranges.iter().enumerate() {
            let at = 16 + i * 16;
            self.bytes[at..at + 8].copy_from_slice(&(range.start as u64).to_le_bytes());
            self.bytes[at + 8..at + 16].copy_from_slice(&(range.len() as u64).to_le_bytes());
        }
        self.bytes[..8].copy_from_slice(MAGIC);
        self.bytes[8..12].copy_from_slice(&VERSION.to_le_bytes());
        let checksum = crc32fast::hash(&self.bytes[16..]);
        self.bytes[12..16].copy_from_slice(&checksum.to_le_bytes());
        self.bytes
    }
}

/// The ranges of an index file's columns; None if it is damaged, cut short or of another version.
pub(crate) fn columns(bytes: &[u8]) -> Option<Vec<Range<usize>>> {
    if !bytes.starts_with(MAGIC) || u32_at(bytes, 8)? != VERSION {
        return None;
    }
    if crc32fast::hash(bytes.get(16..)?) != u32_at(bytes, 12)? {
        return None;
    }
    (0..COLUMNS)
        .map(|i| {
            let start = usize::try_from(u64_at(bytes, 16 + i * 16)?).ok()?;
            let end = start.checked_add(usize::try_from(u64_at(bytes, 24 + i * 16)?).ok()?)?;
            (start >= HEADER && end <= bytes.len() || start == end).then_some(start..end)
        })
        .collect()
}

use std::borrow::Cow;
use std::ops::Range;

use crate::little_endian::{u32_at, u64_at};

/// What every index file starts with.
pub(crate) const MAGIC: &[u8; 8] = b"PDSYMIDX";

/// Raised whenever the layout, or what is put into it, changes.
pub(crate) const VERSION: u32 = 5;

/// The columns of an index file, in their order. A column is an array of little-endian integers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub(crate) enum Column {
    /// Build id bytes.
    BuildId,
    /// One byte: 1 if the file tells where functions were inlined.
    Inlines,
    /// Why debug information, or a part of it, was not read; empty if all was.
    Unread,
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

/// Writes the values of a column to where they belong.
type Write<'v> = dyn FnOnce(&mut [u8]) + Send + 'v;

/// The values of a column: how many bytes they take, and what writes them.
pub(crate) struct Values<'v> {
    size: usize,
    write: Box<Write<'v>>,
}

impl<'v> Values<'v> {
    pub(crate) fn bytes(data: &'v [u8]) -> Self {
        Values {
            size: data.len(),
            write: Box::new(|out| out.copy_from_slice(data)),
        }
    }

    /// Strings one behind the other, which take `size` bytes.
    pub(crate) fn strings(list: &'v [Cow<'_, [u8]>], size: usize) -> Self {
        let write = move |mut out: &mut [u8]| {
            for text in list {
                let (own, rest) = out.split_at_mut(text.len());
                own.copy_from_slice(text);
                out = rest;
            }
        };
        Values {
            size,
            write: Box::new(write),
        }
    }

    /// A number `of` each row.
    pub(crate) fn u32s<T: Sync>(rows: &'v [T], of: impl Fn(&T) -> u32 + Send + 'v) -> Self {
        Self::numbers(rows, move |row| of(row).to_le_bytes())
    }

    /// A number `of` each row.
    pub(crate) fn u64s<T: Sync>(rows: &'v [T], of: impl Fn(&T) -> u64 + Send + 'v) -> Self {
        Self::numbers(rows, move |row| of(row).to_le_bytes())
    }

    fn numbers<T: Sync, const N: usize>(
        rows: &'v [T],
        bytes: impl Fn(&T) -> [u8; N] + Send + 'v,
    ) -> Self {
        let write = move |out: &mut [u8]| {
            for (out, row) in out.chunks_exact_mut(N).zip(rows) {
                out.copy_from_slice(&bytes(row));
            }
        };
        Values {
            size: rows.len() * N,
            write: Box::new(write),
        }
    }
}

/// The bytes of an index file, of whose columns all come in their order; in parallel.
pub(crate) fn written(columns: [(Column, Values<'_>); COLUMNS]) -> Vec<u8> {
    let size: usize = columns.iter().map(|(_, values)| values.size).sum();
    let mut bytes = vec![0; HEADER + size];
    let (header, mut rest) = bytes.split_at_mut(HEADER);
    header[..8].copy_from_slice(MAGIC);
    header[8..12].copy_from_slice(&VERSION.to_le_bytes());
    let mut start = HEADER as u64;
    rayon::scope(|scope| {
        for (column, values) in columns {
            let at = 16 + column as usize * 16;
            header[at..at + 8].copy_from_slice(&start.to_le_bytes());
            header[at + 8..at + 16].copy_from_slice(&(values.size as u64).to_le_bytes());
            start += values.size as u64;
            let (own, behind) = std::mem::take(&mut rest).split_at_mut(values.size);
            rest = behind;
            scope.spawn(|_| (values.write)(own));
        }
    });
    let checksum = crc32fast::hash(&bytes[16..]);
    bytes[12..16].copy_from_slice(&checksum.to_le_bytes());
    bytes
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

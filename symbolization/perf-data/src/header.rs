use std::ops::Range;
use std::path::Path;

use kernel_symbols::FileBytes;

use crate::attribute::Attribute;
use crate::bytes::{Bytes, Order};
use crate::features::{Features, DIR_FORMAT, MOST_FEATURES};
use crate::{Error, Result};

// "PERFILE2" (tools/perf/Documentation/perf.data-file-format.txt).
const MAGIC: &[u8; 8] = b"PERFILE2";
const MAGIC_SWAPPED: &[u8; 8] = b"2ELIFREP";
const PIPE_HEADER: u64 = 16;
// The first published perf_event_attr, PERF_ATTR_SIZE_VER0.
const SMALLEST_ATTRIBUTE: u64 = 64;

/// The head of a perf.data file.
#[derive(Debug)]
pub(crate) struct Header {
    pub(crate) order: Order,
    pub(crate) attributes: Vec<Attribute>,
    pub(crate) features: Features,
    /// Where the records are.
    pub(crate) data: Range<usize>,
    /// The recorder was killed: the file does not say where its records end.
    pub(crate) unterminated: bool,
    /// A stream of perf record -o -, which never says where its records end.
    pub(crate) is_stream: bool,
}

/// Where a perf.data file begins in `data`: a stream, perhaps behind lines that perf said before it
/// (`perf record -o - 2>&1`).
pub(crate) fn beginning(data: &[u8]) -> Option<usize> {
    const MOST_SAID: usize = 4096;
    let is_file = |data: &[u8]| data.starts_with(MAGIC) || data.starts_with(MAGIC_SWAPPED);
    if is_file(data) {
        return Some(0);
    }
    let said = &data[..data.len().min(MOST_SAID)];
    let mut lines = memchr::memchr_iter(b'\n', said).map(|end| end + 1);
    lines.find(|at| is_file(&data[*at..]))
}

/// Whether the file at `path`, unpacked if it is packed whole, begins like a perf.data file.
pub fn is_perf_data_file(path: &Path) -> Result<bool> {
    Ok(beginning(&FileBytes::open(path)?).is_some())
}

impl Header {
    pub(crate) fn parse(path: &Path, file: &[u8]) -> Result<Self> {
        let order = if file.starts_with(MAGIC) {
            Order::Little
        } else {
            Order::Big
        };
        let short = || Error::truncated(path, "its header is incomplete");
        let mut bytes = Bytes::new(file, order);
        bytes.take(8).ok_or_else(short)?;
        let size = bytes.u64().ok_or_else(short)?;
        if size == PIPE_HEADER {
            return Ok(Header {
                order,
                attributes: Vec::new(),
                features: Features::default(),
                data: PIPE_HEADER as usize..file.len(),
                unterminated: false,
                is_stream: true,
            });
        }
        let mut section = || Some((bytes.u64()?, bytes.u64()?));
        let (attribute_size, attributes_at) = section().ok_or_else(short)?;
        let (attributes_size, data_at) = section().ok_or_else(short)?;
        let (data_size, _event_types) = section().ok_or_else(short)?;
        bytes.u64().ok_or_else(short)?;
        let mut bits = [0u64; (MOST_FEATURES / 64) as usize];
        for word in &mut bits {
            *word = bytes.u64().ok_or_else(short)?;
        }
        if attribute_size < SMALLEST_ATTRIBUTE + 16 {
            return Err(Error::damaged(path, "its events are too small"));
        }
        let table = slice(path, file, attributes_at, attributes_size, "events")?;
        let mut attributes = Vec::new();
        // Each event has ids of its own: together they fit into the file.
        let mut room = file.len() as u64;
        for entry in table.chunks_exact(attribute_size as usize) {
            let (attribute, ids) = entry.split_at(entry.len() - 16);
            let mut section = Bytes::new(ids, order);
            let (at, size) = (section.u64().unwrap_or(0), section.u64().unwrap_or(0));
            room = room
                .checked_sub(size)
                .ok_or_else(|| Error::damaged(path, "its events share their ids"))?;
            let mut ids = Bytes::new(slice(path, file, at, size, "event ids")?, order);
            let ids = std::iter::from_fn(|| ids.u64()).collect();
            let parsed = Attribute::parse(attribute, order, ids);
            attributes.push(parsed.ok_or_else(|| Error::damaged(path, "an event is incomplete"))?);
        }
        let unterminated = data_size == 0 && data_at < file.len() as u64;
        let size = if unterminated {
            file.len() as u64 - data_at
        } else {
            data_size
        };
        slice(path, file, data_at, size, "records")?;
        let data = data_at as usize..(data_at + size) as usize;
        let mut header = Header {
            order,
            attributes,
            features: Features::default(),
            data,
            unterminated,
            is_stream: false,
        };
        if !unterminated {
            header.read_features(path, file, bits)?;
        }
        Ok(header)
    }

    /// Behind the records: where the content of each feature is, in the order of their bits.
    fn read_features(&mut self, path: &Path, file: &[u8], bits: [u64; 4]) -> Result<()> {
        let mut sections = Bytes::new(file.get(self.data.end..).unwrap_or_default(), self.order);
        for feature in 0..MOST_FEATURES {
            if bits[(feature / 64) as usize] >> (feature % 64) & 1 == 0 {
                continue;
            }
            let (Some(at), Some(size)) = (sections.u64(), sections.u64()) else {
                return Err(Error::truncated(
                    path,
                    "its table of features is incomplete",
                ));
            };
            if feature == DIR_FORMAT {
                return Err(Error::unsupported(
                    path,
                    "recorded with perf record --threads into a folder, which is not read: record \
                     without --threads",
                ));
            }
            let content = slice(path, file, at, size, "a feature")?;
            self.features
                .add(feature, content, self.order, &mut self.attributes);
        }
        Ok(())
    }
}

fn slice<'d>(path: &Path, file: &'d [u8], at: u64, size: u64, what: &str) -> Result<&'d [u8]> {
    let end = at.checked_add(size);
    let range = end.and_then(|end| Some(usize::try_from(at).ok()?..usize::try_from(end).ok()?));
    range.and_then(|range| file.get(range)).ok_or_else(|| {
        let length = file.len();
        Error::truncated(
            path,
            format!("{what}: {size} bytes at {at} are promised, the file has {length}"),
        )
    })
}

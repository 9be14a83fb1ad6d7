use crate::bytes::{Bytes, Order};

// Types of records (include/uapi/linux/perf_event.h; from 64 on tools/lib/perf/include/perf/event.h).
pub(crate) const MMAP: u32 = 1;
pub(crate) const LOST: u32 = 2;
pub(crate) const COMM: u32 = 3;
pub(crate) const EXIT: u32 = 4;
pub(crate) const THROTTLE: u32 = 5;
pub(crate) const UNTHROTTLE: u32 = 6;
pub(crate) const FORK: u32 = 7;
pub(crate) const READ: u32 = 8;
pub(crate) const SAMPLE: u32 = 9;
pub(crate) const MMAP2: u32 = 10;
pub(crate) const LOST_SAMPLES: u32 = 13;
pub(crate) const KSYMBOL: u32 = 17;
pub(crate) const HEADER_ATTR: u32 = 64;
pub(crate) const HEADER_TRACING_DATA: u32 = 66;
pub(crate) const HEADER_BUILD_ID: u32 = 67;
pub(crate) const AUXTRACE: u32 = 71;
pub(crate) const EVENT_UPDATE: u32 = 78;
pub(crate) const HEADER_FEATURE: u32 = 80;
pub(crate) const COMPRESSED: u32 = 81;
pub(crate) const COMPRESSED2: u32 = 83;

/// Records that say nothing about where counts belong: AUX, ITRACE_START, SWITCH, SWITCH_CPU_WIDE,
/// NAMESPACES, BPF_EVENT, CGROUP, AUX_OUTPUT_HW_ID; perf's EVENT_TYPE, FINISHED_ROUND, ID_INDEX,
/// AUXTRACE_INFO, THREAD_MAP, CPU_MAP, TIME_CONV, FINISHED_INIT, BPF_METADATA.
pub(crate) const WITHOUT_WEIGHT: [u32; 17] = [
    11, 12, 14, 15, 16, 18, 19, 21, 65, 68, 69, 70, 73, 74, 79, 82, 84,
];

/// How many times the compressed size a recording may unpack to. perf -z22 reaches 5 to 7.
const MOST_EXPANSION: u64 = 64;

/// A record, without its header.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Record<'r> {
    pub(crate) kind: u32,
    pub(crate) misc: u16,
    pub(crate) body: &'r [u8],
    /// Its number in the file.
    pub(crate) ordinal: u64,
}

/// Why records cannot be read on.
#[derive(Debug)]
pub(crate) enum Stop {
    Truncated(String),
    Damaged(String),
}

/// Where to begin: the offset of a record, and its number.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Start {
    pub(crate) offset: usize,
    pub(crate) ordinal: u64,
}

/// Call `visit` for each record of `data`, those inside compressed ones too. It is given where the
/// next record begins; none inside compressed ones, where nobody can begin.
///
/// With `lenient`, an incomplete record at the end is not an error.
pub(crate) fn walk(
    data: &[u8],
    order: Order,
    start: Start,
    lenient: bool,
    mut visit: impl FnMut(Option<usize>, Record<'_>),
) -> Result<u64, Stop> {
    let mut at = start.offset;
    let mut ordinal = start.ordinal;
    let mut unpacker: Option<Unpacker> = None;
    while let Some(rest) = data.get(at..).filter(|rest| !rest.is_empty()) {
        let (kind, misc, size) = match head(rest, order) {
            Ok(Some(head)) => head,
            Ok(None) if lenient => break,
            Ok(None) => {
                return Err(Stop::Truncated(format!(
                    "the record at {at} of its records is incomplete"
                )))
            }
            Err(what) => return Err(Stop::Damaged(format!("the record at {at}: {what}"))),
        };
        let body = &rest[8..size];
        at += size;
        match kind {
            COMPRESSED | COMPRESSED2 => {
                let unpacker = match &mut unpacker {
                    Some(unpacker) => unpacker,
                    None => {
                        unpacker.insert(Unpacker::new(data.len() as u64).map_err(Stop::Damaged)?)
                    }
                };
                let packed = payload(kind, body, order);
                unpacker
                    .unpack(packed, order, |kind, misc, body| {
                        let record = Record {
                            kind,
                            misc,
                            body,
                            ordinal,
                        };
                        visit(None, record);
                        ordinal += 1;
                    })
                    .map_err(Stop::Damaged)?;
                continue;
            }
            // These two are followed by data that are not records.
            HEADER_TRACING_DATA => {
                let extra = Bytes::new(body, order).u32().unwrap_or(0);
                at = at.saturating_add((extra as usize).next_multiple_of(8));
            }
            AUXTRACE => {
                let extra = Bytes::new(body, order).u64().unwrap_or(0);
                at = at.saturating_add(usize::try_from(extra).unwrap_or(usize::MAX));
            }
            _ => {}
        }
        if at > data.len() && !lenient {
            let missing = at - data.len();
            let what = format!("{missing} bytes of data behind a record are missing");
            return Err(Stop::Truncated(what));
        }
        let record = Record {
            kind,
            misc,
            body,
            ordinal,
        };
        visit(Some(at.min(data.len())), record);
        ordinal += 1;
    }
    if unpacker.is_some_and(|unpacker| !unpacker.rest.is_empty()) && !lenient {
        return Err(Stop::Truncated(
            "the last compressed record is incomplete".into(),
        ));
    }
    Ok(ordinal)
}

/// Type, misc and size of the record at the front; none if it is incomplete.
fn head(data: &[u8], order: Order) -> Result<Option<(u32, u16, usize)>, String> {
    let mut bytes = Bytes::new(data, order);
    let (Some(kind), Some(misc), Some(size)) = (bytes.u32(), bytes.u16(), bytes.u16()) else {
        return Ok(None);
    };
    let size = usize::from(size);
    if size < 8 {
        return Err(format!("{size} bytes are not a record"));
    }
    Ok((data.len() >= size).then_some((kind, misc, size)))
}

fn payload(kind: u32, body: &[u8], order: Order) -> &[u8] {
    if kind == COMPRESSED {
        return body;
    }
    let mut bytes = Bytes::new(body, order);
    let size = bytes.u64().and_then(|size| usize::try_from(size).ok());
    let rest = bytes.rest();
    rest.get(..size.unwrap_or(0)).unwrap_or(rest)
}

/// One Zstandard stream over all compressed records, whose ends need not be those of records.
struct Unpacker {
    decoder: zstd::stream::raw::Decoder<'static>,
    buffer: Vec<u8>,
    rest: Vec<u8>,
    budget: u64,
}

impl Unpacker {
    fn new(size: u64) -> Result<Self, String> {
        Ok(Unpacker {
            decoder: zstd::stream::raw::Decoder::new().map_err(|error| error.to_string())?,
            buffer: vec![0; 256 * 1024],
            rest: Vec::new(),
            budget: size.saturating_mul(MOST_EXPANSION),
        })
    }

    fn unpack(
        &mut self,
        mut packed: &[u8],
        order: Order,
        mut visit: impl FnMut(u32, u16, &[u8]),
    ) -> Result<(), String> {
        use zstd::stream::raw::Operation;
        loop {
            let status = self
                .decoder
                .run_on_buffers(packed, &mut self.buffer)
                .map_err(|error| format!("its compressed data: {error}"))?;
            packed = packed.get(status.bytes_read..).unwrap_or_default();
            let written = status.bytes_written;
            self.budget = self
                .budget
                .checked_sub(written as u64)
                .ok_or("its compressed data unpack to implausibly much")?;
            self.rest.extend_from_slice(&self.buffer[..written]);
            let mut at = 0;
            while let Some((kind, misc, size)) = head(&self.rest[at..], order)? {
                visit(kind, misc, &self.rest[at + 8..at + size]);
                at += size;
            }
            self.rest.drain(..at);
            if packed.is_empty() && written < self.buffer.len() {
                return Ok(());
            }
            if status.bytes_read == 0 && written == 0 {
                return Err("its compressed data make no progress".into());
            }
        }
    }
}

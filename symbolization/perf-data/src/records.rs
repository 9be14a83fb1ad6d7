use crate::bytes::{record_head, Bytes, Order};
use crate::unpacker::Unpacker;

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

/// The highest type that a record can have for all we know: perf's own end near 90.
const MOST_KIND: u32 = 255;

/// A record, without its header.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Record<'r> {
    pub(crate) kind: u32,
    pub(crate) misc: u16,
    pub(crate) body: &'r [u8],
    /// What follows it and is no record: of HEADER_TRACING_DATA.
    pub(crate) extra: &'r [u8],
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
/// next record begins; none inside compressed ones, where nobody can begin. It tells how many bytes
/// it keeps of the record.
///
/// With `lenient`, what is no whole record is the end, and not an error. Tells whether there was
/// such a thing.
pub(crate) fn walk(
    data: &[u8],
    order: Order,
    start: Start,
    lenient: bool,
    mut visit: impl FnMut(Option<usize>, Record<'_>) -> usize,
) -> Result<bool, Stop> {
    let mut at = start.offset;
    let mut ordinal = start.ordinal;
    let mut unpacker: Option<Unpacker> = None;
    while let Some(rest) = data.get(at..).filter(|rest| !rest.is_empty()) {
        let (kind, misc, size) = match record_head(rest, order) {
            Ok(Some((kind, _, _))) if lenient && kind > MOST_KIND => return Ok(true),
            Ok(Some(head)) => head,
            Ok(None) | Err(_) if lenient => return Ok(true),
            Ok(None) => {
                return Err(Stop::Truncated(format!(
                    "the record at {at} of its records is incomplete"
                )))
            }
            Err(what) => return Err(Stop::Damaged(format!("the record at {at}: {what}"))),
        };
        let body = &rest[8..size];
        at += size;
        let behind = at;
        match kind {
            COMPRESSED | COMPRESSED2 => {
                let unpacker = match &mut unpacker {
                    Some(unpacker) => unpacker,
                    None => unpacker.insert(Unpacker::new(data.len()).map_err(Stop::Damaged)?),
                };
                let packed = payload(kind, body, order);
                unpacker
                    .unpack(packed, order, |kind, misc, body| {
                        let record = Record {
                            kind,
                            misc,
                            body,
                            extra: &[],
                            ordinal,
                        };
                        ordinal += 1;
                        visit(None, record)
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
        let cut = at > data.len();
        if cut && !lenient {
            let missing = at - data.len();
            let what = format!("{missing} bytes of data behind a record are missing");
            return Err(Stop::Truncated(what));
        }
        let record = Record {
            kind,
            misc,
            body,
            extra: data.get(behind..at).unwrap_or_default(),
            ordinal,
        };
        visit(Some(at.min(data.len())), record);
        ordinal += 1;
        if cut {
            return Ok(true);
        }
    }
    let cut = unpacker.is_some_and(|unpacker| !unpacker.rest.is_empty());
    if cut && !lenient {
        return Err(Stop::Truncated(
            "the last compressed record is incomplete".into(),
        ));
    }
    Ok(cut)
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

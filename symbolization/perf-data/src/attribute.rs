use crate::bytes::{Bytes, Order};
use crate::event_name::event_name;

// Bits of sample_type (enum perf_event_sample_format in include/uapi/linux/perf_event.h).
pub(crate) const IP: u64 = 1 << 0;
pub(crate) const TID: u64 = 1 << 1;
pub(crate) const TIME: u64 = 1 << 2;
pub(crate) const ADDR: u64 = 1 << 3;
pub(crate) const READ: u64 = 1 << 4;
pub(crate) const CALLCHAIN: u64 = 1 << 5;
pub(crate) const ID: u64 = 1 << 6;
pub(crate) const CPU: u64 = 1 << 7;
pub(crate) const PERIOD: u64 = 1 << 8;
pub(crate) const STREAM_ID: u64 = 1 << 9;
pub(crate) const RAW: u64 = 1 << 10;
pub(crate) const BRANCH_STACK: u64 = 1 << 11;
pub(crate) const STACK_USER: u64 = 1 << 13;
pub(crate) const IDENTIFIER: u64 = 1 << 16;

// Bits of read_format (enum perf_event_read_format).
pub(crate) const TOTAL_TIME_ENABLED: u64 = 1 << 0;
pub(crate) const TOTAL_TIME_RUNNING: u64 = 1 << 1;
pub(crate) const FORMAT_ID: u64 = 1 << 2;
pub(crate) const FORMAT_GROUP: u64 = 1 << 3;
pub(crate) const FORMAT_LOST: u64 = 1 << 4;

// Bits of the flags, and of branch_sample_type.
const FLAG_EXCLUDE_USER: u64 = 1 << 4;
const FLAG_EXCLUDE_KERNEL: u64 = 1 << 5;
const FLAG_EXCLUDE_HV: u64 = 1 << 6;
const FLAG_FREQ: u64 = 1 << 10;
const FLAG_SAMPLE_ID_ALL: u64 = 1 << 18;
const BRANCH_CALL_STACK: u64 = 1 << 11;
const BRANCH_HW_INDEX: u64 = 1 << 17;

/// An event of a recording: `struct perf_event_attr`, its name and its ids.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attribute {
    /// As the user named it (`cycles`, `instructions:u`), or as perf would print it.
    pub name: String,
    /// `PERF_TYPE_HARDWARE` (0), `PERF_TYPE_SOFTWARE` (1) …
    pub kind: u32,
    /// Which event of that type.
    pub config: u64,
    /// Events between two samples, or samples per second where `is_frequency`.
    pub sample_period: u64,
    /// Whether perf adapted the period to a frequency.
    pub is_frequency: bool,
    pub(crate) sample_type: u64,
    pub(crate) read_format: u64,
    pub(crate) sample_id_all: bool,
    pub(crate) branch_hw_index: bool,
    pub(crate) branch_call_stack: bool,
    pub(crate) ids: Vec<u64>,
}

impl Attribute {
    /// Parse a `perf_event_attr` of whatever size the recording's perf knew; none if it is shorter
    /// than the first published version (64 bytes).
    pub(crate) fn parse(data: &[u8], order: Order, ids: Vec<u64>) -> Option<Self> {
        let mut bytes = Bytes::new(data, order);
        let kind = bytes.u32()?;
        let _size = bytes.u32()?;
        let config = bytes.u64()?;
        let sample_period = bytes.u64()?;
        let sample_type = bytes.u64()?;
        let read_format = bytes.u64()?;
        let flags = bytes.u64()?;
        // A C bit-field starts at the other end on big-endian machines.
        let flags = match order {
            Order::Little => flags,
            Order::Big => flags.reverse_bits(),
        };
        let excluded = [
            (FLAG_EXCLUDE_KERNEL, 'k'),
            (FLAG_EXCLUDE_USER, 'u'),
            (FLAG_EXCLUDE_HV, 'h'),
        ];
        let counted = excluded.iter().filter(|(flag, _)| flags & flag == 0);
        let mut modifiers: String = counted.map(|(_, letter)| *letter).collect();
        if modifiers.len() == excluded.len() {
            modifiers.clear();
        }
        bytes.skip_words(3)?; // wakeup_events and bp_type, config1, config2
        let branch_sample_type = bytes.u64().unwrap_or(0);
        Some(Attribute {
            name: event_name(kind, config, &modifiers),
            kind,
            config,
            sample_period,
            is_frequency: flags & FLAG_FREQ != 0,
            sample_type,
            read_format,
            sample_id_all: flags & FLAG_SAMPLE_ID_ALL != 0,
            branch_hw_index: branch_sample_type & BRANCH_HW_INDEX != 0,
            branch_call_stack: branch_sample_type & BRANCH_CALL_STACK != 0,
            ids,
        })
    }

    pub(crate) fn has(&self, bit: u64) -> bool {
        self.sample_type & bit != 0
    }

    /// Whether its samples carry the counts of the whole group (`perf record -e '{a,b}:S'`).
    pub(crate) fn reads_group(&self) -> bool {
        self.has(READ) && self.read_format & FORMAT_GROUP != 0 && self.read_format & FORMAT_ID != 0
    }

    /// Bytes from the end of a record to the value of `bit` in its trailer `struct sample_id`;
    /// none if it holds no such value.
    pub(crate) fn trailer_offset(&self, bit: u64) -> Option<usize> {
        if !self.sample_id_all || !self.has(bit) {
            return None;
        }
        // From the last to the first.
        let mut offset = 0;
        for field in [IDENTIFIER, CPU, STREAM_ID, ID, TIME, TID] {
            if self.has(field) {
                offset += 8;
            }
            if field == bit {
                return Some(offset);
            }
        }
        None
    }
}

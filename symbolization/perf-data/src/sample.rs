use crate::attribute::{
    Attribute, ADDR, BRANCH_STACK, CALLCHAIN, CPU, FORMAT_GROUP, FORMAT_ID, FORMAT_LOST, ID,
    IDENTIFIER, IP, PERIOD, RAW, READ, STACK_USER, STREAM_ID, TID, TIME, TOTAL_TIME_ENABLED,
    TOTAL_TIME_RUNNING,
};
use crate::bytes::{Bytes, Order};

/// What of PERF_RECORD_SAMPLE says where and how much.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sample<'d> {
    pub(crate) ip: u64,
    pub(crate) pid: u32,
    pub(crate) tid: u32,
    pub(crate) time: Option<u64>,
    pub(crate) period: u64,
    /// The call chain, leaf first, in the recording's byte order: 8 bytes for each entry.
    pub(crate) chain: &'d [u8],
    /// The branch stack, newest first: from, to and flags, 8 bytes each.
    pub(crate) branches: &'d [u8],
    /// Whether they are those of calls that have not returned.
    pub(crate) branches_are_calls: bool,
    pub(crate) read: Option<ReadValues<'d>>,
}

/// The counts in a sample or in PERF_RECORD_READ.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReadValues<'d> {
    pub(crate) enabled: Option<u64>,
    pub(crate) running: Option<u64>,
    /// For a single event.
    pub(crate) id: Option<u64>,
    count: u64,
    values: Bytes<'d>,
    with_id: bool,
    with_lost: bool,
}

impl<'d> ReadValues<'d> {
    /// Parse by the attribute's read_format; moves `bytes` past it.
    pub(crate) fn parse(bytes: &mut Bytes<'d>, attribute: &Attribute) -> Option<Self> {
        let has = |bit: u64| attribute.read_format & bit != 0;
        let (with_id, with_lost) = (has(FORMAT_ID), has(FORMAT_LOST));
        let words = 1 + u64::from(with_id) + u64::from(with_lost);
        let group = has(FORMAT_GROUP);
        let count = bytes.u64()?; // or the value of a single event
        let enabled = has(TOTAL_TIME_ENABLED).then(|| bytes.u64());
        let running = has(TOTAL_TIME_RUNNING).then(|| bytes.u64());
        let values = *bytes;
        let mut id = None;
        if group {
            bytes.skip_words(count.checked_mul(words)?)?;
        } else {
            id = if with_id { Some(bytes.u64()?) } else { None };
            bytes.skip_words(words - 1 - u64::from(with_id))?;
        }
        Some(ReadValues {
            // Some(None): the record ends too early.
            enabled: enabled.map_or(Some(None), |value| value.map(Some))?,
            running: running.map_or(Some(None), |value| value.map(Some))?,
            id,
            count: if group { count } else { 0 },
            values,
            with_id,
            with_lost,
        })
    }

    /// The (id, count) of each event of a group.
    pub(crate) fn group(mut self) -> impl Iterator<Item = (u64, u64)> + 'd {
        (0..self.count).map_while(move |_| {
            let value = self.values.u64()?;
            let id = if self.with_id { self.values.u64()? } else { 0 };
            if self.with_lost {
                self.values.u64()?;
            }
            Some((id, value))
        })
    }
}

impl<'d> Sample<'d> {
    /// Parse the body of a sample of that attribute; none if it ends before its fields do.
    #[inline]
    pub(crate) fn parse(body: &'d [u8], order: Order, attribute: &Attribute) -> Option<Self> {
        let mut bytes = Bytes::new(body, order);
        let mut sample = Sample {
            period: attribute.sample_period,
            ..Sample::default()
        };
        if attribute.has(IDENTIFIER) {
            bytes.u64()?;
        }
        if attribute.has(IP) {
            sample.ip = bytes.u64()?;
        }
        if attribute.has(TID) {
            sample.pid = bytes.u32()?;
            sample.tid = bytes.u32()?;
        }
        if attribute.has(TIME) {
            sample.time = Some(bytes.u64()?);
        }
        for field in [ADDR, ID, STREAM_ID, CPU] {
            if attribute.has(field) {
                bytes.u64()?;
            }
        }
        if attribute.has(PERIOD) {
            sample.period = bytes.u64()?;
        }
        if attribute.has(READ) {
            sample.read = Some(ReadValues::parse(&mut bytes, attribute)?);
        }
        if attribute.has(CALLCHAIN) {
            let count = usize::try_from(bytes.u64()?).ok()?;
            sample.chain = bytes.take(count.checked_mul(8)?)?;
        }
        if attribute.has(BRANCH_STACK) {
            if attribute.has(RAW) {
                let size = bytes.u32()?;
                bytes.take(size as usize)?;
            }
            let count = usize::try_from(bytes.u64()?).ok()?;
            if attribute.branch_hw_index {
                bytes.u64()?;
            }
            sample.branches = bytes.take(count.checked_mul(24)?)?;
            sample.branches_are_calls = attribute.branch_call_stack;
        }
        Some(sample)
    }
}

/// Which attribute a sample is of: by its id, whose place is the same in all of them.
pub(crate) fn sample_id(body: &[u8], order: Order, attribute: &Attribute) -> Option<u64> {
    let mut bytes = Bytes::new(body, order);
    if attribute.has(IDENTIFIER) {
        return bytes.u64();
    }
    if !attribute.has(ID) {
        return None;
    }
    let before = [IP, TID, TIME, ADDR].map(|field| u64::from(attribute.has(field)));
    bytes.skip_words(before.iter().sum())?;
    bytes.u64()
}

/// Whether samples of that attribute carry a dump of the user stack.
pub(crate) fn dumps_user_stack(attribute: &Attribute) -> bool {
    attribute.has(STACK_USER)
}

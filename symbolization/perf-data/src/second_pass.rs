use std::ops::Range;

use hashbrown::HashMap;

use crate::attribute::Attribute;
use crate::bytes::Order;
use crate::chain::{
    split_leaf, with_branches, Frames, MODE_GUEST_KERNEL, MODE_GUEST_USER, MODE_HYPERVISOR,
    MODE_KERNEL, MODE_MASK, MODE_USER,
};
use crate::interner::Interner;
use crate::places::{Places, Seen, GUEST, HYPERVISOR, KERNEL, UNMAPPED};
use crate::records::{self, walk, Record, Start, Stop};
use crate::sample::{dumps_user_stack, sample_id, Sample};
use crate::statistics::Statistics;
use crate::timeline::Timeline;

/// Records are read on two processors from this size on.
const WORTH_SPLITTING: usize = 4 << 20;
const RELEASED_AT_ONCE: usize = 8 << 20;

/// Reads the samples, with all that is known of processes.
pub(crate) struct SampleReader<'p> {
    pub(crate) order: Order,
    pub(crate) attributes: &'p [Attribute],
    pub(crate) by_id: HashMap<u64, u32>,
    pub(crate) timeline: &'p Timeline,
    pub(crate) unnamed: u32,
    /// How many samples there are.
    pub(crate) samples: usize,
    /// Told which part of the data has been read.
    pub(crate) release: &'p (dyn Fn(Range<usize>) + Sync),
}

/// What one reader of samples carries from one to the next.
#[derive(Default)]
struct State {
    interner: Interner,
    statistics: Statistics,
    /// By the id of a group's member: the last count that was read of it.
    last_read: HashMap<u64, u64>,
    lbr: Vec<u8>,
}

impl State {
    /// What was counted, once all samples are read.
    fn finished(&mut self) -> Statistics {
        self.interner.finish();
        self.statistics.corrupt_chains = self.interner.samples_of_corrupt_rows();
        std::mem::take(&mut self.statistics)
    }
}

impl SampleReader<'_> {
    pub(crate) fn read(
        &self,
        data: &[u8],
        lenient: bool,
        middle: Option<Start>,
        statistics: &mut Statistics,
    ) -> std::result::Result<Interner, Stop> {
        // Counts of a group are differences to the sample before: one after the other.
        let in_order = self.attributes.iter().any(Attribute::reads_group);
        let middle = middle.filter(|_| !in_order && data.len() >= WORTH_SPLITTING);
        let parts = 1 + usize::from(middle.is_some());
        let part = |start: Start, end: usize| {
            let mut state = State {
                interner: Interner::for_samples(self.samples / parts),
                ..State::default()
            };
            let mut released = start.offset;
            walk(&data[..end], self.order, start, lenient, |next, record| {
                let before = state.interner.held();
                if record.kind == records::SAMPLE {
                    self.sample(&mut state, record);
                }
                if let Some(next) = next.filter(|next| *next >= released + RELEASED_AT_ONCE) {
                    (self.release)(released..next);
                    released = next;
                }
                state.interner.held() - before
            })?;
            Ok(state)
        };
        let Some(middle) = middle else {
            let mut state = part(Start::default(), data.len())?;
            statistics.add(state.finished());
            return Ok(state.interner);
        };
        let (first, second) = std::thread::scope(|scope| {
            let second = scope.spawn(|| part(middle, data.len()));
            (part(Start::default(), middle.offset), second.join())
        });
        let (mut first, mut second) = match (first, second) {
            (Ok(first), Ok(second)) => (first, second?),
            (Err(stop), _) => return Err(stop),
            (_, Err(panic)) => std::panic::resume_unwind(panic),
        };
        statistics.add(first.finished());
        statistics.add(second.finished());
        first.interner.merge(second.interner);
        Ok(first.interner)
    }

    fn sample(&self, state: &mut State, record: Record<'_>) {
        let statistics = &mut state.statistics;
        let Some(event) = self.event_of(record.body) else {
            statistics.unknown_event += 1;
            return;
        };
        let attribute = &self.attributes[event as usize];
        let Some(sample) = Sample::parse(record.body, self.order, attribute) else {
            statistics.malformed += 1;
            return;
        };
        statistics.samples += 1;
        statistics.user_stack_dumps += u64::from(dumps_user_stack(attribute));
        match sample.read.filter(|_| attribute.reads_group()) {
            None => {
                state.statistics.weightless += u64::from(sample.period == 0);
                self.count(state, &sample, event, sample.period, record);
            }
            // As perf's evlist__deliver_sample(): one sample of each member that counted.
            Some(read) => {
                for (id, value) in read.group() {
                    let Some(event) = self.by_id.get(&id) else {
                        state.statistics.unknown_event += 1;
                        continue;
                    };
                    let last = state.last_read.insert(id, value).unwrap_or(0);
                    let period = value.saturating_sub(last);
                    if period > 0 {
                        self.count(state, &sample, *event, period, record);
                    }
                }
            }
        }
    }

    fn event_of(&self, body: &[u8]) -> Option<u32> {
        let first = self.attributes.first()?;
        if self.attributes.len() == 1 {
            return Some(0);
        }
        self.by_id
            .get(&sample_id(body, self.order, first)?)
            .copied()
    }

    /// Count a sample's whole stack with `weight` of an event.
    fn count(
        &self,
        state: &mut State,
        sample: &Sample<'_>,
        event: u32,
        weight: u64,
        record: Record<'_>,
    ) {
        let time = sample.time.unwrap_or(record.ordinal);
        let State {
            interner,
            statistics,
            lbr,
            ..
        } = state;
        let name = self.timeline.name(sample.tid, time).unwrap_or(self.unnamed);
        let known = self.timeline.space(sample.pid, time);
        let (space, generation) = known.unwrap_or((u32::MAX, 0));
        let seen = Seen { space, generation };
        let known = known.map(|(space, _)| space);
        let mode = (record.misc & MODE_MASK) as u8;
        let chain = if sample.branches_are_calls && !sample.branches.is_empty() {
            with_branches(sample, self.order, lbr);
            &lbr[..]
        } else {
            sample.chain
        };
        let (leaf_mode, callers) = split_leaf(chain, self.order, mode);
        // What decides how the callers' addresses are to be understood, and these as they stand.
        let above = interner.fingerprint((name, mode, seen, callers));
        if interner.count(interner.fingerprint((above, event, sample.ip)), weight) {
            return;
        }
        let mut place = |places: &mut Places, mode: u8, address: u64| {
            // The kernel is the same in all spaces.
            let kernel = mode == MODE_KERNEL;
            let seen = if kernel { Seen::default() } else { seen };
            places.of(address, seen, mode, || {
                let found = self.place(known, mode, address, time);
                statistics.unmapped += u64::from(found.0 == UNMAPPED);
                found
            })
        };
        let row = interner.row(above, name, |places, row| {
            let from = leaf_mode.unwrap_or(mode);
            let mut frames = Frames::new(callers, self.order, from, leaf_mode.is_some());
            row.extend((&mut frames).map(|(mode, address)| place(places, mode, address)));
            frames.corrupt
        });
        let leaf = place(&mut interner.places, mode, sample.ip);
        interner.enter(row, leaf, event, weight);
    }

    #[inline]
    fn place(&self, space: Option<u32>, mode: u8, address: u64, time: u64) -> (u32, u64) {
        match mode {
            MODE_KERNEL => (KERNEL, address),
            MODE_HYPERVISOR => (HYPERVISOR, address),
            MODE_GUEST_KERNEL | MODE_GUEST_USER => (GUEST, address),
            MODE_USER => self.timeline.place(space, address, time),
            // If the mode is unknown, the address tells the half.
            _ if address >> 63 == 1 => (KERNEL, address),
            _ => self.timeline.place(space, address, time),
        }
    }
}

use hashbrown::HashMap;

use crate::attribute::Attribute;
use crate::bytes::Order;
use crate::chain::{
    split_leaf, with_branches, Frames, MODE_GUEST_KERNEL, MODE_GUEST_USER, MODE_HYPERVISOR,
    MODE_KERNEL, MODE_MASK, MODE_USER,
};
use crate::interner::{Context, Interner, Leaf, ROOT};
use crate::places::{GUEST, HYPERVISOR, KERNEL, UNMAPPED};
use crate::records::{self, walk, Record, Start, Stop};
use crate::sample::{dumps_user_stack, sample_id, ReadValues, Sample};
use crate::statistics::Statistics;
use crate::timeline::Timeline;

/// Records are read on two processors from this size on.
const WORTH_SPLITTING: usize = 4 << 20;

/// Reads the samples, with all that is known of processes.
pub(crate) struct SampleReader<'p> {
    pub(crate) order: Order,
    pub(crate) attributes: &'p [Attribute],
    pub(crate) by_id: HashMap<u64, u32>,
    pub(crate) timeline: &'p Timeline,
    pub(crate) unnamed: u32,
}

/// What one reader of samples carries from one to the next.
#[derive(Default)]
struct State {
    interner: Interner,
    statistics: Statistics,
    /// By the id of a group's member: the last count that was read of it.
    last_read: HashMap<u64, u64>,
    chain: Vec<u32>,
    lbr: Vec<u8>,
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
        let part = |start: Start, end: usize| {
            let mut state = State::default();
            walk(&data[..end], self.order, start, lenient, |_, record| {
                if record.kind == records::SAMPLE {
                    self.sample(&mut state, record);
                }
            })?;
            Ok(state)
        };
        let Some(middle) = middle else {
            let state = part(Start::default(), data.len())?;
            statistics.add(state.statistics);
            return Ok(state.interner);
        };
        let (first, second) = std::thread::scope(|scope| {
            let second = scope.spawn(|| part(middle, data.len()));
            (part(Start::default(), middle.offset), second.join())
        });
        let (mut first, second) = match (first, second) {
            (Ok(first), Ok(second)) => (first, second?),
            (Err(stop), _) => return Err(stop),
            (_, Err(panic)) => std::panic::resume_unwind(panic),
        };
        statistics.add(first.statistics);
        statistics.add(second.statistics);
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
        let entry = self.entry(state, &sample, attribute, event, record);
        match sample.read.filter(|_| attribute.reads_group()) {
            None => {
                state.statistics.weightless += u64::from(sample.period == 0);
                state.interner.add(entry, sample.period, 1);
            }
            Some(read) => {
                let (node, _) = state.interner.entry[entry as usize];
                // As perf's evlist__deliver_sample(): one sample of each member that counted.
                for (id, value) in read.group() {
                    let Some(event) = self.by_id.get(&id) else {
                        state.statistics.unknown_event += 1;
                        continue;
                    };
                    let last = state.last_read.insert(id, value).unwrap_or(0);
                    let period = value.saturating_sub(last);
                    if period > 0 {
                        let entry = state.interner.entry_of(node, *event);
                        state.interner.add(entry, period, 1);
                    }
                }
            }
        }
        if let Some(ReadValues {
            enabled: Some(enabled),
            running: Some(running),
            ..
        }) = sample.read
        {
            let known = state.statistics.enabled_running.entry(event).or_default();
            *known = (known.0.max(enabled), known.1.max(running));
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

    /// The entry of a sample's whole stack and event.
    fn entry(
        &self,
        state: &mut State,
        sample: &Sample<'_>,
        attribute: &Attribute,
        event: u32,
        record: Record<'_>,
    ) -> u32 {
        let time = sample.time.unwrap_or(record.ordinal);
        let State {
            interner,
            statistics,
            chain: scratch,
            lbr,
            ..
        } = state;
        let name = self.timeline.name(sample.tid, time).unwrap_or(self.unnamed);
        let known = self.timeline.space(sample.pid, time);
        let (space, generation) = known.unwrap_or((u32::MAX, 0));
        let known = known.map(|(space, _)| space);
        let mode = (record.misc & MODE_MASK) as u8;
        let context = Context {
            name,
            space,
            generation,
            mode,
        };
        let chain = if attribute.branch_call_stack && !sample.branches.is_empty() {
            with_branches(sample, self.order, lbr);
            &lbr[..]
        } else {
            sample.chain
        };
        let (leaf_mode, callers) = split_leaf(chain, self.order, mode);
        let callers = interner.callers(context, callers, |interner| {
            scratch.clear();
            let from = leaf_mode.unwrap_or(mode);
            for (mode, address) in Frames::new(callers, self.order, from, leaf_mode.is_some()) {
                let (object, address) = self.place(known, mode, address, time);
                statistics.unmapped += u64::from(object == UNMAPPED);
                scratch.push(interner.places.intern(object, address));
            }
            let root = interner.child(ROOT, name);
            let outermost_first = scratch.iter().rev();
            outermost_first.fold(root, |node, place| interner.child(node, *place))
        });
        let leaf = Leaf {
            callers,
            event,
            address: sample.ip,
            space,
            generation,
            mode,
        };
        interner.leaf(leaf, |interner| {
            let (object, address) = self.place(known, mode, sample.ip, time);
            statistics.unmapped += u64::from(object == UNMAPPED);
            let place = interner.places.intern(object, address);
            let node = interner.child(callers, place);
            interner.entry_of(node, event)
        })
    }

    #[inline]
    fn place(&self, space: Option<u32>, mode: u8, address: u64, time: u64) -> (u32, u64) {
        match mode {
            MODE_KERNEL => (KERNEL, address),
            MODE_HYPERVISOR => (HYPERVISOR, address),
            MODE_GUEST_KERNEL | MODE_GUEST_USER => (GUEST, address),
            MODE_USER => self.timeline.place(space, address, time),
            // Of an unknown mode the address tells the half.
            _ if address >> 63 == 1 => (KERNEL, address),
            _ => self.timeline.place(space, address, time),
        }
    }
}

use std::collections::BTreeMap;

use hashbrown::HashMap;

use crate::attribute::{Attribute, ID, IDENTIFIER, TIME};
use crate::bytes::{build_id, text, Bytes};
use crate::chain::{MODE_GUEST_KERNEL, MODE_GUEST_USER, MODE_KERNEL, MODE_MASK};
use crate::header::Header;
use crate::places::Objects;
use crate::profile::{KernelMapping, KernelSymbol};
use crate::records::{self, Record, Start};
use crate::sample::ReadValues;
use crate::statistics::Statistics;
use crate::strings::Strings;
use crate::timeline::Event;
use crate::tracepoints::name_tracepoints;

/// What is kept of a record that is no sample, beside its names: an event of the timeline, what is
/// made of that, and places in tables.
const KEPT: usize = 512;

// PERF_RECORD_MISC_*.
const MISC_COMM_EXEC: u16 = 1 << 13;
const MISC_MMAP_DATA: u16 = 1 << 13;
const MISC_MMAP_BUILD_ID: u16 = 1 << 14;

/// Everything but the samples: it must be known before them, whatever its place in the file.
pub(crate) struct FirstPass<'h> {
    pub(crate) header: &'h mut Header,
    pub(crate) statistics: Statistics,
    pub(crate) objects: Objects,
    pub(crate) strings: Strings,
    pub(crate) events: Vec<(u64, u64, Event)>,
    pub(crate) kernel_mappings: Vec<KernelMapping>,
    pub(crate) kernel_symbols: Vec<KernelSymbol>,
    /// The first record behind the middle of the data, unless it is inside a compressed one.
    pub(crate) middle: Option<Start>,
    compressed: bool,
    /// How many samples there are.
    pub(crate) samples: usize,
    /// By the id of an event: its number.
    by_id: HashMap<u64, u32>,
    /// By the id of an event: for how long it was enabled and counted, in all threads.
    times: HashMap<u64, (u64, u64)>,
}

impl<'h> FirstPass<'h> {
    pub(crate) fn new(header: &'h mut Header) -> Self {
        let by_id = ids(&header.attributes);
        FirstPass {
            by_id,
            times: HashMap::new(),
            header,
            statistics: Statistics::default(),
            objects: Objects::default(),
            strings: Strings::default(),
            events: Vec::new(),
            kernel_mappings: Vec::new(),
            kernel_symbols: Vec::new(),
            middle: None,
            compressed: false,
            samples: 0,
        }
    }

    /// `next`: where the next record begins, if that can be said. Tells how many bytes are kept.
    pub(crate) fn visit(
        &mut self,
        next: Option<usize>,
        record: Record<'_>,
        length: usize,
    ) -> usize {
        match next {
            None => (self.compressed, self.middle) = (true, None),
            Some(offset) if self.middle.is_none() && !self.compressed && offset >= length / 2 => {
                let ordinal = record.ordinal + 1;
                self.middle = Some(Start { offset, ordinal });
            }
            Some(_) => {}
        }
        if record.kind == records::SAMPLE {
            self.samples += 1;
            return 0;
        }
        if self.understand(record).is_none() {
            self.statistics.malformed += 1;
        }
        match record.kind {
            // Each of its ids is in a list and in two tables.
            records::HEADER_ATTR => KEPT + 9 * record.body.len(),
            records::EXIT | records::LOST | records::THROTTLE | records::UNTHROTTLE => 0,
            kind if records::WITHOUT_WEIGHT.contains(&kind) => 0,
            _ => KEPT + 2 * record.body.len(),
        }
    }

    fn understand(&mut self, record: Record<'_>) -> Option<()> {
        let order = self.header.order;
        let mut bytes = Bytes::new(record.body, order);
        match record.kind {
            records::MMAP | records::MMAP2 => self.mapping(record)?,
            records::COMM => {
                let (pid, thread) = (bytes.u32()?, bytes.u32()?);
                let name = self.strings.intern(&text(bytes.rest()));
                let exec = record.misc & MISC_COMM_EXEC != 0;
                let event = Event::Name {
                    pid,
                    thread,
                    name,
                    exec,
                };
                self.tell(record, event);
            }
            records::FORK => {
                let (pid, parent) = (bytes.u32()?, bytes.u32()?);
                let (thread, parent_thread) = (bytes.u32()?, bytes.u32()?);
                let event = Event::Fork {
                    pid,
                    parent,
                    thread,
                    parent_thread,
                };
                self.tell(record, event);
            }
            records::EXIT | records::UNTHROTTLE => {}
            records::LOST => {
                bytes.u64()?;
                self.statistics.lost = self.statistics.lost.saturating_add(bytes.u64()?);
            }
            records::LOST_SAMPLES => {
                let lost = bytes.u64()?;
                self.statistics.lost_samples = self.statistics.lost_samples.saturating_add(lost);
            }
            records::THROTTLE => self.statistics.throttled += 1,
            records::READ => self.counts(record, bytes)?,
            records::KSYMBOL => {
                let (start, length) = (bytes.u64()?, bytes.u32()?);
                let (_type, flags) = (bytes.u16()?, bytes.u16()?);
                // PERF_RECORD_KSYMBOL_FLAGS_UNREGISTER
                if flags & 1 == 0 {
                    self.kernel_symbols.push(KernelSymbol {
                        name: text(bytes.rest()),
                        start,
                        length: u64::from(length),
                    });
                }
            }
            records::HEADER_ATTR => {
                let size = Bytes::new(record.body.get(4..)?, order).u32()? as usize;
                // The first published version did not say its size.
                let size = if size == 0 { 64 } else { size };
                let (attribute, ids) = record.body.split_at_checked(size)?;
                let mut ids = Bytes::new(ids, order);
                let ids = std::iter::from_fn(|| ids.u64()).collect();
                let attribute = Attribute::parse(attribute, order, ids)?;
                let number = self.header.attributes.len() as u32;
                let known = attribute.ids.iter().map(|id| (*id, number));
                self.by_id.extend(known);
                self.header.attributes.push(attribute);
            }
            records::EVENT_UPDATE => {
                let (kind, id) = (bytes.u64()?, bytes.u64()?);
                // PERF_EVENT_UPDATE__NAME
                let number = self.by_id.get(&id).filter(|_| kind == 2);
                let attribute = number.and_then(|n| self.header.attributes.get_mut(*n as usize));
                if let Some(attribute) = attribute {
                    attribute.name = text(bytes.rest());
                }
            }
            records::HEADER_FEATURE => {
                let feature = bytes.u64()?;
                let header = &mut *self.header;
                let attributes = &mut header.attributes;
                header
                    .features
                    .add(feature, bytes.rest(), order, attributes);
            }
            records::HEADER_BUILD_ID => {
                self.header.features.add_build_id(record.misc, record.body);
            }
            records::HEADER_TRACING_DATA => {
                name_tracepoints(record.extra, order, &mut self.header.attributes);
            }
            kind if records::WITHOUT_WEIGHT.contains(&kind) => {}
            kind => *self.statistics.unknown_records.entry(kind).or_default() += 1,
        }
        Some(())
    }

    fn mapping(&mut self, record: Record<'_>) -> Option<()> {
        let mut bytes = Bytes::new(record.body, self.header.order);
        let (pid, _thread) = (bytes.u32()?, bytes.u32()?);
        let (start, length, offset) = (bytes.u64()?, bytes.u64()?, bytes.u64()?);
        let mut id = None;
        if record.kind == records::MMAP2 {
            let file = bytes.take(24)?;
            if record.misc & MISC_MMAP_BUILD_ID != 0 {
                id = build_id(file.get(4..4 + usize::from(file[0]).min(20))?);
            }
            bytes.u64()?; // protection and flags
        } else if record.misc & MISC_MMAP_DATA != 0 {
            return Some(()); // not executable
        }
        let name = text(bytes.rest());
        let build_id = id.unwrap_or_default();
        match (record.misc & MODE_MASK) as u8 {
            MODE_KERNEL => self.kernel_mappings.push(KernelMapping {
                name,
                start,
                length,
                offset,
                build_id,
            }),
            MODE_GUEST_KERNEL | MODE_GUEST_USER => {}
            _ => {
                let object = self.objects.of_mapping(&name, build_id, pid);
                // For memory without a file, only the address says something.
                let anonymous = self.objects.list[object as usize].pid != 0;
                let event = Event::Map {
                    pid,
                    start,
                    length,
                    offset: if anonymous { start } else { offset },
                    object,
                };
                self.tell(record, event);
            }
        }
        Some(())
    }

    /// PERF_RECORD_READ: for how long a thread's event counted.
    fn counts(&mut self, record: Record<'_>, mut bytes: Bytes<'_>) -> Option<()> {
        bytes.u64()?; // pid and tid
        let id = self.trailer(record.body, IDENTIFIER);
        let id = id.or_else(|| self.trailer(record.body, ID));
        let event = id.and_then(|id| self.by_id.get(&id)).copied().unwrap_or(0);
        let attribute = self.header.attributes.get(event as usize)?;
        let values = ReadValues::parse(&mut bytes, attribute)?;
        // A recording of one event has no ids but here.
        let id = values.id.or(id).unwrap_or(0);
        if let (Some(enabled), Some(running)) = (values.enabled, values.running) {
            let known = self.times.entry(id).or_default();
            known.0 = known.0.saturating_add(enabled);
            known.1 = known.1.saturating_add(running);
        }
        Some(())
    }

    /// By event, for how long it was enabled, and really counted.
    ///
    /// An event of a task has a counter on each processor: all are enabled while the task runs, and
    /// the one where it runs counts. So the longest is what was enabled, and all together counted.
    pub(crate) fn multiplexing(&self) -> BTreeMap<u32, (u64, u64)> {
        let mut found: BTreeMap<u32, (u64, u64)> = BTreeMap::new();
        for (id, (enabled, running)) in &self.times {
            let event = self.by_id.get(id).copied().unwrap_or(0);
            let known = found.entry(event).or_default();
            known.0 = known.0.max(*enabled);
            known.1 = known.1.saturating_add(*running);
        }
        found
    }

    fn tell(&mut self, record: Record<'_>, event: Event) {
        let time = self.trailer(record.body, TIME);
        // Without times, the order in the file is all there is.
        self.events
            .push((time.unwrap_or(record.ordinal), record.ordinal, event));
    }

    fn trailer(&self, body: &[u8], field: u64) -> Option<u64> {
        let offset = self.header.attributes.first()?.trailer_offset(field)?;
        let at = body.len().checked_sub(offset)?;
        Bytes::new(&body[at..], self.header.order).u64()
    }
}

/// By the id of an event: its number.
pub(crate) fn ids(attributes: &[Attribute]) -> HashMap<u64, u32> {
    let numbered = attributes.iter().zip(0..);
    numbered
        .flat_map(|(attribute, number)| attribute.ids.iter().map(move |id| (*id, number)))
        .collect()
}

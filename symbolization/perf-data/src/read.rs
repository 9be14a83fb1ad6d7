use std::ops::Range;
use std::path::Path;

use kernel_symbols::FileBytes;

use crate::first_pass::{ids, FirstPass};
use crate::header::{beginning, Header};
use crate::interner::Interner;
use crate::profile::{Profile, Stacks};
use crate::records::{walk, Start, Stop};
use crate::second_pass::SampleReader;
use crate::timeline::{Event, Timeline};
use crate::{Error, Result};

impl Profile {
    /// Read the perf.data file at `path`, also one in pipe mode, with compressed records, of the
    /// other byte order, or packed whole as .zst or .xz.
    pub fn open(path: &Path) -> Result<Self> {
        let file = FileBytes::open(path)?;
        Profile::read(path, &file, &|part| file.release(part))
    }

    /// As [`Profile::open`], from the content of the file; `path` is for messages.
    pub fn parse(path: &Path, file: &[u8]) -> Result<Self> {
        Profile::read(path, file, &|_| ())
    }

    /// `release` is told which parts of the file have been read.
    fn read(path: &Path, file: &[u8], release: &(dyn Fn(Range<usize>) + Sync)) -> Result<Self> {
        let Some(beginning) = beginning(file) else {
            let found = "it does not begin like a perf.data file".into();
            return Err(Error::Kind {
                path: path.into(),
                found,
            });
        };
        let file = &file[beginning..];
        let release = |part: Range<usize>| release(beginning + part.start..beginning + part.end);
        let mut header = Header::parse(path, file)?;
        let data = &file[header.data.clone()];
        let start = header.data.start;
        let stop = |stop| match stop {
            Stop::Truncated(what) => Error::truncated(path, what),
            Stop::Damaged(what) => Error::damaged(path, what),
        };
        let mut first = FirstPass::new(&mut header);
        let lenient = first.header.unterminated || first.header.is_stream;
        let order = first.header.order;
        let cut = walk(data, order, Start::default(), lenient, |next, record| {
            first.visit(next, record, data.len())
        })
        .map_err(stop)?;
        first.statistics.enabled_running = first.multiplexing();
        let FirstPass {
            mut statistics,
            mut objects,
            mut strings,
            mut events,
            kernel_mappings,
            kernel_symbols,
            middle,
            samples,
            ..
        } = first;
        if header.attributes.is_empty() {
            let what = "it describes no event";
            return Err(if cut {
                Error::truncated(path, what)
            } else {
                Error::damaged(path, what)
            });
        }
        let unnamed = strings.intern("[unknown]");
        // Nobody tells the name of idle processors (perf_session__register_idle_thread() of perf).
        let idle = Event::Name {
            pid: 0,
            thread: 0,
            name: strings.intern("swapper"),
            exec: false,
        };
        events.push((0, 0, idle));
        let timeline = Timeline::replay(events, &mut statistics);
        let reader = SampleReader {
            order,
            attributes: &header.attributes,
            by_id: ids(&header.attributes),
            timeline: &timeline,
            unnamed,
            samples,
            release: &|part| release(start + part.start..start + part.end),
        };
        release(header.data.clone());
        let interner = reader
            .read(data, lenient, middle, &mut statistics)
            .map_err(stop)?;
        statistics.unterminated = header.unterminated || cut;
        for object in &mut objects.list {
            if object.build_id.is_empty() {
                if let Some(id) = header.features.build_ids.get(&object.path) {
                    object.build_id.clone_from(id);
                }
            }
        }
        Ok(Profile {
            events: header.attributes,
            features: header.features,
            statistics,
            objects: objects.list,
            kernel_mappings,
            kernel_symbols,
            stacks: stacks(interner, strings.list),
        })
    }
}

fn stacks(interner: Interner, strings: Vec<String>) -> Stacks {
    let (entry_weight, entry_samples) = interner.entries.count.into_iter().unzip();
    Stacks {
        row_offsets: interner.rows.offsets,
        row_places: interner.rows.places,
        row_name: interner.rows.name,
        place_object: interner.places.object,
        place_address: interner.places.address,
        entry_row: interner.entries.row,
        entry_place: interner.entries.place,
        entry_event: interner.entries.event,
        entry_weight,
        entry_samples,
        strings,
    }
}

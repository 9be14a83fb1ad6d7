use std::collections::HashMap;

use crate::attribute::Attribute;
use crate::bytes::{build_id, text, Bytes, Order};

// Numbers of the header's features (tools/perf/util/header.h).
pub(crate) const BUILD_ID: u64 = 2;
const HOSTNAME: u64 = 3;
const OSRELEASE: u64 = 4;
const VERSION: u64 = 5;
const ARCH: u64 = 6;
const NRCPUS: u64 = 7;
const CPUDESC: u64 = 8;
const CMDLINE: u64 = 11;
const EVENT_DESC: u64 = 12;
pub(crate) const DIR_FORMAT: u64 = 24;
/// The highest feature that a file's header has a bit for.
pub(crate) const MOST_FEATURES: u64 = 256;

// PERF_RECORD_MISC_BUILD_ID_SIZE: the build id says how long it is.
const MISC_BUILD_ID_SIZE: u16 = 1 << 15;

/// What a recording says of the machine, the kernel and the command; empty where it says nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Features {
    /// The machine's name.
    pub hostname: String,
    /// `uname -r` of the kernel.
    pub release: String,
    /// Version of the perf that recorded.
    pub perf_version: String,
    /// `uname -m`.
    pub architecture: String,
    /// The processor's name.
    pub processor: String,
    /// Processors that were online.
    pub cpus: u32,
    /// The command line of `perf record`.
    pub command: Vec<String>,
    /// Build ids in hexadecimal, by path or name (`[kernel.kallsyms]`).
    pub build_ids: HashMap<String, String>,
}

impl Features {
    /// Take in the content of one feature; what is damaged is left out.
    pub(crate) fn add(
        &mut self,
        feature: u64,
        data: &[u8],
        order: Order,
        attributes: &mut [Attribute],
    ) {
        let mut bytes = Bytes::new(data, order);
        let place = match feature {
            HOSTNAME => &mut self.hostname,
            OSRELEASE => &mut self.release,
            VERSION => &mut self.perf_version,
            ARCH => &mut self.architecture,
            CPUDESC => &mut self.processor,
            NRCPUS => {
                bytes.u32();
                self.cpus = bytes.u32().unwrap_or(0);
                return;
            }
            CMDLINE => {
                bytes.u32();
                self.command = std::iter::from_fn(|| bytes.string()).collect();
                return;
            }
            BUILD_ID => return self.add_build_ids(bytes),
            EVENT_DESC => {
                describe_events(bytes, attributes);
                return;
            }
            _ => return,
        };
        *place = bytes.string().unwrap_or_default();
    }

    /// A list of `struct perf_record_header_build_id`.
    fn add_build_ids(&mut self, mut bytes: Bytes<'_>) {
        loop {
            let mut header = bytes;
            let (Some(_), Some(misc), Some(size)) = (header.u32(), header.u16(), header.u16())
            else {
                return;
            };
            let Some(record) = bytes.take(usize::from(size).max(8)) else {
                return;
            };
            self.add_build_id(misc, record.get(8..).unwrap_or_default());
        }
    }

    /// One of them, without its header: pid, 20 bytes of build id, its size, the path.
    pub(crate) fn add_build_id(&mut self, misc: u16, body: &[u8]) {
        let (Some(id), Some(path)) = (body.get(4..24), body.get(28..)) else {
            return;
        };
        let size = if misc & MISC_BUILD_ID_SIZE != 0 {
            usize::from(body[24]).min(20)
        } else {
            20
        };
        if let Some(id) = build_id(&id[..size]) {
            self.build_ids.insert(text(path), id);
        }
    }
}

/// The names that the user gave the events.
fn describe_events(mut bytes: Bytes<'_>, attributes: &mut [Attribute]) {
    let (Some(count), Some(size)) = (bytes.u32(), bytes.u32()) else {
        return;
    };
    for number in 0..count as usize {
        let (Some(_), Some(ids)) = (bytes.take(size as usize), bytes.u32()) else {
            return;
        };
        let Some(name) = bytes.string() else { return };
        if bytes.skip_words(u64::from(ids)).is_none() {
            return;
        }
        // Events are described in the order of the table.
        if let Some(attribute) = attributes.get_mut(number).filter(|_| !name.is_empty()) {
            attribute.name = name;
        }
    }
}

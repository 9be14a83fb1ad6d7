use hashbrown::HashMap;

use crate::attribute::Attribute;
use crate::bytes::{text, Bytes, Order};
use crate::event_name::{event_name, TRACEPOINT};

const MAGIC: &[u8] = b"\x17\x08\x44tracing";

/// Longer names are none of the kernel's.
const LONGEST: usize = 255;

/// Name the tracepoints that nothing else has named, by the formats of tracefs that perf record
/// puts into a stream (record_data_get() in tools/perf/util/trace-event-info.c).
pub(crate) fn name_tracepoints(data: &[u8], order: Order, attributes: &mut [Attribute]) {
    let mut names = HashMap::new();
    for one in &*attributes {
        if one.kind == TRACEPOINT && one.name == event_name(one.kind, one.config, "") {
            names.insert(one.config, None);
        }
    }
    // Damage ends it: what was read until then is right.
    let _end = read(data, order, &mut names);
    for one in attributes.iter_mut().filter(|one| one.kind == TRACEPOINT) {
        if let Some(Some(name)) = names.get(&one.config) {
            one.name.clone_from(name);
        }
    }
}

/// Put the names of the events in `names` there.
fn read(data: &[u8], order: Order, names: &mut HashMap<u64, Option<String>>) -> Option<()> {
    let mut bytes = Bytes::new(data.strip_prefix(MAGIC)?, order);
    line(&mut bytes)?; // version
    bytes.take(2)?; // byte order, size of a long
    bytes.u32()?; // size of a page
    for _ in ["header_page", "header_event"] {
        line(&mut bytes)?;
        sized(&mut bytes)?;
    }
    for _ in 0..bytes.u32()? {
        sized(&mut bytes)?; // a format of ftrace's own
    }
    for _ in 0..bytes.u32()? {
        let system = line(&mut bytes)?;
        for _ in 0..bytes.u32()? {
            let format = String::from_utf8_lossy(sized(&mut bytes)?);
            let field = |key| format.lines().find_map(|line| line.strip_prefix(key));
            let id = field("ID: ").and_then(|id| id.trim().parse::<u64>().ok());
            let (Some(id), Some(name)) = (id, field("name: ")) else {
                continue;
            };
            if let Some(unnamed) = names.get_mut(&id) {
                if system.len() + name.len() < LONGEST {
                    *unnamed = Some(format!("{system}:{name}"));
                }
            }
        }
    }
    Some(())
}

/// What stands before a NUL, which is passed over.
fn line(bytes: &mut Bytes<'_>) -> Option<String> {
    let length = memchr::memchr(0, bytes.rest())?;
    bytes.take(length + 1).map(text)
}

fn sized<'d>(bytes: &mut Bytes<'d>) -> Option<&'d [u8]> {
    let size = usize::try_from(bytes.u64()?).ok()?;
    bytes.take(size)
}

// The names of tools/perf/util/evsel.c for an event that the recording does not name itself.
const HARDWARE: [&str; 10] = [
    "cycles",
    "instructions",
    "cache-references",
    "cache-misses",
    "branches",
    "branch-misses",
    "bus-cycles",
    "stalled-cycles-frontend",
    "stalled-cycles-backend",
    "ref-cycles",
];
const SOFTWARE: [&str; 12] = [
    "cpu-clock",
    "task-clock",
    "page-faults",
    "context-switches",
    "cpu-migrations",
    "minor-faults",
    "major-faults",
    "alignment-faults",
    "emulation-faults",
    "dummy",
    "bpf-output",
    "cgroup-switches",
];

/// PERF_TYPE_TRACEPOINT.
pub(crate) const TRACEPOINT: u32 = 2;

/// What perf calls the event of that type and config, of which `modifiers` (k, u, h) are counted;
/// none means all.
pub(crate) fn event_name(kind: u32, config: u64, modifiers: &str) -> String {
    let known = match kind {
        // The upper half is a PMU's number on hybrid machines.
        0 => HARDWARE.get((config & 0xffff_ffff) as usize),
        1 => usize::try_from(config).ok().and_then(|n| SOFTWARE.get(n)),
        _ => None,
    };
    let name = match (known, kind) {
        (Some(name), _) => (*name).to_owned(),
        (None, TRACEPOINT) => format!("tracepoint {config}"),
        (None, 4) => format!("raw {config:#x}"),
        (None, _) => format!("event {kind}:{config:#x}"),
    };
    match modifiers {
        _ if kind == TRACEPOINT => name,
        "" => name,
        _ => format!("{name}:{modifiers}"),
    }
}

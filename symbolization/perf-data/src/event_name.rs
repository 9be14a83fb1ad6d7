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

/// What perf calls the event of that type and config.
pub(crate) fn event_name(kind: u32, config: u64) -> String {
    let known = match kind {
        // The upper half is a PMU's number on hybrid machines.
        0 => HARDWARE.get((config & 0xffff_ffff) as usize),
        1 => usize::try_from(config).ok().and_then(|n| SOFTWARE.get(n)),
        _ => None,
    };
    match (known, kind) {
        (Some(name), _) => (*name).to_owned(),
        (None, 2) => format!("tracepoint {config}"),
        (None, 4) => format!("raw {config:#x}"),
        (None, _) => format!("event {kind}:{config:#x}"),
    }
}

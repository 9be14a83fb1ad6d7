use std::collections::BTreeMap;

/// What happened while recording and reading, apart from the samples.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Samples that were read.
    pub samples: u64,
    /// Records that the kernel dropped because the buffer was full (PERF_RECORD_LOST).
    pub lost: u64,
    /// Samples that it dropped (PERF_RECORD_LOST_SAMPLES).
    pub lost_samples: u64,
    /// How often sampling was stopped for taking too long (PERF_RECORD_THROTTLE).
    pub throttled: u64,
    /// Samples whose event is not in the file's table.
    pub unknown_event: u64,
    /// Samples, mappings and others that end before their own fields do.
    pub malformed: u64,
    /// Samples with a period of zero, which weigh nothing.
    pub weightless: u64,
    /// Samples with a dump of the user stack (`--call-graph dwarf`), of which only the first frame
    /// of user space is known.
    pub user_stack_dumps: u64,
    /// Samples whose call chain holds what is neither an address nor a known marker: frame pointers
    /// that were none. The rest of the chain is kept.
    pub corrupt_chains: u64,
    /// Addresses of user space where nothing was mapped at that time.
    pub unmapped: u64,
    /// Chains of forks without exec that were too long to follow.
    pub deep_forks: u64,
    /// The end is missing: the recorder was killed before it finished the file, or what a stream of
    /// records ends with is no record.
    pub unterminated: bool,
    /// By the type of record: how many were not understood.
    pub unknown_records: BTreeMap<u32, u64>,
    /// By event, where threads told it at their end (`perf record -s`): nanoseconds that it was
    /// enabled, and that it really counted; more of the first means that events were multiplexed.
    pub enabled_running: BTreeMap<u32, (u64, u64)>,
}

impl Statistics {
    pub(crate) fn add(&mut self, other: Statistics) {
        self.samples += other.samples;
        self.lost += other.lost;
        self.lost_samples += other.lost_samples;
        self.throttled += other.throttled;
        self.unknown_event += other.unknown_event;
        self.malformed += other.malformed;
        self.weightless += other.weightless;
        self.user_stack_dumps += other.user_stack_dumps;
        self.corrupt_chains += other.corrupt_chains;
        self.unmapped += other.unmapped;
        self.deep_forks += other.deep_forks;
        self.unterminated |= other.unterminated;
        for (kind, count) in other.unknown_records {
            *self.unknown_records.entry(kind).or_default() += count;
        }
    }
}

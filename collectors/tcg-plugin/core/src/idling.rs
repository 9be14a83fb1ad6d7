//! For how long each vCPU idles, and what gave way to that.
//!
//! A vCPU idles from an instruction that waits for an interrupt (`hlt`, `wfi`) to the block that it
//! executes next. That it idles is nobody's doing but that of the tasks that wait: so each time has
//! the path of calls in which the last task of a program gave way there.

use std::collections::HashMap;
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

use crate::clock::Clock;
use crate::node::{NodeNumber, NONE};

/// One vCPU.
#[derive(Clone, Debug, Default)]
struct Vcpu {
    /// Since when it idles, if it does.
    since: Option<u64>,
    /// In which path.
    path: Option<usize>,
    /// For how many nanoseconds it did.
    idle: u64,
}

/// For how long the vCPUs idled, since the machine began or was restored.
#[derive(Debug, Default)]
pub struct Sums {
    vcpus: Vec<Vcpu>,
    numbers: HashMap<NodeNumber, usize>,
    /// By path: its node, for how many nanoseconds vCPUs idled so, and how often they began to.
    paths: Vec<(NodeNumber, u64, u64)>,
}

impl Sums {
    /// All vCPUs idle until they are seen to execute.
    pub fn new(vcpus: usize) -> Sums {
        let idle = Vcpu {
            since: Some(0),
            ..Vcpu::default()
        };
        Sums {
            vcpus: vec![idle; vcpus],
            ..Sums::default()
        }
    }

    /// A vCPU begins to idle; `node`: of what gave way there, if anything did.
    pub fn begins(&mut self, vcpu: usize, now: u64, node: NodeNumber) {
        let next = self.paths.len();
        let path = (node != NONE).then(|| *self.numbers.entry(node).or_insert(next));
        if path == Some(next) {
            self.paths.push((node, 0, 0));
        }
        if let Some(path) = path {
            self.paths[path].2 += 1;
        }
        if let Some(one) = self.vcpus.get_mut(vcpu) {
            (one.since, one.path) = (Some(now), path);
        }
    }

    /// A vCPU executes again.
    pub fn ends(&mut self, vcpu: usize, now: u64) {
        self.add(vcpu, now);
        if let Some(one) = self.vcpus.get_mut(vcpu) {
            one.since = None;
        }
    }

    /// What every vCPU idled until now, then what every path did, in nanoseconds and times.
    pub fn read(&mut self, now: u64, into: &mut Vec<u64>) {
        for vcpu in 0..self.vcpus.len() {
            self.add(vcpu, now);
        }
        into.extend(self.vcpus.iter().map(|one| one.idle));
        into.extend(self.paths.iter().flat_map(|path| [path.1, path.2]));
    }

    fn add(&mut self, vcpu: usize, now: u64) {
        let Some(one) = self.vcpus.get_mut(vcpu) else {
            return;
        };
        if let Some(since) = one.since {
            let idle = now.saturating_sub(since);
            one.since = Some(now);
            one.idle += idle;
            if let Some(path) = one.path {
                self.paths[path].1 += idle;
            }
        }
    }
}

struct Idling {
    clock: Clock,
    sums: Sums,
}

/// As the tracker (see [`crate::following`]), only used by the thread that executes the guest.
static IDLING: AtomicPtr<Idling> = AtomicPtr::new(ptr::null_mut());

fn idling() -> Option<&'static mut Idling> {
    // SAFETY: set once to what lives as long as the process; callbacks do not nest.
    unsafe { IDLING.load(Ordering::Relaxed).as_mut() }
}

/// From now on, so many vCPUs may idle, if QEMU tells its clock. In the thread that executes the
/// guest.
pub fn begin(vcpus: usize) {
    if idling().is_some() {
        return;
    }
    if let Some(clock) = Clock::new(vcpus) {
        let sums = Sums::new(vcpus);
        IDLING.store(
            Box::into_raw(Box::new(Idling { clock, sums })),
            Ordering::Relaxed,
        );
    }
}

/// The vCPU that executes begins to idle at the end of its block. `node`: see [`Sums::begins`].
pub fn begins(node: NodeNumber) {
    if let Some(Idling { clock, sums }) = idling() {
        if let Some(vcpu) = clock.vcpu() {
            sums.begins(vcpu, clock.read().1, node);
        }
    }
}

/// The vCPU that executes began a block of so many instructions, after it may have idled.
pub fn ends(instructions: usize) {
    if let Some(Idling { clock, sums }) = idling() {
        if let Some(vcpu) = clock.vcpu() {
            sums.ends(vcpu, clock.read().1.wrapping_sub(instructions as u64));
        }
    }
}

/// Replace `into` by the clock before the last `left` instructions of the present block, for how
/// long no vCPU had anything to do, and where calls are followed what [`Sums::read`] gives; nothing
/// where QEMU does not tell.
pub fn read(left: usize, followed: bool, into: &mut Vec<u64>) {
    into.clear();
    if let Some(Idling { clock, sums }) = idling() {
        let (idle, time) = clock.read();
        let now = time.wrapping_sub(left as u64);
        into.extend([now, idle]);
        if followed {
            sums.read(now, into);
        }
    }
}

/// What idled in windows, in nanoseconds.
#[derive(Debug, Default)]
pub struct Idled<'s> {
    /// By how much the clock advanced; 0 where QEMU does not tell.
    pub clock: u64,
    /// For how long no vCPU had anything to do.
    pub nobody: u64,
    /// For how long each vCPU idled.
    pub vcpus: &'s [u64],
    /// For how long vCPUs idled in the path of a node, and how often they began to.
    pub paths: Vec<(NodeNumber, [u64; 2])>,
}

impl Idled<'_> {
    /// Of sums of what [`read`] gave.
    pub fn of(sums: &[u64]) -> Idled<'_> {
        let [clock, nobody, rest @ ..] = sums else {
            return Idled::default();
        };
        let (count, nodes) = idling().map_or((0, Vec::new()), |one| {
            let nodes = one.sums.paths.iter().map(|path| path.0);
            (one.sums.vcpus.len(), nodes.collect())
        });
        let (vcpus, paths) = rest.split_at(count.min(rest.len()));
        let paths = paths.chunks_exact(2).map(|pair| [pair[0], pair[1]]);
        let paths = nodes.into_iter().zip(paths);
        Idled {
            clock: *clock,
            nobody: *nobody,
            vcpus,
            paths: paths.filter(|one| one.1 != [0, 0]).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(sums: &mut Sums, now: u64) -> Vec<u64> {
        let mut found = Vec::new();
        sums.read(now, &mut found);
        found
    }

    #[test]
    fn a_vcpu_idles_from_its_halt_to_its_next_block() {
        let mut sums = Sums::new(2);
        sums.ends(0, 5);
        sums.begins(0, 10, 7);
        assert_eq!(read(&mut sums, 12), [7, 12, 2, 1]);
        sums.ends(0, 20);
        assert_eq!(read(&mut sums, 30), [15, 30, 10, 1]);
        // The other one was never seen to execute.
        sums.ends(1, 35);
        assert_eq!(read(&mut sums, 50), [15, 35, 10, 1]);
    }

    #[test]
    fn paths_add_up_over_vcpus_and_may_be_unknown() {
        let mut sums = Sums::new(2);
        for vcpu in [0, 1] {
            sums.ends(vcpu, 0);
            sums.begins(vcpu, 10, 3);
            sums.ends(vcpu, 14);
            sums.begins(vcpu, 20, NONE);
            sums.ends(vcpu, 21);
        }
        sums.begins(0, 30, 4);
        sums.ends(0, 30);
        assert_eq!(read(&mut sums, 40), [5, 5, 8, 2, 0, 1]);
    }

    #[test]
    fn others_are_left_out() {
        let mut sums = Sums::new(1);
        sums.begins(3, 10, NONE);
        sums.ends(3, 20);
        assert_eq!(read(&mut sums, 20), [20]);
    }
}

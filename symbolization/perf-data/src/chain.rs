use crate::bytes::{Bytes, Order};
use crate::sample::Sample;

// PERF_RECORD_MISC_CPUMODE_*: in which mode the processor was.
pub(crate) const MODE_MASK: u16 = 7;
pub(crate) const MODE_KERNEL: u8 = 1;
pub(crate) const MODE_USER: u8 = 2;
pub(crate) const MODE_HYPERVISOR: u8 = 3;
pub(crate) const MODE_GUEST_KERNEL: u8 = 4;
pub(crate) const MODE_GUEST_USER: u8 = 5;
// PERF_CONTEXT_MAX: from here on, entries of a call chain are not addresses.
const CONTEXT_FIRST: u64 = -4095i64 as u64;

/// The callers in a chain, behind its first address if that is the sample's own: then also the mode
/// in which that was.
pub(crate) fn split_leaf(chain: &[u8], order: Order, mode: u8) -> (Option<u8>, &[u8]) {
    let mut bytes = Bytes::new(chain, order);
    let mut first = mode;
    while let Some(entry) = bytes.u64() {
        if entry < CONTEXT_FIRST {
            // Another mode's: the chain omits what was sampled (exclude_callchain_kernel).
            return if first == mode || mode == 0 {
                (Some(first), bytes.rest())
            } else {
                (None, chain)
            };
        }
        first = context_mode(entry).unwrap_or(first);
    }
    (None, &[])
}

fn context_mode(entry: u64) -> Option<u8> {
    // enum perf_callchain_context
    match entry as i64 {
        -32 => Some(MODE_HYPERVISOR),
        -128 => Some(MODE_KERNEL),
        -512 => Some(MODE_USER),
        -2176 => Some(MODE_GUEST_KERNEL),
        -2048 | -2560 => Some(MODE_GUEST_USER),
        _ => None,
    }
}

/// The (mode, address) of each caller, from the innermost.
pub(crate) struct Frames<'d> {
    bytes: Bytes<'d>,
    mode: u8,
    /// Whether the next address is one to return to: not where another mode was interrupted.
    returns: bool,
    /// Whether there was anything that is neither an address nor a known marker.
    pub(crate) corrupt: bool,
}

impl<'d> Frames<'d> {
    pub(crate) fn new(chain: &'d [u8], order: Order, mode: u8, returns: bool) -> Self {
        Frames {
            bytes: Bytes::new(chain, order),
            mode,
            returns,
            corrupt: false,
        }
    }
}

impl Iterator for Frames<'_> {
    type Item = (u8, u64);

    #[inline]
    fn next(&mut self) -> Option<(u8, u64)> {
        loop {
            let entry = self.bytes.u64()?;
            if entry < CONTEXT_FIRST {
                let address = entry.saturating_sub(u64::from(self.returns));
                self.returns = true;
                return Some((self.mode, address));
            }
            match context_mode(entry) {
                Some(mode) => (self.mode, self.returns) = (mode, false),
                None => self.corrupt = true,
            }
        }
    }
}

/// The chain with its user part from the branch stack in call-stack mode (`--call-graph lbr`), as
/// perf's resolve_lbr_callchain_sample(): where the newest branch went, then whence each came.
pub(crate) fn with_branches(sample: &Sample<'_>, order: Order, out: &mut Vec<u8>) {
    let write = |out: &mut Vec<u8>, value: u64| match order {
        Order::Little => out.extend_from_slice(&value.to_le_bytes()),
        Order::Big => out.extend_from_slice(&value.to_be_bytes()),
    };
    out.clear();
    let mut chain = Bytes::new(sample.chain, order);
    while let Some(entry) = chain.u64() {
        if context_mode(entry) == Some(MODE_USER) {
            break;
        }
        write(out, entry);
    }
    write(out, -512i64 as u64);
    let mut branches = Bytes::new(sample.branches, order);
    let mut newest = true;
    while let (Some(from), Some(to), Some(_)) = (branches.u64(), branches.u64(), branches.u64()) {
        if newest {
            write(out, to);
            newest = false;
        }
        // The call itself, not where it returns to.
        write(out, from.saturating_add(1));
    }
}

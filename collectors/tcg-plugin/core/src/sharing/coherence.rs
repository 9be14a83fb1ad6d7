//! A coherence protocol for one line: MESI without exclusive clean lines, which change nothing here,
//! and with caches that never evict.

/// What an access asks of other vCPUs' caches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Miss {
    /// It reads what another has modified.
    ReadFetch,
    /// It writes what another has, and this one has not.
    WriteFetch,
    /// It writes what this one has, as others do.
    Upgrade,
}

/// Who has a line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Holders {
    /// By bit: the vCPUs that have it.
    valid: u8,
    /// Whether the one that has it has modified it.
    modified: bool,
}

impl Holders {
    /// A vCPU accesses the line. The first access of all, which nobody has to give way to, is no
    /// miss of this kind.
    #[inline]
    pub fn access(&mut self, vcpu: usize, writes: bool) -> Option<Miss> {
        let own = 1 << vcpu;
        let (has, others) = (self.valid & own != 0, self.valid & !own != 0);
        if writes {
            *self = Holders {
                valid: own,
                modified: true,
            };
            return match (has, others) {
                (true, true) => Some(Miss::Upgrade),
                (false, true) => Some(Miss::WriteFetch),
                _ => None,
            };
        }
        if has {
            return None;
        }
        let miss = (others && self.modified).then_some(Miss::ReadFetch);
        self.valid |= own;
        self.modified &= !others;
        miss
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Misses of a sequence of accesses: vCPU, and whether it writes.
    fn misses(accesses: &[(usize, bool)]) -> Vec<Option<Miss>> {
        let mut holders = Holders::default();
        let each = accesses.iter();
        each.map(|(vcpu, writes)| holders.access(*vcpu, *writes))
            .collect()
    }

    #[test]
    fn a_line_of_one_vcpu_never_misses() {
        let own = [(1, false), (1, true), (1, false), (1, true)];
        assert_eq!(misses(&own), [None; 4]);
    }

    #[test]
    fn readers_share_a_clean_line() {
        assert_eq!(misses(&[(0, false), (1, false), (0, false)]), [None; 3]);
    }

    #[test]
    fn an_unconditional_write_is_one_fetch_and_a_read_before_it_makes_two_misses() {
        let write = Some(Miss::WriteFetch);
        let written = misses(&[(0, true), (1, true), (0, true)]);
        assert_eq!(written, [None, write, write]);
        let (read, upgrade) = (Some(Miss::ReadFetch), Some(Miss::Upgrade));
        let both = misses(&[
            (0, false),
            (0, true),
            (1, false),
            (1, true),
            (0, false),
            (0, true),
        ]);
        assert_eq!(both, [None, None, read, upgrade, read, upgrade]);
    }

    #[test]
    fn what_was_read_by_others_is_clean() {
        // The third reader takes it from memory or from anyone.
        let third = misses(&[(0, true), (1, false), (2, false)]);
        assert_eq!(third, [None, Some(Miss::ReadFetch), None]);
    }
}

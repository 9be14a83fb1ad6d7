//! The tasks that wait, each with what is under way in it.

use std::collections::BTreeMap;

/// Where a call put the address behind it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Slot {
    /// The stack, as [`crate::architecture::Linkage::Stack`] tells it from others.
    pub stack: u64,
    /// The address.
    pub address: u64,
}

/// The tasks that wait, by the slot of the call in which they do.
#[derive(Debug, Default)]
pub struct Waiting<T>(BTreeMap<Slot, T>);

impl<T> Waiting<T> {
    /// Keep a task that waits in the call at `slot`.
    pub fn put(&mut self, slot: Slot, task: T) {
        self.0.insert(slot, task);
    }

    /// The task that goes on at `slot`: by a return from the call in which it waited, or after calls
    /// of its own below that. None for a new task.
    pub fn take(&mut self, slot: Slot, returns: bool) -> Option<T> {
        let last = Slot {
            address: u64::MAX,
            ..slot
        };
        let found = self.0.range(slot..=last).next().map(|(key, _)| *key);
        // A task that ended left its calls, on a stack that another one has now.
        let first = Slot { address: 0, ..slot };
        let stale: Vec<Slot> = self.0.range(first..slot).map(|(key, _)| *key).collect();
        for key in stale {
            self.0.remove(&key);
        }
        let found = found.filter(|key| !returns || *key == slot)?;
        self.0.remove(&found)
    }
}

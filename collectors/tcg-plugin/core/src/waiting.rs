//! The tasks that wait, with the calls that are under way in them.

use std::collections::BTreeMap;

use crate::shadow_stack::{Frame, STACK_BITS};

/// The tasks that wait, by the slot of the call in which they do.
#[derive(Debug, Default)]
pub struct Waiting(BTreeMap<u64, Vec<Frame>>);

impl Waiting {
    /// Keep the frames of a task that waits.
    pub(crate) fn put(&mut self, frames: Vec<Frame>) {
        if let Some(top) = frames.last() {
            self.0.insert(top.slot, frames);
        }
    }

    /// The frames of the task that goes on at `slot`: by a return from the call in which it waited,
    /// or after calls of its own below that. None for a new task.
    pub(crate) fn take(&mut self, slot: u64, returns: bool) -> Vec<Frame> {
        let end = (slot | ((1 << STACK_BITS) - 1)).saturating_add(1);
        let found = self.0.range(slot..end).next().map(|(key, _)| *key);
        let found = found.filter(|key| !returns || *key == slot);
        // A task that ended left its frames, on a stack that another one has now.
        let start = slot >> STACK_BITS << STACK_BITS;
        let stale: Vec<u64> = self.0.range(start..slot).map(|(key, _)| *key).collect();
        for key in stale {
            self.0.remove(&key);
        }
        found
            .and_then(|key| self.0.remove(&key))
            .unwrap_or_default()
    }
}

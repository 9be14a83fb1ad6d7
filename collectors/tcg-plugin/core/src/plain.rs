//! Counters in plain memory that never moves, since generated code holds their addresses.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::blocks::Counter;

const CHUNK: usize = 4096;

/// Counters numbered from 0; they live as long as the process.
#[derive(Default)]
pub struct PlainCounters {
    chunks: Vec<Box<[AtomicU64; CHUNK]>>,
    used: usize,
}

impl PlainCounters {
    /// Counter `number`, made if it is new.
    pub fn counter(&mut self, number: usize) -> &AtomicU64 {
        while self.chunks.len() * CHUNK <= number {
            self.chunks
                .push(Box::new([const { AtomicU64::new(0) }; CHUNK]));
        }
        self.used = self.used.max(number + 1);
        &self.chunks[number / CHUNK][number % CHUNK]
    }

    /// Counter `number`, which was made before, for the call tree.
    pub fn counter_of(&self, number: usize) -> Counter {
        let counter = &self.chunks[number / CHUNK][number % CHUNK];
        // SAFETY: chunks never move, and live as long as the process.
        unsafe { Counter::new(counter.as_ptr()) }
    }

    /// Append all counters' values to `into`.
    pub fn read(&self, into: &mut Vec<u64>) {
        let all = self.chunks.iter().flat_map(|chunk| chunk.iter());
        into.extend(
            all.take(self.used)
                .map(|counter| counter.load(Ordering::Relaxed)),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_keep_their_address_and_value() {
        let mut counters = PlainCounters::default();
        let first = counters.counter(0).as_ptr();
        counters.counter(3 * CHUNK).store(7, Ordering::Relaxed);
        assert_eq!(first, counters.counter(0).as_ptr());
        let mut values = Vec::new();
        counters.read(&mut values);
        assert_eq!(values.len(), 3 * CHUNK + 1);
        assert_eq!((values[0], values[3 * CHUNK]), (0, 7));
    }
}

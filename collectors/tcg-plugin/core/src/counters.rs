//! Counters in memory that never moves, since generated code holds their addresses.

use std::sync::atomic::{AtomicU64, Ordering};

/// How often an instruction that counts started; generated code increments it.
pub type Counter = &'static AtomicU64;

/// How many counters lie in one piece of memory: 64 KiB.
const CHUNK: usize = 8192;

/// Counters numbered from 0.
#[derive(Default)]
pub struct Counters {
    chunks: Vec<&'static [AtomicU64; CHUNK]>,
    used: usize,
}

impl Counters {
    /// Counter `number`, a new one if there is none yet.
    pub fn counter(&mut self, number: usize) -> Counter {
        while self.chunks.len() * CHUNK <= number {
            let chunk = Box::new([const { AtomicU64::new(0) }; CHUNK]);
            self.chunks.push(Box::leak(chunk));
        }
        self.used = self.used.max(number + 1);
        &self.chunks[number / CHUNK][number % CHUNK]
    }

    /// Replace `into` by all counters' values.
    pub fn read(&self, into: &mut Vec<u64>) {
        into.clear();
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
        let mut counters = Counters::default();
        let first = counters.counter(0);
        let last = counters.counter(3 * CHUNK);
        last.store(7, Ordering::Relaxed);
        assert!(std::ptr::eq(first, counters.counter(0)));
        let mut values = vec![9];
        counters.read(&mut values);
        assert_eq!(values.len(), 3 * CHUNK + 1);
        assert_eq!((values[0], values[3 * CHUNK]), (0, 7));
    }
}

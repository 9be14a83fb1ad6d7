//! Counters in memory that never moves, since generated code holds their addresses.

use std::sync::atomic::{AtomicU64, Ordering};

/// How often an instruction that counts started; generated code increments it.
pub type Counter = &'static AtomicU64;

/// How many counters lie in one piece of memory: 64 KiB.
pub const CHUNK: usize = 8192;
/// Counters that lie together.
pub type Chunk = &'static [AtomicU64; CHUNK];

/// New counters in plain memory.
pub fn plain_chunk() -> Chunk {
    Box::leak(Box::new([const { AtomicU64::new(0) }; CHUNK]))
}

/// Counters numbered from 0.
#[derive(Default)]
pub struct Counters {
    chunks: Vec<Chunk>,
    used: usize,
}

impl Counters {
    /// Counter `number`; those that there are not yet come from `chunk`.
    pub fn counter(&mut self, number: usize, mut chunk: impl FnMut() -> Chunk) -> Counter {
        while self.chunks.len() * CHUNK <= number {
            self.chunks.push(chunk());
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
        let first = counters.counter(0, plain_chunk);
        let last = counters.counter(3 * CHUNK, plain_chunk);
        last.store(7, Ordering::Relaxed);
        assert!(std::ptr::eq(first, counters.counter(0, plain_chunk)));
        let mut values = vec![9];
        counters.read(&mut values);
        assert_eq!(values.len(), 3 * CHUNK + 1);
        assert_eq!((values[0], values[3 * CHUNK]), (0, 7));
    }
}

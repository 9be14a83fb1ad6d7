//! Counters in memory that never moves, since generated code holds their addresses.

use std::sync::atomic::AtomicU64;

/// How often instructions that count started; generated code increments it.
pub type Counter = &'static AtomicU64;

/// How many counters lie in one piece of memory: 64 KiB.
const CHUNK: usize = 8192;

/// Counters numbered from 0.
#[derive(Default)]
pub struct Counters {
    chunks: Vec<&'static [AtomicU64; CHUNK]>,
}

impl Counters {
    /// Counter `number`, a new one if there is none yet.
    pub fn counter(&mut self, number: usize) -> Counter {
        while self.chunks.len() * CHUNK <= number {
            let chunk = Box::new([const { AtomicU64::new(0) }; CHUNK]);
            self.chunks.push(Box::leak(chunk));
        }
        &self.chunks[number / CHUNK][number % CHUNK]
    }

    /// All of them; those behind the last one that was asked for are zero.
    pub fn all(&self) -> impl Iterator<Item = Counter> + '_ {
        self.chunks.iter().flat_map(|chunk| chunk.iter())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::Ordering;

    #[test]
    fn counters_keep_their_address_and_value() {
        let mut counters = Counters::default();
        let first = counters.counter(0);
        let last = counters.counter(3 * CHUNK);
        last.store(7, Ordering::Relaxed);
        assert!(std::ptr::eq(first, counters.counter(0)));
        let values = counters.all().map(|one| one.load(Ordering::Relaxed));
        let values: Vec<u64> = values.collect();
        assert_eq!((values[0], values[3 * CHUNK]), (0, 7));
    }
}

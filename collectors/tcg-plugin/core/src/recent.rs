//! Numbers that were found lately, in front of a map that is looked into otherwise.

/// So many are kept; a power of two. With keys of 12 bytes that is half of a first-level cache.
const KEPT: usize = 1 << 10;

/// The last number of a key among those at its place.
#[derive(Debug)]
pub struct Recent<K>(Box<[(K, u32)]>);

impl<K: Copy + PartialEq> Recent<K> {
    /// All that is known is that `key` has this number.
    pub fn new(key: K, number: u32) -> Recent<K> {
        Recent(vec![(key, number); KEPT].into())
    }

    /// The number of `key`; `find` tells it where it is not at hand. `parts`: what of the key says
    /// its place.
    #[inline]
    pub fn number(&mut self, key: K, parts: [u32; 2], find: impl FnOnce() -> u32) -> u32 {
        let product = (parts[0] ^ parts[1].rotate_left(16)).wrapping_mul(0x9e37_79b9);
        let kept = &mut self.0[(product >> 22) as usize & (KEPT - 1)];
        if kept.0 != key {
            *kept = (key, find());
        }
        kept.1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_has_its_number_wherever_that_comes_from() {
        let mut recent = Recent::new((0, 0), 0);
        let mut found = 0;
        for round in 0..3 {
            for number in 0..50 {
                let key = (number % 7, number);
                let told = recent.number(key, [key.0, key.1], || {
                    found += 1;
                    number
                });
                assert_eq!(told, number, "in round {round}");
            }
        }
        assert!((49..60).contains(&found));
    }
}

//! Where exceptions and interrupts lead.

use hashbrown::HashSet;

/// Addresses, as [`crate::architecture::Architecture::vectors`], of which there are few. Each call,
/// return and indirect jump asks for one.
#[derive(Debug, Default)]
pub struct Entries {
    known: HashSet<u64>,
    /// A bit for each of them, so that most others need not be looked for.
    filter: [u64; 4],
}

impl Entries {
    /// Something led there that nothing else can have been.
    pub fn insert(&mut self, vectors: u64) {
        let (word, bit) = place(vectors);
        self.filter[word] |= bit;
        self.known.insert(vectors);
    }

    /// Whether that is known to be one.
    #[inline]
    pub fn contains(&self, vectors: u64) -> bool {
        let (word, bit) = place(vectors);
        self.filter[word] & bit != 0 && self.known.contains(&vectors)
    }
}

/// The upper bits of a product depend on all bits (Knuth, "The Art of Computer Programming" 3, 6.4).
#[inline]
fn place(vectors: u64) -> (usize, u64) {
    let hash = vectors.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56;
    ((hash >> 6) as usize, 1 << (hash & 63))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_inserted_is_found_and_nothing_else() {
        let mut entries = Entries::default();
        let address = |number: u64| 0xffff_ffff_8100_0000 + 16 * number;
        (0..1000)
            .step_by(3)
            .for_each(|number| entries.insert(address(number)));
        assert!((0..1000).all(|number| entries.contains(address(number)) == (number % 3 == 0)));
    }
}

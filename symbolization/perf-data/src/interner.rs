use std::hash::{BuildHasher, Hash};

use hashbrown::hash_table::HashTable;
use hashbrown::{DefaultHashBuilder, HashSet};

use crate::places::{Places, Seen};

/// The distinct callers and leaves of samples, and what was sampled there.
///
/// Both are known by 96 bits of randomly seeded hashes instead of by their bytes, which would be
/// most of the memory that is touched. That any two of a billion are confused has a probability of
/// one in 10^11.
#[derive(Debug, Default)]
pub(crate) struct Interner {
    pub(crate) places: Places,
    pub(crate) rows: Rows,
    pub(crate) entries: Entries,
    hashers: [DefaultHashBuilder; 2],
    callers: HashTable<(Fingerprint, u32)>,
    leaves: HashTable<LeafCount>,
    corrupt: HashSet<u32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Fingerprint {
    hash: u64,
    check: u32,
}

/// What was sampled at a leaf so far; it becomes an entry's count.
#[derive(Clone, Copy, Debug)]
struct LeafCount {
    fingerprint: Fingerprint,
    entry: u32,
    weight: u64,
    samples: u64,
}

/// Distinct callers: the places above a leaf, outermost first, under the name of a thread.
#[derive(Debug)]
pub(crate) struct Rows {
    /// Row `i` has `places[offsets[i]..offsets[i + 1]]`.
    pub(crate) offsets: Vec<u64>,
    pub(crate) places: Vec<u32>,
    pub(crate) name: Vec<u32>,
}

/// What was sampled: callers, leaf and event, with the sum of the periods and how many samples.
#[derive(Debug, Default)]
pub(crate) struct Entries {
    pub(crate) row: Vec<u32>,
    pub(crate) place: Vec<u32>,
    pub(crate) event: Vec<u32>,
    pub(crate) count: Vec<(u64, u64)>,
}

impl Default for Rows {
    fn default() -> Self {
        Rows {
            offsets: vec![0],
            places: Vec::new(),
            name: Vec::new(),
        }
    }
}

impl Interner {
    #[inline]
    fn fingerprint(&self, key: impl Hash + Copy) -> Fingerprint {
        Fingerprint {
            hash: self.hashers[0].hash_one(key),
            check: self.hashers[1].hash_one(key) as u32,
        }
    }

    /// The row of a chain of callers seen before as exactly these bytes in the same context, or a
    /// new one of the places that `make` gives, innermost first; it also tells if the chain is
    /// corrupt.
    #[inline]
    pub(crate) fn callers(
        &mut self,
        context: Context,
        chain: &[u8],
        make: impl FnOnce(&mut Places, &mut Vec<u32>) -> bool,
    ) -> u32 {
        let fingerprint = self.fingerprint((context, chain));
        let equal = |(known, _): &(Fingerprint, u32)| *known == fingerprint;
        if let Some((_, row)) = self.callers.find(fingerprint.hash, equal) {
            return *row;
        }
        let rows = &mut self.rows;
        let start = rows.places.len();
        let corrupt = make(&mut self.places, &mut rows.places);
        rows.places[start..].reverse();
        rows.offsets.push(rows.places.len() as u64);
        rows.name.push(context.name);
        let row = rows.name.len() as u32 - 1;
        if corrupt {
            self.corrupt.insert(row);
        }
        let known = (fingerprint, row);
        self.callers
            .insert_unique(fingerprint.hash, known, |(known, _)| known.hash);
        row
    }

    /// Count a sample at a leaf; at one not seen before, `make` gives its place.
    #[inline]
    pub(crate) fn count(&mut self, leaf: Leaf, weight: u64, make: impl FnOnce(&mut Places) -> u32) {
        let fingerprint = self.fingerprint(leaf);
        let equal = |known: &LeafCount| known.fingerprint == fingerprint;
        if let Some(known) = self.leaves.find_mut(fingerprint.hash, equal) {
            known.weight = known.weight.saturating_add(weight);
            known.samples += 1;
            return;
        }
        let entries = &mut self.entries;
        let entry = entries.row.len() as u32;
        entries.row.push(leaf.row);
        entries.place.push(make(&mut self.places));
        entries.event.push(leaf.event);
        let count = LeafCount {
            fingerprint,
            entry,
            weight,
            samples: 1,
        };
        self.leaves
            .insert_unique(fingerprint.hash, count, |known| known.fingerprint.hash);
    }

    /// No sample is to come: only the columns are kept.
    pub(crate) fn finish(&mut self) {
        self.callers = HashTable::new();
        let leaves = std::mem::take(&mut self.leaves);
        self.entries.count = vec![(0, 0); self.entries.row.len()];
        for leaf in leaves {
            self.entries.count[leaf.entry as usize] = (leaf.weight, leaf.samples);
        }
    }

    pub(crate) fn samples_of_corrupt_rows(&self) -> u64 {
        let entries = self.entries.row.iter().zip(&self.entries.count);
        entries
            .filter(|(row, _)| self.corrupt.contains(*row))
            .map(|(_, (_, samples))| samples)
            .sum()
    }

    /// Take in what another interner made of other samples. The same stack may be in both: they
    /// become one when places become functions.
    pub(crate) fn merge(&mut self, other: Interner) {
        let place: Vec<u32> = (other.places.object.iter().zip(&other.places.address))
            .map(|(object, address)| self.places.intern(*object, *address))
            .collect();
        let first = self.rows.name.len() as u32;
        let start = self.rows.places.len() as u64;
        let moved = other.rows.places.iter().map(|old| place[*old as usize]);
        self.rows.places.extend(moved);
        let offsets = other.rows.offsets.iter().skip(1);
        self.rows
            .offsets
            .extend(offsets.map(|offset| start + offset));
        self.rows.name.extend(other.rows.name);
        let rows = other.entries.row.iter().map(|row| first + row);
        self.entries.row.extend(rows);
        let moved = other.entries.place.iter().map(|old| place[*old as usize]);
        self.entries.place.extend(moved);
        self.entries.event.extend(other.entries.event);
        self.entries.count.extend(other.entries.count);
    }
}

/// What decides how a chain's addresses are to be understood, besides the chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Context {
    pub(crate) name: u32,
    /// The processor mode of the sample, in which a chain without a marker begins.
    pub(crate) mode: u8,
    pub(crate) seen: Seen,
}

/// What decides to which entry a sample belongs, once its callers' row is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Leaf {
    pub(crate) row: u32,
    pub(crate) event: u32,
    pub(crate) address: u64,
    pub(crate) mode: u8,
    pub(crate) seen: Seen,
}

use std::hash::{BuildHasher, Hash};

use hashbrown::hash_table::HashTable;
use hashbrown::{DefaultHashBuilder, HashSet};

use crate::places::Places;

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
    callers: Known,
    leaves: Known,
    corrupt: HashSet<u32>,
}

/// The numbers of what is known, by fingerprint. The table holds the numbers alone, so that as much
/// of it as can be is in the processor's caches.
#[derive(Debug, Default)]
struct Known {
    table: HashTable<u32>,
    fingerprints: Vec<Fingerprint>,
}

impl Known {
    fn with_room(numbers: usize) -> Self {
        Known {
            table: HashTable::with_capacity(numbers),
            fingerprints: Vec::new(),
        }
    }

    /// Its number, and whether it is a new one.
    #[inline]
    fn number(&mut self, fingerprint: Fingerprint) -> (u32, bool) {
        let all = &mut self.fingerprints;
        let equal = |number: &u32| all[*number as usize] == fingerprint;
        if let Some(number) = self.table.find(fingerprint.hash, equal) {
            return (*number, false);
        }
        let number = all.len() as u32;
        all.push(fingerprint);
        self.table
            .insert_unique(fingerprint.hash, number, |one| all[*one as usize].hash);
        (number, true)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Fingerprint {
    hash: u64,
    check: u32,
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

/// With more samples than these, tables grow: they may all be the same.
const MOST_EXPECTED: usize = 1 << 20;

impl Interner {
    /// With room for half of so many samples. Most of a large load differ, and to make the tables
    /// larger again and again is a tenth of the time; tables that are larger than what is in them
    /// are as slow.
    pub(crate) fn for_samples(samples: usize) -> Self {
        let samples = samples.min(MOST_EXPECTED) / 2;
        Interner {
            callers: Known::with_room(samples),
            leaves: Known::with_room(samples),
            ..Interner::default()
        }
    }

    #[inline]
    pub(crate) fn fingerprint(&self, key: impl Hash + Copy) -> Fingerprint {
        Fingerprint {
            hash: self.hashers[0].hash_one(key),
            check: self.hashers[1].hash_one(key) as u32,
        }
    }

    /// About how many bytes it holds. Columns and tables have room for twice what is in them.
    #[inline]
    pub(crate) fn held(&self) -> usize {
        const ROW: usize = 80;
        const ENTRY: usize = 112;
        const PLACE: usize = 40;
        8 * self.rows.places.len()
            + ROW * self.rows.name.len()
            + ENTRY * self.entries.row.len()
            + PLACE * self.places.object.len()
    }

    /// Count a sample at a leaf; false at one not seen before, which is to be entered.
    #[inline]
    pub(crate) fn count(&mut self, leaf: Fingerprint, weight: u64) -> bool {
        let (entry, new) = self.leaves.number(leaf);
        if !new {
            let count = &mut self.entries.count[entry as usize];
            count.0 = count.0.saturating_add(weight);
            count.1 += 1;
        }
        !new
    }

    /// Enter the leaf that was counted last.
    pub(crate) fn enter(&mut self, row: u32, place: u32, event: u32, weight: u64) {
        let entries = &mut self.entries;
        entries.row.push(row);
        entries.place.push(place);
        entries.event.push(event);
        entries.count.push((weight, 1));
    }

    /// The row of callers seen before, or a new one of the places that `make` gives, innermost
    /// first; it also tells if the chain is corrupt.
    #[inline]
    pub(crate) fn row(
        &mut self,
        callers: Fingerprint,
        name: u32,
        make: impl FnOnce(&mut Places, &mut Vec<u32>) -> bool,
    ) -> u32 {
        let (row, new) = self.callers.number(callers);
        if new {
            let rows = &mut self.rows;
            let start = rows.places.len();
            let corrupt = make(&mut self.places, &mut rows.places);
            rows.places[start..].reverse();
            rows.offsets.push(rows.places.len() as u64);
            rows.name.push(name);
            if corrupt {
                self.corrupt.insert(row);
            }
        }
        row
    }

    /// No sample is to come: only the columns are kept.
    pub(crate) fn finish(&mut self) {
        (self.callers, self.leaves) = Default::default();
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

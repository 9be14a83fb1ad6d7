use std::hash::BuildHasher;

use hashbrown::hash_table::HashTable;
use hashbrown::{DefaultHashBuilder, HashMap, HashSet};

use crate::places::{Places, Seen};

/// The distinct callers and leaves of samples, and what was sampled there.
#[derive(Debug, Default)]
pub(crate) struct Interner {
    pub(crate) places: Places,
    pub(crate) rows: Rows,
    pub(crate) entries: Entries,
    callers: Callers,
    leaves: HashMap<Leaf, u32>,
    corrupt: HashSet<u32>,
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
    pub(crate) fn add(&mut self, entry: u32, weight: u64) {
        if let Some((sum, samples)) = self.entries.count.get_mut(entry as usize) {
            *sum = sum.saturating_add(weight);
            *samples += 1;
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
        let hash = self.callers.hash(context, chain);
        if let Some(row) = self.callers.find(hash, context, chain) {
            return row;
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
        self.callers.insert(hash, context, chain, row);
        row
    }

    /// The entry of a leaf seen before, or a new one at the place that `make` gives.
    #[inline]
    pub(crate) fn leaf(&mut self, leaf: Leaf, make: impl FnOnce(&mut Places) -> u32) -> u32 {
        if let Some(entry) = self.leaves.get(&leaf) {
            return *entry;
        }
        let entries = &mut self.entries;
        entries.row.push(leaf.row);
        entries.place.push(make(&mut self.places));
        entries.event.push(leaf.event);
        entries.count.push((0, 0));
        let entry = entries.row.len() as u32 - 1;
        self.leaves.insert(leaf, entry);
        entry
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
        (self.callers, self.leaves) = Default::default(); // only for reading on
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

/// Chains of callers as they stand in the recording.
#[derive(Debug, Default)]
struct Callers {
    hasher: DefaultHashBuilder,
    table: HashTable<Known>,
    bytes: Vec<u8>,
}

#[derive(Debug)]
struct Known {
    hash: u64,
    start: usize,
    length: u32,
    row: u32,
    context: Context,
}

impl Callers {
    #[inline]
    fn hash(&self, context: Context, chain: &[u8]) -> u64 {
        self.hasher.hash_one((context, chain))
    }

    #[inline]
    fn find(&self, hash: u64, context: Context, chain: &[u8]) -> Option<u32> {
        let equal = |known: &Known| {
            known.hash == hash
                && known.context == context
                && self.bytes[known.start..known.start + known.length as usize] == *chain
        };
        self.table.find(hash, equal).map(|known| known.row)
    }

    fn insert(&mut self, hash: u64, context: Context, chain: &[u8], row: u32) {
        let known = Known {
            hash,
            start: self.bytes.len(),
            length: chain.len() as u32,
            row,
            context,
        };
        self.bytes.extend_from_slice(chain);
        self.table.insert_unique(hash, known, |known| known.hash);
    }
}

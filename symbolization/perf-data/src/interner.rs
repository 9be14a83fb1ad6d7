use std::hash::BuildHasher;

use hashbrown::hash_table::HashTable;
use hashbrown::{DefaultHashBuilder, HashMap};

use crate::places::Places;

/// No parent: the root of a stack, which is the name of a thread.
pub const ROOT: u32 = u32::MAX;

/// Stacks as a tree of places under the names of threads, and what was sampled at its nodes.
#[derive(Debug, Default)]
pub(crate) struct Interner {
    pub(crate) places: Places,
    /// Per node: its parent, or `ROOT`.
    pub(crate) parent: Vec<u32>,
    /// Per node: its place; for a root the name of the thread, in the strings.
    pub(crate) place: Vec<u32>,
    children: HashMap<(u32, u32), u32>,
    /// Per entry: node and event.
    pub(crate) entry: Vec<(u32, u32)>,
    /// Per entry: the sum of the periods, and the number of samples.
    pub(crate) count: Vec<(u64, u64)>,
    entries: HashMap<(u32, u32), u32>,
    callers: Callers,
    leaves: HashMap<Leaf, u32>,
}

impl Interner {
    #[inline]
    pub(crate) fn child(&mut self, parent: u32, place: u32) -> u32 {
        *self.children.entry((parent, place)).or_insert_with(|| {
            self.parent.push(parent);
            self.place.push(place);
            (self.parent.len() - 1) as u32
        })
    }

    /// The entry of a node and an event.
    pub(crate) fn entry_of(&mut self, node: u32, event: u32) -> u32 {
        *self.entries.entry((node, event)).or_insert_with(|| {
            self.entry.push((node, event));
            self.count.push((0, 0));
            (self.entry.len() - 1) as u32
        })
    }

    #[inline]
    pub(crate) fn add(&mut self, entry: u32, weight: u64, samples: u64) {
        if let Some((sum, number)) = self.count.get_mut(entry as usize) {
            *sum = sum.saturating_add(weight);
            *number += samples;
        }
    }

    /// The entry of a leaf seen before, or what `make` makes of it.
    #[inline]
    pub(crate) fn leaf(&mut self, leaf: Leaf, make: impl FnOnce(&mut Self) -> u32) -> u32 {
        if let Some(entry) = self.leaves.get(&leaf) {
            return *entry;
        }
        let entry = make(self);
        self.leaves.insert(leaf, entry);
        entry
    }

    /// The node of a chain of callers seen before as exactly these bytes in the same context, or
    /// what `make` makes of it.
    #[inline]
    pub(crate) fn callers(
        &mut self,
        context: Context,
        chain: &[u8],
        make: impl FnOnce(&mut Self) -> u32,
    ) -> u32 {
        let hash = self.callers.hash(context, chain);
        if let Some(node) = self.callers.find(hash, context, chain) {
            return node;
        }
        let node = make(self);
        self.callers.insert(hash, context, chain, node);
        node
    }

    /// Take in what another interner made of other samples.
    pub(crate) fn merge(&mut self, other: Interner) {
        (self.callers, self.leaves) = Default::default(); // only for reading on
        let places: Vec<u32> = (other.places.object.iter().zip(&other.places.address))
            .map(|(object, address)| self.places.intern(*object, *address))
            .collect();
        let mut nodes: Vec<u32> = Vec::with_capacity(other.parent.len());
        for (parent, place) in other.parent.iter().zip(&other.place) {
            // A parent stands before its children.
            let node = match nodes.get(*parent as usize) {
                Some(parent) => self.child(*parent, places[*place as usize]),
                None => self.child(ROOT, *place),
            };
            nodes.push(node);
        }
        for ((node, event), (weight, samples)) in other.entry.iter().zip(&other.count) {
            let entry = self.entry_of(nodes[*node as usize], *event);
            self.add(entry, *weight, *samples);
        }
    }
}

/// What decides how a chain's addresses are to be understood, besides the chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Context {
    pub(crate) name: u32,
    pub(crate) space: u32,
    pub(crate) generation: u32,
    /// The processor mode of the sample, in which a chain without a marker begins.
    pub(crate) mode: u8,
}

/// What decides to which entry a sample belongs, once its callers' node is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Leaf {
    pub(crate) callers: u32,
    pub(crate) event: u32,
    pub(crate) address: u64,
    pub(crate) space: u32,
    pub(crate) generation: u32,
    pub(crate) mode: u8,
}

/// Chains of callers as they stand in the recording.
#[derive(Debug, Default)]
struct Callers {
    hasher: DefaultHashBuilder,
    table: HashTable<Row>,
    bytes: Vec<u8>,
}

#[derive(Debug)]
struct Row {
    hash: u64,
    start: usize,
    length: u32,
    node: u32,
    context: Context,
}

impl Callers {
    #[inline]
    fn hash(&self, context: Context, chain: &[u8]) -> u64 {
        self.hasher.hash_one((context, chain))
    }

    #[inline]
    fn find(&self, hash: u64, context: Context, chain: &[u8]) -> Option<u32> {
        let equal = |row: &Row| {
            row.hash == hash
                && row.context == context
                && self.bytes[row.start..row.start + row.length as usize] == *chain
        };
        self.table.find(hash, equal).map(|row| row.node)
    }

    fn insert(&mut self, hash: u64, context: Context, chain: &[u8], node: u32) {
        let row = Row {
            hash,
            start: self.bytes.len(),
            length: chain.len() as u32,
            node,
            context,
        };
        self.bytes.extend_from_slice(chain);
        self.table.insert_unique(hash, row, |row| row.hash);
    }
}

use std::collections::BTreeMap;

/// A mapping of an object: `address - start + offset` is the place in the object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mapping {
    pub(crate) object: u32,
    pub(crate) start: u64,
    pub(crate) offset: u64,
}

/// A range of addresses that was one mapping's for a time.
#[derive(Clone, Copy, Debug)]
struct Piece {
    start: u64,
    end: u64,
    since: u64,
    until: u64,
    mapping: Mapping,
}

/// Where to look for what is not mapped in a space, and as of when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Parent {
    /// In the space of the process that forked.
    Fork(u32, u64),
    /// In what was there before exec: while the kernel replaces it, user space is still where it
    /// called.
    Exec(u32, u64),
}

/// The mappings of a process while they are told, in the order of time.
#[derive(Debug, Default)]
pub(crate) struct Builder {
    live: BTreeMap<u64, Piece>,
    closed: Vec<Piece>,
    pub(crate) parent: Option<Parent>,
    /// How many forks without exec led here.
    pub(crate) depth: u32,
}

/// The mappings of a process at any time.
///
/// Where an address had one mapping after another, there is a segment tree over the addresses at
/// which any mapping begins or ends. Each piece is entered at the O(log n) nodes that it covers
/// whole; the pieces at one node all cover its whole range, so they never overlap in time, and are
/// searched by it.
#[derive(Debug)]
pub(crate) struct AddressSpace {
    /// The segment tree; none where the pieces do not overlap and are sorted by address.
    tree: Option<SegmentTree>,
    pieces: Vec<Piece>,
    changes: Vec<u64>,
    parent: Option<Parent>,
}

#[derive(Debug)]
struct SegmentTree {
    edges: Vec<u64>,
    width: usize,
    /// Sorted by node and time.
    entries: Vec<(u32, u64, u32)>,
}

impl Builder {
    /// From `time` on, `[start, end)` is `mapping`'s.
    pub(crate) fn map(&mut self, start: u64, end: u64, time: u64, mapping: Mapping) {
        // Pieces do not overlap: only one of those that begin before can reach into the range.
        let before = self.live.range(..start).next_back();
        let first = before
            .filter(|(_, piece)| piece.end > start)
            .map_or(start, |(at, _)| *at);
        let covered: Vec<u64> = self.live.range(first..end).map(|(at, _)| *at).collect();
        for at in covered {
            let Some(piece) = self.live.remove(&at) else {
                continue;
            };
            if piece.start < start {
                let left = Piece {
                    end: start,
                    ..piece
                };
                self.live.insert(left.start, left);
            }
            if piece.end > end {
                let right = Piece {
                    start: end,
                    ..piece
                };
                self.live.insert(right.start, right);
            }
            if piece.since < time {
                self.closed.push(Piece {
                    start: piece.start.max(start),
                    end: piece.end.min(end),
                    until: time,
                    ..piece
                });
            }
        }
        let piece = Piece {
            start,
            end,
            since: time,
            until: u64::MAX,
            mapping,
        };
        self.live.insert(start, piece);
    }

    pub(crate) fn finish(self) -> AddressSpace {
        let replaced = !self.closed.is_empty();
        let mut pieces = self.closed;
        pieces.extend(self.live.into_values());
        let mut changes: Vec<u64> = pieces.iter().map(|piece| piece.since).collect();
        changes.sort_unstable();
        changes.dedup();
        AddressSpace {
            tree: replaced.then(|| SegmentTree::of(&pieces)),
            pieces,
            changes,
            parent: self.parent,
        }
    }
}

impl SegmentTree {
    fn of(pieces: &[Piece]) -> SegmentTree {
        let mut edges: Vec<u64> = pieces
            .iter()
            .flat_map(|piece| [piece.start, piece.end])
            .collect();
        edges.sort_unstable();
        edges.dedup();
        let width = edges.len().next_power_of_two();
        let mut entries = Vec::new();
        for (number, piece) in pieces.iter().enumerate() {
            let leaf = |address| edges.partition_point(|edge| *edge < address) + width;
            let (mut left, mut right) = (leaf(piece.start), leaf(piece.end));
            while left < right {
                if left & 1 == 1 {
                    entries.push((left as u32, piece.since, number as u32));
                    left += 1;
                }
                if right & 1 == 1 {
                    right -= 1;
                    entries.push((right as u32, piece.since, number as u32));
                }
                left >>= 1;
                right >>= 1;
            }
        }
        entries.sort_unstable();
        SegmentTree {
            edges,
            width,
            entries,
        }
    }

    /// The piece that was at `address` then.
    fn find<'p>(&self, pieces: &'p [Piece], address: u64, time: u64) -> Option<&'p Piece> {
        let leaf = self.edges.partition_point(|edge| *edge <= address);
        let mut node = leaf.checked_sub(1)? + self.width;
        while node > 0 {
            let key = (node as u32, time, u32::MAX);
            let after = self.entries.partition_point(|entry| *entry <= key);
            let last = after.checked_sub(1).map(|last| self.entries[last]);
            if let Some((_, _, piece)) = last.filter(|(at, _, _)| *at == node as u32) {
                let piece = &pieces[piece as usize];
                if time < piece.until {
                    return Some(piece);
                }
            }
            node >>= 1;
        }
        None
    }
}

impl AddressSpace {
    /// What was mapped at `address` then, in this space alone.
    pub(crate) fn find(&self, address: u64, time: u64) -> Option<Mapping> {
        let piece = if let Some(tree) = &self.tree {
            tree.find(&self.pieces, address, time)
        } else {
            let after = self.pieces.partition_point(|one| one.start <= address);
            let last = after.checked_sub(1).map(|last| &self.pieces[last]);
            last.filter(|piece| address < piece.end && piece.since <= time)
        };
        piece.map(|piece| piece.mapping)
    }

    /// A number that differs between two times if the mappings may.
    pub(crate) fn generation(&self, time: u64) -> u32 {
        self.changes.partition_point(|change| *change <= time) as u32
    }

    pub(crate) fn parent(&self) -> Option<Parent> {
        self.parent
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Against a list of all mappings, searched from the newest.
    #[test]
    fn finds_what_a_search_through_all_mappings_finds() {
        let mut seed = 7u64;
        let mut random = move |below: u64| {
            seed = seed
                .wrapping_mul(6364136223846793005)
                .wrapping_add(1442695040888963407);
            (seed >> 33) % below
        };
        for round in 0..200 {
            let mut builder = Builder::default();
            let mut all = Vec::new();
            let mut time = 0;
            for object in 0..random(40) {
                time += random(3);
                let start = random(60);
                let end = start + 1 + random(20);
                let mapping = Mapping {
                    object: object as u32,
                    start,
                    offset: 0,
                };
                builder.map(start, end, time, mapping);
                all.push((start, end, time, mapping));
            }
            let space = builder.finish();
            for address in 0..90 {
                for at in 0..time + 2 {
                    let newest = all.iter().rev().find(|(start, end, since, _)| {
                        (*start..*end).contains(&address) && *since <= at
                    });
                    let expected = newest.map(|(_, _, _, mapping)| *mapping);
                    assert_eq!(space.find(address, at), expected, "round {round}");
                }
            }
        }
    }
}

use std::collections::BinaryHeap;

/// Addresses `start..end` that belong to a node of the inline tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// First address.
    pub start: u64,
    /// First address past it.
    pub end: u64,
    /// Index of the node.
    pub node: u32,
}

/// Cut overlapping segments so that each address has one node: that of the last segment that holds
/// it. The input is in preorder (a function before what is inlined into it), so the innermost wins.
///
/// The result is sorted; neighbours of the same node are one. O(n log n).
pub fn flatten(segments: &[Segment]) -> Vec<Segment> {
    let mut by_start: Vec<usize> = (0..segments.len())
        .filter(|i| segments[*i].start < segments[*i].end)
        .collect();
    by_start.sort_by_key(|i| segments[*i].start);
    let mut waiting = by_start.into_iter().peekable();
    let mut open: BinaryHeap<usize> = BinaryHeap::new();
    let mut out: Vec<Segment> = Vec::with_capacity(segments.len());
    let mut at = 0;
    loop {
        while open.peek().is_some_and(|top| segments[*top].end <= at) {
            open.pop();
        }
        let next = waiting.peek().map(|i| segments[*i].start);
        match (open.peek(), next) {
            (None, None) => return out,
            (None, Some(start)) => at = start,
            (Some(top), next) => {
                let end = segments[*top].end.min(next.unwrap_or(u64::MAX));
                push(
                    &mut out,
                    Segment {
                        start: at,
                        end,
                        node: segments[*top].node,
                    },
                );
                at = end.max(at);
            }
        }
        while let Some(i) = waiting.next_if(|i| segments[*i].start <= at) {
            open.push(i);
        }
    }
}

fn push(out: &mut Vec<Segment>, segment: Segment) {
    if segment.start >= segment.end {
        return;
    }
    match out.last_mut() {
        Some(last) if last.end == segment.start && last.node == segment.node => {
            last.end = segment.end;
        }
        _ => out.push(segment),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// xorshift64: seeded, so that a failure can be repeated.
    fn random(state: &mut u64) -> u64 {
        *state ^= *state << 13;
        *state ^= *state >> 7;
        *state ^= *state << 17;
        *state
    }

    #[test]
    fn agrees_with_painting_byte_by_byte() {
        let mut state = 0x9e37_79b9_7f4a_7c15;
        for _ in 0..2000 {
            let count = random(&mut state) % 20;
            let segments: Vec<Segment> = (0..count)
                .map(|_| {
                    let start = random(&mut state) % 64;
                    let end = start + random(&mut state) % 24;
                    Segment {
                        start,
                        end,
                        node: (random(&mut state) % 6) as u32,
                    }
                })
                .collect();
            let mut painted = [None; 96];
            for segment in &segments {
                for at in segment.start..segment.end {
                    painted[at as usize] = Some(segment.node);
                }
            }
            let flat = flatten(&segments);
            let mut again = [None; 96];
            for pair in flat.windows(2) {
                assert!(pair[0].end <= pair[1].start);
                assert!(pair[0].end < pair[1].start || pair[0].node != pair[1].node);
            }
            for segment in &flat {
                for at in segment.start..segment.end {
                    again[at as usize] = Some(segment.node);
                }
            }
            assert_eq!(painted, again, "{segments:?}");
        }
    }
}

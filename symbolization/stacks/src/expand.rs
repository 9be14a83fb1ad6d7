use std::ops::Range;

use crate::tree::{FunctionStacks, Tree};

/// The functions at each place, as columns: place `i` has `functions[offsets[i]..offsets[i + 1]]`,
/// outermost first.
#[derive(Clone, Copy, Debug)]
pub struct Chains<'c> {
    /// Per place and one more.
    pub offsets: &'c [u32],
    /// The number of each frame's function.
    pub functions: &'c [u32],
    /// Whether that frame was inlined into the one before.
    pub inlined: &'c [bool],
}

impl Chains<'_> {
    /// The stack with the functions of a place on top, at most the `most` outermost ones.
    #[inline]
    fn on_top(&self, tree: &mut Tree, stack: i64, place: u32, most: usize) -> i64 {
        let row = place as usize;
        let range = match (self.offsets.get(row), self.offsets.get(row + 1)) {
            (Some(start), Some(end)) => *start as usize..*end as usize,
            _ => 0..0,
        };
        let functions = self.functions.get(range.clone()).unwrap_or_default();
        let inlined = self.inlined.get(range).unwrap_or_default();
        let frames = functions.iter().zip(inlined).take(most);
        frames.fold(stack, |stack, (function, inlined)| {
            tree.child(stack, *function, *inlined)
        })
    }
}

/// What was sampled, as columns: callers, and the place on top of them.
#[derive(Clone, Copy, Debug)]
pub struct Samples<'c> {
    /// Callers `i` are the places `row_places[row_offsets[i]..row_offsets[i + 1]]`.
    pub row_offsets: &'c [u64],
    /// Places of callers, outermost first.
    pub row_places: &'c [u32],
    /// Per callers: the number of their thread's name.
    pub row_name: &'c [u32],
    /// Per entry: its callers.
    pub entry_row: &'c [u32],
    /// Per entry: the place of the innermost frame.
    pub entry_place: &'c [u32],
}

/// So many places of callers are worth a second processor.
const WORTH_SPLITTING: usize = 1 << 18;

/// Replace the places of `samples` by their functions, inlined ones too; equal stacks become one.
///
/// With `thread_function`, the first frame of each stack is its thread's name: string `i` is the
/// function `thread_function + i`. A place without functions adds no frame. An entry of callers that
/// are none has no stack.
pub fn expand_samples(
    samples: Samples<'_>,
    chains: Chains<'_>,
    thread_function: Option<u32>,
) -> FunctionStacks {
    let rows = samples.row_name.len();
    let split = samples.row_places.len() >= WORTH_SPLITTING;
    let most = if split { rows / 2 } else { rows };
    expand_in_two(samples, chains, thread_function, most)
}

/// The first `most` callers here, the others on another processor.
fn expand_in_two(
    samples: Samples<'_>,
    chains: Chains<'_>,
    thread_function: Option<u32>,
    most: usize,
) -> FunctionStacks {
    let rows = samples.row_name.len();
    let of = |rows: Range<usize>| expand_rows(samples, chains, thread_function, rows);
    let (mut tree, other) = std::thread::scope(|scope| {
        let other = (most < rows).then(|| scope.spawn(|| of(most..rows)));
        let tree = of(0..most);
        (tree, other.map(|other| other.join()))
    });
    let other = match other {
        Some(Ok(other)) => other,
        Some(Err(panic)) => std::panic::resume_unwind(panic),
        None => return tree.out,
    };
    let numbers = tree.take_in(&other.out);
    let stacks = tree.out.entry_stack.iter_mut().zip(other.out.entry_stack);
    for ((stack, there), row) in stacks.zip(samples.entry_row) {
        if *row as usize >= most {
            *stack = usize::try_from(there).map_or(there, |there| numbers[there]);
        }
    }
    tree.out
}

/// The stacks of some callers; of the entries, only those above them get theirs.
fn expand_rows(
    samples: Samples<'_>,
    chains: Chains<'_>,
    thread_function: Option<u32>,
    rows: Range<usize>,
) -> Tree {
    let mut tree = Tree::default();
    // Callers that were seen one after the other mostly begin alike.
    let mut last: (u32, &[u32]) = (u32::MAX, &[]);
    let mut path: Vec<i64> = Vec::new();
    let mut ends: Vec<i64> = Vec::with_capacity(rows.len());
    let bounds = samples.row_offsets.windows(2).zip(samples.row_name);
    for (bounds, name) in bounds.skip(rows.start).take(rows.len()) {
        let range = bounds[0] as usize..bounds[1] as usize;
        let places = samples.row_places.get(range).unwrap_or_default();
        let alike = if last.0 == *name {
            let pairs = last.1.iter().zip(places);
            pairs.take_while(|(one, other)| one == other).count()
        } else {
            path.clear();
            let root = thread_function.map(|first| first.wrapping_add(*name));
            path.push(root.map_or(-1, |function| tree.child(-1, function, false)));
            0
        };
        path.truncate(alike + 1);
        let mut node = path[alike];
        for place in &places[alike..] {
            node = chains.on_top(&mut tree, node, *place, usize::MAX);
            path.push(node);
        }
        ends.push(node);
        last = (*name, places);
    }
    let leaves = samples.entry_row.iter().zip(samples.entry_place);
    let entry_stack = leaves
        .map(
            |(row, place)| match (*row as usize).checked_sub(rows.start) {
                Some(row) if row < rows.len() => {
                    let above = ends.get(row).copied().unwrap_or(-1);
                    chains.on_top(&mut tree, above, *place, usize::MAX)
                }
                _ => -1,
            },
        )
        .collect();
    tree.out.entry_stack = entry_stack;
    tree
}

/// Who called whom, as columns, callers before their callees: node `i` was called by node
/// `parent[i]` from the place `site[i]`. Below zero: from nowhere.
#[derive(Clone, Copy, Debug)]
pub struct CallNodes<'c> {
    /// Per node.
    pub parent: &'c [i64],
    /// Per node.
    pub site: &'c [i64],
}

/// The stacks of `entries`, each a place in a node, with the functions of the calls' places below
/// it. With `true`, only the outermost function at the place is on top: what was called.
pub fn expand_calls(
    calls: CallNodes<'_>,
    entries: impl Iterator<Item = (i64, i64, bool)>,
    chains: Chains<'_>,
) -> FunctionStacks {
    let mut tree = Tree::default();
    let mut stacks: Vec<i64> = Vec::with_capacity(calls.parent.len());
    let stack_of = |stacks: &[i64], node: i64| {
        let node = usize::try_from(node).ok();
        node.and_then(|node| stacks.get(node).copied())
            .unwrap_or(-1)
    };
    for (parent, site) in calls.parent.iter().zip(calls.site) {
        let below = stack_of(&stacks, *parent);
        let stack = match u32::try_from(*site) {
            Ok(site) => chains.on_top(&mut tree, below, site, usize::MAX),
            Err(_) => below,
        };
        stacks.push(stack);
    }
    let entry_stack = entries
        .map(|(node, place, called)| {
            let below = stack_of(&stacks, node);
            let most = if called { 1 } else { usize::MAX };
            u32::try_from(place).map_or(below, |place| chains.on_top(&mut tree, below, place, most))
        })
        .collect();
    tree.out.entry_stack = entry_stack;
    tree.out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_become_stacks_with_what_was_inlined() {
        // Place 0 is function 5; place 1 is 6 with 7 inlined; place 2 has none.
        let chains = Chains {
            offsets: &[0, 1, 3, 3],
            functions: &[5, 6, 7],
            inlined: &[false, false, true],
        };
        let calls = CallNodes {
            parent: &[-1, 0, 1, 9],
            site: &[-1, 1, 0, 77],
        };
        let entries = [
            (0, 0, false),
            (1, 1, false),
            (1, 1, true),
            (2, 2, false),
            (3, -1, false),
        ];
        let out = expand_calls(calls, entries.into_iter(), chains);
        let path = |mut stack: i64| {
            let mut path = Vec::new();
            while let Ok(row) = usize::try_from(stack) {
                path.insert(0, out.function[row]);
                stack = out.parent[row];
            }
            path
        };
        let paths: Vec<Vec<i64>> = out.entry_stack.iter().map(|stack| path(*stack)).collect();
        assert_eq!(
            paths,
            [
                vec![5],
                vec![6, 7, 6, 7],
                vec![6, 7, 6],
                vec![6, 7, 5],
                vec![]
            ]
        );
    }

    #[test]
    fn the_second_half_of_the_callers_gives_the_same_stacks() {
        // Functions 0 to 9, one or two at each of 7 places; 40 callers of up to 6 places.
        let chains = Chains {
            offsets: &[0, 1, 3, 4, 6, 7, 9, 10],
            functions: &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9],
            inlined: &[
                false, false, true, false, false, true, false, false, true, false,
            ],
        };
        let mut seed = 7u64;
        let mut random = |below: u64| {
            seed = seed
                .wrapping_mul(6364136223846793005)
                .wrapping_add(1442695040888963407);
            ((seed >> 33) % below) as u32
        };
        let (mut row_offsets, mut row_places) = (vec![0], Vec::new());
        for _ in 0..40 {
            let depth = random(7);
            row_places.extend((0..depth).map(|_| random(7)));
            row_offsets.push(row_places.len() as u64);
        }
        let row_name: Vec<u32> = (0..40).map(|_| random(3)).collect();
        // Also of callers that are none.
        let entry_row: Vec<u32> = (0..300).map(|_| random(42)).collect();
        let entry_place: Vec<u32> = (0..300).map(|_| random(7)).collect();
        let samples = Samples {
            row_offsets: &row_offsets,
            row_places: &row_places,
            row_name: &row_name,
            entry_row: &entry_row,
            entry_place: &entry_place,
        };
        let paths = |out: &FunctionStacks| -> Vec<Vec<(i64, bool)>> {
            let path = |stack: &i64| {
                let mut path = Vec::new();
                let mut next = *stack;
                while let Ok(row) = usize::try_from(next) {
                    path.push((out.function[row], out.inlined[row]));
                    next = out.parent[row];
                }
                path
            };
            out.entry_stack.iter().map(path).collect()
        };
        let whole = expand_in_two(samples, chains, Some(100), 40);
        let expected = paths(&whole);
        for most in 0..40 {
            let split = expand_in_two(samples, chains, Some(100), most);
            assert_eq!(paths(&split), expected);
            assert_eq!(split.parent.len(), whole.parent.len());
            let below = split.parent.iter().enumerate();
            assert!(below.into_iter().all(|(row, parent)| *parent < row as i64));
        }
    }
}

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

/// Replace the places of `samples` by their functions, inlined ones too; equal stacks become one.
///
/// With `thread_function`, the first frame of each stack is its thread's name: string `i` is the
/// function `thread_function + i`. A place without functions adds no frame.
pub fn expand_samples(
    samples: Samples<'_>,
    chains: Chains<'_>,
    thread_function: Option<u32>,
) -> FunctionStacks {
    let mut tree = Tree::default();
    // Callers that were seen one after the other mostly begin alike.
    let mut last: (u32, &[u32]) = (u32::MAX, &[]);
    let mut path: Vec<i64> = Vec::new();
    let mut ends: Vec<i64> = Vec::with_capacity(samples.row_name.len());
    for (bounds, name) in samples.row_offsets.windows(2).zip(samples.row_name) {
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
        .map(|(row, place)| {
            let above = ends.get(*row as usize).copied().unwrap_or(-1);
            chains.on_top(&mut tree, above, *place, usize::MAX)
        })
        .collect();
    tree.out.entry_stack = entry_stack;
    tree.out
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
}

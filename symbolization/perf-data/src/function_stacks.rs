use hashbrown::HashMap;

use crate::profile::Stacks;

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

/// Stacks of functions, as columns: a tree, parents before their children.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FunctionStacks {
    /// Per stack: the stack below its last frame, or -1.
    pub parent: Vec<i64>,
    /// Per stack: the function of its last frame.
    pub function: Vec<i64>,
    /// Per stack: how many frames are below the last.
    pub depth: Vec<i64>,
    /// Per stack: whether its last frame was inlined at some place.
    pub inlined: Vec<bool>,
    /// Per entry of what was sampled: its stack.
    pub entry_stack: Vec<i64>,
}

#[derive(Debug, Default)]
pub(crate) struct Tree {
    pub(crate) out: FunctionStacks,
    children: HashMap<(i64, i64), i64>,
}

impl Tree {
    #[inline]
    pub(crate) fn child(&mut self, parent: i64, function: i64, inlined: bool) -> i64 {
        let out = &mut self.out;
        let node = *self.children.entry((parent, function)).or_insert_with(|| {
            out.parent.push(parent);
            out.function.push(function);
            let above = usize::try_from(parent).ok();
            out.depth
                .push(above.map_or(0, |parent| out.depth[parent] + 1));
            out.inlined.push(false);
            out.parent.len() as i64 - 1
        });
        out.inlined[node as usize] |= inlined;
        node
    }

    /// The stack with the functions of a place on top.
    #[inline]
    fn place(&mut self, node: i64, place: u32, chains: Chains<'_>) -> i64 {
        self.frames(node, place, chains, usize::MAX)
    }

    /// The stack with the `most` outermost functions of a place on top.
    fn frames(&mut self, node: i64, place: u32, chains: Chains<'_>, most: usize) -> i64 {
        let row = place as usize;
        let range = match (chains.offsets.get(row), chains.offsets.get(row + 1)) {
            (Some(start), Some(end)) => *start as usize..*end as usize,
            _ => 0..0,
        };
        let functions = chains.functions.get(range.clone()).unwrap_or_default();
        let inlined = chains.inlined.get(range).unwrap_or_default();
        let frames = functions.iter().zip(inlined).take(most);
        frames.fold(node, |node, (function, inlined)| {
            self.child(node, i64::from(*function), *inlined)
        })
    }
}

/// Replace the places of `stacks` by their functions, inlined ones too; equal stacks become one.
///
/// With `thread_function`, the first frame of each stack is its thread's name: string `i` is the
/// function `thread_function + i`. A place without functions adds no frame.
pub fn expand(stacks: &Stacks, chains: Chains<'_>, thread_function: Option<u32>) -> FunctionStacks {
    let mut tree = Tree::default();
    // Callers that were seen one after the other mostly begin alike.
    let mut last: (u32, &[u32]) = (u32::MAX, &[]);
    let mut path: Vec<i64> = Vec::new();
    let mut ends: Vec<i64> = Vec::with_capacity(stacks.row_name.len());
    for (bounds, name) in stacks.row_offsets.windows(2).zip(&stacks.row_name) {
        let range = bounds[0] as usize..bounds[1] as usize;
        let places = stacks.row_places.get(range).unwrap_or_default();
        let alike = if last.0 == *name {
            let pairs = last.1.iter().zip(places);
            pairs.take_while(|(one, other)| one == other).count()
        } else {
            path.clear();
            let root = thread_function.map(|first| i64::from(first) + i64::from(*name));
            path.push(root.map_or(-1, |function| tree.child(-1, function, false)));
            0
        };
        path.truncate(alike + 1);
        let mut node = path[alike];
        for place in &places[alike..] {
            node = tree.place(node, *place, chains);
            path.push(node);
        }
        ends.push(node);
        last = (*name, places);
    }
    let leaves = stacks.entry_row.iter().zip(&stacks.entry_place);
    let entry_stack = leaves
        .map(|(row, place)| {
            let above = ends.get(*row as usize).copied().unwrap_or(-1);
            tree.place(above, *place, chains)
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
            Ok(site) => tree.place(below, site, chains),
            Err(_) => below,
        };
        stacks.push(stack);
    }
    let entry_stack = entries
        .map(|(node, place, called)| {
            let below = stack_of(&stacks, node);
            let most = if called { 1 } else { usize::MAX };
            u32::try_from(place).map_or(below, |place| tree.frames(below, place, chains, most))
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

use hashbrown::HashMap;

use crate::interner::ROOT;
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
}

/// Replace the places of `stacks` by their functions, inlined ones too.
///
/// With `thread_function`, the first frame of each stack is its thread's name: string `i` is the
/// function `thread_function + i`. A place without functions adds no frame.
pub fn expand(stacks: &Stacks, chains: Chains<'_>, thread_function: Option<u32>) -> FunctionStacks {
    let mut tree = Tree::default();
    let mut nodes: Vec<i64> = Vec::with_capacity(stacks.parent.len());
    for (parent, place) in stacks.parent.iter().zip(&stacks.place) {
        let node = match nodes.get(*parent as usize) {
            Some(parent) => {
                let row = *place as usize;
                let bounds = (chains.offsets.get(row), chains.offsets.get(row + 1));
                let range = match bounds {
                    (Some(start), Some(end)) => *start as usize..*end as usize,
                    _ => 0..0,
                };
                let functions = chains.functions.get(range.clone()).unwrap_or_default();
                let inlined = chains.inlined.get(range).unwrap_or_default();
                let frames = functions.iter().zip(inlined);
                frames.fold(*parent, |node, (function, inlined)| {
                    tree.child(node, i64::from(*function), *inlined)
                })
            }
            None => {
                debug_assert_eq!(*parent, ROOT);
                match thread_function {
                    Some(first) => tree.child(-1, i64::from(first) + i64::from(*place), false),
                    None => -1,
                }
            }
        };
        nodes.push(node);
    }
    let leaves = stacks.entry_node.iter();
    tree.out.entry_stack = leaves
        .map(|node| nodes.get(*node as usize).copied().unwrap_or(-1))
        .collect();
    tree.out
}

use hashbrown::HashMap;

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

/// Builds [`FunctionStacks`], each stack once.
#[derive(Debug, Default)]
pub struct Tree {
    /// The stacks so far.
    pub out: FunctionStacks,
    children: HashMap<(i64, i64), i64>,
}

impl Tree {
    /// The stack `parent` (-1: none) with a function on top.
    #[inline]
    pub fn child(&mut self, parent: i64, function: i64, inlined: bool) -> i64 {
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

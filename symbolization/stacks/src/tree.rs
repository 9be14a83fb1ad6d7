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
    /// By parent and function, half the size of the columns' numbers: it is most of the memory that
    /// is touched.
    children: HashMap<(u32, u32), u32>,
}

impl Tree {
    /// The stack `parent` (-1: none) with a function on top.
    #[inline]
    pub fn child(&mut self, parent: i64, function: u32, inlined: bool) -> i64 {
        let out = &mut self.out;
        // -1 becomes the highest number, which no stack has.
        let node = *self
            .children
            .entry((parent as u32, function))
            .or_insert_with(|| {
                out.parent.push(parent);
                out.function.push(i64::from(function));
                let above = usize::try_from(parent).ok();
                out.depth
                    .push(above.map_or(0, |parent| out.depth[parent] + 1));
                out.inlined.push(false);
                out.parent.len() as u32 - 1
            });
        if inlined {
            out.inlined[node as usize] = true;
        }
        i64::from(node)
    }

    /// Add the stacks of another tree: the number of each of them here.
    pub fn take_in(&mut self, other: &FunctionStacks) -> Vec<i64> {
        let mut numbers: Vec<i64> = Vec::with_capacity(other.parent.len());
        let columns = other.parent.iter().zip(&other.function);
        for ((parent, function), inlined) in columns.zip(&other.inlined) {
            let parent = usize::try_from(*parent).map_or(-1, |parent| numbers[parent]);
            numbers.push(self.child(parent, *function as u32, *inlined));
        }
        numbers
    }
}

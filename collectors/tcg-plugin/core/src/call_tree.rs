//! Who called whom: a node for each path, and what ran there.

use hashbrown::HashMap;

use crate::blocks::Blocks;
use crate::node::{Node, NodeNumber, NONE, ROOT};
use crate::recent::Recent;
use crate::slots::PlaceNumber;

/// With more paths than these, new ones count for their caller: some 400 MB.
const MOST_NODES: usize = 1 << 20;

/// One of the tree's counts: of a place in a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Row {
    /// The node.
    pub node: NodeNumber,
    /// The instruction.
    pub place: PlaceNumber,
    /// How often it started there, iterations not counted.
    pub count: u64,
}

/// Nodes, parents before children, and executions of blocks in them.
#[derive(Debug)]
pub struct CallTree {
    nodes: Vec<Node>,
    calls: Vec<u64>,
    refused: u64,
    children: HashMap<Node, NodeNumber>,
    recent_nodes: Recent<Node>,
    cells: Vec<u64>,
    /// By cell: executions that were an iteration of the block's last instruction.
    iterations: Vec<u64>,
    cell_of: HashMap<(NodeNumber, u32), u32>,
    recent_cells: Recent<(NodeNumber, u32)>,
    corrections: HashMap<(NodeNumber, PlaceNumber), i64>,
}

impl Default for CallTree {
    fn default() -> CallTree {
        let root = Node {
            parent: NONE,
            site: NONE,
            target: NONE,
        };
        CallTree {
            nodes: vec![root],
            calls: vec![0],
            refused: 0,
            children: HashMap::default(),
            recent_nodes: Recent::new(root, ROOT),
            cells: Vec::new(),
            iterations: Vec::new(),
            cell_of: HashMap::default(),
            recent_cells: Recent::new((NONE, NONE), NONE),
            corrections: HashMap::default(),
        }
    }
}

impl CallTree {
    /// The number of `node`, which is made if it is new; its caller's if there are too many.
    pub fn node(&mut self, node: Node) -> NodeNumber {
        let (nodes, calls) = (&mut self.nodes, &mut self.calls);
        let parts = [node.parent, node.site ^ node.target];
        let number = self.recent_nodes.number(node, parts, || {
            if nodes.len() >= MOST_NODES && !self.children.contains_key(&node) {
                return NONE;
            }
            let next = nodes.len() as u32;
            let number = *self.children.entry(node).or_insert(next);
            if number == next {
                nodes.push(node);
                calls.push(0);
            }
            number
        });
        if number == NONE {
            self.refused += 1;
            return node.parent;
        }
        number
    }

    /// `node` was entered.
    pub fn entered(&mut self, node: NodeNumber) {
        self.calls[node as usize] += 1;
    }

    /// The cell of a block in a node.
    pub fn cell(&mut self, node: NodeNumber, block: u32) -> u32 {
        let (cells, iterations) = (&mut self.cells, &mut self.iterations);
        self.recent_cells.number((node, block), [node, block], || {
            let next = cells.len() as u32;
            let cell = *self.cell_of.entry((node, block)).or_insert(next);
            if cell == next {
                cells.push(0);
                iterations.push(0);
            }
            cell
        })
    }

    /// A block was begun in a cell's node so many times.
    pub fn count(&mut self, cell: u32, times: u64) {
        if let Some(count) = self.cells.get_mut(cell as usize) {
            *count += times;
        }
    }

    /// A cell's block did not end its last instruction, but only one of its iterations.
    #[inline]
    pub fn iterated(&mut self, cell: u32) {
        if let Some(count) = self.iterations.get_mut(cell as usize) {
            *count += 1;
        }
    }

    /// These instructions of a block started in `node`, or did not, other than the block says.
    pub fn correct(&mut self, node: NodeNumber, places: &[PlaceNumber], by: i64) {
        for place in places {
            *self.corrections.entry((node, *place)).or_default() += by;
        }
    }

    /// Forget all counts.
    pub fn clear(&mut self) {
        self.cells.fill(0);
        self.iterations.fill(0);
        self.calls.fill(0);
        self.corrections.clear();
    }

    /// The nodes.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// How often a path was not followed, because there were too many.
    pub fn refused(&self) -> u64 {
        self.refused
    }

    /// How often each was entered.
    pub fn calls(&self) -> &[u64] {
        &self.calls
    }

    /// All counts that are not zero, sorted; also what `blocks` count in the nodes where they are.
    pub fn rows(&self, blocks: &Blocks) -> Vec<Row> {
        let mut parts: Vec<(NodeNumber, PlaceNumber, i64)> = Vec::new();
        for ((node, block), cell) in &self.cell_of {
            let count = self.cells[*cell as usize] as i64;
            let iterations = self.iterations[*cell as usize] as i64;
            if let Some(last) = blocks.last(*block).filter(|_| iterations > 0) {
                parts.push((*node, last, -iterations));
            }
            if count > 0 {
                parts.extend(blocks.counted(*block).map(|place| (*node, place, count)));
            }
        }
        for (node, block, count) in blocks.here() {
            let places = blocks.counted(block);
            parts.extend(places.map(|place| (node, place, count as i64)));
        }
        for ((node, place), by) in &self.corrections {
            if blocks.counts(*place) {
                parts.push((*node, *place, *by));
            }
        }
        parts.sort_unstable();
        let mut rows: Vec<Row> = Vec::new();
        for group in parts.chunk_by(|one, other| (one.0, one.1) == (other.0, other.1)) {
            let (node, place, _) = group[0];
            let count: i64 = group.iter().map(|part| part.2).sum();
            // Never below zero; were it so, the sums would not equal the flat counts, and that is
            // checked.
            if let Some(count) = u64::try_from(count).ok().filter(|count| *count > 0) {
                rows.push(Row { node, place, count });
            }
        }
        rows
    }
}

//! A node of the call tree.

use crate::slots::PlaceNumber;

/// The number of a node.
pub type NodeNumber = u32;
/// The node without callers.
pub const ROOT: NodeNumber = 0;
/// No node, or a place that is not known yet.
pub const NONE: u32 = u32::MAX;

/// A function's activation, as one path leads to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Node {
    /// The caller's node.
    pub parent: NodeNumber,
    /// The call, or the instruction that was interrupted.
    pub site: PlaceNumber,
    /// The first instruction behind the call; [`NONE`] if execution never came there.
    pub target: PlaceNumber,
}

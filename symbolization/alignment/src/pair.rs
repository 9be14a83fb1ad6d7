/// How two instructions belong together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// They have the same key, and stand in the same order as all others of this kind and the next.
    Same,
    /// They have the same operation at the same place of the order.
    Changed,
    /// They have the same key, and so have their neighbours, elsewhere.
    Moved,
}

/// An old instruction and the new one that it belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Pair {
    /// Its number in the old code.
    pub old: usize,
    /// Its number in the new code.
    pub new: usize,
    /// How they belong together.
    pub kind: Kind,
}

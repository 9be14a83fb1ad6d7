use std::borrow::Cow;

use crate::flatten::Segment;

/// No parent: the function itself, not something inlined into it.
pub(crate) const NONE: u32 = u32::MAX;

/// The file of a row that ends a sequence: no line is known from there on.
pub(crate) const END: u32 = u32::MAX;

/// A function as the source declares it. Name and file are indexes of strings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Function {
    pub(crate) name: u32,
    pub(crate) file: u32,
    pub(crate) line: u32,
}

/// One occurrence of a function: out of line, or inlined into its parent at a place.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Node {
    pub(crate) function: u32,
    /// Always lower than the node's own index, or `NONE`.
    pub(crate) parent: u32,
    pub(crate) call_file: u32,
    pub(crate) call_line: u32,
}

/// From this address on, code comes from this line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Row {
    pub(crate) address: u64,
    pub(crate) file: u32,
    pub(crate) line: u32,
}

/// What one compilation unit says. All indexes are the unit's own; string 0 is empty.
#[derive(Default)]
pub(crate) struct UnitTable<'d> {
    pub(crate) strings: Vec<Cow<'d, [u8]>>,
    pub(crate) functions: Vec<Function>,
    pub(crate) nodes: Vec<Node>,
    pub(crate) segments: Vec<Segment>,
    /// Sequences one after another; each ends with a row whose file is `END`.
    pub(crate) rows: Vec<Row>,
}

impl<'d> UnitTable<'d> {
    pub(crate) fn string(&mut self, text: Cow<'d, [u8]>) -> u32 {
        if text.is_empty() {
            return 0;
        }
        self.strings.push(text);
        (self.strings.len() - 1) as u32
    }
}

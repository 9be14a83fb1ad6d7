use std::borrow::Cow;

use super::Failure;
use crate::budget::Account;
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

/// What things cost: bytes that they take until the index is made, in all tables together, or steps
/// (2 or 3 in 10 ns) that reading them takes.
const STRING: usize = 128;
const FUNCTION: usize = 64;
const NODE: usize = 64;
/// A byte of a string: in its unit, among all strings, and twice in the index.
const STRING_BYTE: usize = 4;
/// An attribute, also one without a size.
pub(crate) const ATTRIBUTE: usize = 2;
/// An entry of a list of ranges, also one that is not a range.
pub(crate) const RANGE_STEPS: usize = 8;
/// Addresses that belong to a node, before and after they are cut.
pub(crate) const RANGE: usize = 96;
/// A row of the line table.
pub(crate) const ROW: usize = 64;

impl<'d> UnitTable<'d> {
    /// Give functions of which no file is declared (lambdas, and all in line tables alone) the one
    /// that their code is from: where they call what is inlined into them, or their own lines are.
    pub(crate) fn files_by_lines(&mut self) {
        let (functions, nodes) = (&mut self.functions, &self.nodes);
        if functions.iter().all(|function| function.file != 0) {
            return;
        }
        let mut name = |node: u32, file: u32| {
            let function = nodes.get(node as usize).map(|node| node.function);
            let function = function.and_then(|number| functions.get_mut(number as usize));
            if let Some(function) = function.filter(|one| one.file == 0 && file != END) {
                function.file = file;
            }
        };
        for node in nodes {
            name(node.parent, node.call_file);
        }
        let mut rows: Vec<&Row> = self.rows.iter().collect();
        rows.sort_by_key(|row| row.address);
        for segment in &self.segments {
            let after = rows.partition_point(|row| row.address <= segment.start);
            if let Some(row) = after.checked_sub(1).and_then(|at| rows.get(at)) {
                name(segment.node, row.file);
            }
        }
    }

    pub(crate) fn string(
        &mut self,
        text: Cow<'d, [u8]>,
        account: &mut Account<'_>,
    ) -> Result<u32, Failure> {
        if text.is_empty() {
            return Ok(0);
        }
        account.spend(STRING + text.len() * STRING_BYTE)?;
        self.strings.push(text);
        Ok((self.strings.len() - 1) as u32)
    }

    pub(crate) fn function(
        &mut self,
        function: Function,
        account: &mut Account<'_>,
    ) -> Result<u32, Failure> {
        account.spend(FUNCTION)?;
        self.functions.push(function);
        Ok((self.functions.len() - 1) as u32)
    }

    pub(crate) fn node(&mut self, node: Node, account: &mut Account<'_>) -> Result<(), Failure> {
        account.spend(NODE)?;
        self.nodes.push(node);
        Ok(())
    }
}

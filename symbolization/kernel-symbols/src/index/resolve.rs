use super::format::Column;
use super::SymbolIndex;
use crate::dwarf::{END, NONE};
use crate::resolution::{Reason, Resolution, ResolutionBuilder};
use crate::Svma;

/// A function, and where it was executing; strings and functions by their index in the file.
struct Frame {
    function: u32,
    file: u32,
    line: u32,
}

impl SymbolIndex {
    /// The chain of each address.
    pub fn resolve(&self, addresses: &[Svma]) -> Resolution {
        let mut out = ResolutionBuilder::default();
        let mut frames = Vec::new();
        for address in addresses {
            self.resolve_one(*address, &mut frames, &mut out);
        }
        out.finish()
    }

    fn resolve_one(&self, address: Svma, frames: &mut Vec<Frame>, out: &mut ResolutionBuilder) {
        let row = self.symbol_row(address);
        let symbol = row.map(|row| self.u32(Column::SymbolName, row));
        let (file, line) = self.line_at(address);
        let text = |index| self.text(index);
        frames.clear();
        if let Some(node) = self.node_at(address) {
            self.chain(node, file, line, frames);
            self.drop_nameless(frames);
            for (i, frame) in frames.iter().rev().enumerate() {
                let row = frame.function as usize;
                let name = self.u32(Column::FunctionName, row);
                let declared = self.u32(Column::FunctionFile, row);
                let at = self.u32(Column::FunctionLine, row);
                let name = match symbol {
                    // What the function is called is in another file.
                    Some(symbol) if i == 0 && self.string(name).is_empty() => symbol,
                    _ => name,
                };
                let name = out.name(u64::from(name), || text(name));
                let declared = out.string(u64::from(declared), || text(declared));
                let function = out.function(name, declared, at);
                let file = out.string(u64::from(frame.file), || text(frame.file));
                out.frame(function, i > 0, file, frame.line);
            }
            let symbol = symbol.map_or(0, |name| out.string(u64::from(name), || text(name)));
            return out.resolved(symbol);
        }
        match symbol {
            Some(symbol) => {
                // Assembly: no declaration, but perhaps a line. In split DWARF that may be of what is
                // inlined there, but for the first one.
                let start = row.filter(|_| !self.has_inlines());
                let start = start.map_or(address.0, |row| self.u64(Column::SymbolStart, row));
                let (declared, _) = self.line_at(Svma(start));
                let name = out.name(u64::from(symbol), || text(symbol));
                let symbol = out.string(u64::from(symbol), || text(symbol));
                let file = out.string(u64::from(file), || text(file));
                let declared = out.string(u64::from(declared), || text(declared));
                out.symbol(name, symbol, declared, file, line);
            }
            None if self.in_text(address) => out.unresolved(Reason::NoSymbol),
            None => out.unresolved(Reason::OutsideText),
        }
    }

    /// Frames innermost first.
    fn chain(&self, mut node: u32, mut file: u32, mut line: u32, frames: &mut Vec<Frame>) {
        loop {
            let row = node as usize;
            frames.push(Frame {
                function: self.u32(Column::NodeFunction, row),
                file,
                line,
            });
            let parent = self.u32(Column::NodeParent, row);
            // A parent is written before its children; anything else would be a loop.
            if parent == NONE || parent >= node {
                return;
            }
            file = self.u32(Column::NodeCallFile, row);
            line = self.u32(Column::NodeCallLine, row);
            node = parent;
        }
    }

    /// Without inlined functions of which no name is known (it is in a file of dwz): they are part of
    /// those that they are inlined into, at the place of the call.
    fn drop_nameless(&self, frames: &mut Vec<Frame>) {
        let nameless = |frame: &Frame| {
            let name = self.u32(Column::FunctionName, frame.function as usize);
            self.string(name).is_empty()
        };
        let outermost = frames.len().saturating_sub(1);
        let mut at = 0;
        frames.retain(|frame| {
            at += 1;
            at > outermost || !nameless(frame)
        });
    }

    fn node_at(&self, address: Svma) -> Option<u32> {
        let row = self.last_at_most(Column::SegmentStart, address.0)?;
        let within = address.0 < self.u64(Column::SegmentEnd, row);
        within
            .then(|| self.u32(Column::SegmentNode, row))
            .filter(|node| *node != NONE)
    }

    /// File and line; 0 and 0 if unknown.
    fn line_at(&self, address: Svma) -> (u32, u32) {
        match self.last_at_most(Column::RowAddress, address.0) {
            Some(row) if self.u32(Column::RowFile, row) != END => (
                self.u32(Column::RowFile, row),
                self.u32(Column::RowLine, row),
            ),
            _ => (0, 0),
        }
    }

    /// The first address and the first past the end of the symbol that covers each address, which is
    /// the one whose name [`Self::resolve`] tells; 0 and 0 where none does.
    pub fn symbol_ranges(&self, addresses: &[Svma]) -> Vec<(Svma, Svma)> {
        let range = |address: &Svma| {
            let row = self.symbol_row(*address);
            row.map_or((Svma(0), Svma(0)), |row| {
                let end = self.u64(Column::SymbolEnd, row);
                (Svma(self.u64(Column::SymbolStart, row)), Svma(end))
            })
        };
        addresses.iter().map(range).collect()
    }

    /// The symbol that covers an address: the nearest before it that reaches so far.
    fn symbol_row(&self, address: Svma) -> Option<usize> {
        /// How many symbols nested in a larger one are stepped over.
        const MOST_STEPS: usize = 16;
        let last = self.last_at_most(Column::SymbolStart, address.0)?;
        let mut found: Option<(u64, usize)> = None;
        for row in (last.saturating_sub(MOST_STEPS)..=last).rev() {
            let start = self.u64(Column::SymbolStart, row);
            if found.is_some_and(|(nearest, _)| nearest != start) {
                break;
            }
            if address.0 < self.u64(Column::SymbolEnd, row) {
                found = Some((start, row)); // the first of those at one address is preferred
            }
        }
        found.map(|(_, row)| row)
    }

    fn in_text(&self, address: Svma) -> bool {
        let row = self.last_at_most(Column::TextStart, address.0);
        row.is_some_and(|row| {
            let start = self.u64(Column::TextStart, row);
            address.0 - start < self.u64(Column::TextSize, row)
        })
    }
}

/// Why an instruction names an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Use {
    /// It jumps there, or calls it.
    Branch,
    /// It reads or writes so many bytes there.
    Access(u32),
    /// It takes the address, or adds an index to it: how much is read there is unknown.
    Address,
    /// It jumps to an address that a table there holds.
    Table,
}

/// An address that an instruction names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Reference {
    /// Where the instruction begins, from the first byte of the code.
    pub(crate) at: u32,
    pub(crate) target: u64,
    pub(crate) how: Use,
}

/// Code without the addresses that it names.
#[derive(Debug, Default)]
pub(crate) struct Scanned {
    /// Its bytes; where a part of an address was, there is 0.
    pub(crate) masked: Vec<u8>,
    pub(crate) references: Vec<Reference>,
    /// Numbers that may be addresses of variables for each processor, which start at 0 in kernels
    /// before 6.15. They are numbers in `masked`, too.
    pub(crate) maybe: Vec<Reference>,
    /// Where each instruction begins.
    pub(crate) starts: Vec<u32>,
}

impl Scanned {
    pub(crate) fn mask(&mut self, start: usize, size: usize) {
        if let Some(part) = self.masked.get_mut(start..start.saturating_add(size)) {
            part.fill(0);
        }
    }

    pub(crate) fn refer(&mut self, at: usize, target: u64, how: Use) {
        let at = at as u32;
        self.references.push(Reference { at, target, how });
    }

    /// The instruction that has a byte.
    pub(crate) fn instruction_at(&self, byte: usize) -> u32 {
        let next = self.starts.partition_point(|start| *start as usize <= byte);
        self.starts
            .get(next.wrapping_sub(1))
            .copied()
            .unwrap_or_default()
    }
}

use crate::{Classes, Flow};

/// What is to be known of one instruction. Kept from one to the next, for its buffers.
#[derive(Debug, Default)]
pub(crate) struct Instruction {
    /// Prefixes and mnemonic.
    pub(crate) operation: String,
    /// What it works with.
    pub(crate) operands: String,
    /// Operation and operands without what registers and addresses it happens to have.
    pub(crate) shape: String,
    /// The address that the operands name, or 0.
    pub(crate) reference: u64,
    pub(crate) flow: Flow,
    pub(crate) classes: Classes,
}

impl Clone for Instruction {
    fn clone(&self) -> Self {
        let mut copy = Instruction::default();
        copy.clone_from(self);
        copy
    }

    fn clone_from(&mut self, from: &Self) {
        self.operation.clone_from(&from.operation);
        self.operands.clone_from(&from.operands);
        self.shape.clone_from(&from.shape);
        self.reference = from.reference;
        self.flow = from.flow;
        self.classes = from.classes;
    }
}

impl Instruction {
    pub(crate) fn clear(&mut self) {
        self.operation.clear();
        self.operands.clear();
        self.shape.clear();
        self.reference = 0;
        self.flow = Flow::Next;
        self.classes = Classes::default();
    }

    /// It cannot be decoded.
    pub(crate) fn bad(&mut self) {
        self.clear();
        self.operation.push_str("(bad)");
        self.shape.push_str("(bad)");
    }
}

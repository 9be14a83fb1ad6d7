//! What a vCPU does.

use std::ptr::NonNull;

use crate::architecture::{End, Linkage};
use crate::block::Block;
use crate::calls::by_link::ByLink;
use crate::calls::by_slot::BySlot;
use crate::calls::Calls;
use crate::shadow_stack::ShadowStack;

/// What a vCPU does.
pub struct Vcpu {
    /// What is under way.
    pub stack: ShadowStack,
    /// What keeps the calls on the stack.
    pub calls: Box<dyn Calls>,
    /// The block that it began last. They live as long as the process.
    pub block: Option<NonNull<Block>>,
    /// While it is not its turn: how many instructions of the block started, if not all did.
    pub stopped: Option<usize>,
    /// While it is not its turn: the part of the recording that the block's end counts in, if any.
    pub counted: Option<u32>,
}

impl Vcpu {
    /// The first one, of an architecture that calls so. It has done nothing yet.
    pub fn first(linkage: Linkage) -> Vcpu {
        Vcpu::new(match linkage {
            Linkage::Stack(stack) => Box::new(BySlot::new(stack)),
            Linkage::Register => Box::<ByLink>::default(),
        })
    }

    /// Another one of the same guest.
    pub fn another(&self) -> Vcpu {
        Vcpu::new(self.calls.another())
    }

    /// A return or an indirect jump led it to `address`.
    pub fn went(&mut self, end: End, address: u64) {
        self.calls.went(&mut self.stack, end, address);
    }

    fn new(calls: Box<dyn Calls>) -> Vcpu {
        Vcpu {
            stack: ShadowStack::default(),
            calls,
            block: None,
            stopped: None,
            counted: None,
        }
    }
}

//! What shows that calls begin and end.

use crate::architecture::{End, Watched};
use crate::block::Block;
use crate::shadow_stack::ShadowStack;

pub mod by_link;
pub mod by_slot;

/// Keeps the calls on one vCPU's [`ShadowStack`]. The tasks that wait are known to all vCPUs.
pub trait Calls {
    /// The same, for another vCPU.
    fn another(&self) -> Box<dyn Calls>;

    /// An instruction of `block`, of which an access to memory is watched, made one at `address`:
    /// its last instruction, if that calls or returns.
    fn accessed(&mut self, stack: &mut ShadowStack, what: Watched, address: u64, block: &Block);

    /// The call at the end of `block` executed.
    fn called(&mut self, stack: &mut ShadowStack, block: &Block);

    /// A return or an indirect jump led to `address`.
    fn went(&mut self, stack: &mut ShadowStack, end: End, address: u64);

    /// Whether any task has been seen to switch to another one.
    fn has_switched(&self) -> bool;
}

//! Which types the values have that a function's instructions carry.

mod body;
mod given;
mod memory;
mod passing;
mod state;
mod step;
mod value;
mod walk;

pub(crate) use body::{Body, Instruction};
pub(crate) use given::Given;
pub(crate) use memory::{moved, Step};
pub(crate) use state::State;
pub(crate) use value::Value;
pub(crate) use walk::walk;

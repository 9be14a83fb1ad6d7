//! What lies where in types.

mod layout;
mod place;
mod view;

pub(crate) use layout::leaves;
pub(crate) use place::{choose, Fields, Place};
pub(crate) use view::TypeView;

//! "Data Processing -- Immediate", "-- Register", "-- Scalar Floating-Point and Advanced SIMD".

mod addition;
mod bitmask;
mod immediate;
mod logic;
mod register;
mod vector;

pub(super) use immediate::decode as immediate;
pub(super) use register::decode as register;
pub(super) use vector::decode as vector;

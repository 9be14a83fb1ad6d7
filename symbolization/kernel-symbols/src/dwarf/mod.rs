//! Debug information: from compilation units to functions, inline trees and line rows.
//!
//! What is read is paid for from the file's [`Budget`](crate::budget::Budget): each attribute, also
//! one without a size; each string as often as it is named; what is kept, by its size.

pub(crate) mod abbreviations;
mod action;
mod declaration;
mod entries;
mod failure;
mod lines;
mod origin;
mod paths;
mod place;
mod scopes;
mod sections;
mod table;
mod unit;
mod units;

pub(crate) use failure::Failure;
pub(crate) use sections::{Debug, DebugData, OpenUnit};
pub(crate) use table::{Function, Node, Row, UnitTable, END, NONE};
pub(crate) use units::convert;

/// What gimli reads from: little-endian bytes that outlive the conversion.
pub(crate) type Slice<'d> = gimli::EndianSlice<'d, gimli::LittleEndian>;

//! Debug information: from compilation units to functions, inline trees and line rows.

mod action;
mod declaration;
mod lines;
mod paths;
mod sections;
mod table;
mod unit;

pub(crate) use sections::{Debug, DebugData};
pub(crate) use table::{Function, Node, Row, UnitTable, END, NONE};

/// What gimli reads from: little-endian bytes that outlive the conversion.
pub(crate) type Slice<'d> = gimli::EndianSlice<'d, gimli::LittleEndian>;

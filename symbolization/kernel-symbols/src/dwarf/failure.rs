use std::fmt;

use crate::budget::Exhausted;

/// Why a compilation unit cannot be converted.
#[derive(Debug)]
pub(crate) enum Failure {
    /// It contradicts the format.
    Dwarf(gimli::Error),
    /// The one at this offset does.
    Unit(usize, gimli::Error),
    /// Functions are inlined into each other more often than is believed.
    TooDeep(u32),
    /// The file's budget is used up.
    Exhausted,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Dwarf(error) => write!(f, "{error}"),
            Failure::Unit(at, error) => write!(f, "unit at {at:#x} of .debug_info: {error}"),
            Failure::TooDeep(most) => write!(f, "functions inlined more than {most} deep"),
            Failure::Exhausted => write!(f, "too costly"),
        }
    }
}

impl From<gimli::Error> for Failure {
    fn from(error: gimli::Error) -> Self {
        Failure::Dwarf(error)
    }
}

impl From<Exhausted> for Failure {
    fn from(_: Exhausted) -> Self {
        Failure::Exhausted
    }
}

use gimli::AttributeValue;

use super::Slice;

/// Where a function's attributes continue.
#[derive(Clone, Copy)]
pub(crate) enum Origin {
    Own(gimli::UnitOffset),
    Other(gimli::DebugInfoOffset),
}

impl Origin {
    pub(crate) fn of(value: &AttributeValue<Slice<'_>>) -> Option<Self> {
        match value {
            AttributeValue::UnitRef(offset) => Some(Origin::Own(*offset)),
            AttributeValue::DebugInfoRef(offset) => Some(Origin::Other(*offset)),
            _ => None,
        }
    }
}

use data_types::Id;

use crate::fields::Fields;
use crate::kind::Reason;

/// What is known of a value of 64 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Value {
    /// No way has led here yet.
    Bottom,
    Unknown(Reason),
    /// A pointer so many bytes behind the start of something of a type. `indexed`: plus a multiple of
    /// something.
    Pointer {
        target: Id,
        offset: i64,
        indexed: bool,
    },
    /// An address so far behind the frame's (the CFA).
    Stack(i64),
    /// A number, which may be an address; of a per-CPU variable without what this processor adds.
    Constant(u64),
    /// An address, plus a multiple of something.
    Element(u64),
    /// The start of this processor's per-CPU data.
    PerCpu,
    /// What a stack protector compares.
    Canary,
}

impl Value {
    pub(crate) const NULL: Value = Value::Constant(0);

    /// A value of a type.
    pub(crate) fn of_type(fields: &Fields<'_, '_>, id: Id) -> Self {
        match fields.view.pointee(id) {
            Some(target) => Value::Pointer {
                target,
                offset: 0,
                indexed: false,
            },
            None if fields.view.is_pointer(id) => Value::Unknown(Reason::VoidPointer),
            None => Value::Unknown(Reason::Number),
        }
    }

    /// What is known of a value that is this one or another.
    pub(crate) fn join(self, fields: &Fields<'_, '_>, other: Self) -> Self {
        use Value::{Bottom, Pointer, Unknown};
        match (self, other) {
            (Bottom, value) | (value, Bottom) => value,
            _ if self == other => self,
            (Unknown(one), Unknown(other)) => Unknown(one.min(other)),
            (Pointer { .. }, Value::NULL) => self,
            (Value::NULL, Pointer { .. }) => other,
            (Value::Constant(one) | Value::Element(one), Value::Element(other))
            | (Value::Element(one), Value::Constant(other))
                if one == other =>
            {
                Value::Element(one)
            }
            (
                Pointer {
                    target,
                    offset,
                    indexed,
                },
                Pointer {
                    target: second,
                    offset: behind,
                    indexed: also,
                },
            ) if fields.view.same(target, second) => {
                let size = i64::try_from(fields.view.size(target)).unwrap_or(0);
                if offset == behind {
                    let indexed = indexed || also;
                    Pointer {
                        target,
                        offset,
                        indexed,
                    }
                } else if size > 0 && offset.wrapping_sub(behind) % size == 0 {
                    Pointer {
                        target,
                        offset: offset.rem_euclid(size),
                        indexed: indexed && also,
                    }
                } else {
                    Unknown(Reason::Joined)
                }
            }
            (
                Pointer { target, offset, .. },
                Pointer {
                    target: second,
                    offset: behind,
                    ..
                },
            ) => {
                // An element of an array within something larger: the loop's pointer.
                if fields.contains(target, offset, second, behind) {
                    other
                } else if fields.contains(second, behind, target, offset) {
                    self
                } else {
                    Unknown(Reason::Joined)
                }
            }
            (Unknown(reason), _) | (_, Unknown(reason)) => Unknown(reason),
            _ => Unknown(Reason::Joined),
        }
    }
}

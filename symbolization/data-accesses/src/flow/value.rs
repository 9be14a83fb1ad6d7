use data_types::Id;

use crate::fields::Fields;
use crate::kind::Reason;

/// What is known of a value of 64 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Value {
    /// No way has led here yet.
    Bottom,
    Unknown(Reason),
    /// A pointer so many bytes behind the start of something of a type, plus a multiple of `step`:
    /// 0: of nothing, 1: of no one knows what.
    Pointer {
        target: Id,
        offset: i64,
        step: u64,
    },
    /// An address so far behind the frame's (the CFA).
    Stack(i64),
    /// A number, which may be an address; of a per-CPU variable without what this processor adds.
    Constant(u64),
    /// A number plus a multiple of another one, which is larger than 1.
    Series(i64, u64),
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
                step: 0,
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
                    step,
                },
                Pointer {
                    target: second,
                    offset: behind,
                    step: also,
                },
            ) if fields.view.same(target, second) => {
                let step = divisor(step, also);
                let size = fields.view.size(target);
                let apart = offset.abs_diff(behind);
                // A list's node and what it is in (container_of()).
                let in_another = (offset < 0) != (behind < 0) && fields.view.links(target);
                if offset == behind || step > 1 && apart % step == 0 {
                    Value::pointer(fields, target, offset, step)
                } else if size > 0 && apart % size == 0 && !in_another {
                    // Another element.
                    let offset = offset.rem_euclid(i64::try_from(size).unwrap_or(i64::MAX));
                    Value::pointer(fields, target, offset, divisor(step, size))
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
                // An element of an array within something larger: the loop's pointer. One outside of
                // what it is said to point to is of the larger.
                let is_inside = |id: Id, at: i64| {
                    u64::try_from(at).is_ok_and(|at| at < fields.view.size(id).max(1))
                };
                if fields.contains(target, offset, second, behind) {
                    if is_inside(second, behind) {
                        other
                    } else {
                        self
                    }
                } else if fields.contains(second, behind, target, offset) {
                    if is_inside(target, offset) {
                        self
                    } else {
                        other
                    }
                } else {
                    Unknown(Reason::Joined)
                }
            }
            (Unknown(reason), _) | (_, Unknown(reason)) => Unknown(reason),
            (Value::Constant(_) | Value::Series(..), Value::Constant(_) | Value::Series(..))
                if !self.is_address() && !other.is_address() =>
            {
                let ((start, step), (behind, also)) = (self.series(), other.series());
                let step = divisor(divisor(step, also), start.abs_diff(behind));
                Value::number(start, step, Reason::Joined)
            }
            _ => Unknown(Reason::Joined),
        }
    }

    /// A pointer, which is the same for all elements of an array.
    pub(crate) fn pointer(fields: &Fields<'_, '_>, target: Id, offset: i64, step: u64) -> Self {
        // Outside of it, it may be another element, or something of what it is in.
        let size = fields.view.size(target);
        let inside = u64::try_from(offset).is_ok_and(|offset| offset < size);
        let is_element = step > 0 && size > 0 && step % size == 0 && inside;
        Value::Pointer {
            target,
            offset,
            step: if is_element { 0 } else { step },
        }
    }

    /// A number plus a multiple of a step.
    pub(crate) fn number(start: i64, step: u64, reason: Reason) -> Self {
        match step {
            0 => Value::Constant(start as u64),
            1 => Value::Unknown(reason),
            _ => Value::Series(start, step),
        }
    }

    /// Whether it is an address of the kernel's code or data.
    fn is_address(self) -> bool {
        matches!(self, Value::Constant(at) if is_kernel(at))
    }

    /// A number, and of what a multiple is added: 0: of nothing, 1: of no one knows what.
    pub(crate) fn series(self) -> (i64, u64) {
        match self {
            _ if self.is_address() => (0, 1),
            Value::Constant(number) => (number as i64, 0),
            Value::Series(start, step) => (start, step),
            _ => (0, 1),
        }
    }

    /// A number times another one.
    pub(crate) fn times(self, other: Self) -> Self {
        let ((one, step), (second, also)) = (self.series(), other.series());
        let crossed = divisor(
            one.unsigned_abs().saturating_mul(also),
            second.unsigned_abs().saturating_mul(step),
        );
        let step = divisor(crossed, step.saturating_mul(also));
        Value::number(one.wrapping_mul(second), step, Reason::Computed)
    }
}

/// The largest number that both are multiples of.
pub(crate) fn divisor(one: u64, other: u64) -> u64 {
    let (mut one, mut other) = (one, other);
    while other > 0 {
        (one, other) = (other, one % other);
    }
    one
}

/// Whether a number is an address of the kernel's code or data, rather than a small negative one.
pub(super) fn is_kernel(number: u64) -> bool {
    const FIRST: u64 = 1 << 63;
    const SMALL: u64 = 0xffff_ffff_ff00_0000;
    (FIRST..SMALL).contains(&number)
}

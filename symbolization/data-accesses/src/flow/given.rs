use crate::machine::Register;

/// What the function was given in a register, plus a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Given {
    pub(crate) register: Register,
    pub(crate) offset: i64,
}

impl Given {
    pub(super) fn plus(self, number: i64) -> Self {
        Given {
            offset: self.offset.wrapping_add(number),
            ..self
        }
    }
}

use super::given::Given;
use super::memory::Step;
use super::state::State;
use super::value::Value;
use crate::machine::{Address, Register, Source};

impl Step<'_, '_, '_> {
    /// Whether a source is that.
    pub(super) fn given_by(&self, state: &State, source: &Source) -> Option<Given> {
        let of = |register: Register| state.given[usize::from(register)];
        match source {
            Source::Register(register) => of(*register),
            Source::Sum(address) => state.passed(address),
            Source::Load(address) => match self.address(state, address) {
                Value::Stack(slot) => state.given_at(slot),
                _ => None,
            },
            Source::Difference(one, other) => {
                Some(of(*one)?.plus(number(state, *other)?.wrapping_neg()))
            }
            Source::Either(one, other) => of(*one).filter(|_| of(*one) == of(*other)),
            _ => None,
        }
    }
}

impl State {
    /// Whether an address is something that the function was given, plus a number.
    pub(crate) fn passed(&self, address: &Address) -> Option<Given> {
        let (register, number) = match (address.base, address.index) {
            _ if address.per_cpu => return None,
            (Some(base), None) => (base, 0),
            (None, Some((index, 1))) => (index, 0),
            (Some(base), Some((index, scale))) => {
                (base, number(self, index)?.wrapping_mul(i64::from(scale)))
            }
            _ => return None,
        };
        let given = self.given[usize::from(register)]?;
        Some(given.plus(number.wrapping_add(address.displacement)))
    }
}

/// The number in a register, if that is known.
fn number(state: &State, register: Register) -> Option<i64> {
    match state.registers[usize::from(register)] {
        Value::Constant(number) => Some(number as i64),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kind::Reason;

    const RDI: Register = 7;
    const RSI: Register = 6;

    /// A state in which a register has what the function was given in it, plus a number.
    fn given(register: Register, offset: i64) -> State {
        let mut state = State::anywhere(Reason::Computed);
        state.given[usize::from(register)] = Some(Given { register, offset });
        state
    }

    fn behind(register: Register, displacement: i64) -> Address {
        Address {
            base: Some(register),
            displacement,
            ..Address::default()
        }
    }

    #[test]
    fn a_constant_is_added_to_what_is_given() {
        let state = given(RDI, 16);
        let found = |address: &Address| state.passed(address).map(|one| one.offset);
        assert_eq!(found(&behind(RDI, 0)), Some(16));
        assert_eq!(found(&behind(RDI, -24)), Some(-8));
        assert_eq!(found(&behind(RSI, 0)), None);
        let alone = Address {
            base: None,
            index: Some((RDI, 1)),
            ..behind(RDI, 8)
        };
        assert_eq!(found(&alone), Some(24));
        let per_cpu = Address {
            per_cpu: true,
            ..behind(RDI, 0)
        };
        assert_eq!(found(&per_cpu), None);
    }

    #[test]
    fn an_index_counts_only_where_it_is_known() {
        let mut state = given(RDI, 0);
        let indexed = Address {
            index: Some((RSI, 8)),
            ..behind(RDI, 4)
        };
        assert_eq!(state.passed(&indexed), None);
        state.registers[usize::from(RSI)] = Value::Constant(3);
        assert_eq!(state.passed(&indexed).map(|one| one.offset), Some(28));
        let multiple = Address {
            base: None,
            index: Some((RDI, 2)),
            ..behind(RDI, 0)
        };
        assert_eq!(state.passed(&multiple), None);
    }

    #[test]
    fn what_is_stored_comes_back() {
        let mut state = given(RDI, 8);
        let one = state.given[usize::from(RDI)];
        state.store(-16, 8, Value::Unknown(Reason::Computed), one);
        assert_eq!(state.given_at(-16), one);
        assert_eq!(state.given_at(-8), None);
        // A part of it.
        state.store(-12, 4, Value::Unknown(Reason::Number), None);
        assert_eq!(state.given_at(-16), None);
    }
}

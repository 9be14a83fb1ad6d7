use data_types::Id;

use super::memory::Step;
use super::state::State;
use super::value::{divisor, is_kernel, Value};
use crate::kind::Reason;
use crate::machine::{Address, Control, Effect, Machine, Register, Source};

/// How much of an object on the stack, of which nothing is known, a called function may change.
const ESCAPED: u64 = 16;

impl<'d> Step<'_, '_, 'd> {
    fn machine(&self) -> &'d dyn Machine {
        self.fields.view.program.machine
    }

    /// What variables in registers tell before an instruction.
    pub(crate) fn variables(&self, instruction: usize, state: &mut State) {
        let view = &self.fields.view;
        let mut settled = None;
        let half = self.half_a_sum(instruction);
        for one in self.body.all_candidates(instruction) {
            if half == Some(one.register) {
                continue;
            }
            let own = &mut state.registers[usize::from(one.register)];
            if settled == Some(one.register) || matches!(own, Value::Stack(_) | Value::Canary) {
                continue;
            }
            let variable = &self.body.function.variables[one.variable as usize];
            let Some(target) = view.pointee(variable.target) else {
                continue;
            };
            let offset = one.add.wrapping_neg();
            let known = Value::Pointer {
                target,
                offset,
                step: 0,
            };
            if !view.is_record(target) {
                if matches!(own, Value::Unknown(_) | Value::Bottom) && one.add == 0 {
                    *own = known;
                }
                continue;
            }
            // A pointer into something larger, of which the variable is a part, says more.
            let within = match *own {
                Value::Pointer {
                    target: outer,
                    offset: behind,
                    ..
                } => self.fields.contains(outer, behind, target, offset),
                _ => false,
            };
            if !within {
                *own = known;
            }
            settled = Some(one.register);
        }
    }

    /// The register to which the second of two instructions adds what the first could not: for
    /// compilers these are one, before which a variable is there (arm64: ADD of 12 bits, LSL #12).
    fn half_a_sum(&self, instruction: usize) -> Option<Register> {
        const PART: i64 = 1 << 12;
        let added = |number: usize| {
            let one = self.body.code.get(number)?;
            match one.operation.effects.as_slice() {
                [Effect::Set(register, Source::Sum(sum))] if sum.index.is_none() => Some((
                    *register,
                    sum.base?,
                    sum.displacement,
                    one.address.wrapping_add(one.length),
                )),
                _ => None,
            }
        };
        let (register, base, ..) = added(instruction)?;
        let (before, _, distance, end) = added(instruction.checked_sub(1)?)?;
        let is_next = end == self.body.code[instruction].address;
        let is_half = distance != 0 && distance % PART == 0;
        (is_next && is_half && register == base && register == before).then_some(register)
    }

    fn source(&self, instruction: usize, state: &State, source: &Source) -> Value {
        use Value::{Constant, Pointer, Stack, Unknown};
        let value = |register: u8| state.registers[usize::from(register)];
        match source {
            Source::Register(register) => value(*register),
            Source::Constant(number) => Constant(*number),
            Source::Sum(address) => self.sum(state, address),
            Source::Load(address) => self.loaded(instruction, state, address),
            Source::SumWithLoad(register, address) => {
                let loaded = self.loaded(instruction, state, address);
                self.plus(value(*register), loaded)
            }
            Source::Difference(one, other) => match (value(*one), value(*other)) {
                (Pointer { .. }, Pointer { .. }) => Unknown(Reason::Computed),
                (
                    Pointer {
                        target,
                        offset,
                        step,
                    },
                    number,
                ) => {
                    let (less, also) = number.series();
                    let offset = offset.wrapping_sub(less);
                    Value::pointer(self.fields, target, offset, divisor(step, also))
                }
                (one, other) => {
                    let ((start, step), (less, also)) = (one.series(), other.series());
                    let start = start.wrapping_sub(less);
                    Value::number(start, divisor(step, also), Reason::Computed)
                }
            },
            Source::Product(register, factor) => value(*register).times(Constant(*factor)),
            Source::Multiple(factor) => Value::number(0, *factor, Reason::Computed),
            Source::SumWithProduct(register, one, other) => {
                let product = value(*one).times(value(*other));
                match register {
                    Some(register) => self.plus(value(*register), product),
                    None => product,
                }
            }
            Source::Masked(register, mask) => {
                // Low bits of a pointer are flags.
                const FLAGS: i64 = -256;
                match value(*register) {
                    Stack(_) => Unknown(Reason::StackSlot),
                    Constant(number) => Constant(number & mask),
                    known @ Pointer { .. } if (FLAGS..0).contains(&(*mask as i64)) => known,
                    known @ (Value::Element(_) | Unknown(_) | Value::PerCpu | Value::Canary)
                        if (FLAGS..0).contains(&(*mask as i64)) =>
                    {
                        known
                    }
                    _ => {
                        let factor = 1u64.checked_shl(mask.trailing_zeros()).unwrap_or(0);
                        Value::number(0, factor, Reason::Computed)
                    }
                }
            }
            Source::Both(one, other) => self.both(value(*one), value(*other)),
            Source::Either(one, other) => {
                let one = self.chosen(instruction, value(*one), *one, true);
                let other = self.chosen(instruction, value(*other), *other, false);
                one.join(self.fields, other)
            }
            Source::EitherLoad(register, address) => {
                let loaded = self.loaded(instruction, state, address);
                let own = self.chosen(instruction, value(*register), *register, false);
                own.join(self.fields, loaded)
            }
            Source::Task => self.task.map_or(Unknown(Reason::Loaded), |target| Pointer {
                target,
                offset: 0,
                step: 0,
            }),
            Source::PerCpu => Value::PerCpu,
            Source::Number => Unknown(Reason::Number),
            Source::Computed => Unknown(Reason::Computed),
        }
    }

    /// What is in a register that is taken if the instruction's condition holds, or if it does not.
    fn chosen(&self, instruction: usize, value: Value, register: Register, holds: bool) -> Value {
        match self.null(instruction) {
            Some(null) if null == (register, holds) => Value::NULL,
            _ => value,
        }
    }

    /// A register that is 0 if the instruction's condition holds, or if it does not.
    pub(super) fn null(&self, instruction: usize) -> Option<(Register, bool)> {
        let one = &self.body.code[instruction];
        let holds = one.operation.if_equal?;
        let register = one.operation.compared.or_else(|| {
            let before = self.body.code.get(instruction.checked_sub(1)?)?;
            let is_next = before.address.wrapping_add(before.length) == one.address;
            before.operation.compared.filter(|_| is_next)
        })?;
        Some((register, holds))
    }

    /// A sum as a number.
    fn sum(&self, state: &State, address: &Address) -> Value {
        match (address.base, address.index) {
            (Some(one), Some((other, 1))) if address.displacement == 0 => {
                let value = |register: u8| state.registers[usize::from(register)];
                match (value(one), value(other)) {
                    (Value::PerCpu, other) | (other, Value::PerCpu) => {
                        self.plus(Value::PerCpu, other)
                    }
                    _ => self.address(state, address),
                }
            }
            _ => self.address(state, address),
        }
    }

    /// A pointer under a mask that was computed: the head of the pages that it is one of.
    fn both(&self, one: Value, other: Value) -> Value {
        use Value::{Pointer, Unknown};
        let head = |target| Pointer {
            target,
            offset: 0,
            step: 0,
        };
        match (one, other) {
            (
                Pointer {
                    target, offset: 0, ..
                },
                Unknown(_),
            )
            | (
                Unknown(_),
                Pointer {
                    target, offset: 0, ..
                },
            ) if self.fields.view.is_record(target) => head(target),
            (
                Pointer {
                    target, offset: 0, ..
                },
                Pointer { target: also, .. },
            )
            | (
                Pointer { target: also, .. },
                Pointer {
                    target, offset: 0, ..
                },
            ) if self.fields.view.same(target, also) => head(target),
            _ => Unknown(Reason::Computed),
        }
    }

    /// What is known behind an instruction.
    pub(crate) fn step(&self, instruction: usize, state: &mut State) {
        let operation = &self.body.code[instruction].operation;
        let mut sets = [(0u8, Value::Bottom, None); 4];
        let mut stores = [(0i64, 0u32, Value::Bottom, None); 4];
        let (mut set, mut stored, mut lists_change) = (0, 0, false);
        for effect in &operation.effects {
            match effect {
                Effect::Set(register, source) if set < sets.len() => {
                    let value = self.source(instruction, state, source);
                    sets[set] = (*register, value, self.given_by(state, source));
                    set += 1;
                }
                Effect::Store(address, size, source) if stored < stores.len() => {
                    match self.address(state, address) {
                        Value::Stack(slot) => {
                            let value = self.source(instruction, state, source);
                            stores[stored] = (slot, *size, value, self.given_by(state, source));
                            stored += 1;
                        }
                        // A list's neighbour may be on the stack.
                        _ => lists_change = true,
                    }
                }
                // No instruction that is followed has more; nothing is known of what it changes.
                Effect::Set(register, _) => {
                    let value = Value::Unknown(Reason::Computed);
                    state.registers[usize::from(*register)] = value;
                    state.given[usize::from(*register)] = None;
                }
                Effect::Store(..) => {}
            }
        }
        for (register, value, given) in &sets[..set] {
            state.registers[usize::from(*register)] = *value;
            state.given[usize::from(*register)] = *given;
        }
        if lists_change {
            state.change_lists();
        }
        for (slot, size, value, given) in &stores[..stored] {
            state.store(*slot, *size, *value, *given);
        }
        self.call(instruction, &operation.control, state);
    }

    fn call(&self, instruction: usize, control: &Control, state: &mut State) {
        let called = match control {
            Control::Call(target) => match (self.thunk)(*target) {
                Some(register) => self.result_by(state.registers[usize::from(register)]),
                None => (self.result_of)(*target),
            },
            Control::IndirectCall(register) => {
                self.result_by(state.registers[usize::from(*register)])
            }
            Control::IndirectCallThrough(address) => {
                self.result_by(self.loaded(instruction, state, address))
            }
            _ => return,
        };
        for register in self.machine().arguments() {
            if let Value::Stack(slot) = state.registers[usize::from(*register)] {
                let variable = self.stack_variable(instruction, state, slot);
                let size = variable.map_or(ESCAPED, |(number, _)| {
                    let variable = &self.body.function.variables[number as usize];
                    self.fields.view.size(variable.target)
                });
                state.change(slot, size);
            }
        }
        state.change_lists();
        let result = match called {
            Some(Some(id)) => Value::of_type(self.fields, id),
            _ => Value::Unknown(Reason::CallResult),
        };
        for register in self.machine().scratch() {
            state.registers[usize::from(*register)] = Value::Unknown(Reason::CallResult);
            state.given[usize::from(*register)] = None;
        }
        state.registers[usize::from(self.machine().result())] = result;
    }

    /// What the function returns that a value points to.
    fn result_by(&self, value: Value) -> Option<Option<Id>> {
        match value {
            Value::Pointer {
                target, offset: 0, ..
            } => self.fields.view.result(target),
            Value::Constant(address) => (self.result_of)(address),
            _ => None,
        }
    }

    /// The sum of two values.
    fn plus(&self, one: Value, other: Value) -> Value {
        use Value::{Constant, Element, PerCpu, Pointer, Series, Unknown};
        match (one, other) {
            (PerCpu, known @ (Pointer { .. } | Constant(_) | Element(_)))
            | (known @ (Pointer { .. } | Constant(_) | Element(_)), PerCpu) => known,
            (
                Pointer {
                    target,
                    offset,
                    step,
                },
                number,
            )
            | (
                number,
                Pointer {
                    target,
                    offset,
                    step,
                },
            ) => {
                let (more, also) = number.series();
                let offset = offset.wrapping_add(more);
                Value::pointer(self.fields, target, offset, divisor(step, also))
            }
            (Constant(at) | Element(at), number @ (Unknown(_) | Series(..)))
            | (number @ (Unknown(_) | Series(..)), Constant(at) | Element(at))
                if is_kernel(at) =>
            {
                Element(at.wrapping_add_signed(number.series().0))
            }
            (one, other) => {
                let ((start, step), (more, also)) = (one.series(), other.series());
                let start = start.wrapping_add(more);
                Value::number(start, divisor(step, also), Reason::Computed)
            }
        }
    }
}

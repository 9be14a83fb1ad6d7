use std::collections::{BTreeSet, HashMap};

use data_types::Id;

use super::container::container;
use super::memory::Memory;
use crate::fields::Fields;
use crate::flow::{Given, State, Step, Value};
use crate::machine::{Control, Register};
use crate::program::Static;

/// Bytes of the largest record that is taken for a part of another one: a lock, a list, a counter.
/// The name of a larger one says enough.
pub(super) const LARGEST_PART: u64 = 128;

/// How far behind its symbol a function may be called: behind what says that it may be called
/// (ENDBR64, BTI).
const FIRST: u64 = 16;

/// What a function gets in one register from one call.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Argument {
    /// A pointer into something of a type.
    Place(Id, i64),
    /// One into a variable, by its address and name.
    Symbol(u64, String, i64),
    /// What the caller, whose address is first, was given itself.
    Passed(u64, Given),
    /// Nothing is known of it.
    Unknown,
}

/// What functions are given at the direct calls that executed.
pub(super) struct Calls {
    /// By the function's address and the register.
    arguments: HashMap<(u64, Register), BTreeSet<Argument>>,
    pub(super) symbols: HashMap<(u64, String), Static>,
}

impl Calls {
    pub(super) fn new() -> Self {
        Calls {
            arguments: HashMap::new(),
            symbols: HashMap::new(),
        }
    }

    /// What a function is given in a register; none where no call of it is known.
    pub(super) fn of(&self, entry: u64, register: Register) -> Option<&BTreeSet<Argument>> {
        self.arguments.get(&(entry, register))
    }

    /// A call from code of which nothing else is known.
    pub(super) fn outside(&mut self, memory: &Memory<'_, '_>, control: &Control) {
        if let Some(entry) = called(memory, control) {
            for register in memory.program.machine.arguments() {
                self.add(entry, *register, Argument::Unknown);
            }
        }
    }

    /// Add what an instruction calls, if it does, given what is known before it. Returns its first
    /// argument, if that is a pointer.
    pub(super) fn add_call(
        &mut self,
        memory: &Memory<'_, '_>,
        step: &Step<'_, '_, '_>,
        number: usize,
        state: &State,
    ) -> Option<Argument> {
        let control = &step.body.code[number].operation.control;
        let entry = called(memory, control)?;
        // A loop that leads to the function's start is no call.
        if entry == step.body.entry && !matches!(control, Control::Call(_)) {
            return None;
        }
        let mut first = None;
        for (at, register) in memory.program.machine.arguments().iter().enumerate() {
            if let Some(found) = self.argument(memory, step, number, state, *register) {
                if at == 0 {
                    first = Some(found.clone());
                }
                self.add(entry, *register, found);
            }
        }
        first
    }

    fn add(&mut self, entry: u64, register: Register, argument: Argument) {
        let known = self.arguments.entry((entry, register));
        known.or_default().insert(argument);
    }

    /// What a register holds before a call; none if that is no pointer.
    fn argument(
        &mut self,
        memory: &Memory<'_, '_>,
        step: &Step<'_, '_, '_>,
        number: usize,
        state: &State,
        register: Register,
    ) -> Option<Argument> {
        let fields = step.fields;
        let value = state.registers[usize::from(register)];
        let given = state.given[usize::from(register)];
        let passed = given.map(|given| Argument::Passed(step.body.entry, given));
        let found = match value {
            Value::Pointer {
                target,
                offset,
                step: moves,
            } => {
                let found = place(fields, target, offset, moves)
                    .or_else(|| around(step, target, offset, moves));
                found.filter(|one| given.is_none() || fields.view.size(one.0) > LARGEST_PART)
            }
            Value::Stack(slot) => {
                step.stack_variable(number, state, slot)
                    .and_then(|(variable, within)| {
                        let variable = &step.body.function.variables[variable as usize];
                        place(fields, variable.target, within, 0)
                    })
            }
            Value::Constant(0) | Value::Series(..) | Value::Canary => return None,
            Value::Constant(at) | Value::Element(at) => {
                return memory.variable(at).map(|found| {
                    let offset = at.wrapping_sub(found.start) as i64;
                    let key = (found.start, found.name.clone());
                    let (start, name) = key.clone();
                    let target = found.target;
                    self.symbols.entry(key).or_insert(found);
                    match value {
                        Value::Constant(_) => Argument::Symbol(start, name, offset),
                        _ => target
                            .and_then(|id| place(fields, id, offset, 1))
                            .map_or(Argument::Unknown, |(id, at)| Argument::Place(id, at)),
                    }
                });
            }
            _ => None,
        };
        let found = found.map(|(id, offset)| Argument::Place(id, offset));
        Some(found.or(passed).unwrap_or(Argument::Unknown))
    }
}

/// The function that an instruction calls, or jumps to.
fn called(memory: &Memory<'_, '_>, control: &Control) -> Option<u64> {
    let (Control::Call(target) | Control::Jump(target) | Control::Branch(target)) = control else {
        return None;
    };
    let linked = memory.linked(*target)?;
    let within = linked - memory.program.statics.symbol(linked)?.start;
    (within <= FIRST).then(|| target.wrapping_sub(within))
}

/// A place in the only record that may be around another one.
fn around(step: &Step<'_, '_, '_>, inner: Id, offset: i64, moves: u64) -> Option<(Id, i64)> {
    if moves > 0 || !step.fields.view.is_record(inner) {
        return None;
    }
    let found = container(step.fields, step, inner, offset, 1)?;
    place(step.fields, found.id, found.offset, 0)
}

/// A place in a record. Of an array, that in one of its elements: which one, nobody asks.
fn place(fields: &Fields<'_, '_>, id: Id, offset: i64, step: u64) -> Option<(Id, i64)> {
    let view = &fields.view;
    let places = fields.places(id, offset, 1);
    let chain = &places.first()?.chain;
    let is_element = |pair: &[(Id, u64, usize)]| {
        let (array, element) = (pair[0].0, pair[1].0);
        let size = view.size(element);
        view.is_array(array)
            && view.is_record(element)
            && size > 0
            && (step <= 1 || step % size == 0)
    };
    let mut elements = chain.windows(2).filter(|pair| is_element(pair));
    match elements.next_back() {
        Some(pair) => Some((pair[1].0, i64::try_from(pair[1].1).ok()?)),
        None => (step == 0 && view.is_record(id)).then_some((id, offset)),
    }
}

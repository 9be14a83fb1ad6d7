use super::given::Given;
use super::memory::Step;
use super::state::State;
use super::value::Value;
use crate::kind::Reason;
use crate::machine::Control;

/// How often the walk may come by an instruction. It comes by twice or three times.
const MOST_VISITS: u32 = 60;

/// Bytes of the largest record that a function returns in registers.
const LARGEST_RESULT: u64 = 16;

/// What is known before each instruction: forward, until nothing changes.
pub(crate) fn walk(step: &Step<'_, '_, '_>) -> Vec<State> {
    let code = &step.body.code;
    let mut walk = Walk {
        step,
        states: vec![State::nowhere(); code.len()],
        visits: vec![0; code.len()],
        work: Vec::new(),
    };
    if let Some(first) = step.body.at.get(&step.body.entry) {
        walk.states[*first] = entry(step);
        walk.work.push(*first);
    }
    let mut next = 0;
    loop {
        walk.run();
        // Code that only an indirect jump, an exception or a window's start leads to.
        while next < code.len() && walk.states[next].live {
            next += 1;
        }
        if next == code.len() {
            return walk.states;
        }
        walk.states[next] = walk.jumped();
        walk.work.push(next);
    }
}

fn entry(step: &Step<'_, '_, '_>) -> State {
    let machine = step.fields.view.program.machine;
    let mut state = State::anywhere(Reason::ChangedParameter);
    if step.body.has_parameters {
        state = State::anywhere(Reason::Computed);
        let view = &step.fields.view;
        let mut arguments = machine.arguments().iter().peekable();
        if let Some(Some(id)) = (step.result_of)(step.body.entry) {
            if view.is_record(id) && view.size(id) > LARGEST_RESULT {
                let register = machine.result_address();
                state.registers[usize::from(register)] = Value::pointer(step.fields, id, 0, 0);
                arguments.next_if(|first| **first == register);
            }
        }
        for (register, id) in arguments.zip(&step.body.function.parameters) {
            // Records go elsewhere, and so may those behind them.
            if view.is_record(*id) && view.size(*id) > 8 {
                break;
            }
            state.registers[usize::from(*register)] = Value::of_type(step.fields, *id);
        }
    }
    for register in machine.arguments() {
        state.given[usize::from(*register)] = Some(Given {
            register: *register,
            offset: 0,
        });
    }
    let stack = Value::Stack(machine.entry_stack());
    state.registers[usize::from(machine.stack_pointer())] = stack;
    state
}

struct Walk<'w, 's, 'p, 'd> {
    step: &'w Step<'s, 'p, 'd>,
    states: Vec<State>,
    visits: Vec<u32>,
    work: Vec<usize>,
}

impl Walk<'_, '_, '_, '_> {
    fn run(&mut self) {
        let body = self.step.body;
        while let Some(mut number) = self.work.pop() {
            let mut state = self.states[number].clone();
            loop {
                self.visits[number] += 1;
                if self.visits[number] > MOST_VISITS {
                    break;
                }
                self.step.variables(number, &mut state);
                self.states[number].registers = state.registers;
                let instruction = &body.code[number];
                self.step.step(number, &mut state);
                match instruction.operation.control {
                    Control::Branch(target) => self.branch(number, target, &mut state),
                    Control::Jump(target) => self.lead(target, &state),
                    _ => {}
                }
                if !goes_on(&instruction.operation.control) {
                    break;
                }
                let behind = instruction.address.wrapping_add(instruction.length);
                let Some(next) = body.at.get(&behind).copied() else {
                    break;
                };
                if !self.states[next].merge(self.step.fields, &state) {
                    break;
                }
                state.clone_from(&self.states[next]);
                number = next;
            }
        }
    }

    /// What is known where a branch leads, and then behind it.
    fn branch(&mut self, number: usize, target: u64, state: &mut State) {
        let Some((register, holds)) = self.step.null(number) else {
            return self.lead(target, state);
        };
        let mut null = state.clone();
        null.registers[usize::from(register)] = Value::NULL;
        if holds {
            self.lead(target, &null);
        } else {
            self.lead(target, state);
            *state = null;
        }
    }

    fn lead(&mut self, target: u64, state: &State) {
        if let Some(next) = self.step.body.at.get(&target) {
            if self.states[*next].merge(self.step.fields, state) {
                self.work.push(*next);
            }
        }
    }

    /// What is known behind any of the indirect jumps that were come by.
    fn jumped(&self) -> State {
        let mut joined = State::nowhere();
        for (number, instruction) in self.step.body.code.iter().enumerate() {
            let jumps = matches!(
                instruction.operation.control,
                Control::IndirectJump(_) | Control::IndirectJumpThrough(_)
            );
            if jumps && self.states[number].live {
                let mut state = self.states[number].clone();
                self.step.step(number, &mut state);
                joined.merge(self.step.fields, &state);
            }
        }
        if !joined.live {
            joined = State::anywhere(Reason::EnteredInside);
        }
        joined
    }
}

fn goes_on(control: &Control) -> bool {
    !matches!(
        control,
        Control::Jump(_)
            | Control::IndirectJump(_)
            | Control::IndirectJumpThrough(_)
            | Control::Leave
    )
}

use std::cmp::Reverse;
use std::collections::HashMap;

use crate::machine::{Operation, Register};
use crate::program::{Function, Location};

/// An instruction that executed.
pub(crate) struct Instruction {
    /// Where it ran.
    pub(crate) address: u64,
    /// Where the file has it.
    pub(crate) linked: u64,
    pub(crate) length: u64,
    pub(crate) operation: Operation,
}

/// A variable that a register has the value of, less a number.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Candidate {
    pub(crate) register: Register,
    /// The variable's number in the function.
    pub(crate) variable: u32,
    pub(crate) add: i64,
    /// Whether the instruction belongs to the variable's scope.
    pub(crate) inside: bool,
}

/// The executed code of a function, or of a symbol without one.
pub(crate) struct Body {
    pub(crate) function: Function,
    /// By address.
    pub(crate) code: Vec<Instruction>,
    /// Numbers of instructions by address.
    pub(crate) at: HashMap<u64, usize>,
    /// Of each instruction, by register, those of the innermost scope first.
    candidates: Vec<Vec<Candidate>>,
    /// Of each instruction the variables that are in memory.
    in_memory: Vec<Vec<u32>>,
    /// Whether it uses the kernel's container_of(), so that a pointer may lead out of its type.
    pub(crate) has_container: bool,
    /// Whether the registers at the entry are those that the ABI says.
    pub(crate) has_parameters: bool,
    /// The address of its entry.
    pub(crate) entry: u64,
}

/// How many variables may be live at all instructions of a function together.
const MOST_LIVE: usize = 1 << 22;

impl Body {
    pub(crate) fn new(
        function: Function,
        code: Vec<Instruction>,
        entry: u64,
        has_parameters: bool,
    ) -> Self {
        let at = code.iter().enumerate();
        let at = at.map(|(number, one)| (one.address, number)).collect();
        let mut body = Body {
            candidates: vec![Vec::new(); code.len()],
            in_memory: vec![Vec::new(); code.len()],
            function,
            code,
            at,
            has_container: false,
            has_parameters,
            entry,
        };
        body.find_variables();
        body
    }

    fn find_variables(&mut self) {
        let mut order: Vec<(u64, usize)> = Vec::with_capacity(self.code.len());
        order.extend(
            self.code
                .iter()
                .enumerate()
                .map(|(number, one)| (one.linked, number)),
        );
        order.sort_unstable();
        let mut left = MOST_LIVE;
        for (number, variable) in self.function.variables.iter().enumerate() {
            let first = order.partition_point(|one| one.0 < variable.start);
            let there = order[first..].iter().take_while(|one| one.0 < variable.end);
            for (linked, instruction) in there {
                if left == 0 {
                    return;
                }
                left -= 1;
                match variable.location {
                    Location::Value(register, add) => {
                        let scope = &self.function.scopes[variable.scope as usize];
                        self.candidates[*instruction].push(Candidate {
                            register,
                            variable: number as u32,
                            add,
                            inside: scope.has(*linked),
                        });
                    }
                    Location::Memory(..) | Location::InFrame(..) | Location::Frame(_) => {
                        self.in_memory[*instruction].push(number as u32);
                    }
                    Location::Static(_) => {}
                }
            }
        }
        let (variables, scopes) = (&self.function.variables, &self.function.scopes);
        for one in &mut self.candidates {
            one.sort_by_key(|one| {
                let depth = scopes[variables[one.variable as usize].scope as usize].depth;
                (one.register, !one.inside, Reverse(depth))
            });
        }
    }

    /// The variables in registers at an instruction.
    pub(crate) fn all_candidates(&self, instruction: usize) -> &[Candidate] {
        &self.candidates[instruction]
    }

    /// The variables in a register at an instruction: those of the innermost scope first.
    pub(crate) fn candidates(&self, instruction: usize, register: Register) -> &[Candidate] {
        let every = &self.candidates[instruction];
        let start = every.partition_point(|one| one.register < register);
        let end = every.partition_point(|one| one.register <= register);
        &every[start..end]
    }

    /// The variables in memory at an instruction.
    pub(crate) fn in_memory(&self, instruction: usize) -> &[u32] {
        &self.in_memory[instruction]
    }

    /// The name of the innermost function at an instruction; "" where none is known.
    pub(crate) fn innermost(&self, instruction: usize) -> &str {
        let linked = self.code[instruction].linked;
        let inside = self
            .function
            .scopes
            .iter()
            .filter(|scope| scope.has(linked));
        inside
            .max_by_key(|scope| scope.depth)
            .map_or("", |scope| &scope.name)
    }
}

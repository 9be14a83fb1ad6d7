//! From executed instructions to what they access.

mod calls;
mod classify;
mod columns;
mod container;
mod layouts;
mod memory;
mod origins;
mod target;

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use data_types::Id;
use kernel_symbols::{DebugFile, Error, Kallsyms, LoadedSection, Result};

pub use columns::{Accesses, Flags};

use self::calls::Calls;
use self::classify::Classifier;
use self::memory::Memory;
use crate::fields::{Fields, TypeView};
use crate::flow::{walk, Body, Instruction, Step, Value};
use crate::machine::{named, Operation};
use crate::program::{Function, Index, Program, CONTAINED, SECTIONS};

/// An instruction that executed: where, and its bytes.
#[derive(Clone, Copy, Debug)]
pub struct Executed<'c> {
    /// Where it ran (avma).
    pub address: u64,
    /// All of its bytes.
    pub code: &'c [u8],
}

/// A kernel or a module whose debug information says what its code accesses.
pub struct DataIndex {
    file: DebugFile,
    index: Index,
}

impl DataIndex {
    /// That of the ELF file at `path` (plain, `.zst`, `.xz` or `.gz`); none where it has no DWARF.
    pub fn open(path: &Path) -> Result<Option<Self>> {
        let file = DebugFile::open(path, &SECTIONS)?;
        if file.section(".debug_info").is_empty() {
            return Ok(None);
        }
        let index = Index::new(&file)?;
        Ok(Some(DataIndex { file, index }))
    }

    /// What instructions access that executed, by address; those that are in none of `sections` are
    /// left out. None where nothing is known of the architecture.
    ///
    /// `sections`: where the code of the file was; `kallsyms`: the symbols of the whole kernel, which
    /// say where a module's data are.
    pub fn accesses(
        &self,
        architecture: &str,
        sections: &[LoadedSection],
        kallsyms: &Kallsyms,
        code: &[Executed<'_>],
    ) -> Result<Option<Accesses>> {
        match named(architecture) {
            Some(machine) => {
                let program = Program::new(&self.file, &self.index, machine)?;
                accesses(&program, sections, kallsyms, code).map(Some)
            }
            None => Ok(None),
        }
    }
}

fn accesses(
    program: &Program<'_>,
    sections: &[LoadedSection],
    kallsyms: &Kallsyms,
    code: &[Executed<'_>],
) -> Result<Accesses> {
    let file = program.types.units.file;
    let fields = Fields::new(TypeView::new(program));
    let memory = Memory::new(program, sections, kallsyms);
    let resolver = Resolver {
        fields: &fields,
        memory: &memory,
        results: RefCell::default(),
        thunks: RefCell::default(),
        task: program.record("task_struct"),
    };
    let mut out = Classifier::new(&fields, &memory);
    let mut calls = Calls::new();
    let mut operation = Operation::default();
    let mut by_function: BTreeMap<(u32, u64), Vec<(u64, Executed<'_>)>> = BTreeMap::new();
    for one in code {
        if let Some(linked) = memory.linked(one.address) {
            let key = match program.function_at(linked) {
                Some(number) => (number, 0),
                None => {
                    let symbol = program.statics.symbol(linked);
                    (u32::MAX, symbol.map_or(linked & !0xfff, |one| one.start))
                }
            };
            by_function.entry(key).or_default().push((linked, *one));
        } else {
            operation.clear();
            if program
                .machine
                .decode(one.address, one.code, &mut operation)
            {
                calls.outside(&memory, &operation.control);
            }
        }
    }
    for ((number, symbol), executed) in by_function {
        file.spend(executed.len() * PER_INSTRUCTION)?;
        let number = (number != u32::MAX).then_some(number);
        resolver.function(number, symbol, &executed, &mut out, &mut calls)?;
    }
    out.finish(&calls)
}

/// What an instruction takes in memory while its function is looked at.
const PER_INSTRUCTION: usize = 2048;

struct Resolver<'r, 'p, 'd> {
    fields: &'r Fields<'p, 'd>,
    memory: &'r Memory<'p, 'd>,
    results: RefCell<HashMap<u64, Option<Option<Id>>>>,
    thunks: RefCell<HashMap<u64, Option<u8>>>,
    task: Option<Id>,
}

impl<'p, 'd> Resolver<'_, 'p, 'd> {
    fn function(
        &self,
        number: Option<u32>,
        symbol: u64,
        executed: &[(u64, Executed<'_>)],
        out: &mut Classifier<'_, 'p, 'd>,
        calls: &mut Calls,
    ) -> std::result::Result<(), Error> {
        let program = self.fields.view.program;
        let known = number.map(|number| program.function(number));
        let function = known.unwrap_or_else(|| Function {
            is_assembly: true,
            ..Function::default()
        });
        let first = function
            .scopes
            .first()
            .and_then(|scope| scope.ranges.first());
        let linked = first.map_or(symbol, |range| range.0);
        let mut code = Vec::with_capacity(executed.len());
        let mut operation = Operation::default();
        for (linked, one) in executed {
            operation.clear();
            let decoded = program
                .machine
                .decode(one.address, one.code, &mut operation);
            if !decoded {
                operation.clear();
                out.not_decoded(one.address);
            }
            code.push(Instruction {
                address: one.address,
                linked: *linked,
                length: one.code.len() as u64,
                operation: operation.clone(),
            });
        }
        code.sort_by_key(|one| one.address);
        let entry = self.memory.loaded(linked).unwrap_or(linked);
        // A compiler may leave out arguments of a function that no other file calls. Where variables
        // are says it then.
        let is_changed =
            self.memory.is_changed(linked) || !function.is_external && program.has_locations();
        let mut origins = function.origins.iter();
        let has_container = function.names.iter().any(|name| name == CONTAINED)
            || origins.any(|origin| program.declared(*origin).has_container);
        let mut body = Body::new(function, code, entry, !is_changed);
        body.has_container = has_container;
        let step = Step {
            fields: self.fields,
            body: &body,
            result_of: &|target| self.result_of(target),
            thunk: &|target| self.thunk(target),
            variable_at: &|address| self.memory.variable(address),
            task: self.task,
            lowest: None,
        };
        let states = walk(&step);
        let pointer = usize::from(program.machine.stack_pointer());
        let stack = states
            .iter()
            .filter_map(|one| match one.registers[pointer] {
                Value::Stack(slot) => Some(slot),
                _ => None,
            });
        let step = Step {
            lowest: stack.min(),
            ..step
        };
        for (number, state) in states.iter().enumerate() {
            out.instruction(&step, number, state)?;
            let first = calls.add_call(self.memory, &step, number, state);
            out.gives(body.code[number].address, first);
        }
        Ok(())
    }

    fn result_of(&self, target: u64) -> Option<Option<Id>> {
        if let Some(known) = self.results.borrow().get(&target) {
            return *known;
        }
        let found = self.memory.result_of(target);
        self.results.borrow_mut().insert(target, found);
        found
    }

    fn thunk(&self, target: u64) -> Option<u8> {
        if let Some(known) = self.thunks.borrow().get(&target) {
            return *known;
        }
        let program = self.fields.view.program;
        let linked = self.memory.linked(target);
        let symbol = linked.and_then(|linked| program.statics.symbol(linked));
        let found = symbol.and_then(|one| program.machine.thunk(one.name));
        self.thunks.borrow_mut().insert(target, found);
        found
    }
}

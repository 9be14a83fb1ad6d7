use std::collections::{BTreeMap, BTreeSet};

use data_types::Id;
use kernel_symbols::{Error, Result};

use super::calls::{Argument, Calls};
use super::columns::{Accesses, Flags, Row, Texts};
use super::container::container;
use super::layouts;
use super::memory::Memory;
use super::origins::Origins;
use super::target::{reason, variable_of, Target};
use crate::fields::{choose, Fields, Place};
use crate::flow::{State, Step, Value};
use crate::kind::{Kind, Reason};
use crate::machine::{Access, Role};
use crate::program::Static;

/// How many names of a union's alternatives are kept.
const MOST_ALTERNATIVES: usize = 24;

/// Names what accesses go to.
pub(super) struct Classifier<'c, 'p, 'd> {
    fields: &'c Fields<'p, 'd>,
    memory: &'c Memory<'p, 'd>,
    texts: Texts,
    rows: Vec<Row>,
    types: BTreeMap<String, Id>,
    statics: BTreeMap<(u64, String), Static>,
}

impl<'c, 'p, 'd> Classifier<'c, 'p, 'd> {
    pub(super) fn new(fields: &'c Fields<'p, 'd>, memory: &'c Memory<'p, 'd>) -> Self {
        Classifier {
            fields,
            memory,
            texts: Texts::default(),
            rows: Vec::new(),
            types: BTreeMap::new(),
            statics: BTreeMap::new(),
        }
    }

    pub(super) fn not_decoded(&mut self, address: u64) {
        self.rows.push(Row {
            address,
            kind: Kind::Unresolved as u8,
            reason: Reason::NotDecoded as u8,
            ..Row::default()
        });
    }

    /// Add what an instruction accesses, given what is known before it.
    pub(super) fn instruction(
        &mut self,
        step: &Step<'_, 'p, 'd>,
        number: usize,
        state: &State,
    ) -> Result<()> {
        let instruction = &step.body.code[number];
        let mut behind = None;
        for access in &instruction.operation.accesses {
            self.fields
                .view
                .program
                .types
                .units
                .file
                .spend(size_of::<Row>())?;
            let mut row = Row {
                address: instruction.address,
                size: access.size,
                kind: Kind::Unresolved as u8,
                flags: Flags::default()
                    .with(Flags::LOAD, access.load)
                    .with(Flags::STORE, access.store)
                    .with(Flags::REPEATED, access.repeated),
                ..Row::default()
            };
            match access.role {
                Role::Push => row.kind = Kind::Push as u8,
                Role::Call => row.kind = Kind::Call as u8,
                Role::User => {
                    row.flags = row.flags.with(Flags::USER, true);
                    row.reason = Reason::UserMemory as u8;
                }
                Role::Plain => {
                    let stores_canary = |slot| {
                        let after: &mut Option<State> = &mut behind;
                        let after = after.get_or_insert_with(|| {
                            let mut after = state.clone();
                            step.step(number, &mut after);
                            after
                        });
                        after.slot(slot) == Value::Canary
                    };
                    let given = state.passed(&access.address);
                    row.given = given.map(|given| (step.body.entry, given));
                    self.plain(step, number, state, access, &mut row, stores_canary);
                }
            }
            self.rows.push(row);
        }
        Ok(())
    }

    /// What an instruction gives to what it calls, if it is a call that pushes an address.
    pub(super) fn gives(&mut self, address: u64, first: Option<Argument>) {
        let is_call = |row: &&mut Row| row.address == address && row.kind == Kind::Call as u8;
        if let Some(row) = self.rows.last_mut().filter(is_call) {
            row.gives = first;
        }
    }

    fn plain(
        &mut self,
        step: &Step<'_, 'p, 'd>,
        number: usize,
        state: &State,
        access: &Access,
        row: &mut Row,
        mut stores_canary: impl FnMut(i64) -> bool,
    ) {
        let program = self.fields.view.program;
        let value = step.address(state, &access.address);
        if let Value::Stack(slot) = value {
            if let Some((variable, within)) = step.stack_variable(number, state, slot) {
                let variable = &step.body.function.variables[variable as usize];
                let name = &step.body.function.names[variable.name as usize];
                row.kind = Kind::StackVariable as u8;
                row.symbol = self.texts.number(name);
                let target = Target::at(variable.target, within);
                self.name(step, number, target, None, access, row);
            } else if access.load && state.slot(slot) == Value::Canary
                || access.store && stores_canary(slot)
            {
                row.kind = Kind::Canary as u8;
            } else {
                row.kind = Kind::Spill as u8;
                row.offset = slot;
            }
            return;
        }
        if access.address.base == Some(program.machine.stack_pointer()) {
            row.kind = Kind::Spill as u8;
            return;
        }
        let may_fault = !access.address.per_cpu && program.may_fault(step.body.code[number].linked);
        row.flags = row.flags.with(Flags::USER, may_fault);
        let variable = variable_of(step, number, state, &access.address, access.size);
        let record = variable.filter(|one| self.fields.view.is_record(one.id));
        let constant = match value {
            Value::Constant(at) => Some((at, false)),
            Value::Element(at) => Some((at, true)),
            _ => None,
        };
        if let (Some((at, indexed)), None) = (constant, record) {
            if let Some(found) = self.memory.variable(at) {
                return self.variable(step, number, &found, (at, indexed), access, row);
            }
        }
        let size = u64::from(access.size.max(1));
        let flow = match value {
            Value::Pointer {
                target,
                offset,
                step: moves,
            } => {
                let inside = self.fields.has(target, offset, size);
                let around = match inside {
                    true => None,
                    false => container(self.fields, step, target, offset, size),
                };
                let Target { id, offset, .. } = around.unwrap_or(Target::at(target, offset));
                let (offset, is_sure) = self.fields.within(id, offset, moves, size);
                let known = is_sure || inside || around.is_some();
                let fits =
                    self.fields.has(id, offset, size) && !self.fields.splits(id, offset, size);
                (known && fits).then_some(Target {
                    id,
                    offset,
                    is_sure,
                })
            }
            _ => None,
        };
        let in_flow = flow.filter(|one| self.fields.view.is_record(one.id));
        match (record, in_flow) {
            (Some(own), Some(outer))
                if !self.fields.view.same(own.id, outer.id)
                    && outer.is_sure
                    && self.fields.contains(
                        outer.id,
                        outer.offset.wrapping_sub(own.offset),
                        own.id,
                        0,
                    ) =>
            {
                row.kind = Kind::Field as u8;
                self.name(step, number, outer, Some(own.id), access, row);
            }
            (own, outer) if own.or(outer).is_some() => {
                row.kind = Kind::Field as u8;
                let hint = own.or(variable).map(|one| one.id);
                if let Some(target) = own.or(outer) {
                    self.name(step, number, target, hint, access, row);
                }
            }
            _ => match variable.or(flow) {
                Some(pointed) => {
                    row.kind = Kind::Pointed as u8;
                    self.type_alone(pointed.id, row);
                }
                None => row.reason = reason(step, value, may_fault) as u8,
            },
        }
    }

    /// An access to a variable with an address of its own.
    fn variable(
        &mut self,
        step: &Step<'_, 'p, 'd>,
        number: usize,
        found: &Static,
        (at, indexed): (u64, bool),
        access: &Access,
        row: &mut Row,
    ) {
        let program = self.fields.view.program;
        let section = program.statics.section(found.start);
        let per_cpu =
            access.address.per_cpu || section.is_some_and(|one| one.name.contains("percpu"));
        row.kind = if per_cpu { Kind::PerCpu } else { Kind::Global } as u8;
        row.symbol = self.texts.number(&found.name);
        row.offset = at.wrapping_sub(found.start) as i64;
        let key = (found.start, found.name.clone());
        self.statics.entry(key).or_insert_with(|| found.clone());
        let is_canary = found.name.contains("stack_chk_guard");
        if let Some(id) = found.target {
            let (offset, _) = self.fields.within(id, row.offset, u64::from(indexed), 1);
            let size = u64::from(access.size.max(1));
            let places = self.fields.places(id, offset, size);
            let mut inside = places.iter();
            let target = Target {
                id,
                offset,
                is_sure: !indexed || inside.any(|one| one.element >= size && !one.is_hole),
            };
            self.name(step, number, target, None, access, row);
        } else {
            row.flags = row.flags.with(Flags::COMPUTED, indexed);
        }
        if is_canary {
            row.kind = Kind::Canary as u8;
        }
    }

    /// Name the type and the field of a place.
    fn name(
        &mut self,
        step: &Step<'_, 'p, 'd>,
        number: usize,
        target: Target,
        hint: Option<Id>,
        access: &Access,
        row: &mut Row,
    ) {
        self.type_alone(target.id, row);
        if !target.is_sure {
            row.flags = row.flags.with(Flags::COMPUTED, true);
            return;
        }
        row.offset = target.offset;
        let size = u64::from(access.size.max(1));
        let places = self.fields.places(target.id, target.offset, size);
        let function = step.body.innermost(number);
        // With an index it is an element of an array, if one is there.
        let is_element = |place: &Place| place.element >= size && !place.is_hole;
        let elements: Vec<Place> = match access.address.index {
            Some(_) => places
                .iter()
                .filter(|one| is_element(one))
                .cloned()
                .collect(),
            None => Vec::new(),
        };
        let likely = if elements.is_empty() {
            &*places
        } else {
            &elements
        };
        let found = choose(&self.fields.view, likely, size, hint, function);
        let Some((place, others)) = found else {
            row.flags = row.flags.with(Flags::COMPUTED, true);
            return;
        };
        row.field = self.texts.number(&place.path);
        row.flags = row
            .flags
            .with(Flags::AMBIGUOUS, others > 0)
            .with(Flags::WIDER, place.wider)
            .with(Flags::BIT_FIELD, place.is_bit_field);
        if &*place.last == "stack_canary" {
            row.kind = Kind::Canary as u8;
        }
        let inner = place.chain.iter().skip(1);
        let nested: Vec<String> = inner
            .filter(|one| self.fields.view.is_record(one.0))
            .map(|(id, _, length)| {
                let rest = place.path.get(*length..).unwrap_or_default();
                let name = self.fields.view.name(*id);
                format!("{name}:{}", rest.trim_start_matches('.'))
            })
            .collect();
        row.nested = self.texts.number(&nested.join("|"));
        let others = places
            .iter()
            .filter(|one| !one.is_hole && one.path != place.path);
        let others: BTreeSet<&str> = others.map(|one| one.path.as_str()).collect();
        let others: Vec<&str> = others.into_iter().take(MOST_ALTERNATIVES).collect();
        row.alternatives = self.texts.number(&others.join("|"));
    }

    fn type_alone(&mut self, id: Id, row: &mut Row) {
        let name = self.fields.view.name(id);
        row.r#type = self.texts.number(&name);
        row.type_size = u32::try_from(self.fields.view.size(id)).unwrap_or(0);
        if self.fields.view.is_record(id) {
            self.types.entry(name.to_string()).or_insert(id);
        }
    }

    /// All accesses, and how what they access is laid out. `calls` tell whose parts they are that
    /// functions are given.
    pub(super) fn finish(mut self, calls: &Calls) -> std::result::Result<Accesses, Error> {
        let mut origins = Origins {
            fields: self.fields,
            calls,
            texts: &mut self.texts,
            types: &mut self.types,
            statics: &mut self.statics,
        };
        origins.name(&mut self.rows)?;
        let mut out = Accesses::of_rows(std::mem::take(&mut self.rows));
        layouts::types(self.fields, &self.types, &mut self.texts, &mut out)?;
        layouts::variables(self.fields, &self.statics, &mut self.texts, &mut out);
        self.texts.number("");
        out.strings = self.texts.list;
        Ok(out)
    }
}

use data_types::Id;

use crate::flow::{moved, State, Step, Value};
use crate::kind::Reason;
use crate::machine::Address;

/// A place in something of a type, as debug information or the flow tells.
#[derive(Clone, Copy)]
pub(super) struct Target {
    pub(super) id: Id,
    pub(super) offset: i64,
    /// Whether it is no other field of the type.
    pub(super) is_sure: bool,
}

impl Target {
    pub(super) fn start(id: Id) -> Self {
        Target::at(id, 0)
    }

    pub(super) fn at(id: Id, offset: i64) -> Self {
        Target {
            id,
            offset,
            is_sure: true,
        }
    }
}

/// What the variable in a register says of an address.
pub(super) fn variable_of(
    step: &Step<'_, '_, '_>,
    number: usize,
    state: &State,
    address: &Address,
    size: u32,
) -> Option<Target> {
    let value = |register: u8| state.registers[usize::from(register)];
    let index = address.index;
    let (more, moves) = index.map_or((0, 0), |(register, scale)| moved(value(register), scale));
    let displacement = address.displacement.wrapping_add(more);
    let search = Search {
        step,
        number,
        displacement,
        size,
    };
    let base = address
        .base
        .and_then(|register| search.by_register(register, moves));
    base.or_else(|| match index {
        Some((register, 1)) => {
            let search = Search {
                displacement: address.displacement,
                ..search
            };
            let moves = address.base.map_or(0, |base| moved(value(base), 1).1);
            search.by_register(register, moves)
        }
        _ => None,
    })
}

/// For what a variable says of an access of some bytes so far behind where a register points.
#[derive(Clone, Copy)]
struct Search<'s, 'f, 'p, 'd> {
    step: &'s Step<'f, 'p, 'd>,
    number: usize,
    displacement: i64,
    size: u32,
}

impl Search<'_, '_, '_, '_> {
    fn by_register(&self, register: u8, moves: u64) -> Option<Target> {
        let (body, fields) = (self.step.body, self.step.fields);
        let mut scalar = None;
        for one in body.candidates(self.number, register) {
            let variable = &body.function.variables[one.variable as usize];
            let Some(id) = fields.view.pointee(variable.target) else {
                continue;
            };
            let offset = self.displacement.wrapping_sub(one.add);
            if fields.view.is_record(id) {
                // It may lead to an array in what contains it.
                if moves > 0 && body.has_container && !fields.has(id, offset, 1) {
                    continue;
                }
                let (offset, is_sure) = fields.within(id, offset, moves, u64::from(self.size));
                if fields.has(id, offset, u64::from(self.size.max(1))) {
                    return Some(Target {
                        id,
                        offset,
                        is_sure,
                    });
                }
            } else if scalar.is_none() && (moves > 0 || offset == 0) {
                scalar = Some(Target::start(id));
            }
        }
        scalar
    }
}

/// Why nothing tells what an address is.
pub(super) fn reason(step: &Step<'_, '_, '_>, value: Value, may_fault: bool) -> Reason {
    match value {
        _ if may_fault => Reason::UserMemory,
        _ if step.body.function.is_assembly => Reason::Assembly,
        Value::Unknown(reason) => reason,
        Value::Pointer { .. } => Reason::OutsideType,
        Value::Constant(_) | Value::Element(_) => Reason::ConstantAddress,
        _ => Reason::Computed,
    }
}

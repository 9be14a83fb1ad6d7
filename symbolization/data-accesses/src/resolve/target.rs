use data_types::Id;

use crate::flow::Step;
use crate::machine::Address;

/// A place in something of a type, as debug information or the flow tells.
#[derive(Clone, Copy)]
pub(super) struct Target {
    pub(super) id: Id,
    pub(super) offset: i64,
}

/// What the variable in a register says of an address.
pub(super) fn variable_of(
    step: &Step<'_, '_, '_>,
    number: usize,
    address: &Address,
    size: u32,
) -> Option<Target> {
    let base = address.base.and_then(|register| {
        by_register(
            step,
            number,
            register,
            address.displacement,
            size,
            address.index.is_some(),
        )
    });
    base.or_else(|| match address.index {
        Some((register, 1)) => {
            by_register(step, number, register, address.displacement, size, true)
        }
        _ => None,
    })
}

fn by_register(
    step: &Step<'_, '_, '_>,
    number: usize,
    register: u8,
    displacement: i64,
    size: u32,
    indexed: bool,
) -> Option<Target> {
    let mut scalar = None;
    for one in step.body.candidates(number, register) {
        let variable = &step.body.function.variables[one.variable as usize];
        let Some(id) = step.fields.view.pointee(variable.target) else {
            continue;
        };
        let offset = displacement.wrapping_sub(one.add);
        if step.fields.view.is_record(id) {
            let offset = step.fields.within(id, offset, indexed);
            if step.fields.has(id, offset, u64::from(size.max(1))) {
                return Some(Target { id, offset });
            }
        } else if scalar.is_none() && (indexed || offset == 0) {
            scalar = Some(Target { id, offset: 0 });
        }
    }
    scalar
}

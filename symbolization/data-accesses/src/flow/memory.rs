use data_types::Id;

use super::body::Body;
use super::state::State;
use super::value::{divisor, is_kernel, Value};
use crate::fields::{Fields, Place};
use crate::kind::Reason;
use crate::machine::Address;
use crate::program::{Location, Static};

/// What an index with a scale adds to an address, and of what a multiple.
pub(crate) fn moved(index: Value, scale: u8) -> (i64, u64) {
    if index == Value::PerCpu {
        return (0, 0);
    }
    let (start, step) = index.series();
    let start = start.wrapping_mul(i64::from(scale));
    (start, step.saturating_mul(u64::from(scale)))
}

/// What the instructions of one function do to what is known.
pub(crate) struct Step<'s, 'p, 'd> {
    pub(crate) fields: &'s Fields<'p, 'd>,
    pub(crate) body: &'s Body,
    /// What a called function returns, by its address: none where nothing is known of it.
    pub(crate) result_of: &'s dyn Fn(u64) -> Option<Option<Id>>,
    /// The register that the function at an address calls through.
    pub(crate) thunk: &'s dyn Fn(u64) -> Option<u8>,
    /// The variable at an address of the running kernel.
    pub(crate) variable_at: &'s dyn Fn(u64) -> Option<Static>,
    /// The type of the running task.
    pub(crate) task: Option<Id>,
    /// Where the stack pointer is at its lowest, once that is known.
    pub(crate) lowest: Option<i64>,
}

impl Step<'_, '_, '_> {
    /// The variable in the frame that has a slot: its number, and how far in it.
    pub(crate) fn stack_variable(
        &self,
        instruction: usize,
        state: &State,
        slot: i64,
    ) -> Option<(u32, i64)> {
        let every = self.body.in_memory(instruction).iter();
        every.rev().copied().find_map(|number| {
            let variable = &self.body.function.variables[number as usize];
            let start = match variable.location {
                Location::Frame(offset) => offset,
                Location::Memory(register, offset) | Location::InFrame(register, offset) => {
                    let Value::Stack(base) = state.registers[usize::from(register)] else {
                        return None;
                    };
                    // The stack pointer only passes by other places.
                    let is_sp = register == self.fields.view.program.machine.stack_pointer();
                    let passes = is_sp && matches!(variable.location, Location::InFrame(..));
                    if passes && self.lowest.is_some_and(|lowest| lowest != base) {
                        return None;
                    }
                    base.wrapping_add(offset)
                }
                _ => return None,
            };
            let size = i64::try_from(self.fields.view.size(variable.target)).unwrap_or(0);
            let within = slot.wrapping_sub(start);
            (0..size.max(1))
                .contains(&within)
                .then_some((number, within))
        })
    }

    /// What an address is.
    pub(crate) fn address(&self, state: &State, address: &Address) -> Value {
        use Value::{Constant, Element, PerCpu, Pointer, Stack, Unknown};
        let displacement = address.displacement;
        let value = |register| state.registers[usize::from(register)];
        let mut base = address.base.map(value);
        let mut index = address.index.map(|(register, _)| value(register));
        let scale = address.index.map_or(0, |(_, scale)| scale);
        let leads = |value| matches!(value, Some(Pointer { .. } | Stack(_)));
        let is_address = |value| matches!(value, Some(Constant(at) | Element(at)) if is_kernel(at));
        if scale == 1 && !leads(base) && (leads(index) || is_address(index) && !is_address(base)) {
            std::mem::swap(&mut base, &mut index);
        }
        let (more, moves) = index.map_or((0, 0), |value| moved(value, scale));
        let indexed = moves > 0;
        let displacement = displacement.wrapping_add(more);
        let at = |start: u64, indexed| {
            let at = start.wrapping_add_signed(displacement);
            if indexed {
                Element(at)
            } else {
                Constant(at)
            }
        };
        match (base, index) {
            (None, _) if indexed && address.displacement == 0 => {
                Value::number(more, moves, Reason::Computed)
            }
            (None, _) => at(0, indexed),
            (
                Some(Pointer {
                    target,
                    offset,
                    step,
                }),
                _,
            ) => {
                let offset = offset.wrapping_add(displacement);
                Value::pointer(self.fields, target, offset, divisor(step, moves))
            }
            (Some(Stack(base)), _) if !indexed => Stack(base.wrapping_add(displacement)),
            (Some(Stack(_)), _) => Unknown(Reason::StackSlot),
            (Some(PerCpu), None) if displacement == 0 => PerCpu,
            (Some(PerCpu), None | Some(PerCpu)) => at(0, false),
            // The index is an address of a per-CPU variable.
            (Some(PerCpu), Some(Constant(_))) => at(0, false),
            (Some(PerCpu), Some(Element(start))) => {
                Element(start.wrapping_add_signed(displacement))
            }
            (Some(PerCpu), Some(value)) => match value {
                Pointer {
                    target,
                    offset,
                    step,
                } if scale == 1 => Pointer {
                    target,
                    offset: offset.wrapping_add(displacement),
                    step,
                },
                _ => Unknown(Reason::Computed),
            },
            // A register that a called function may have changed is no index.
            (Some(Constant(_)), Some(Unknown(Reason::CallResult))) => Unknown(Reason::CallResult),
            (Some(Constant(start)), _) => at(start, indexed),
            (Some(Element(start)), _) => at(start, true),
            (Some(number @ (Unknown(_) | Value::Series(..))), _) => {
                let (start, step) = number.series();
                let start = displacement.wrapping_add(start);
                if is_kernel(start as u64) && i32::try_from(start).is_ok() {
                    return Element(start as u64);
                }
                // A register plus a multiple of itself is one, too.
                let own = address.index.map(|(register, _)| register) == address.base;
                let step = match own {
                    true => step.saturating_mul(u64::from(scale) + 1),
                    false => divisor(step, moves),
                };
                let reason = match number {
                    Unknown(reason) => reason,
                    _ => Reason::Computed,
                };
                Value::number(start, step, reason)
            }
            (Some(Value::Bottom | Value::Canary), _) => Unknown(Reason::Computed),
        }
    }

    /// What eight bytes at an address hold.
    pub(super) fn loaded(&self, instruction: usize, state: &State, address: &Address) -> Value {
        match self.address(state, address) {
            Value::Pointer {
                target,
                offset,
                step,
            } if step > 0 && self.body.has_container && !self.fields.has(target, offset, 1) => {
                Value::Unknown(Reason::Loaded)
            }
            Value::Pointer {
                target,
                offset,
                step,
            } => match self.fields.within(target, offset, step, 8) {
                (offset, true) => self.held(target, offset),
                _ => Value::Unknown(Reason::Loaded),
            },
            Value::Stack(slot) => {
                if let Some((number, within)) = self.stack_variable(instruction, state, slot) {
                    let variable = &self.body.function.variables[number as usize];
                    let held = self.held(variable.target, within);
                    if matches!(held, Value::Pointer { .. }) {
                        return held;
                    }
                }
                state.slot(slot)
            }
            Value::Constant(at) | Value::Element(at) => self.at_constant(at),
            _ => Value::Unknown(Reason::Loaded),
        }
    }

    fn at_constant(&self, at: u64) -> Value {
        let Some(found) = (self.variable_at)(at) else {
            return Value::Unknown(Reason::Loaded);
        };
        match found.name.as_str() {
            "this_cpu_off" | "__per_cpu_offset" => Value::PerCpu,
            "__stack_chk_guard" | "__ref_stack_chk_guard" => Value::Canary,
            _ => match found.target {
                Some(target) => {
                    let offset = at.wrapping_sub(found.start) as i64;
                    let (offset, _) = self.fields.within(target, offset, 1, 8);
                    self.held(target, offset)
                }
                None => Value::Unknown(Reason::Loaded),
            },
        }
    }

    /// What eight bytes at an offset of a type hold.
    fn held(&self, id: Id, offset: i64) -> Value {
        let view = &self.fields.view;
        let found = self.fields.places(id, offset, 8);
        if found.iter().any(|place| &*place.last == "stack_canary") {
            return Value::Canary;
        }
        // What tail pages have: the head page's address plus 1 (struct page, compound_head()).
        let heads = found.iter();
        let mut heads = heads.filter(|one| matches!(&*one.last, "compound_head" | "compound_info"));
        let page = heads.find_map(|one| {
            let mut around = one.chain.iter().map(|(id, ..)| *id);
            around.find(|id| &*view.name(*id) == "page")
        });
        if let Some(target) = page {
            return Value::Pointer {
                target,
                offset: 1,
                step: 0,
            };
        }
        let known = |place: &Place| match place.leaf_offset {
            0 if !place.is_bit_field && !place.is_hole => Value::of_type(self.fields, place.leaf),
            _ => Value::Unknown(Reason::Loaded),
        };
        let values: Vec<Value> = found.iter().map(known).collect();
        let mut pointers = values.iter().filter_map(|value| match value {
            Value::Pointer { target, .. } => Some((*target, *value)),
            _ => None,
        });
        let Some((target, pointer)) = pointers.next() else {
            let number = values
                .iter()
                .find(|value| !matches!(value, Value::Unknown(Reason::Loaded)));
            return number.copied().unwrap_or(Value::Unknown(Reason::Loaded));
        };
        // Of a union's pointers nothing tells which it is.
        match pointers.all(|(other, _)| view.same(target, other)) {
            true => pointer,
            false => Value::Unknown(Reason::Loaded),
        }
    }
}

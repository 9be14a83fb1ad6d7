use data_types::Id;

use super::body::Body;
use super::state::State;
use super::value::Value;
use crate::fields::{choose, Fields};
use crate::kind::Reason;
use crate::machine::Address;
use crate::program::{Location, Static};

/// Whether a number is an address of the kernel's code or data, rather than a small negative one.
pub(super) fn is_kernel(number: u64) -> bool {
    const FIRST: u64 = 1 << 63;
    const SMALL: u64 = 0xffff_ffff_ff00_0000;
    (FIRST..SMALL).contains(&number)
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
                Location::Memory(register, offset) => {
                    match state.registers[usize::from(register)] {
                        Value::Stack(base) => base.wrapping_add(offset),
                        _ => return None,
                    }
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
        // What a constant index adds.
        let mut more = 0i64;
        let mut indexed = false;
        match index {
            // Of 32 bits with a sign it may be less.
            Some(Constant(number)) if i32::try_from(number as i64).is_ok() => {
                more = (number as i64).wrapping_mul(i64::from(scale));
            }
            Some(PerCpu) | None => {}
            Some(_) => indexed = true,
        }
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
            (None, _) => at(0, indexed),
            (
                Some(Pointer {
                    target,
                    offset,
                    indexed: before,
                }),
                _,
            ) => {
                let offset = offset.wrapping_add(displacement);
                let size = self.fields.view.size(target);
                if indexed && size > 0 && u64::from(scale) == size {
                    let offset = offset.rem_euclid(size as i64);
                    return Pointer {
                        target,
                        offset,
                        indexed: before,
                    };
                }
                Pointer {
                    target,
                    offset,
                    indexed: before || indexed,
                }
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
                    indexed,
                } if scale == 1 => Pointer {
                    target,
                    offset: offset.wrapping_add(displacement),
                    indexed,
                },
                _ => Unknown(Reason::Computed),
            },
            (Some(Constant(start)), _) => at(start, indexed),
            (Some(Element(start)), _) => at(start, true),
            (Some(Unknown(reason)), _) => {
                let start = displacement as u64;
                match is_kernel(start) && i32::try_from(displacement).is_ok() {
                    true => Element(start),
                    false => Unknown(reason),
                }
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
                indexed,
            } => self.held(target, self.fields.within(target, offset, indexed)),
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
                    self.held(target, self.fields.within(target, offset, true))
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
                indexed: false,
            };
        }
        match choose(view, &found, 8, None, "") {
            Some((place, _)) if place.leaf_offset == 0 && !place.is_bit_field => {
                Value::of_type(self.fields, place.leaf)
            }
            _ => Value::Unknown(Reason::Loaded),
        }
    }
}

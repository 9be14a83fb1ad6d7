use std::collections::BTreeMap;

use crate::fields::Fields;
use crate::flow::given::Given;
use crate::flow::value::Value;
use crate::kind::Reason;
use crate::machine::REGISTERS;

/// How many slots of a frame are followed.
const MOST_SLOTS: usize = 1 << 10;

/// What is known before an instruction.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct State {
    pub(crate) registers: [Value; REGISTERS],
    /// Which registers have what the function was given.
    pub(crate) given: [Option<Given>; REGISTERS],
    /// By how far a slot of eight bytes is behind the frame's address.
    stack: BTreeMap<i64, (Value, Option<Given>)>,
    /// Whether some way leads here.
    pub(crate) live: bool,
}

impl State {
    pub(crate) fn nowhere() -> Self {
        State {
            registers: [Value::Bottom; REGISTERS],
            given: [None; REGISTERS],
            stack: BTreeMap::new(),
            live: false,
        }
    }

    /// Where nothing is known.
    pub(crate) fn anywhere(reason: Reason) -> Self {
        State {
            registers: [Value::Unknown(reason); REGISTERS],
            live: true,
            ..State::nowhere()
        }
    }

    pub(crate) fn slot(&self, at: i64) -> Value {
        let known = self.stack.get(&at);
        known.map_or(Value::Unknown(Reason::StackSlot), |known| known.0)
    }

    /// Whether a slot has what the function was given.
    pub(crate) fn given_at(&self, at: i64) -> Option<Given> {
        self.stack.get(&at).and_then(|known| known.1)
    }

    /// Store `size` bytes, or no one knows how many: 0.
    pub(crate) fn store(&mut self, at: i64, size: u32, value: Value, given: Option<Given>) {
        // What it covers a part of, too.
        let last = match size {
            0 => i64::MAX,
            _ => at.saturating_add(i64::from(size) - 1),
        };
        let covered = self.stack.range(at.saturating_sub(7)..=last);
        let covered: Vec<i64> = covered.map(|(slot, _)| *slot).collect();
        for slot in covered {
            self.stack.remove(&slot);
        }
        if size == 8 && self.stack.len() < MOST_SLOTS {
            self.stack.insert(at, (value, given));
        }
    }

    /// Others that know the address `at` may have changed what is there, `size` bytes of it.
    pub(crate) fn change(&mut self, at: i64, size: u64) {
        let end = at.saturating_add_unsigned(size);
        self.stack.retain(|slot, _| !(at..end).contains(slot));
    }

    /// Others may have changed lists whose heads are on the stack: an empty one points to itself.
    pub(crate) fn change_lists(&mut self) {
        const HEAD: u64 = 8;
        let is_head = |slot: i64, value: &Value| matches!(value, Value::Stack(to) if to.abs_diff(slot) <= HEAD);
        self.stack.retain(|slot, (value, _)| !is_head(*slot, value));
    }

    /// Let another state lead here, too; whether that changes something.
    pub(crate) fn merge(&mut self, fields: &Fields<'_, '_>, from: &State) -> bool {
        if !self.live {
            self.clone_from(from);
            self.live = true;
            return true;
        }
        let mut changed = false;
        for (own, other) in self.registers.iter_mut().zip(&from.registers) {
            let joined = own.join(fields, *other);
            changed |= joined != *own;
            *own = joined;
        }
        for (own, other) in self.given.iter_mut().zip(&from.given) {
            changed |= own.is_some() && own != other;
            *own = own.filter(|one| Some(*one) == *other);
        }
        for (slot, (own, given)) in &mut self.stack {
            let joined = own.join(fields, from.slot(*slot));
            changed |= joined != *own;
            *own = joined;
            let other = from.given_at(*slot);
            changed |= given.is_some() && *given != other;
            *given = given.filter(|one| Some(*one) == other);
        }
        changed
    }
}

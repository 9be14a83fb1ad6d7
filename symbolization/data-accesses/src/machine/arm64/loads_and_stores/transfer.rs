use super::super::registers::{pointer, set, set_pointer, value};
use crate::machine::effect::{Access, Address, Effect, Operation, Role, Source};

/// How a register moves from or to memory.
#[derive(Clone, Copy)]
pub(super) struct Transfer {
    pub(super) load: bool,
    /// A SIMD and floating-point register, which nobody follows.
    pub(super) vector: bool,
    pub(super) size: u32,
    pub(super) role: Role,
}

impl Transfer {
    /// One register moves.
    pub(super) fn run(self, register: u32, address: Address, out: &mut Operation) {
        out.accesses.push(Access {
            address,
            load: self.load,
            store: !self.load,
            size: self.size,
            role: self.role,
            repeated: false,
        });
        if !self.load {
            let source = match self.size {
                8 if !self.vector => value(register),
                size => computed(size),
            };
            out.effects.push(Effect::Store(address, self.size, source));
        } else if !self.vector {
            set(register, loaded(self.size, address), out);
        }
    }
}

/// Memory is read and changed.
pub(super) fn change(address: Address, size: u32, role: Role, source: Source, out: &mut Operation) {
    out.accesses.push(Access {
        address,
        load: true,
        store: true,
        size,
        role,
        repeated: false,
    });
    out.effects.push(Effect::Store(address, size, source));
}

/// What a register holds after a load.
pub(super) fn loaded(size: u32, address: Address) -> Source {
    match size {
        8 => Source::Load(address),
        _ => Source::Number,
    }
}

/// What is in so many bytes of memory that something computed.
pub(super) fn computed(size: u32) -> Source {
    if size < 8 {
        Source::Number
    } else {
        Source::Computed
    }
}

/// When a base register changes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Indexing {
    Offset,
    Pre,
    Post,
}

/// Behind a base register.
pub(super) fn at(base: u32, displacement: i64) -> Address {
    Address {
        base: Some(pointer(base)),
        displacement,
        ..Address::default()
    }
}

/// Behind a base register that may change.
pub(super) fn indexed(
    base: u32,
    displacement: i64,
    indexing: Indexing,
    out: &mut Operation,
) -> Address {
    let address = at(base, displacement);
    if indexing != Indexing::Offset {
        set_pointer(base, Source::Sum(address), out);
    }
    if indexing == Indexing::Post {
        return at(base, 0);
    }
    address
}

/// The address so many bytes on.
pub(super) fn behind(address: Address, bytes: u32) -> Address {
    Address {
        displacement: address.displacement.wrapping_add(i64::from(bytes)),
        ..address
    }
}

use super::super::registers::set;
use super::super::word::Word;
use super::transfer::{at, indexed, Indexing};
use crate::machine::effect::{Access, Address, Effect, Operation, Role, Source};

/// "Load/store memory tags". A tag is of 16 bytes, which are what is accessed.
pub(super) fn decode(word: Word, out: &mut Operation) -> Option<()> {
    let (opc, form) = (word.bits(22, 2), word.bits(10, 2));
    let displacement = word.signed(12, 9) * 16;
    let many = opc != 0b01 && form == 0b00;
    if many && displacement != 0 {
        return None;
    }
    if form == 0b00 {
        // LDG and LDGM; STZGM and STGM.
        let load = matches!(opc, 0b01 | 0b11);
        let address = at(word.rn(), displacement);
        let size = if many { 0 } else { 16 };
        access(address, load, size, many, out);
        if load {
            set(word.rd(), Source::Computed, out);
        } else if opc == 0b00 {
            out.effects.push(Effect::Store(address, 0, Source::Number));
        }
        return Some(());
    }
    let indexing = match form {
        0b01 => Indexing::Post,
        0b10 => Indexing::Offset,
        _ => Indexing::Pre,
    };
    let address = indexed(word.rn(), displacement, indexing, out);
    let size = if opc >= 0b10 { 32 } else { 16 }; // ST2G, STZ2G
    access(address, false, size, false, out);
    if matches!(opc, 0b01 | 0b11) {
        // STZG and STZ2G write zeros, too; the others tags alone.
        out.effects
            .push(Effect::Store(address, size, Source::Number));
    }
    Some(())
}

fn access(address: Address, load: bool, size: u32, repeated: bool, out: &mut Operation) {
    out.accesses.push(Access {
        address,
        load,
        store: !load,
        size,
        role: Role::Plain,
        repeated,
    });
}

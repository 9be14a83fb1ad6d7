use super::super::word::Word;
use super::transfer::{behind, indexed, Indexing, Transfer};
use crate::machine::effect::{Operation, Role};

/// "Load/store register pair", non-temporal or not, and with user mode's rights (FEAT_LSUI).
pub(super) fn decode(word: Word, out: &mut Operation) -> Option<()> {
    let (vector, load) = (word.bit(26), word.bit(22));
    let non_temporal = word.bits(23, 2) == 0b00;
    // The offset's unit is the size, but of STGP.
    let (size, unit, role) = match (word.bits(30, 2), vector) {
        (0b11, true) => (16, 16, Role::User),
        (opc, true) => (4 << opc, 4 << opc, Role::Plain),
        (0b00, false) => (4, 4, Role::Plain),
        (0b01, false) if non_temporal => return None,
        (0b01, false) if load => (4, 4, Role::Plain), // LDPSW
        (0b01, false) => (8, 16, Role::Plain),        // STGP
        (0b10, false) => (8, 8, Role::Plain),
        _ => (8, 8, Role::User),
    };
    let indexing = match word.bits(23, 2) {
        0b01 => Indexing::Post,
        0b11 => Indexing::Pre,
        _ => Indexing::Offset,
    };
    let address = indexed(word.rn(), word.signed(15, 7) * unit, indexing, out);
    let transfer = Transfer {
        load,
        vector,
        size,
        role,
    };
    transfer.run(word.rd(), address, out);
    transfer.run(word.rt2(), behind(address, size), out);
    Some(())
}

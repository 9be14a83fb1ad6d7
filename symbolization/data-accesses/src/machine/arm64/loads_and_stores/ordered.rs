use super::super::word::Word;
use super::single::transfer;
use super::transfer::{at, behind, indexed, Indexing, Transfer};
use crate::machine::effect::{Operation, Role};

/// LDAPUR and STLUR: "LDAPR/STLR (unscaled immediate)", of SIMD and floating-point registers too.
pub(super) fn unscaled(word: Word, out: &mut Operation) -> Option<()> {
    let address = at(word.rn(), word.signed(12, 9));
    transfer(word, Role::Plain)?.run(word.rd(), address, out);
    Some(())
}

/// LDIAPP and STILP; LDAPR and STLR that change their base: FEAT_LRCPC3.
pub(super) fn moved(word: Word, out: &mut Operation) -> Option<()> {
    if !word.bit(31) {
        return None;
    }
    let transfer = Transfer {
        load: word.bit(22),
        vector: false,
        size: 4 << word.bits(30, 1),
        role: Role::Plain,
    };
    let is_pair = !word.bit(23);
    let registers = if is_pair { 2 } else { 1 };
    let bytes = i64::from(registers * transfer.size);
    let (displacement, indexing) = match (word.bits(12, 4), is_pair) {
        (0b0001, true) => (0, Indexing::Offset),
        (0b0000, _) if transfer.load => (bytes, Indexing::Post),
        (0b0000, _) => (-bytes, Indexing::Pre),
        _ => return None,
    };
    if !is_pair && word.rm() != 0 {
        return None;
    }
    let address = indexed(word.rn(), displacement, indexing, out);
    transfer.run(word.rd(), address, out);
    if is_pair {
        transfer.run(word.rm(), behind(address, transfer.size), out);
    }
    Some(())
}

/// Whether an instruction reads memory, writes it, and changes it atomically.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Access {
    pub(super) load: bool,
    pub(super) store: bool,
    pub(super) atomic: bool,
}

const NONE: Access = new(false, false, false);
const LOAD: Access = new(true, false, false);
const STORE: Access = new(false, true, false);
const BOTH: Access = new(true, true, false);
const ATOMIC: Access = new(true, true, true);
/// An exclusive store; that it succeeds makes the load and it one atomic change.
const EXCLUSIVE: Access = new(false, true, true);

const fn new(load: bool, store: bool, atomic: bool) -> Access {
    Access {
        load,
        store,
        atomic,
    }
}

fn by_bit(loads: u32) -> Access {
    if loads & 1 == 1 {
        LOAD
    } else {
        STORE
    }
}

/// What an instruction does with memory ("Loads and Stores", SVE's and SME's encodings, DC ZVA).
pub(super) fn access(word: u32) -> Access {
    if word & 0x0a00_0000 == 0x0800_0000 {
        return loads_and_stores(word);
    }
    // SVE: loads and prefetches, then stores.
    if word & 0x1e00_0000 == 0x0400_0000 {
        return match word >> 29 {
            4..=6 => LOAD,
            7 => STORE,
            _ => NONE,
        };
    }
    // SME: between memory and ZA.
    if word & 0xfe00_0000 == 0xe000_0000 {
        return by_bit(!(word >> 21));
    }
    // DC ZVA, DC GVA and DC GZVA.
    if matches!(word & 0xffff_ffe0, 0xd50b_7420 | 0xd50b_7460 | 0xd50b_7480) {
        return STORE;
    }
    NONE
}

fn loads_and_stores(word: u32) -> Access {
    let vector = word >> 26 & 1 == 1;
    let loads = word >> 22;
    match (word >> 28 & 0b11, word >> 24 & 0b11) {
        (0b00, _) if vector => by_bit(loads), // structures
        (0b00, 0b00) => exclusive(word),
        (0b01, 0b00) => literal(word, vector),
        (0b01, 0b01) => ordered_and_copies(word, vector),
        (0b10, _) => by_bit(loads), // pairs
        (0b11, middle) => register(word, vector, middle & 1 == 1),
        _ => NONE,
    }
}

/// Exclusive, ordered, compare-and-swap.
fn exclusive(word: u32) -> Access {
    let (ordered, loads, pair) = (word >> 23 & 1, word >> 22, word >> 21 & 1);
    match (ordered, pair) {
        (1, 1) => ATOMIC,                    // CAS
        (0, 1) if word >> 31 == 0 => ATOMIC, // CASP
        (0, _) if loads & 1 == 0 => EXCLUSIVE,
        _ => by_bit(loads),
    }
}

fn literal(word: u32, vector: bool) -> Access {
    if word >> 30 == 0b11 && !vector {
        NONE // PRFM
    } else {
        LOAD
    }
}

/// LDAPUR and STLUR, LDIAPP and STILP, memory copies, memory tags.
fn ordered_and_copies(word: u32, vector: bool) -> Access {
    if word >> 21 & 1 == 1 && word >> 24 == 0xd9 {
        // LDG and LDGM; STG and the like.
        let load = matches!((word >> 22 & 0b11, word >> 10 & 0b11), (0b01 | 0b11, 0b00));
        return by_bit(u32::from(load));
    }
    match word >> 10 & 0b11 {
        0b01 if word >> 22 & 0b11 == 0b11 => STORE, // SET
        0b01 => BOTH,                               // CPY
        0b10 if vector => by_bit(word >> 22),
        0b10 => by_bit(word >> 22),
        _ if word >> 22 & 0b11 == 0 => STORE,
        _ => LOAD,
    }
}

/// A register and memory behind a base: with offsets, atomics, authenticated loads.
fn register(word: u32, vector: bool, unsigned: bool) -> Access {
    let (size, operation) = (word >> 30, word >> 22 & 0b11);
    let form = word >> 10 & 0b11;
    let special = !unsigned && word >> 21 & 1 == 1;
    if special && form == 0b00 {
        return atomic(word, size);
    }
    if special && form & 1 == 1 {
        return LOAD; // LDRAA, LDRAB
    }
    if vector {
        return by_bit(operation);
    }
    match operation {
        0b00 => STORE,
        0b10 if size == 0b11 => NONE, // PRFM
        _ => LOAD,
    }
}

fn atomic(word: u32, size: u32) -> Access {
    match word >> 12 & 0b1111 {
        0b1100 => LOAD,                           // LDAPR
        0b1001..=0b1011 if size == 0b11 => STORE, // ST64B
        0b1101 if size == 0b11 => LOAD,           // LD64B
        _ => ATOMIC,
    }
}

/// No instruction, for good: what the assembler makes of `unimp`. The one of 16 bits is 0.
pub(super) const UNIMP: u32 = 0xc000_1073;

/// Bits of a word, from the lowest on.
pub(super) fn field(word: u32, lowest: u32, bits: u32) -> u32 {
    word >> lowest & ((1 << bits) - 1)
}

/// An instruction's encoding.
#[derive(Clone, Copy)]
pub(super) struct Word(pub(super) u32);

impl Word {
    /// An unsigned field.
    pub(super) fn bits(self, lowest: u32, count: u32) -> u32 {
        self.0 >> lowest & (u32::MAX >> (32 - count))
    }

    /// A signed field.
    pub(super) fn signed(self, lowest: u32, count: u32) -> i64 {
        let left = 32 - lowest - count;
        i64::from((self.0 << left) as i32 >> (32 - count))
    }

    pub(super) fn bit(self, number: u32) -> bool {
        self.bits(number, 1) == 1
    }

    /// Whether the bits of a mask are these.
    pub(super) fn is(self, mask: u32, bits: u32) -> bool {
        self.0 & mask == bits
    }

    /// Whether the operands have 64 bits: sf.
    pub(super) fn is_wide(self) -> bool {
        self.bit(31)
    }

    /// The destination: Rd, or Rt of what is moved.
    pub(super) fn rd(self) -> u32 {
        self.bits(0, 5)
    }

    /// The first source, or a base: Rn.
    pub(super) fn rn(self) -> u32 {
        self.bits(5, 5)
    }

    /// The second of a pair: Rt2.
    pub(super) fn rt2(self) -> u32 {
        self.bits(10, 5)
    }

    /// The second source, an index, a status: Rm, Rs.
    pub(super) fn rm(self) -> u32 {
        self.bits(16, 5)
    }
}

/// DecodeBitMasks: the mask that N, imms and immr of a logical immediate mean; none where they are reserved.
pub(super) fn mask(n: u32, imms: u32, immr: u32) -> Option<u64> {
    // An element of 2 to 64 bits, in which imms + 1 ones are rotated right by immr.
    let length = (n << 6 | !imms & 0x3f).checked_ilog2()?;
    if length == 0 {
        return None;
    }
    let size = 1 << length;
    let (ones, rotation) = (1 + (imms & (size - 1)), immr & (size - 1));
    if ones == size {
        return None;
    }
    let plain = u64::MAX >> (64 - ones);
    let all = u64::MAX >> (64 - size);
    let left = (size - rotation) % size;
    let element = (plain >> rotation | plain << left) & all;
    // Repeated.
    Some(
        (0..64)
            .step_by(size as usize)
            .fold(0, |mask, at| mask | element << at),
    )
}

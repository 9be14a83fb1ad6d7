//! How many bytes an access has, and whether it stores.

use crate::ffi;

const MOST: usize = 1 << 18;

/// What QEMU says of each sort of access, which is asked for once: its `info` tells bytes and
/// direction, and little else.
pub struct Extents {
    /// By `info`: 0 unknown, else a number of bytes, and the highest bit of a store.
    known: Box<[u16]>,
}

impl Default for Extents {
    fn default() -> Extents {
        Extents {
            known: vec![0; MOST].into(),
        }
    }
}

impl Extents {
    /// The bytes of an access, and whether it stores.
    #[inline]
    pub fn of(&mut self, info: u32) -> (u32, bool) {
        let Some(known) = self.known.get_mut(info as usize) else {
            return ffi::extent(info);
        };
        if *known == 0 {
            let (size, store) = ffi::extent(info);
            *known = size as u16 | u16::from(store) << 15;
        }
        (u32::from(*known & 0x7fff), *known >> 15 == 1)
    }
}

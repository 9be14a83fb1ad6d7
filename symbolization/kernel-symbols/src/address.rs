/// A stated virtual memory address: one that an ELF file gives to its bytes.
///
/// In a relocatable file (a module) all sections start at 0; there it is the address in the layout
/// that [`crate::SymbolIndex::sections`] lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Svma(pub u64);

/// An actual virtual memory address: one in the running guest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Avma(pub u64);

/// avma minus svma, modulo 2^64: what KASLR or the loader added.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Displacement(pub u64);

impl Avma {
    /// The address in the file of what is at this address in the guest.
    pub fn to_svma(self, displacement: Displacement) -> Svma {
        Svma(self.0.wrapping_sub(displacement.0))
    }

    /// How far this lies from where the file puts it.
    pub fn minus(self, stated: Svma) -> Displacement {
        Displacement(self.0.wrapping_sub(stated.0))
    }
}

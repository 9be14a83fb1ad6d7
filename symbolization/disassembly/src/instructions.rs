use crate::decode::Decode;

/// What an architecture is to this crate; each has a folder.
pub(crate) trait Instructions: Send + Sync {
    /// Its names, which are the kernel's (`uname -m`, or its folder in `arch`).
    fn names(&self) -> &'static [&'static str];

    /// As [`crate::Architecture::split`].
    fn split(&self, code: &[u8]) -> Vec<u8>;

    /// A decoder of instructions.
    fn decoder(&self) -> Box<dyn Decode>;
}

/// A struct or union with a name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TypeSize {
    /// `struct` or `union`.
    pub kind: &'static str,
    /// Its name.
    pub name: String,
    /// In bytes.
    pub size: u64,
}

impl TypeSize {
    pub(crate) fn new(is_union: bool, name: &[u8], size: u64) -> Self {
        TypeSize {
            kind: if is_union { "union" } else { "struct" },
            name: String::from_utf8_lossy(name).into_owned(),
            size,
        }
    }

    /// What tells it from others.
    pub(crate) fn key(&self) -> (&str, &str) {
        (self.kind, &self.name)
    }
}

use std::rc::Rc;

use kernel_symbols::Result;

/// Which type of a file: its offset in `.debug_info`, or its number in BTF.
pub(crate) type Id = u64;

/// How many typedefs and qualifiers may follow each other.
const MOST_ALIASES: usize = 64;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    Base,
    Pointer,
    Struct,
    Union,
    Array,
    Typedef,
    /// `const`, `volatile`, `restrict`, `_Atomic`, and attributes.
    Qualifier(&'static str),
    Enumeration,
    Function,
    Other,
}

#[derive(Debug)]
pub(crate) struct Member {
    pub(crate) name: String,
    /// Where it starts, in bits.
    pub(crate) offset: u64,
    pub(crate) target: Id,
    /// In bits, of a bit field.
    pub(crate) bits: Option<u64>,
}

#[derive(Debug)]
pub(crate) struct Type {
    pub(crate) kind: Kind,
    pub(crate) name: String,
    /// In bytes; of an array: how many elements, all dimensions together.
    pub(crate) size: u64,
    /// What it points to, stands for or consists of; none: void.
    pub(crate) target: Option<Id>,
    pub(crate) members: Vec<Member>,
    /// Whether the file here only declares it.
    pub(crate) declared: bool,
}

/// A definition of a name.
pub(crate) struct Definition {
    pub(crate) id: Id,
    /// How many other definitions the name has that differ.
    pub(crate) others: usize,
}

/// The types of a file.
pub(crate) trait Types {
    /// The definition of each name that most of the file uses: of a struct or union, else of a
    /// typedef of one.
    fn definitions(&self, names: &[&str]) -> Result<Vec<Option<Definition>>>;

    fn get(&self, id: Id) -> Result<Rc<Type>>;

    /// A type without typedefs and qualifiers; none: void, or an endless chain.
    fn stripped(&self, mut id: Id) -> Result<Option<(Id, Rc<Type>)>> {
        for _ in 0..MOST_ALIASES {
            let found = self.get(id)?;
            match (found.kind, found.target) {
                (Kind::Typedef | Kind::Qualifier(_), Some(target)) => id = target,
                (Kind::Typedef | Kind::Qualifier(_), None) => return Ok(None),
                _ => return Ok(Some((id, found))),
            }
        }
        Ok(None)
    }

    /// In bytes; 0 where it has none.
    fn size(&self, id: Id) -> Result<u64> {
        let (mut id, mut times) = (id, 1u64);
        for _ in 0..MOST_ALIASES {
            match self.stripped(id)? {
                Some((_, found)) if found.kind == Kind::Array => {
                    times = times.saturating_mul(found.size);
                    match found.target {
                        Some(target) => id = target,
                        None => return Ok(0),
                    }
                }
                Some((_, found)) => return Ok(times.saturating_mul(found.size)),
                None => return Ok(0),
            }
        }
        Ok(0)
    }
}

use std::rc::Rc;

use kernel_symbols::Result;

use crate::sizes::TypeSize;

/// Which type of a file: its offset in `.debug_info`, or its number in BTF.
pub type Id = u64;

/// How many typedefs and qualifiers may follow each other.
const MOST_ALIASES: usize = 64;

/// What kind a type is of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// A number, a character, a truth value.
    Base,
    /// A pointer.
    Pointer,
    /// A struct.
    Struct,
    /// A union.
    Union,
    /// An array.
    Array,
    /// Another name for a type.
    Typedef,
    /// `const`, `volatile`, `restrict`, `_Atomic`, and attributes.
    Qualifier(&'static str),
    /// An enumeration.
    Enumeration,
    /// A function.
    Function,
    /// What C has not.
    Other,
}

/// A member of a struct or union.
#[derive(Debug)]
pub struct Member {
    /// Its name; "" of an anonymous one.
    pub name: String,
    /// Where it starts, in bits.
    pub offset: u64,
    /// Its type.
    pub target: Id,
    /// In bits, of a bit field.
    pub bits: Option<u64>,
}

/// A type.
#[derive(Debug)]
pub struct Type {
    /// Its kind.
    pub kind: Kind,
    /// Its name; "" of an anonymous one.
    pub name: String,
    /// In bytes; of an array: how many elements, all dimensions together.
    pub size: u64,
    /// What it points to, stands for or consists of; none: void.
    pub target: Option<Id>,
    /// Of a struct or union, in the order of the declaration.
    pub members: Vec<Member>,
    /// Whether the file here only declares it.
    pub declared: bool,
}

/// A definition of a name.
pub struct Definition {
    /// Which type it is.
    pub id: Id,
    /// How many other definitions the name has that differ.
    pub others: usize,
}

/// The types of a file.
pub trait Types {
    /// The definition of each name that most of the file uses: of a struct or union, else of a
    /// typedef of one.
    fn definitions(&self, names: &[&str]) -> Result<Vec<Option<Definition>>>;

    /// The sizes of all structs and unions with a name, of those of one name that which most of the
    /// file uses; by kind and name.
    fn sizes(&self) -> Result<Vec<TypeSize>>;

    /// A type by its identity.
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

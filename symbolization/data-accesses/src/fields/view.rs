use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use data_types::{Id, Kind, Type, Types};

use crate::program::Program;

/// How many typedefs and qualifiers may follow each other.
const MOST_ALIASES: usize = 32;

/// Questions about the types of a program; what cannot be read is void.
pub(crate) struct TypeView<'p, 'd> {
    pub(crate) program: &'p Program<'d>,
    stripped: RefCell<HashMap<Id, (Id, Rc<Type>)>>,
    sizes: RefCell<HashMap<Id, u64>>,
    names: RefCell<HashMap<Id, Rc<str>>>,
}

impl<'p, 'd> TypeView<'p, 'd> {
    pub(crate) fn new(program: &'p Program<'d>) -> Self {
        TypeView {
            program,
            stripped: RefCell::default(),
            sizes: RefCell::default(),
            names: RefCell::default(),
        }
    }

    fn get(&self, id: Id) -> Rc<Type> {
        self.program.types.get(id).unwrap_or_else(|_| {
            Rc::new(Type {
                kind: Kind::Other,
                name: String::new(),
                size: 0,
                target: None,
                members: Vec::new(),
                declared: false,
            })
        })
    }

    /// A type without typedefs and qualifiers; a record that is only declared becomes its definition.
    pub(crate) fn stripped(&self, id: Id) -> (Id, Rc<Type>) {
        if let Some((id, found)) = self.stripped.borrow().get(&id) {
            return (*id, Rc::clone(found));
        }
        let mut at = id;
        let mut found = self.get(at);
        for _ in 0..MOST_ALIASES {
            match (found.kind, found.target) {
                (Kind::Typedef | Kind::Qualifier(_), Some(target)) => at = target,
                (Kind::Struct | Kind::Union, _) if found.declared => {
                    match self.program.defined(at, &found.name) {
                        Some(defined) if defined != at => at = defined,
                        _ => break,
                    }
                }
                _ => break,
            }
            found = self.get(at);
        }
        self.stripped
            .borrow_mut()
            .insert(id, (at, Rc::clone(&found)));
        (at, found)
    }

    pub(crate) fn is_record(&self, id: Id) -> bool {
        matches!(self.stripped(id).1.kind, Kind::Struct | Kind::Union)
    }

    pub(crate) fn is_array(&self, id: Id) -> bool {
        self.stripped(id).1.kind == Kind::Array
    }

    /// In bytes; 0 where it is not known.
    pub(crate) fn size(&self, id: Id) -> u64 {
        if let Some(size) = self.sizes.borrow().get(&id) {
            return *size;
        }
        let (mut at, mut times, mut size) = (id, 1u64, 0);
        for _ in 0..MOST_ALIASES {
            let (_, found) = self.stripped(at);
            match (found.kind, found.target) {
                (Kind::Array, Some(target)) => {
                    times = times.saturating_mul(found.size);
                    at = target;
                }
                (Kind::Array, None) => break,
                _ => {
                    size = times.saturating_mul(found.size);
                    break;
                }
            }
        }
        self.sizes.borrow_mut().insert(id, size);
        size
    }

    /// What a pointer type points to; none of another type, or of a pointer to void.
    pub(crate) fn pointee(&self, id: Id) -> Option<Id> {
        let (_, found) = self.stripped(id);
        let target = found.target.filter(|_| found.kind == Kind::Pointer)?;
        // A qualified void has no target, either.
        let (_, behind) = self.stripped(target);
        (!matches!(behind.kind, Kind::Qualifier(_) | Kind::Other)).then_some(target)
    }

    pub(crate) fn is_pointer(&self, id: Id) -> bool {
        self.stripped(id).1.kind == Kind::Pointer
    }

    /// Whether it has pointers to its like: a node of a list or tree.
    pub(crate) fn links(&self, id: Id) -> bool {
        let (_, record) = self.stripped(id);
        let mut pointees = record.members.iter().map(|one| self.pointee(one.target));
        pointees.any(|to| to.is_some_and(|to| self.same(to, id)))
    }

    /// What a function, by its type, returns.
    pub(crate) fn result(&self, id: Id) -> Option<Option<Id>> {
        let (_, found) = self.stripped(id);
        (found.kind == Kind::Function).then_some(found.target)
    }

    /// Whether two types of different units are the same.
    pub(crate) fn same(&self, one: Id, other: Id) -> bool {
        if one == other {
            return true;
        }
        let ((at, found), (at_other, found_other)) = (self.stripped(one), self.stripped(other));
        at == at_other
            || (found.kind == found_other.kind
                && self.size(one) == self.size(other)
                && self.name(one) == self.name(other))
    }

    /// Its name without `struct` or `union`; of what has none, that of its last typedef.
    pub(crate) fn name(&self, id: Id) -> Rc<str> {
        if let Some(name) = self.names.borrow().get(&id) {
            return Rc::clone(name);
        }
        let name: Rc<str> = self.named(id).into();
        self.names.borrow_mut().insert(id, Rc::clone(&name));
        name
    }

    fn named(&self, id: Id) -> String {
        let (_, found) = self.stripped(id);
        if !matches!(found.kind, Kind::Struct | Kind::Union) {
            let written = data_types::name(&self.program.types, id);
            return written.unwrap_or_else(|_| "?".into());
        }
        if !found.name.is_empty() {
            return found.name.clone();
        }
        let (mut at, mut alias) = (id, String::new());
        for _ in 0..MOST_ALIASES {
            let found = self.get(at);
            if found.kind == Kind::Typedef {
                alias.clone_from(&found.name);
            }
            match (found.kind, found.target) {
                (Kind::Typedef | Kind::Qualifier(_), Some(target)) => at = target,
                _ => break,
            }
        }
        match alias.is_empty() {
            true => "(anonymous)".into(),
            false => alias,
        }
    }
}

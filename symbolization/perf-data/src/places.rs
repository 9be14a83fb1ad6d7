use std::hash::BuildHasher;

use hashbrown::hash_table::HashTable;
use hashbrown::{DefaultHashBuilder, HashMap};

/// What an address belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum ObjectKind {
    /// The kernel and its modules; addresses are avmas.
    Kernel = 0,
    /// A file that a process mapped; addresses are offsets in the file.
    File = 1,
    /// The vDSO; addresses are offsets in it.
    Vdso = 2,
    /// Memory of a process without a file, where a JIT may have put code; addresses are avmas.
    Anonymous = 3,
    /// User space where nothing was mapped; addresses are avmas.
    Unmapped = 4,
    /// A guest of the recorded machine, kernel or user; addresses are the guest's.
    Guest = 5,
    /// The hypervisor; addresses are its own.
    Hypervisor = 6,
}

impl ObjectKind {
    /// Names of the kinds, by number.
    pub const NAMES: [&'static str; 7] = [
        "kernel",
        "file",
        "vdso",
        "anonymous",
        "unmapped",
        "guest",
        "hypervisor",
    ];
}

/// Something that addresses belong to.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Object {
    /// What it is.
    pub kind: ObjectKind,
    /// Its path in the recorded machine, or a name.
    pub path: String,
    /// Its build id in hexadecimal; empty if the recording does not say.
    pub build_id: String,
    /// The process, for memory without a file; else 0.
    pub pid: u32,
}

/// Objects by number; the first is the kernel.
#[derive(Debug)]
pub(crate) struct Objects {
    pub(crate) list: Vec<Object>,
    known: HashMap<Object, u32>,
}

pub(crate) const KERNEL: u32 = 0;
pub(crate) const UNMAPPED: u32 = 1;
pub(crate) const GUEST: u32 = 2;
pub(crate) const HYPERVISOR: u32 = 3;

impl Default for Objects {
    fn default() -> Self {
        let mut objects = Objects {
            list: Vec::new(),
            known: HashMap::new(),
        };
        for (kind, name) in [
            (ObjectKind::Kernel, "[kernel]"),
            (ObjectKind::Unmapped, "[unmapped]"),
            (ObjectKind::Guest, "[guest]"),
            (ObjectKind::Hypervisor, "[hypervisor]"),
        ] {
            objects.intern(Object {
                kind,
                path: name.into(),
                build_id: String::new(),
                pid: 0,
            });
        }
        objects
    }
}

impl Objects {
    pub(crate) fn intern(&mut self, object: Object) -> u32 {
        if let Some(number) = self.known.get(&object) {
            return *number;
        }
        let number = self.list.len() as u32;
        self.list.push(object.clone());
        self.known.insert(object, number);
        number
    }

    /// What a mapping of that name is (the names of arch_vma_name() and of tools/perf/util/map.c).
    pub(crate) fn of_mapping(&mut self, path: &str, build_id: String, pid: u32) -> u32 {
        let kind = if path == "[vdso]" {
            ObjectKind::Vdso
        } else if !path.starts_with('/')
            || path.starts_with("//anon")
            || path.starts_with("/dev/zero")
            || path.starts_with("/memfd:")
            || path.starts_with("/SYSV")
            || path.starts_with("/anon_hugepage")
        {
            ObjectKind::Anonymous
        } else {
            ObjectKind::File
        };
        let anonymous = kind == ObjectKind::Anonymous;
        self.intern(Object {
            kind,
            path: path.into(),
            build_id,
            pid: if anonymous { pid } else { 0 },
        })
    }
}

/// In which address space, and at which state of its mappings, an address was seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Seen {
    pub(crate) space: u32,
    pub(crate) generation: u32,
}

/// How many addresses are remembered with their places; a power of two.
const REMEMBERED: usize = 1 << 13;

/// Distinct places: an object, and an address in it.
#[derive(Debug)]
pub(crate) struct Places {
    pub(crate) object: Vec<u32>,
    pub(crate) address: Vec<u64>,
    hasher: DefaultHashBuilder,
    /// The numbers alone, to be small: what they stand for is in the columns.
    known: HashTable<u32>,
    /// The last place of an address among those with the same low bits: most chains share frames.
    recent: Vec<(u64, Seen, u8, u32)>,
}

impl Default for Places {
    fn default() -> Self {
        Places {
            object: Vec::new(),
            address: Vec::new(),
            hasher: DefaultHashBuilder::default(),
            known: HashTable::new(),
            // No address of a chain is that high.
            recent: vec![(u64::MAX, Seen::default(), 0, 0); REMEMBERED],
        }
    }
}

impl Places {
    #[inline]
    pub(crate) fn intern(&mut self, object: u32, address: u64) -> u32 {
        let (objects, addresses) = (&mut self.object, &mut self.address);
        let hash = self.hasher.hash_one((object, address));
        let equal =
            |row: &u32| (objects[*row as usize], addresses[*row as usize]) == (object, address);
        if let Some(place) = self.known.find(hash, equal) {
            return *place;
        }
        objects.push(object);
        addresses.push(address);
        let place = objects.len() as u32 - 1;
        self.known.insert_unique(hash, place, |row| {
            let row = *row as usize;
            self.hasher.hash_one((objects[row], addresses[row]))
        });
        place
    }

    /// The place of an address; `find` tells object and address in it where that is not remembered.
    #[inline]
    pub(crate) fn of(
        &mut self,
        address: u64,
        seen: Seen,
        mode: u8,
        find: impl FnOnce() -> (u32, u64),
    ) -> u32 {
        let slot = ((address ^ (address >> 13)) as usize ^ seen.space as usize) & (REMEMBERED - 1);
        let (known, then, how, place) = self.recent[slot];
        if known == address && then == seen && how == mode {
            return place;
        }
        let (object, within) = find();
        let place = self.intern(object, within);
        self.recent[slot] = (address, seen, mode, place);
        place
    }
}

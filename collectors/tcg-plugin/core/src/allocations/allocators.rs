//! Where a kernel's allocators begin, as the plugin's arguments say.

use crate::lines::regions::Symbols;

/// What a function does, and what its registers hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// It returns an object.
    Object,
    /// It returns how many objects it has put into the array FIRST.
    Objects,
    /// It takes back the object FIRST.
    FreesObject,
    /// It takes back the object that the `rcu_head` FIRST is in.
    FreesAround,
    /// It takes back FIRST objects, of the array SECOND.
    FreesObjects,
    /// It takes back the objects of the sheaf that begins with the `rcu_head` FIRST.
    FreesSheaf,
    /// It returns a block of pages of the order FIRST.
    Pages,
    /// It fills the array SECOND, which has FIRST places, with pages.
    PageArray,
    /// It takes back the block of pages FIRST of the order SECOND.
    FreesPages,
    /// It takes back the folios of the batch FIRST.
    FreesFolios,
}

impl Role {
    /// Whether what it does is known when it returns.
    pub fn gives(self) -> bool {
        matches!(
            self,
            Role::Object | Role::Objects | Role::Pages | Role::PageArray
        )
    }
}

const ROLES: [(&str, Role); 10] = [
    ("object", Role::Object),
    ("objects", Role::Objects),
    ("frees-object", Role::FreesObject),
    ("frees-around", Role::FreesAround),
    ("frees-objects", Role::FreesObjects),
    ("frees-sheaf", Role::FreesSheaf),
    ("pages", Role::Pages),
    ("page-array", Role::PageArray),
    ("frees-pages", Role::FreesPages),
    ("frees-folios", Role::FreesFolios),
];

/// A function of an allocator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Allocator {
    /// What it does.
    pub role: Role,
    /// Its first instruction.
    pub address: u64,
    /// gdb's names of the registers; "": none.
    pub registers: [String; 2],
}

impl Allocator {
    /// That of an argument's value, `ROLE:ADDRESS:FIRST:SECOND`; None where it makes no sense.
    pub fn parse(text: &str) -> Option<Allocator> {
        let words: Vec<&str> = text.split(':').collect();
        let [role, address, first, second] = words[..] else {
            return None;
        };
        let (_, role) = *ROLES.iter().find(|(name, _)| *name == role)?;
        Some(Allocator {
            role,
            address: u64::from_str_radix(address, 16).ok()?,
            registers: [first.to_owned(), second.to_owned()],
        })
    }
}

/// Where members of the kernel's types are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Layout {
    /// Addresses of variables.
    pub symbols: Symbols,
    /// `slab.slab_cache`.
    pub slab_cache: u64,
    /// `kmem_cache.name`.
    pub cache_name: u64,
    /// `kmem_cache.size`: of an object with all that is added.
    pub cache_size: u64,
    /// `slab_sheaf.size`: its objects.
    pub sheaf_size: u64,
    /// `slab_sheaf.objects`.
    pub sheaf_objects: u64,
    /// `folio_batch.nr`.
    pub batch_number: u64,
    /// `folio_batch.folios`.
    pub batch_folios: u64,
}

impl Layout {
    /// Those of an argument: variables as [`Symbols`] has them, `;`, and offsets, hexadecimal numbers
    /// with a colon between two.
    pub fn parse(text: &str) -> Option<Layout> {
        let (symbols, offsets) = text.split_once(';')?;
        let offsets = offsets.split(':');
        let offsets = offsets.map(|one| u64::from_str_radix(one, 16).ok());
        let offsets: Vec<u64> = offsets.collect::<Option<_>>()?;
        let [slab_cache, cache_name, cache_size, sheaf_size, sheaf_objects, batch_number, batch_folios] =
            offsets[..]
        else {
            return None;
        };
        Some(Layout {
            symbols: Symbols::parse(symbols)?,
            slab_cache,
            cache_name,
            cache_size,
            sheaf_size,
            sheaf_objects,
            batch_number,
            batch_folios,
        })
    }
}

use std::borrow::Cow;

use hashbrown::HashMap;

/// What a section holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Code,
    /// Never written, or only at boot.
    Constant,
    Data,
}

/// A section that is in memory when the kernel runs.
#[derive(Clone, Debug)]
pub(crate) struct Section<'d> {
    pub(crate) name: &'d [u8],
    pub(crate) start: u64,
    pub(crate) size: u64,
    /// None: zeros.
    pub(crate) bytes: Option<&'d [u8]>,
    pub(crate) kind: Kind,
}

impl Section<'_> {
    pub(crate) fn end(&self) -> u64 {
        self.start + self.size
    }
}

/// Sections by address.
#[derive(Debug)]
pub(crate) struct Sections<'d> {
    sorted: Vec<Section<'d>>,
    /// Names of the linker for where sections end and nothing is.
    edges: HashMap<u64, Vec<&'d [u8]>>,
}

impl<'d> Sections<'d> {
    /// For sections that do not wrap around the end of the address space.
    pub(crate) fn new(mut sections: Vec<Section<'d>>) -> Self {
        sections.sort_by_key(|section| section.start);
        Sections {
            sorted: sections,
            edges: HashMap::new(),
        }
    }

    /// Note a name of an address of the kernel's half at which no section has anything.
    pub(crate) fn add_edge(&mut self, address: u64, name: &'d [u8]) {
        if address >> 63 == 1 {
            self.edges.entry(address).or_default().push(name);
        }
    }

    /// The names of an address at which nothing is; none of one where something is.
    pub(crate) fn edge(&self, address: u64) -> &[&'d [u8]] {
        self.edges.get(&address).map_or(&[], Vec::as_slice)
    }

    /// Whether an address of the kernel's half is one of this kernel.
    pub(crate) fn knows(&self, address: u64) -> bool {
        address >> 63 == 1 && (self.at(address).is_some() || self.edges.contains_key(&address))
    }

    /// The section that has an address.
    pub(crate) fn at(&self, address: u64) -> Option<&Section<'d>> {
        let next = self.sorted.partition_point(|one| one.start <= address);
        let section = self.sorted.get(next.checked_sub(1)?)?;
        (address < section.end()).then_some(section)
    }

    pub(crate) fn named(&self, name: &[u8]) -> Option<&Section<'d>> {
        self.sorted.iter().find(|section| section.name == name)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Section<'d>> {
        self.sorted.iter()
    }

    /// `size` bytes from an address on, if one section has them all.
    pub(crate) fn bytes(&self, address: u64, size: u64) -> Option<Cow<'d, [u8]>> {
        /// Nothing that a kernel leaves zero is compared in one piece that is larger.
        const MOST_ZEROS: u64 = 16 << 20;
        let section = self.at(address)?;
        let offset = address - section.start;
        if size > section.size - offset {
            return None;
        }
        let Some(bytes) = section.bytes else {
            return (size <= MOST_ZEROS).then(|| Cow::Owned(vec![0; size as usize]));
        };
        let start = usize::try_from(offset).ok()?;
        let part = bytes.get(start..start.checked_add(usize::try_from(size).ok()?)?)?;
        Some(Cow::Borrowed(part))
    }

    /// Bytes from an address to the end of its section.
    pub(crate) fn left(&self, address: u64) -> u64 {
        self.at(address)
            .map_or(0, |section| section.end() - address)
    }

    pub(crate) fn kind(&self, address: u64) -> Option<Kind> {
        self.at(address).map(|section| section.kind)
    }
}

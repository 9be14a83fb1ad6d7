//! Where the data of a program lies.

use std::path::Path;

use object::{Object, ObjectSection, ObjectSymbol, SectionKind, SymbolKind};

use crate::file::FileBytes;
use crate::{Error, Result, Svma};

/// A part of a program's data: a variable or a section.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DataPart {
    /// What it is called.
    pub name: String,
    /// Where it starts.
    pub svma: Svma,
    /// In bytes.
    pub size: u64,
}

/// Variables of an ELF file that have a size, and its sections with data, both by address. Variables
/// of each thread are none: they lie somewhere else in each.
pub fn elf_data(path: &Path) -> Result<(Vec<DataPart>, Vec<DataPart>)> {
    let bytes = FileBytes::open(path)?;
    let damaged = |error: object::Error| Error::damaged(path, error.to_string());
    let file = object::File::parse(&*bytes).map_err(damaged)?;
    let own = file.symbols().filter(|one| one.size() > 0);
    let mut variables: Vec<DataPart> = own
        .filter(|one| one.kind() == SymbolKind::Data && one.is_definition())
        .filter_map(|one| {
            let name = one.name().ok().filter(|name| !name.is_empty())?;
            Some(part(name, one.address(), one.size()))
        })
        .collect();
    let mut sections: Vec<DataPart> = file
        .sections()
        .filter(|one| {
            let (data, constants) = (SectionKind::Data, SectionKind::ReadOnlyData);
            let is_data = [data, constants, SectionKind::UninitializedData].contains(&one.kind());
            is_data && one.address() > 0 && one.size() > 0
        })
        .filter_map(|one| Some(part(one.name().ok()?, one.address(), one.size())))
        .collect();
    for parts in [&mut variables, &mut sections] {
        parts.sort_by(|one, other| (one.svma, &one.name).cmp(&(other.svma, &other.name)));
    }
    Ok((variables, sections))
}

fn part(name: &str, address: u64, size: u64) -> DataPart {
    DataPart {
        name: name.into(),
        svma: Svma(address),
        size,
    }
}

use std::path::Path;

use kernel_symbols::{DebugFile, Error, Result};

use crate::btf::Btf;
use crate::dwarf::Dwarf;
use crate::name;
use crate::sizes::TypeSize;
use crate::types::{Id, Kind, Type, Types};
use crate::units::SECTIONS;

/// How deep anonymous structs and unions may lie in each other.
const MOST_DEPTH: usize = 32;

/// How many fields a type may have, those of anonymous members too. The largest of a kernel has
/// some hundred.
const MOST_FIELDS: usize = 1 << 16;

/// A field of a struct or union; those of anonymous members count as its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// Its name; "" of a bit field that only keeps bits free.
    pub name: String,
    /// Its type as C writes it.
    pub type_name: String,
    /// Where it starts, in bits from the start of the type that was asked for.
    pub offset: u64,
    /// Its size in bits; 0 of a flexible array.
    pub size: u64,
    /// Whether it is a bit field.
    pub is_bit_field: bool,
}

/// A struct or union.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    /// `struct` or `union`.
    pub kind: &'static str,
    /// In bytes.
    pub size: u64,
    /// Where it starts, in bytes: of a member, from the start of the type that has it.
    pub start: u64,
    /// How many other types of the same name the file has.
    pub others: usize,
    /// In the order of the declaration.
    pub fields: Vec<Field>,
}

/// What a file says of the names that it was asked for.
pub struct Layouts {
    /// `DWARF` or `BTF`.
    pub source: &'static str,
    /// For each name; none where the file has no such struct, union or member.
    pub found: Vec<Option<Layout>>,
}

/// The layouts of types: `mm_struct`, `spinlock_t`, or of a member, `task_struct.se`.
///
/// The file at `path` is an ELF file (plain, `.zst`, `.xz` or `.gz`) with DWARF or BTF, or BTF alone
/// as in /sys/kernel/btf.
pub fn layouts(path: &Path, names: &[String]) -> Result<Layouts> {
    read(path, |types, source| found(types, source, names))?.ok_or_else(|| Error::Kind {
        path: path.into(),
        expected: "a file with types",
        found: "it has no DWARF and no BTF".into(),
        advice: "give a kernel with CONFIG_DEBUG_INFO=y, or its debug package",
    })
}

/// The sizes of all structs and unions with a name, in a file as [`layouts`] reads it; none where it
/// has no types.
pub fn sizes(path: &Path) -> Result<Option<Vec<TypeSize>>> {
    read(path, |types, _| types.sizes())
}

fn read<T>(path: &Path, of: impl Fn(&dyn Types, &'static str) -> Result<T>) -> Result<Option<T>> {
    if let Some(bytes) = Btf::alone(path)? {
        let btf = Btf::parse(&bytes).map_err(|what| damaged(path, what))?;
        return of(&btf, "BTF").map(Some);
    }
    let file = DebugFile::open(path, &SECTIONS)?;
    if !file.section(".debug_info").is_empty() {
        return of(&Dwarf::new(&file)?, "DWARF").map(Some);
    }
    if file.section(".BTF").is_empty() {
        return Ok(None);
    }
    let btf = Btf::parse(file.section(".BTF")).map_err(|what| file.damaged(what))?;
    of(&btf, "BTF").map(Some)
}

fn damaged(path: &Path, what: String) -> Error {
    Error::Damaged {
        path: path.into(),
        what,
    }
}

fn found(types: &dyn Types, source: &'static str, names: &[String]) -> Result<Layouts> {
    let heads: Vec<&str> = names.iter().map(|name| head(name)).collect();
    let definitions = types.definitions(&heads)?;
    let pairs = names.iter().zip(definitions);
    let found = pairs
        .map(|(name, definition)| match definition {
            Some(one) => layout(types, one.id, one.others, name),
            None => Ok(None),
        })
        .collect::<Result<_>>()?;
    Ok(Layouts { source, found })
}

fn head(name: &str) -> &str {
    name.split('.').next().unwrap_or_default()
}

fn layout(types: &dyn Types, id: Id, others: usize, name: &str) -> Result<Option<Layout>> {
    let (mut id, mut start) = (id, 0);
    for part in name.split('.').skip(1) {
        let Some((_, record)) = types.stripped(id)? else {
            return Ok(None);
        };
        let Some((member, offset)) = member(types, &record, part)? else {
            return Ok(None);
        };
        id = member;
        start += offset / 8;
    }
    let Some((_, record)) = types.stripped(id)? else {
        return Ok(None);
    };
    let kind = match record.kind {
        Kind::Struct => "struct",
        Kind::Union => "union",
        _ => return Ok(None),
    };
    if record.declared {
        return Ok(None);
    }
    let mut fields = Vec::new();
    flatten(types, &record, &mut |field| {
        fields.push(Field {
            name: field.name.to_owned(),
            type_name: name::name(types, field.target)?,
            offset: field.offset.saturating_add(start.saturating_mul(8)),
            size: field.bits.map_or_else(
                || Ok(types.size(field.target)?.saturating_mul(8)),
                Ok::<u64, Error>,
            )?,
            is_bit_field: field.bits.is_some(),
        });
        Ok(fields.len() < MOST_FIELDS)
    })?;
    Ok(Some(Layout {
        kind,
        size: record.size,
        start,
        others,
        fields,
    }))
}

/// A member by its name, through anonymous ones, and where it starts in bits.
fn member(types: &dyn Types, record: &Type, name: &str) -> Result<Option<(Id, u64)>> {
    let mut found = None;
    flatten(types, record, &mut |field| {
        if field.name == name && field.bits.is_none() {
            found = Some((field.target, field.offset));
        }
        Ok(found.is_none())
    })?;
    Ok(found)
}

struct Flat<'t> {
    name: &'t str,
    target: Id,
    offset: u64,
    bits: Option<u64>,
}

/// Tell of each member, and of those of anonymous structs and unions in their place, until `tell`
/// says that it is enough.
fn flatten(
    types: &dyn Types,
    record: &Type,
    tell: &mut dyn FnMut(Flat<'_>) -> Result<bool>,
) -> Result<()> {
    flatten_at(types, record, 0, 0, tell).map(|_| ())
}

fn flatten_at(
    types: &dyn Types,
    record: &Type,
    start: u64,
    depth: usize,
    tell: &mut dyn FnMut(Flat<'_>) -> Result<bool>,
) -> Result<bool> {
    for member in &record.members {
        let offset = start.saturating_add(member.offset);
        if member.name.is_empty() && member.bits.is_none() && depth < MOST_DEPTH {
            if let Some((_, inner)) = types.stripped(member.target)? {
                if matches!(inner.kind, Kind::Struct | Kind::Union) {
                    if !flatten_at(types, &inner, offset, depth + 1, tell)? {
                        return Ok(false);
                    }
                    continue;
                }
            }
        }
        let (name, target, bits) = (member.name.as_str(), member.target, member.bits);
        if !tell(Flat {
            name,
            target,
            offset,
            bits,
        })? {
            return Ok(false);
        }
    }
    Ok(true)
}

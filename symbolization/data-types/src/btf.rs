//! BTF (Documentation/bpf/btf.rst in the kernel tree).

use std::collections::HashMap;
use std::path::Path;
use std::rc::Rc;

use kernel_symbols::{FileBytes, Result};

use crate::sizes::TypeSize;
use crate::types::{Definition, Id, Kind, Member, Type, Types};

const MAGIC: u16 = 0xeb9f;

/// A kernel has some 200,000 types.
const MOST_TYPES: usize = 1 << 24;

/// The types of BTF; number 0 is void.
pub(crate) struct Btf<'d> {
    bytes: &'d [u8],
    /// Where each type starts, from number 1 on.
    starts: Vec<u32>,
    strings: &'d [u8],
}

impl<'d> Btf<'d> {
    /// The bytes of a file that is BTF alone; none of another one.
    pub(crate) fn alone(path: &Path) -> Result<Option<FileBytes>> {
        let bytes = FileBytes::map(path)?;
        Ok(bytes.starts_with(&MAGIC.to_le_bytes()).then_some(bytes))
    }

    pub(crate) fn parse(bytes: &'d [u8]) -> std::result::Result<Self, String> {
        let damaged = || String::from("BTF is cut short");
        let magic = bytes
            .get(..2)
            .map(|two| u16::from_le_bytes([two[0], two[1]]));
        if magic != Some(MAGIC) {
            return Err("BTF does not start with its magic number".into());
        }
        let field = |at: usize| word(bytes, at).ok_or_else(damaged);
        let header = field(4)? as usize;
        let part = |offset: u32, length: u32| {
            let start = header.checked_add(offset as usize)?;
            bytes.get(start..start.checked_add(length as usize)?)
        };
        let types = part(field(8)?, field(12)?).ok_or_else(damaged)?;
        let strings = part(field(16)?, field(20)?).ok_or_else(damaged)?;
        let mut starts = Vec::new();
        let mut at = 0;
        while at < types.len() {
            let info = word(types, at + 4).ok_or_else(damaged)?;
            let (kind, count) = ((info >> 24) & 0x1f, (info & 0xffff) as usize);
            let more = match kind {
                1 | 14 | 17 => 4,
                3 => 12,
                4 | 5 | 15 | 19 => 12 * count,
                6 | 13 => 8 * count,
                2 | 7..=12 | 16 | 18 => 0,
                other => return Err(format!("BTF has a type of the unknown kind {other}")),
            };
            if starts.len() == MOST_TYPES {
                return Err("BTF has too many types".into());
            }
            starts.push(u32::try_from(at).map_err(|_| damaged())?);
            at += 12 + more;
        }
        if at > types.len() {
            return Err(damaged());
        }
        Ok(Btf {
            bytes: types,
            starts,
            strings,
        })
    }

    fn string(&self, offset: u32) -> &'d [u8] {
        let rest = self.strings.get(offset as usize..).unwrap_or_default();
        let end = rest.iter().position(|byte| *byte == 0);
        &rest[..end.unwrap_or(rest.len())]
    }

    fn at(&self, id: Id) -> Option<usize> {
        let index = usize::try_from(id).ok()?.checked_sub(1)?;
        self.starts.get(index).map(|start| *start as usize)
    }

    fn word(&self, at: usize) -> u32 {
        word(self.bytes, at).unwrap_or(0)
    }
}

impl Types for Btf<'_> {
    fn definitions(&self, names: &[&str]) -> Result<Vec<Option<Definition>>> {
        let wanted: HashMap<&[u8], usize> = names
            .iter()
            .enumerate()
            .map(|(number, name)| (name.as_bytes(), number))
            .collect();
        let mut records: Vec<Vec<Id>> = vec![Vec::new(); names.len()];
        let mut aliases = records.clone();
        for (index, start) in self.starts.iter().enumerate() {
            let at = *start as usize;
            let kind = (self.word(at + 4) >> 24) & 0x1f;
            let into = match kind {
                4 | 5 => &mut records,
                8 => &mut aliases,
                _ => continue,
            };
            if let Some(number) = wanted.get(self.string(self.word(at))) {
                into[*number].push(index as Id + 1);
            }
        }
        let numbers = names.iter().map(|name| wanted[name.as_bytes()]);
        Ok(numbers
            .map(|number| {
                let every = [&records[number], &aliases[number]];
                let known = every.into_iter().find(|ids| !ids.is_empty())?;
                // BTF has types that differ once each, and does not say which is used most.
                Some(Definition {
                    id: *known.first()?,
                    others: known.len() - 1,
                })
            })
            .collect())
    }

    fn sizes(&self) -> Result<Vec<TypeSize>> {
        let mut sizes = Vec::new();
        for start in &self.starts {
            let at = *start as usize;
            let (kind, name) = ((self.word(at + 4) >> 24) & 0x1f, self.word(at));
            let name = self.string(name);
            if matches!(kind, 4 | 5) && !name.is_empty() {
                sizes.push(TypeSize::new(kind == 5, name, u64::from(self.word(at + 8))));
            }
        }
        // Stable: of several of one name the first stays, as for `definitions`.
        sizes.sort_by(|one, other| one.key().cmp(&other.key()));
        sizes.dedup_by(|one, other| one.key() == other.key());
        Ok(sizes)
    }

    fn get(&self, id: Id) -> Result<Rc<Type>> {
        let Some(at) = self.at(id) else {
            return Ok(Rc::new(Type {
                kind: Kind::Qualifier(""),
                name: String::new(),
                size: 0,
                target: None,
                members: Vec::new(),
                declared: false,
            }));
        };
        let (info, size) = (self.word(at + 4), self.word(at + 8));
        let (number, count) = ((info >> 24) & 0x1f, (info & 0xffff) as usize);
        let kind = match number {
            1 | 16 => Kind::Base,
            2 => Kind::Pointer,
            3 => Kind::Array,
            4 => Kind::Struct,
            5 => Kind::Union,
            6 | 19 => Kind::Enumeration,
            7 => match info >> 31 {
                0 => Kind::Struct,
                _ => Kind::Union,
            },
            8 => Kind::Typedef,
            9 => Kind::Qualifier("volatile"),
            10 => Kind::Qualifier("const"),
            11 | 18 => Kind::Qualifier(""),
            12 | 13 => Kind::Function,
            _ => Kind::Other,
        };
        let to = |id: u32| (id != 0).then_some(Id::from(id));
        let (size, target) = match number {
            2 => (8, to(size)),
            3 => (u64::from(self.word(at + 20)), to(self.word(at + 12))),
            8..=11 | 18 => (0, to(size)),
            7 | 12..=15 | 17 => (0, None),
            _ => (u64::from(size), None),
        };
        let packed = info >> 31 == 1;
        let members = if matches!(number, 4 | 5) { count } else { 0 };
        let members = (0..members)
            .map(|index| {
                let at = at + 12 + 12 * index;
                let place = self.word(at + 8);
                let bits = if packed { place >> 24 } else { 0 };
                Member {
                    name: String::from_utf8_lossy(self.string(self.word(at))).into_owned(),
                    offset: u64::from(if packed { place & 0xff_ffff } else { place }),
                    target: Id::from(self.word(at + 4)),
                    bits: (bits != 0).then_some(u64::from(bits)),
                }
            })
            .collect();
        Ok(Rc::new(Type {
            kind,
            name: String::from_utf8_lossy(self.string(self.word(at))).into_owned(),
            size,
            target,
            members,
            declared: number == 7,
        }))
    }
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    let four = bytes.get(at..at.checked_add(4)?)?;
    Some(u32::from_le_bytes(four.try_into().ok()?))
}

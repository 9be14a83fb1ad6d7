//! Types in DWARF (DWARF 5, 5).

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use gimli::constants as dw;
use gimli::AttributeValue;
use kernel_symbols::{DebugFile, Result};
use rayon::prelude::*;

use crate::scan::{number, offsets, scan, Candidate};
use crate::sizes::TypeSize;
use crate::types::{Definition, Id, Kind, Member, Type, Types};
use crate::units::{Slice, Unit, Units};

/// What a type and a member take in memory, at least.
const TYPE: usize = 192;
const MEMBER: usize = 96;

/// The types of DWARF, read when they are asked for.
pub struct Dwarf<'d> {
    /// The units that have them.
    pub units: Units<'d>,
    known: RefCell<HashMap<Id, Rc<Type>>>,
}

/// Of what is alike: how many units have it, and the first of the file.
type Alike = HashMap<(u64, u64), (usize, Id)>;

/// By whether it is a union, and its name.
type ByName<'d> = HashMap<(bool, &'d [u8]), Alike>;

fn count<K>(alike: &mut Alike, one: &Candidate<K>) {
    let so_far = alike.entry(one.likeness).or_insert((0, one.id));
    *so_far = (so_far.0 + 1, so_far.1.min(one.id));
}

/// The size and the identity of the one of most units; of equals the first of the file.
fn most_used(alike: &Alike) -> Option<(u64, Id)> {
    let best = alike
        .iter()
        .max_by_key(|(_, (times, id))| (*times, u64::MAX - *id));
    best.map(|((size, _), (_, id))| (*size, *id))
}

/// The definitions of a unit whose names have a `key`, paid for.
fn scanned<'d, K>(
    units: &Units<'d>,
    unit: &Unit<'d>,
    key: impl Fn(&AttributeValue<Slice<'d>>) -> Option<K>,
) -> Result<Vec<Candidate<K>>> {
    let file = units.file;
    let (steps, found) = scan(units, unit, key).map_err(|error| {
        file.damaged(format!("unit at {:#x} of .debug_info: {error}", unit.start))
    })?;
    file.spend(steps + found.len() * size_of::<Candidate<K>>())?;
    Ok(found)
}

impl<'d> Dwarf<'d> {
    /// Those of `file`, which was opened with [`crate::SECTIONS`] or more.
    pub fn new(file: &'d DebugFile) -> Result<Self> {
        Ok(Dwarf {
            units: Units::new(file)?,
            known: RefCell::default(),
        })
    }

    fn read(&self, id: Id) -> Result<Type> {
        let unreadable = |error: gimli::Error| {
            let what = format!("type at {id:#x} of .debug_info: {error}");
            self.units.file.damaged(what)
        };
        let place = usize::try_from(id).ok().and_then(|at| self.units.at(at));
        let Some((unit, within)) = place else {
            let what = format!("a type at {id:#x}, where .debug_info has none");
            return Err(self.units.file.damaged(what));
        };
        let mut found = self.entry(unit, within).map_err(unreadable)?;
        // A type unit has what is only declared here; its own entry is whole.
        if let (true, Some(to)) = (found.declared, found.target) {
            if let Some((unit, within)) = self.units.at(to as usize) {
                found = self.entry(unit, within).map_err(unreadable)?;
            }
        }
        let names: usize = found.members.iter().map(|one| one.name.len()).sum();
        let cost = TYPE + found.members.len() * MEMBER + names + found.name.len();
        self.units.file.spend(cost)?;
        Ok(found)
    }

    fn entry(&self, unit: &Unit<'d>, within: gimli::UnitOffset) -> gimli::Result<Type> {
        let mut entries = unit.header.entries_raw(&unit.abbreviations, Some(within))?;
        let text = |value: &AttributeValue<Slice<'d>>| {
            String::from_utf8_lossy(self.units.string(unit, value)).into_owned()
        };
        let mut found = Type {
            kind: Kind::Other,
            name: String::new(),
            size: 0,
            target: None,
            members: Vec::new(),
            declared: false,
        };
        let Some(abbreviation) = entries.read_abbreviation()? else {
            return Ok(found);
        };
        found.kind = kind(abbreviation.tag());
        if found.kind == Kind::Pointer {
            found.size = u64::from(unit.header.address_size());
        }
        for spec in abbreviation.attributes() {
            let attribute = entries.read_attribute(*spec)?;
            let value = attribute.value();
            match attribute.name() {
                dw::DW_AT_name => found.name = text(&value),
                dw::DW_AT_byte_size => found.size = value.udata_value().unwrap_or(0),
                dw::DW_AT_declaration => found.declared = true,
                dw::DW_AT_type | dw::DW_AT_signature => {
                    found.target = self.units.reference(unit, &value).map(|at| at as Id);
                }
                _ => {}
            }
        }
        let has_parts = matches!(found.kind, Kind::Struct | Kind::Union | Kind::Array);
        if !abbreviation.has_children() || !has_parts {
            return Ok(found);
        }
        let mut elements: Option<u64> = None;
        let mut depth = 1;
        while depth > 0 && !entries.is_empty() {
            let Some(abbreviation) = entries.read_abbreviation()? else {
                depth -= 1;
                continue;
            };
            let tag = abbreviation.tag();
            if depth > 1 || !matches!(tag, dw::DW_TAG_member | dw::DW_TAG_subrange_type) {
                entries.skip_attributes(abbreviation.attributes())?;
            } else if tag == dw::DW_TAG_member {
                let mut member = Draft::default();
                for spec in abbreviation.attributes() {
                    let attribute = entries.read_attribute(*spec)?;
                    let value = attribute.value();
                    match attribute.name() {
                        dw::DW_AT_name => member.name = text(&value),
                        dw::DW_AT_type => member.target = self.units.reference(unit, &value),
                        dw::DW_AT_data_member_location => member.bytes = value.udata_value(),
                        dw::DW_AT_data_bit_offset => member.bit_offset = value.udata_value(),
                        dw::DW_AT_bit_size => member.bits = value.udata_value(),
                        // Before DWARF 4: from the highest bit of a storage unit.
                        dw::DW_AT_bit_offset => member.from_end = value.sdata_value(),
                        dw::DW_AT_byte_size => member.storage = value.udata_value(),
                        _ => {}
                    }
                }
                found.members.extend(member.finished());
            } else {
                let mut count = None;
                for spec in abbreviation.attributes() {
                    let attribute = entries.read_attribute(*spec)?;
                    let value = attribute.value().udata_value();
                    match attribute.name() {
                        dw::DW_AT_count => count = value,
                        dw::DW_AT_upper_bound => count = value.map(|last| last.wrapping_add(1)),
                        _ => {}
                    }
                }
                let before = elements.unwrap_or(1);
                elements = Some(before.saturating_mul(count.unwrap_or(0)));
            }
            if abbreviation.has_children() {
                depth += 1;
            }
        }
        if found.kind == Kind::Array {
            found.size = elements.unwrap_or(0);
        }
        Ok(found)
    }
}

/// What a member's attributes say.
#[derive(Default)]
struct Draft {
    name: String,
    target: Option<usize>,
    bytes: Option<u64>,
    bit_offset: Option<u64>,
    bits: Option<u64>,
    from_end: Option<i64>,
    storage: Option<u64>,
}

impl Draft {
    fn finished(self) -> Option<Member> {
        let bytes = self.bytes.unwrap_or(0).saturating_mul(8);
        let offset = match (self.bit_offset, self.from_end, self.bits) {
            (Some(at), _, _) => at,
            (None, Some(from_end), Some(bits)) => {
                // Negative where a packed field goes on behind the unit.
                let storage = self.storage.unwrap_or(4).saturating_mul(8);
                let behind = storage.saturating_sub(bits).min(1 << 32);
                bytes.saturating_add_signed((behind as i64).saturating_sub(from_end))
            }
            _ => bytes,
        };
        Some(Member {
            name: self.name,
            offset,
            target: self.target? as Id,
            bits: self.bits,
        })
    }
}

impl<'d> Types for Dwarf<'d> {
    fn definitions(&self, names: &[&str]) -> Result<Vec<Option<Definition>>> {
        let mut distinct: Vec<&str> = names.to_vec();
        distinct.sort_unstable();
        distinct.dedup();
        let file = self.units.file;
        let offsets = offsets(file, &distinct);
        let units = &self.units;
        let scanned = units.every.par_iter().with_max_len(1).map(|unit| {
            scanned(units, unit, |value| {
                number(units, unit, &distinct, &offsets, value)
            })
        });
        let found: Vec<Vec<Candidate<usize>>> = scanned.collect::<Result<_>>()?;
        let known: Vec<Option<(Id, usize)>> = (0..distinct.len())
            .map(|number| {
                let mine = || found.iter().flatten().filter(|one| one.key == number);
                let aliases = mine().all(|one| one.is_alias);
                let mut alike = Alike::new();
                for one in mine().filter(|one| one.is_alias == aliases) {
                    count(&mut alike, one);
                }
                Some((most_used(&alike)?.1, alike.len() - 1))
            })
            .collect();
        let index = |name: &&str| distinct.binary_search(name).ok();
        let every = names.iter().map(|name| known[index(name)?]);
        Ok(every
            .map(|one| one.map(|(id, others)| Definition { id, others }))
            .collect())
    }

    fn sizes(&self) -> Result<Vec<TypeSize>> {
        let units = &self.units;
        let name = |unit, value: &AttributeValue<Slice<'d>>| {
            let name = units.string(unit, value);
            (!name.is_empty()).then_some(name)
        };
        let scanned = units.every.par_iter().with_max_len(1).map(|unit| {
            let mut found = scanned(units, unit, |value| name(unit, value))?;
            found.retain(|one| !one.is_alias);
            Ok(found)
        });
        let by_name = scanned.try_fold(HashMap::new, |mut known: ByName<'d>, found| {
            for one in found? {
                count(known.entry((one.is_union, one.key)).or_default(), &one);
            }
            Ok(known)
        });
        let by_name = by_name.try_reduce(HashMap::new, |mut known, others| {
            for (name, alike) in others {
                let mine = known.entry(name).or_default();
                for (likeness, (times, id)) in alike {
                    let so_far = mine.entry(likeness).or_insert((0, id));
                    *so_far = (so_far.0 + times, so_far.1.min(id));
                }
            }
            Ok(known)
        })?;
        let mut sizes: Vec<TypeSize> = by_name
            .iter()
            .filter_map(|((is_union, name), alike)| {
                let size = most_used(alike)?.0;
                Some(TypeSize::new(*is_union, name, size))
            })
            .collect();
        sizes.sort_unstable();
        Ok(sizes)
    }

    fn get(&self, id: Id) -> Result<Rc<Type>> {
        if let Some(found) = self.known.borrow().get(&id) {
            return Ok(Rc::clone(found));
        }
        let found = Rc::new(self.read(id)?);
        self.known.borrow_mut().insert(id, Rc::clone(&found));
        Ok(found)
    }
}

fn kind(tag: dw::DwTag) -> Kind {
    match tag {
        dw::DW_TAG_base_type | dw::DW_TAG_unspecified_type => Kind::Base,
        dw::DW_TAG_pointer_type => Kind::Pointer,
        dw::DW_TAG_structure_type => Kind::Struct,
        dw::DW_TAG_union_type => Kind::Union,
        dw::DW_TAG_array_type => Kind::Array,
        dw::DW_TAG_typedef => Kind::Typedef,
        dw::DW_TAG_const_type => Kind::Qualifier("const"),
        dw::DW_TAG_volatile_type => Kind::Qualifier("volatile"),
        dw::DW_TAG_restrict_type | dw::DW_TAG_atomic_type => Kind::Qualifier(""),
        dw::DW_TAG_enumeration_type => Kind::Enumeration,
        dw::DW_TAG_subroutine_type => Kind::Function,
        _ => Kind::Other,
    }
}

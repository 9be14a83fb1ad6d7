use std::collections::HashMap;
use std::sync::Arc;

use gimli::constants as dw;
use gimli::{
    Abbreviations, AttributeValue, DebugAddrBase, DebugInfoOffset, DebugLocListsBase,
    DebugRngListsBase, Dwarf, EndianSlice, Format, LittleEndian, UnitHeader, UnitOffset, UnitType,
};
use kernel_symbols::{DebugFile, Result};
use rayon::prelude::*;

/// The sections that say what types are.
pub const SECTIONS: [&str; 6] = [
    ".debug_info",
    ".debug_abbrev",
    ".debug_str",
    ".debug_line_str",
    ".debug_str_offsets",
    ".BTF",
];

/// Bytes of a section.
pub type Slice<'d> = EndianSlice<'d, LittleEndian>;

/// A compilation unit.
pub struct Unit<'d> {
    /// What stands in front of it.
    pub header: UnitHeader<Slice<'d>>,
    /// How its entries are written.
    pub abbreviations: Arc<Abbreviations>,
    /// Where it starts in `.debug_info`.
    pub start: usize,
    /// Where the addresses are that its entries refer to by number.
    pub addresses: DebugAddrBase<usize>,
    /// Where the lists of ranges are that its entries refer to by number.
    pub ranges: DebugRngListsBase<usize>,
    /// Where the lists of locations are that its entries refer to by number.
    pub locations: DebugLocListsBase<usize>,
    /// What addresses in lists are relative to.
    pub low: u64,
    /// Whether it was written in assembly language.
    pub is_assembly: bool,
    strings_base: usize,
}

/// The compilation units of a file, in its order.
pub struct Units<'d> {
    /// The file.
    pub file: &'d DebugFile,
    /// Its sections.
    pub dwarf: Dwarf<Slice<'d>>,
    /// All units.
    pub every: Vec<Unit<'d>>,
    /// Where the type is that a type unit is for, by its signature.
    signed: HashMap<u64, usize>,
}

impl<'d> Units<'d> {
    /// Those of `file`, which was opened with [`SECTIONS`] or more.
    pub fn new(file: &'d DebugFile) -> Result<Self> {
        let section = |name| EndianSlice::new(file.section(name), LittleEndian);
        let dwarf = gimli::Dwarf::load(|id| Ok::<_, gimli::Error>(section(id.name())));
        let mut dwarf = dwarf.map_err(|error| file.damaged(error))?;
        let mut headers = Vec::new();
        let mut units = dwarf.units();
        while let Some(header) = units
            .next()
            .map_err(|error| file.damaged(format!("unit {}: {error}", headers.len())))?
        {
            headers.push(header);
        }
        file.spend(headers.len() * size_of::<Unit<'_>>())?;
        let tables = headers.iter().map(|header| header.debug_abbrev_offset().0);
        file.pay_abbreviations(tables.collect())?;
        dwarf.populate_abbreviations_cache(gimli::AbbreviationsCacheStrategy::Duplicates);
        let signed = headers.iter().filter_map(|header| match header.type_() {
            UnitType::Type {
                type_signature,
                type_offset,
            } => {
                let start = header.debug_info_offset()?.0;
                Some((type_signature.0, start.checked_add(type_offset.0)?))
            }
            _ => None,
        });
        let signed = signed.collect();
        let every = headers
            .par_iter()
            .map(|header| {
                Unit::open(&dwarf, *header).map_err(|error| {
                    let start = header.debug_info_offset().map_or(0, |offset| offset.0);
                    file.damaged(format!("unit at {start:#x} of .debug_info: {error}"))
                })
            })
            .collect::<Result<_>>()?;
        Ok(Units {
            file,
            dwarf,
            every,
            signed,
        })
    }

    /// The unit that holds an offset of `.debug_info`, and the offset within it.
    pub fn at(&self, offset: usize) -> Option<(&Unit<'d>, UnitOffset)> {
        let after = self.every.partition_point(|unit| unit.start <= offset);
        let unit = self.every.get(after.checked_sub(1)?)?;
        let within = UnitOffset(offset - unit.start);
        within.is_in_bounds(&unit.header).then_some((unit, within))
    }

    /// Which type an attribute of a unit refers to, by its offset in `.debug_info`.
    pub fn reference(&self, unit: &Unit<'d>, value: &AttributeValue<Slice<'d>>) -> Option<usize> {
        match value {
            AttributeValue::UnitRef(offset) => unit.start.checked_add(offset.0),
            AttributeValue::DebugInfoRef(offset) => Some(offset.0),
            AttributeValue::DebugTypesRef(signature) => self.signed.get(&signature.0).copied(),
            _ => None,
        }
    }

    /// A string that an attribute of a unit is.
    pub fn string(&self, unit: &Unit<'d>, value: &AttributeValue<Slice<'d>>) -> &'d [u8] {
        let (section, start) = match value {
            AttributeValue::String(own) => return own.slice(),
            AttributeValue::DebugLineStrRef(offset) => (".debug_line_str", offset.0),
            other => match self.string_offset(unit, other) {
                Some(offset) => (".debug_str", offset),
                None => return &[],
            },
        };
        let rest = self.file.section(section).get(start..).unwrap_or_default();
        let end = rest.iter().position(|byte| *byte == 0);
        &rest[..end.unwrap_or(rest.len())]
    }

    /// Where in `.debug_str` the string is that an attribute refers to.
    pub fn string_offset(
        &self,
        unit: &Unit<'d>,
        value: &AttributeValue<Slice<'d>>,
    ) -> Option<usize> {
        match value {
            AttributeValue::DebugStrRef(offset) => Some(offset.0),
            AttributeValue::DebugStrOffsetsIndex(index) => {
                let size = match unit.header.format() {
                    Format::Dwarf32 => 4,
                    Format::Dwarf64 => 8,
                };
                let at = unit.strings_base.checked_add(index.0.checked_mul(size)?)?;
                let bytes = self.file.section(".debug_str_offsets");
                let bytes = bytes.get(at..at.checked_add(size)?)?;
                let mut number = [0; 8];
                number[..size].copy_from_slice(bytes);
                usize::try_from(u64::from_le_bytes(number)).ok()
            }
            _ => None,
        }
    }
}

impl<'d> Unit<'d> {
    fn open(dwarf: &gimli::Dwarf<Slice<'d>>, header: UnitHeader<Slice<'d>>) -> gimli::Result<Self> {
        let abbreviations = dwarf.abbreviations(&header)?;
        let (encoding, file) = (header.encoding(), gimli::DwarfFileType::Main);
        let mut unit = Unit {
            abbreviations,
            start: header.debug_info_offset().unwrap_or(DebugInfoOffset(0)).0,
            addresses: DebugAddrBase(0),
            ranges: DebugRngListsBase::default_for_encoding_and_file(encoding, file),
            locations: DebugLocListsBase::default_for_encoding_and_file(encoding, file),
            low: 0,
            is_assembly: false,
            strings_base: match header.format() {
                // Behind the header of the first contribution (DWARF 5, 7.26).
                Format::Dwarf32 => 8,
                Format::Dwarf64 => 16,
            },
            header,
        };
        let abbreviations = Arc::clone(&unit.abbreviations);
        let mut root = unit.header.entries_raw(&abbreviations, None)?;
        let mut low = None;
        if let Some(abbreviation) = root.read_abbreviation()? {
            for spec in abbreviation.attributes() {
                let attribute = root.read_attribute(*spec)?;
                match (attribute.name(), attribute.value()) {
                    (_, AttributeValue::DebugStrOffsetsBase(at)) => unit.strings_base = at.0,
                    (_, AttributeValue::DebugAddrBase(at)) => unit.addresses = at,
                    (_, AttributeValue::DebugRngListsBase(at)) => unit.ranges = at,
                    (_, AttributeValue::DebugLocListsBase(at)) => unit.locations = at,
                    (dw::DW_AT_low_pc, value) => low = Some(value),
                    (dw::DW_AT_language, AttributeValue::Language(language)) => {
                        unit.is_assembly = language == dw::DW_LANG_Mips_Assembler;
                    }
                    _ => {}
                }
            }
        }
        unit.low = low
            .and_then(|value| unit.address(dwarf, &value))
            .unwrap_or(0);
        Ok(unit)
    }

    /// The address that an attribute is.
    pub fn address(
        &self,
        dwarf: &Dwarf<Slice<'d>>,
        value: &AttributeValue<Slice<'d>>,
    ) -> Option<u64> {
        match value {
            AttributeValue::Addr(address) => Some(*address),
            AttributeValue::DebugAddrIndex(index) => {
                let size = self.header.address_size();
                let known = dwarf.debug_addr.get_address(size, self.addresses, *index);
                known.ok()
            }
            _ => None,
        }
    }
}

use data_types::{Slice, Unit, Units};
use gimli::{constants as dw, Abbreviation, AttributeValue, EntriesRaw, Expression};

/// What is of interest here of an entry of `.debug_info`.
#[derive(Default)]
pub(super) struct Entry<'d> {
    pub(super) name: Option<AttributeValue<Slice<'d>>>,
    /// Offsets in `.debug_info`.
    pub(super) target: Option<usize>,
    pub(super) origin: Option<usize>,
    pub(super) specification: Option<usize>,
    pub(super) sibling: Option<usize>,
    pub(super) low: Option<AttributeValue<Slice<'d>>>,
    pub(super) high: Option<AttributeValue<Slice<'d>>>,
    pub(super) ranges: Option<AttributeValue<Slice<'d>>>,
    pub(super) location: Option<AttributeValue<Slice<'d>>>,
    pub(super) frame: Option<Expression<Slice<'d>>>,
    /// Where it begins, if it says so.
    pub(super) entry: Option<AttributeValue<Slice<'d>>>,
    /// What it always is.
    pub(super) constant: Option<AttributeValue<Slice<'d>>>,
    pub(super) declared: bool,
    pub(super) external: bool,
    /// Whether the compiler says that a function is not called as its declaration tells.
    pub(super) changed: bool,
    pub(super) alignment: u64,
}

/// What is read of most entries: a kernel has millions.
#[derive(Default)]
pub(super) struct Head<'d> {
    pub(super) name: Option<AttributeValue<Slice<'d>>>,
    pub(super) location: Option<AttributeValue<Slice<'d>>>,
    pub(super) sibling: Option<usize>,
    pub(super) declared: bool,
}

impl<'d> Head<'d> {
    /// Read some of the attributes of the entry that `entries` stands at, and skip the others;
    /// `named`: whether what names it is of interest, too.
    pub(super) fn read(
        units: &Units<'d>,
        unit: &Unit<'d>,
        entries: &mut EntriesRaw<'_, Slice<'d>>,
        abbreviation: &Abbreviation,
        named: bool,
    ) -> gimli::Result<Self> {
        let mut head = Head::default();
        for spec in abbreviation.attributes() {
            match spec.name() {
                dw::DW_AT_sibling => {
                    let value = entries.read_attribute(*spec)?.value();
                    head.sibling = units.reference(unit, &value);
                }
                dw::DW_AT_name if named => head.name = Some(entries.read_attribute(*spec)?.value()),
                dw::DW_AT_location if named => {
                    head.location = Some(entries.read_attribute(*spec)?.value());
                }
                name => {
                    head.declared |= name == dw::DW_AT_declaration;
                    entries.skip_attributes(std::slice::from_ref(spec))?;
                }
            }
        }
        Ok(head)
    }
}

impl<'d> Entry<'d> {
    /// Read the attributes of the entry that `entries` stands at.
    pub(super) fn read(
        units: &Units<'d>,
        unit: &Unit<'d>,
        entries: &mut EntriesRaw<'_, Slice<'d>>,
        abbreviation: &Abbreviation,
    ) -> gimli::Result<Self> {
        let mut entry = Entry::default();
        for spec in abbreviation.attributes() {
            let attribute = entries.read_attribute(*spec)?;
            let value = attribute.value();
            match attribute.name() {
                dw::DW_AT_name => entry.name = Some(value),
                dw::DW_AT_type => entry.target = units.reference(unit, &value),
                dw::DW_AT_abstract_origin => entry.origin = units.reference(unit, &value),
                dw::DW_AT_specification => entry.specification = units.reference(unit, &value),
                dw::DW_AT_sibling => entry.sibling = units.reference(unit, &value),
                dw::DW_AT_low_pc => entry.low = Some(value),
                dw::DW_AT_high_pc => entry.high = Some(value),
                dw::DW_AT_ranges => entry.ranges = Some(value),
                dw::DW_AT_location => entry.location = Some(value),
                dw::DW_AT_frame_base => {
                    if let AttributeValue::Exprloc(expression) = value {
                        entry.frame = Some(expression);
                    }
                }
                dw::DW_AT_entry_pc => entry.entry = Some(value),
                dw::DW_AT_const_value => entry.constant = Some(value),
                dw::DW_AT_declaration => entry.declared = true,
                dw::DW_AT_external => entry.external = true,
                dw::DW_AT_calling_convention => {
                    entry.changed = value == AttributeValue::CallingConvention(dw::DW_CC_nocall);
                }
                dw::DW_AT_alignment => entry.alignment = value.udata_value().unwrap_or(0),
                _ => {}
            }
        }
        Ok(entry)
    }

    /// The entry at an offset of `.debug_info`, and its unit.
    pub(super) fn at<'u>(units: &'u Units<'d>, offset: usize) -> Option<(&'u Unit<'d>, Self)> {
        let (unit, within) = units.at(offset)?;
        let header = &unit.header;
        let mut entries = header.entries_raw(&unit.abbreviations, Some(within)).ok()?;
        let abbreviation = entries.read_abbreviation().ok()??;
        let entry = Entry::read(units, unit, &mut entries, abbreviation).ok()?;
        Some((unit, entry))
    }

    /// Tell of each range of addresses that it has, in its order, until `tell` says that it is enough.
    pub(super) fn ranges(
        &self,
        units: &Units<'d>,
        unit: &Unit<'d>,
        tell: &mut dyn FnMut(u64, u64) -> bool,
    ) -> gimli::Result<()> {
        let dwarf = &units.dwarf;
        if let Some(low) = self.low.as_ref().and_then(|low| unit.address(dwarf, low)) {
            let end = match &self.high {
                Some(AttributeValue::Addr(end)) => Some(*end),
                Some(value @ AttributeValue::DebugAddrIndex(_)) => unit.address(dwarf, value),
                Some(value) => value.udata_value().and_then(|size| low.checked_add(size)),
                None => None,
            };
            if let Some(end) = end.filter(|end| *end > low) {
                tell(low, end);
                return Ok(());
            }
        }
        let encoding = unit.header.encoding();
        let offset = match &self.ranges {
            Some(AttributeValue::RangeListsRef(offset)) => gimli::RangeListsOffset(offset.0),
            Some(AttributeValue::DebugRngListsIndex(index)) => {
                dwarf.ranges.get_offset(encoding, unit.ranges, *index)?
            }
            _ => return Ok(()),
        };
        let (debug_addr, base) = (&dwarf.debug_addr, unit.addresses);
        let mut list = dwarf
            .ranges
            .ranges(offset, encoding, unit.low, debug_addr, base)?;
        while let Some(range) = list.next()? {
            if range.begin < range.end && !tell(range.begin, range.end) {
                break;
            }
        }
        Ok(())
    }
}

/// The name, and the type, of an entry or of what it is an instance of.
pub(super) fn described<'d>(
    units: &Units<'d>,
    unit: &Unit<'d>,
    entry: &Entry<'d>,
) -> (&'d [u8], Option<usize>) {
    /// An instance is one of an instance at most a few times.
    const MOST_ORIGINS: usize = 4;
    let mut name = entry.name.as_ref().map(|name| units.string(unit, name));
    let mut target = entry.target;
    let mut next = entry.origin.or(entry.specification);
    for _ in 0..MOST_ORIGINS {
        if name.is_some() && target.is_some() {
            break;
        }
        let Some((unit, origin)) = next.and_then(|at| Entry::at(units, at)) else {
            break;
        };
        name = name.or_else(|| origin.name.as_ref().map(|name| units.string(unit, name)));
        target = target.or(origin.target);
        next = origin.origin.or(origin.specification);
    }
    (name.unwrap_or_default(), target)
}

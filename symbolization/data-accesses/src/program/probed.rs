//! Where a function begins, and what holds one of its variables there.

use data_types::{Unit, Units};
use gimli::{constants as dw, AttributeValue, UnitOffset};
use kernel_symbols::{DebugFile, Result};
use rayon::prelude::*;

use super::entry::{described, Entry, Head};
use super::held::{held, number, Held};
use super::SECTIONS;

/// How many places a function may begin at: each unit that calls one of a header has its own.
const MOST_PLACES: usize = 1 << 12;
/// How many names of variables are kept for a person to choose from.
const MOST_NAMES: usize = 64;
/// Entries around one another in a function.
const MOST_DEPTH: usize = 1 << 10;

/// Where a function begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Begin {
    /// Its address.
    pub address: u64,
    /// The function that has the code: another one, where it was inlined.
    pub within: String,
    /// What holds the variable there.
    pub held: Held,
    /// Bytes of it, at most 8.
    pub size: u8,
    /// Whether it is a signed number.
    pub is_signed: bool,
}

/// A function, as one of its variables is looked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Probed {
    /// Where it begins, by address; none where the file has no such function.
    pub begins: Vec<Begin>,
    /// Whether the file has it, perhaps without code.
    pub is_known: bool,
    /// Whether it has the variable, or returns anything.
    pub has_variable: bool,
    /// Its variables' names.
    pub variables: Vec<String>,
}

/// The registers that arguments come in, in their order, by an architecture's name, with DWARF's
/// numbers (System V ABI for x86-64, 3.2.3; AAPCS64, 6.8.2; the RISC-V calling convention).
fn arguments(architecture: &str) -> &'static [u16] {
    match architecture {
        "x86_64" => &[5, 4, 1, 2, 8, 9],
        "arm64" | "aarch64" => &[0, 1, 2, 3, 4, 5, 6, 7],
        "riscv64" => &[10, 11, 12, 13, 14, 15, 16, 17],
        _ => &[],
    }
}

/// What stands for what a function returns: no variable has the name of a keyword.
const RETURN: &[u8] = b"return";

/// The register that what a function returns comes in (System V ABI for x86-64, 3.2.3; AAPCS64, 6.9;
/// the RISC-V calling convention).
fn result(architecture: &str) -> Option<u16> {
    match architecture {
        "x86_64" | "arm64" | "aarch64" => Some(0),
        "riscv64" => Some(10),
        _ => None,
    }
}

/// What compilers call a function whose arguments they changed.
const CHANGED: [&[u8]; 3] = [b".isra", b".constprop", b".part"];

/// What the ELF file at `path` says of a function's variable, or of what it returns (`return`); None
/// where it has no DWARF.
pub fn probed(
    path: &std::path::Path,
    architecture: &str,
    function: &str,
    variable: &str,
) -> Result<Option<Probed>> {
    let file = DebugFile::open(path, &SECTIONS)?;
    if file.section(".debug_info").is_empty() {
        return Ok(None);
    }
    let units = Units::new(&file)?;
    let changed = file.symbols()?.into_iter().filter(|one| {
        let mut every = CHANGED.iter();
        let rest = one.name.strip_prefix(function.as_bytes());
        rest.is_some_and(|rest| every.any(|suffix| rest.starts_with(suffix)))
    });
    let wanted = Wanted {
        units: &units,
        arguments: arguments(architecture),
        result: result(architecture),
        changed: changed.map(|one| one.start).collect(),
        function: function.as_bytes(),
        variable: variable.as_bytes(),
    };
    let found = units.every.par_iter().with_max_len(1).map(|unit| {
        let found = wanted.of_unit(unit).map_err(|error| {
            file.damaged(format!("unit at {:#x} of .debug_info: {error}", unit.start))
        })?;
        file.spend(found.steps)?;
        Ok(found.probed)
    });
    let mut every = Probed::default();
    for one in found.collect::<Result<Vec<_>>>()? {
        every.is_known |= one.is_known;
        every.has_variable |= one.has_variable;
        every.begins.extend(one.begins);
        for name in one.variables {
            if !every.variables.contains(&name) && every.variables.len() < MOST_NAMES {
                every.variables.push(name);
            }
        }
    }
    every.begins.sort_by_key(|one| one.address);
    every.begins.truncate(MOST_PLACES);
    Ok(Some(every))
}

struct Wanted<'w, 'd> {
    units: &'w Units<'d>,
    /// The registers that arguments come in.
    arguments: &'static [u16],
    /// The register that what is returned comes in.
    result: Option<u16>,
    /// Where code of the function begins whose arguments the compiler changed.
    changed: Vec<u64>,
    function: &'w [u8],
    variable: &'w [u8],
}

#[derive(Default)]
struct Found {
    probed: Probed,
    /// Of each place that it begins at: how many arguments before the present one came in registers,
    /// if all did.
    passed: Vec<Option<usize>>,
    steps: usize,
}

/// An entry around the present one.
#[derive(Clone, Copy)]
enum Around {
    /// The function that is wanted, or a block of it: where it is among those that were found; none
    /// without code.
    Function(Option<usize>),
    /// Another function.
    Other,
    /// What is no code.
    Nothing,
}

impl<'d> Wanted<'_, 'd> {
    fn of_unit(&self, unit: &Unit<'d>) -> gimli::Result<Found> {
        let mut found = Found::default();
        let own = self.declared(unit, &mut found)?;
        if !own.is_empty() {
            found.probed.is_known = true;
            self.instances(unit, &own, &mut found)?;
        }
        Ok(found)
    }

    /// Where in `.debug_info` functions of the name are, at the top level of a unit.
    fn declared(&self, unit: &Unit<'d>, found: &mut Found) -> gimli::Result<Vec<usize>> {
        let mut own = Vec::new();
        let mut entries = unit.header.entries_raw(&unit.abbreviations, None)?;
        let mut depth = 0usize;
        while !entries.is_empty() {
            let place = unit.start + entries.next_offset().0;
            found.steps += 1;
            let Some(abbreviation) = entries.read_abbreviation()? else {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    break;
                }
                continue;
            };
            let function = abbreviation.tag() == dw::DW_TAG_subprogram && depth == 1;
            let has_children = abbreviation.has_children();
            let head = Head::read(self.units, unit, &mut entries, abbreviation, function)?;
            let name = head.name.as_ref().map(|name| self.units.string(unit, name));
            if function && !head.declared && name == Some(self.function) {
                own.push(place);
            }
            if !has_children {
                if depth == 0 {
                    break;
                }
                continue;
            }
            let to = head.sibling.and_then(|at| at.checked_sub(unit.start));
            match to.map(UnitOffset) {
                // Only ever forwards, so that a hostile file cannot make a loop.
                Some(to)
                    if depth > 0
                        && to >= entries.next_offset()
                        && to.is_in_bounds(&unit.header) =>
                {
                    entries = unit.header.entries_raw(&unit.abbreviations, Some(to))?;
                }
                _ => depth += 1,
            }
        }
        Ok(own)
    }

    /// Where those functions have code in the unit, inlined or not.
    fn instances(&self, unit: &Unit<'d>, own: &[usize], found: &mut Found) -> gimli::Result<()> {
        let mut entries = unit.header.entries_raw(&unit.abbreviations, None)?;
        let mut around: Vec<Around> = Vec::new();
        let mut within = String::new();
        while !entries.is_empty() && found.probed.begins.len() < MOST_PLACES {
            let place = unit.start + entries.next_offset().0;
            found.steps += 1;
            let Some(abbreviation) = entries.read_abbreviation()? else {
                around.pop();
                if around.is_empty() {
                    break;
                }
                continue;
            };
            let (tag, has_children) = (abbreviation.tag(), abbreviation.has_children());
            let parent = around.last().copied().unwrap_or(Around::Nothing);
            let now = match tag {
                dw::DW_TAG_subprogram | dw::DW_TAG_inlined_subroutine => {
                    let entry = Entry::read(self.units, unit, &mut entries, abbreviation)?;
                    let physical = tag == dw::DW_TAG_subprogram;
                    if physical {
                        let name = described(self.units, unit, &entry).0;
                        within = String::from_utf8_lossy(name).into_owned();
                    }
                    let origin = entry.origin.is_some_and(|origin| own.contains(&origin));
                    if origin || own.contains(&place) {
                        Around::Function(self.begin(unit, &entry, physical, &within, found)?)
                    } else {
                        Around::Other
                    }
                }
                dw::DW_TAG_formal_parameter | dw::DW_TAG_variable => {
                    let entry = Entry::read(self.units, unit, &mut entries, abbreviation)?;
                    if let Around::Function(begin) = parent {
                        let register = begin
                            .filter(|_| tag == dw::DW_TAG_formal_parameter)
                            .and_then(|begin| self.passed(&entry, begin, unit, found));
                        self.variable(unit, &entry, begin, register, &mut found.probed);
                    }
                    Around::Nothing
                }
                dw::DW_TAG_lexical_block => {
                    entries.skip_attributes(abbreviation.attributes())?;
                    parent
                }
                _ => {
                    entries.skip_attributes(abbreviation.attributes())?;
                    Around::Nothing
                }
            };
            if has_children {
                if around.len() >= MOST_DEPTH {
                    break;
                }
                around.push(now);
            } else if around.is_empty() {
                break;
            }
        }
        Ok(())
    }

    /// Keep where an instance begins, if it has code.
    fn begin(
        &self,
        unit: &Unit<'d>,
        entry: &Entry<'d>,
        physical: bool,
        within: &str,
        found: &mut Found,
    ) -> gimli::Result<Option<usize>> {
        let returns = (self.variable == RETURN).then(|| described(self.units, unit, entry).1);
        found.probed.has_variable |= returns.flatten().is_some();
        let mut first = None;
        entry.ranges(self.units, unit, &mut |start, _| {
            first = Some(start);
            false
        })?;
        let dwarf = &self.units.dwarf;
        let told = match &entry.entry {
            // An offset, since DWARF 5.
            Some(value @ (AttributeValue::Udata(_) | AttributeValue::Data1(_))) => value
                .udata_value()
                .and_then(|offset| first?.checked_add(offset)),
            Some(value) => unit.address(dwarf, value),
            None => None,
        };
        let Some(address) = told.filter(|_| !physical).or(first) else {
            return Ok(None);
        };
        let origin = entry.origin.and_then(|at| Entry::at(self.units, at));
        let changed = entry.changed
            || origin.is_some_and(|(_, origin)| origin.changed)
            || self.changed.contains(&address);
        found.passed.push((physical && !changed).then_some(0));
        let mut begin = Begin {
            address,
            within: within.to_owned(),
            held: Held::Nothing("it was optimized out"),
            size: 0,
            is_signed: false,
        };
        if let Some(target) = returns {
            begin.held = match target.and_then(|at| number(self.units, at)) {
                _ if !physical => Held::Nothing("an inlined copy does not return"),
                _ if changed => Held::Nothing("the compiler may have changed what it returns"),
                Some((size, is_signed)) => {
                    (begin.size, begin.is_signed) = (size, is_signed);
                    let unknown = Held::Nothing("nothing says where it is");
                    self.result.map_or(unknown, Held::Returned)
                }
                None => Held::Nothing("it is no number"),
            };
        }
        found.probed.begins.push(begin);
        Ok(Some(found.probed.begins.len() - 1))
    }

    /// The register that an argument comes in where a function's own code begins.
    fn passed(
        &self,
        entry: &Entry<'d>,
        begin: usize,
        unit: &Unit<'d>,
        found: &mut Found,
    ) -> Option<u16> {
        let passed = found.passed.get_mut(begin)?;
        let register = *self.arguments.get((*passed)?)?;
        let (_, target) = described(self.units, unit, entry);
        // What takes two registers, or none, is not counted on.
        let one = target.and_then(|at| number(self.units, at));
        *passed = passed.filter(|_| one.is_some()).map(|number| number + 1);
        one.map(|_| register)
    }

    fn variable(
        &self,
        unit: &Unit<'d>,
        entry: &Entry<'d>,
        begin: Option<usize>,
        register: Option<u16>,
        probed: &mut Probed,
    ) {
        let (name, target) = described(self.units, unit, entry);
        let text = String::from_utf8_lossy(name).into_owned();
        if !name.is_empty()
            && !probed.variables.contains(&text)
            && probed.variables.len() < MOST_NAMES
        {
            probed.variables.push(text);
        }
        if name != self.variable {
            return;
        }
        probed.has_variable = true;
        let Some(begin) = begin.and_then(|number| probed.begins.get_mut(number)) else {
            return;
        };
        // Of several of the name, the first that is anywhere.
        if !matches!(begin.held, Held::Nothing(_)) {
            return;
        }
        let Some((size, is_signed)) = target.and_then(|at| number(self.units, at)) else {
            begin.held = Held::Nothing("it is no number");
            return;
        };
        (begin.size, begin.is_signed) = (size, is_signed);
        // A file may lack the lists that say where variables are.
        let said = held(self.units, unit, entry, begin.address);
        let said = said.unwrap_or(Held::Nothing("the file does not say where it is"));
        begin.held = match (said, register) {
            (Held::Nothing(_), Some(register)) => Held::Value(register, 0),
            _ => said,
        };
    }
}

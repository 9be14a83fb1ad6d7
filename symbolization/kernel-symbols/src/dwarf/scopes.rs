use gimli::constants as dw;
use gimli::{AttributeValue, DwTag, UnitOffset};
use hashbrown::HashMap;

use super::origin::Origin;
use super::table::ATTRIBUTE;
use super::{Failure, Slice};
use crate::budget::Account;
use crate::names::{demangled, MOST_NAME_BYTES};

/// No scope: the unit itself.
const UNIT: u32 = u32::MAX;

/// What stands for a namespace without a name, as in `c++filt`.
const ANONYMOUS: &str = "(anonymous namespace)";

/// GCC's words for types in its names of DWARF, and those of mangled names.
const TYPES: [(&str, &str); 6] = [
    ("long long unsigned int", "unsigned long long"),
    ("long long int", "long long"),
    ("long unsigned int", "unsigned long"),
    ("long int", "long"),
    ("short unsigned int", "unsigned short"),
    ("short int", "short"),
];

/// The namespaces, types and functions of a unit in which others are declared: what the names of
/// functions lack that have no mangled one.
pub(crate) struct Scopes<'d> {
    scopes: Vec<Scope<'d>>,
    /// From this offset in the unit on, entries are declared in this scope; by offset.
    changes: Vec<(usize, u32)>,
    /// Scopes by the offset of their entry.
    known: HashMap<usize, u32>,
}

struct Scope<'d> {
    parent: u32,
    name: Option<Slice<'d>>,
    linkage_name: Option<Slice<'d>>,
    is_namespace: bool,
    is_class: bool,
    /// Where the name is if not here.
    origin: Option<UnitOffset>,
    line: (u64, u64),
    /// Of a lambda's class, which has no name.
    lambda: Option<Lambda>,
    /// Of the function that a lambda is: its class.
    class: Option<u32>,
}

#[derive(Default)]
struct Lambda {
    /// The types of what it is called with.
    parameters: Vec<UnitOffset>,
    /// What stands for it: `{lambda(long)#2}`.
    text: String,
}

impl<'d> Scopes<'d> {
    /// Read all entries of a unit.
    pub(crate) fn of(
        dwarf: &gimli::Dwarf<Slice<'d>>,
        unit: &gimli::Unit<Slice<'d>>,
        account: &mut Account<'_>,
    ) -> Result<Self, Failure> {
        let mut out = Scopes {
            scopes: Vec::new(),
            changes: vec![(0, UNIT)],
            known: HashMap::new(),
        };
        // What encloses the children of each open entry.
        let mut open: Vec<u32> = Vec::new();
        let mut entries = unit.entries_raw(None)?;
        while !entries.is_empty() {
            let offset = entries.next_offset();
            let Some(abbreviation) = entries.read_abbreviation()? else {
                let inner = open.pop();
                let outer = open.last().copied().unwrap_or(UNIT);
                if inner != Some(outer) {
                    out.changes.push((entries.next_offset().0, outer));
                }
                continue;
            };
            let attributes = abbreviation.attributes();
            account.spend(1 + attributes.len() * ATTRIBUTE)?;
            let parent = open.last().copied().unwrap_or(UNIT);
            let mut inner = parent;
            if is_scope(abbreviation.tag()) {
                let mut scope = Scope {
                    parent,
                    name: None,
                    linkage_name: None,
                    is_namespace: abbreviation.tag() == dw::DW_TAG_namespace,
                    is_class: matches!(
                        abbreviation.tag(),
                        dw::DW_TAG_structure_type | dw::DW_TAG_class_type
                    ),
                    origin: None,
                    line: (0, 0),
                    lambda: None,
                    class: None,
                };
                for spec in attributes {
                    let attribute = entries.read_attribute(*spec)?;
                    scope.take(dwarf, unit, &attribute);
                }
                account.spend(size_of::<Scope<'_>>() + scope.name.map_or(0, |name| name.len()))?;
                out.notice_lambda(&mut scope);
                inner = out.scopes.len() as u32;
                out.known.insert(offset.0, inner);
                out.scopes.push(scope);
            } else if let (dw::DW_TAG_formal_parameter, Some(class)) =
                (abbreviation.tag(), out.class_of(parent))
            {
                let (mut of, mut artificial) = (None, false);
                for spec in attributes {
                    let attribute = entries.read_attribute(*spec)?;
                    match (attribute.name(), attribute.value()) {
                        (dw::DW_AT_type, AttributeValue::UnitRef(offset)) => of = Some(offset),
                        (dw::DW_AT_artificial, _) => artificial = true,
                        _ => {}
                    }
                }
                let lambda = out.scopes[class as usize].lambda.as_mut();
                if let (Some(lambda), Some(of), false) = (lambda, of, artificial) {
                    account.spend(size_of::<UnitOffset>())?;
                    lambda.parameters.push(of);
                }
            } else {
                entries.skip_attributes(attributes)?;
            }
            if abbreviation.has_children() {
                account.spend(size_of::<(usize, u32)>())?;
                open.push(inner);
                if inner != parent {
                    out.changes.push((entries.next_offset().0, inner));
                }
            }
        }
        out.name_lambdas(dwarf, unit, account)?;
        Ok(out)
    }

    /// A class without a name that can be called is a lambda's.
    fn notice_lambda(&mut self, function: &mut Scope<'d>) {
        let calls = function
            .name
            .is_some_and(|name| name.starts_with(b"operator()"));
        let Some(class) = self.scopes.get_mut(function.parent as usize) else {
            return;
        };
        if calls && class.is_class && class.name.is_none() && class.lambda.is_none() {
            class.lambda = Some(Lambda::default());
            function.class = Some(function.parent);
        }
    }

    fn class_of(&self, scope: u32) -> Option<u32> {
        self.scopes.get(scope as usize)?.class
    }

    /// The lambdas of a function are numbered as their lines rise, as mangled names number them.
    fn name_lambdas(
        &mut self,
        dwarf: &gimli::Dwarf<Slice<'d>>,
        unit: &gimli::Unit<Slice<'d>>,
        account: &mut Account<'_>,
    ) -> Result<(), Failure> {
        let mut lambdas: Vec<u32> = (0..self.scopes.len() as u32)
            .filter(|at| self.scopes[*at as usize].lambda.is_some())
            .collect();
        lambdas.sort_by_key(|at| {
            let scope = &self.scopes[*at as usize];
            (scope.parent, scope.line, *at)
        });
        let (mut parent, mut number) = (None, 0);
        for at in lambdas {
            let scope = &mut self.scopes[at as usize];
            number = if parent == Some(scope.parent) {
                number + 1
            } else {
                1
            };
            parent = Some(scope.parent);
            let Some(mut lambda) = scope.lambda.take() else {
                continue;
            };
            let mut types = Vec::new();
            for of in &lambda.parameters {
                let told = self.type_name(dwarf, unit, *of, true, account)?;
                types.push(told.unwrap_or_else(|| "...".into()));
            }
            lambda.text = format!("{{lambda({})#{number}}}", types.join(", "));
            account.spend(lambda.text.len())?;
            self.scopes[at as usize].lambda = Some(lambda);
        }
        Ok(())
    }

    /// A type as mangled names have it; none for arrays, functions and their like. `whole`: it is a
    /// parameter's own, of which it does not matter whether it is constant.
    fn type_name(
        &self,
        dwarf: &gimli::Dwarf<Slice<'d>>,
        unit: &gimli::Unit<Slice<'d>>,
        mut at: UnitOffset,
        mut whole: bool,
        account: &mut Account<'_>,
    ) -> Result<Option<String>, Failure> {
        const MOST_STEPS: usize = 16;
        let mut behind = String::new();
        for _ in 0..MOST_STEPS {
            let entry = unit.entry(at)?;
            account.spend(1 + entry.attrs().len() * ATTRIBUTE)?;
            let name = entry.attr_value(dw::DW_AT_name);
            let name = name.and_then(|name| dwarf.attr_string(unit, name).ok());
            let mark = match entry.tag() {
                dw::DW_TAG_const_type if whole => "",
                dw::DW_TAG_const_type => " const",
                dw::DW_TAG_volatile_type => " volatile",
                dw::DW_TAG_pointer_type => "*",
                dw::DW_TAG_reference_type => "&",
                dw::DW_TAG_rvalue_reference_type => "&&",
                dw::DW_TAG_typedef => "",
                tag if is_scope(tag) || tag == dw::DW_TAG_base_type => {
                    let Some(name) = name else { return Ok(None) };
                    let name = self.name(at, name, account)?;
                    return Ok(Some(String::from_utf8_lossy(&name).into_owned() + &behind));
                }
                _ => return Ok(None),
            };
            whole &= entry.tag() == dw::DW_TAG_typedef;
            behind.insert_str(0, mark);
            at = match entry.attr_value(dw::DW_AT_type) {
                Some(AttributeValue::UnitRef(offset)) => offset,
                None => return Ok(Some(format!("void{behind}"))),
                _ => return Ok(None),
            };
        }
        Ok(None)
    }

    /// The whole name of what is declared at `offset` by the name `own`.
    pub(crate) fn name(
        &self,
        offset: UnitOffset,
        own: Slice<'d>,
        account: &mut Account<'_>,
    ) -> Result<Vec<u8>, Failure> {
        let after = self.changes.partition_point(|(from, _)| *from <= offset.0);
        let mut at = after.checked_sub(1).map_or(UNIT, |row| self.changes[row].1);
        let mut parts = vec![spelt(&own.to_string_lossy())];
        let mut length = own.len();
        // An origin may lead anywhere, also in a circle.
        const MOST_STEPS: usize = 64;
        for _ in 0..MOST_STEPS {
            let Some(scope) = self.scopes.get(at as usize) else {
                break;
            };
            if let (None, Some(origin)) = (scope.name, scope.origin) {
                if let Some(origin) = self.known.get(&origin.0) {
                    at = *origin;
                    continue;
                }
            }
            let whole = scope.demangled();
            at = whole.as_ref().map_or(scope.parent, |_| UNIT);
            let part = whole.unwrap_or_else(|| scope.text());
            length += part.len() + 2;
            if length > MOST_NAME_BYTES {
                break;
            }
            parts.push(part);
        }
        account.spend(2 * length)?;
        parts.retain(|part| !part.is_empty());
        parts.reverse();
        Ok(parts.join("::").into_bytes())
    }
}

impl<'d> Scope<'d> {
    fn take(
        &mut self,
        dwarf: &gimli::Dwarf<Slice<'d>>,
        unit: &gimli::Unit<Slice<'d>>,
        attribute: &gimli::Attribute<Slice<'d>>,
    ) {
        let number = || attribute.udata_value().unwrap_or_default();
        match attribute.name() {
            dw::DW_AT_name => self.name = dwarf.attr_string(unit, attribute.value()).ok(),
            dw::DW_AT_linkage_name => {
                self.linkage_name = dwarf.attr_string(unit, attribute.value()).ok();
            }
            dw::DW_AT_decl_line => self.line.0 = number(),
            dw::DW_AT_decl_column => self.line.1 = number(),
            dw::DW_AT_abstract_origin | dw::DW_AT_specification | dw::DW_AT_extension => {
                if let Some(Origin::Own(offset)) = Origin::of(&attribute.value()) {
                    self.origin = Some(offset);
                }
            }
            _ => {}
        }
    }

    fn text(&self) -> String {
        if let Some(lambda) = &self.lambda {
            return lambda.text.clone();
        }
        match self.name {
            Some(name) => spelt(&name.to_string_lossy()),
            None if self.is_namespace => ANONYMOUS.into(),
            None => String::new(),
        }
    }

    /// The whole name of a function that has a mangled one.
    fn demangled(&self) -> Option<String> {
        demangled(self.linkage_name?.to_string().ok()?)
    }
}

fn is_scope(tag: DwTag) -> bool {
    matches!(
        tag,
        dw::DW_TAG_namespace
            | dw::DW_TAG_structure_type
            | dw::DW_TAG_class_type
            | dw::DW_TAG_union_type
            | dw::DW_TAG_interface_type
            | dw::DW_TAG_enumeration_type
            | dw::DW_TAG_subprogram
    )
}

fn spelt(name: &str) -> String {
    let mut out = name.to_owned();
    for (words, others) in TYPES {
        if out.contains(words) {
            out = out.replace(words, others);
        }
    }
    out
}

/// Whether an attribute of a unit's entry says that it is written in C or assembly, whose functions
/// are declared in nothing.
pub(crate) fn is_c(value: AttributeValue<Slice<'_>>) -> bool {
    let AttributeValue::Language(language) = value else {
        return false;
    };
    matches!(
        language,
        dw::DW_LANG_C
            | dw::DW_LANG_C89
            | dw::DW_LANG_C99
            | dw::DW_LANG_C11
            | dw::DW_LANG_C17
            | dw::DW_LANG_Mips_Assembler
    )
}

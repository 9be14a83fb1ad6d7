use data_types::Id;

use super::target::Target;
use crate::fields::Fields;
use crate::flow::Step;
use crate::program::Location;

/// What a pointer `offset` bytes behind the start of something of a type leads to, which lies
/// outside of it: that of the only record around it that the function has a variable for
/// (container_of()).
pub(super) fn container(
    fields: &Fields<'_, '_>,
    step: &Step<'_, '_, '_>,
    inner: Id,
    offset: i64,
    size: u64,
) -> Option<Target> {
    if !fields.view.is_record(inner) {
        // A number beside the one that is pointed to is one of its kind.
        let whole = i64::try_from(fields.view.size(inner)).ok()?;
        let fits = whole > 0 && offset % whole == 0;
        return fits.then(|| Target::start(inner));
    }
    let function = &step.body.function;
    let program = fields.view.program;
    let origins = function.origins.iter();
    let declared: Vec<_> = origins.map(|origin| program.declared(*origin)).collect();
    // Otherwise it may be another element of an array.
    if !step.body.has_container {
        return element(fields, inner, offset, size);
    }
    let declared = declared.iter().flat_map(|one| one.types.iter().copied());
    let mut found: Vec<(Target, bool)> = Vec::new();
    for id in function.types.iter().copied().chain(declared) {
        let Some(outer) = fields.view.pointee(id) else {
            continue;
        };
        if found.iter().any(|(one, _)| fields.view.same(one.id, outer)) {
            continue;
        }
        for start in fields.positions(outer, inner).iter().copied() {
            let offset = offset.wrapping_add_unsigned(start);
            if !fields.has(outer, offset, size) {
                continue;
            }
            // Somewhere in the function a register less that much is such a variable.
            let less = (start as i64).wrapping_neg();
            let is_made = function.variables.iter().any(|one| {
                matches!(one.location, Location::Value(_, add) if add == less)
                    && start > 0
                    && fields
                        .view
                        .pointee(one.target)
                        .is_some_and(|id| fields.view.same(id, outer))
            });
            found.push((Target::at(outer, offset), is_made));
        }
    }
    let mut made = found.iter().filter(|(_, is_made)| *is_made);
    let only = match (found.as_slice(), made.next(), made.next()) {
        ([(only, _)], ..) | (_, Some((only, _)), None) => Some(*only),
        _ => None,
    };
    only.or_else(|| {
        found
            .is_empty()
            .then(|| element(fields, inner, offset, size))?
    })
}

/// Another element of the array that page-table entries always lie in.
fn element(fields: &Fields<'_, '_>, id: Id, offset: i64, size: u64) -> Option<Target> {
    const ENTRIES: [&str; 5] = ["pte_t", "pmd_t", "pud_t", "p4d_t", "pgd_t"];
    let whole = i64::try_from(fields.view.size(id)).ok()?;
    let name = fields.view.name(id);
    let fits = whole > 0 && offset % whole == 0 && size <= whole as u64;
    (fits && ENTRIES.contains(&&*name)).then(|| Target::start(id))
}

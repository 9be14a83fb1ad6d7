use data_types::{Id, Kind, Type};

use super::view::TypeView;

/// How many fields of a type are kept.
const MOST_LEAVES: usize = 4096;

/// How deep records may lie in each other.
const MOST_DEPTH: usize = 24;

/// A field of a record, or of one in it, that is no record itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Leaf {
    /// As in [`super::Place`].
    pub(crate) path: String,
    /// In bits from the start of the outermost record; of elements of an array the first one's.
    pub(crate) offset: u64,
    /// In bits; 0 of a flexible array.
    pub(crate) size: u64,
}

/// The fields of a record, in the order of the declaration.
pub(crate) fn leaves(view: &TypeView<'_, '_>, id: Id) -> Vec<Leaf> {
    let mut found = Vec::new();
    let (_, record) = view.stripped(id);
    inside(view, &record, "", 0, 0, &mut found);
    found
}

fn inside(
    view: &TypeView<'_, '_>,
    record: &Type,
    path: &str,
    start: u64,
    depth: usize,
    found: &mut Vec<Leaf>,
) {
    for member in &record.members {
        if found.len() >= MOST_LEAVES || depth >= MOST_DEPTH {
            return;
        }
        let mut path = path.to_owned();
        if !member.name.is_empty() && !path.is_empty() {
            path.push('.');
        }
        path.push_str(&member.name);
        let offset = start.saturating_add(member.offset);
        if let Some(size) = member.bits {
            if !member.name.is_empty() {
                found.push(Leaf { path, offset, size });
            }
            continue;
        }
        let size = view.size(member.target).saturating_mul(8);
        let (_, mut target) = view.stripped(member.target);
        let is_array = target.kind == Kind::Array;
        let mut within = depth;
        while target.kind == Kind::Array && within < MOST_DEPTH {
            within += 1;
            path.push_str("[]");
            let Some(element) = target.target else { break };
            target = view.stripped(element).1;
        }
        let is_record = matches!(target.kind, Kind::Struct | Kind::Union);
        if !is_record || is_array {
            let path = path.clone();
            found.push(Leaf { path, offset, size });
        }
        if is_record {
            inside(view, &target, &path, offset, within + 1, found);
        }
    }
}

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use data_types::{Id, Kind, Member, Type};

use super::view::TypeView;

/// How many alternatives of unions are followed.
const MOST_PLACES: usize = 48;

/// How deep records may lie in each other.
const MOST_DEPTH: usize = 24;

/// What lies at an offset of a type, down to something that is no record.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    /// Names from the type on; `[]` for the elements of arrays.
    pub(crate) path: String,
    /// The innermost name.
    pub(crate) last: Rc<str>,
    pub(crate) leaf: Id,
    pub(crate) leaf_offset: u64,
    /// The types from the outermost on, how far behind the start of each the place is, and how much
    /// of `path` leads to it.
    pub(crate) chain: Vec<(Id, u64, usize)>,
    /// Whether the access goes on behind the field.
    pub(crate) wider: bool,
    pub(crate) is_bit_field: bool,
    /// The size of the innermost element of an array that is on the way; 0: there is none.
    pub(crate) element: u64,
    /// Whether no field lies there.
    pub(crate) is_hole: bool,
}

/// A type, an offset in it, and the size of an access.
type Key = (Id, i64, u64);

/// By a record and what may be in it.
type Positions = HashMap<(Id, Id), Rc<Vec<u64>>>;

/// What lies where in the types of a program.
pub(crate) struct Fields<'p, 'd> {
    pub(crate) view: TypeView<'p, 'd>,
    known: RefCell<HashMap<Key, Rc<Vec<Place>>>>,
    positions: RefCell<Positions>,
}

impl<'p, 'd> Fields<'p, 'd> {
    pub(crate) fn new(view: TypeView<'p, 'd>) -> Self {
        Fields {
            view,
            known: RefCell::default(),
            positions: RefCell::default(),
        }
    }

    /// What can lie `offset` bytes behind the start of a type, for an access of `size` bytes: one
    /// place for each alternative of the unions on the way.
    pub(crate) fn places(&self, id: Id, offset: i64, size: u64) -> Rc<Vec<Place>> {
        let key = (id, offset, size);
        if let Some(found) = self.known.borrow().get(&key) {
            return Rc::clone(found);
        }
        let mut descent = Descent {
            view: &self.view,
            size,
            found: Vec::new(),
        };
        if let Ok(offset) = u64::try_from(offset) {
            let start = Place {
                path: String::new(),
                last: "".into(),
                leaf: id,
                leaf_offset: 0,
                chain: Vec::new(),
                wider: false,
                is_bit_field: false,
                element: 0,
                is_hole: false,
            };
            descent.descend(id, offset, start);
        }
        let found = Rc::new(descent.found);
        self.known.borrow_mut().insert(key, Rc::clone(&found));
        found
    }

    /// Whether something of a type lies at an offset, and an access of so many bytes does not go on
    /// behind its end.
    pub(crate) fn has(&self, id: Id, offset: i64, size: u64) -> bool {
        let whole = self.view.size(id);
        let crosses =
            u64::try_from(offset).is_ok_and(|offset| offset < whole && whole - offset < size);
        !crosses && !self.places(id, offset, size).is_empty()
    }

    /// Whether an access begins inside of a field and ends behind it, whichever alternative of unions
    /// it is: then its pointer is not what it was taken for, as where it has flags in its lowest
    /// bits.
    pub(crate) fn splits(&self, id: Id, offset: i64, size: u64) -> bool {
        let places = self.places(id, offset, size);
        !places.is_empty()
            && places.iter().all(|place| {
                let whole = self.view.size(place.leaf);
                let inside = place.leaf_offset > 0 && !place.is_hole && !place.is_bit_field;
                inside && whole > 0 && place.leaf_offset.saturating_add(size) > whole
            })
    }

    /// Whether a pointer `offset` bytes behind the start of `outer` is one `inner_offset` bytes
    /// behind the start of `inner`, which is in `outer`.
    pub(crate) fn contains(&self, outer: Id, offset: i64, inner: Id, inner_offset: i64) -> bool {
        let view = &self.view;
        if !view.is_record(outer) {
            return false;
        }
        if view.same(outer, inner) {
            return offset == inner_offset;
        }
        let starts = |(id, offset, _): &(Id, u64, usize)| *offset == 0 && view.same(*id, inner);
        view.size(outer) >= view.size(inner)
            && self
                .places(outer, offset.wrapping_sub(inner_offset), 1)
                .iter()
                .any(|place| place.chain.iter().skip(1).any(starts))
    }

    /// Where things of the type `inner` are in `outer`, the first of them.
    pub(crate) fn positions(&self, outer: Id, inner: Id) -> Rc<Vec<u64>> {
        let key = (outer, inner);
        if let Some(known) = self.positions.borrow().get(&key) {
            return Rc::clone(known);
        }
        let mut found = Vec::new();
        let (_, record) = self.view.stripped(outer);
        self.find(&record, inner, 0, 0, &mut found);
        found.sort_unstable();
        found.dedup();
        let found = Rc::new(found);
        self.positions.borrow_mut().insert(key, Rc::clone(&found));
        found
    }

    fn find(&self, record: &Type, inner: Id, start: u64, depth: usize, found: &mut Vec<u64>) {
        for member in record.members.iter().filter(|one| one.bits.is_none()) {
            if depth >= MOST_DEPTH || found.len() >= MOST_PLACES {
                return;
            }
            let offset = start.saturating_add(member.offset / 8);
            let (mut element, mut elements) = (member.target, 1);
            for _ in 0..MOST_DEPTH {
                let (_, array) = self.view.stripped(element);
                let Some(target) = array.target.filter(|_| array.kind == Kind::Array) else {
                    break;
                };
                (element, elements) = (target, array.size.saturating_mul(elements));
            }
            let size = self.view.size(element);
            let mut within = Vec::new();
            if self.view.same(element, inner) {
                within.push(offset);
            } else if size >= self.view.size(inner) && self.view.is_record(element) {
                let (_, record) = self.view.stripped(element);
                self.find(&record, inner, offset, depth + 1, &mut within);
            }
            for number in 0..elements.min(MOST_PLACES as u64) {
                let more = number.saturating_mul(size);
                found.extend(within.iter().map(|start| start.saturating_add(more)));
                found.truncate(MOST_PLACES);
            }
        }
    }

    /// An offset in a type, of a pointer plus a multiple of `step`, and whether an access of `bytes`
    /// there is one to the same field, be it of another element: not if nothing says that it moves
    /// over an array.
    pub(crate) fn within(&self, id: Id, offset: i64, step: u64, bytes: u64) -> (i64, bool) {
        let size = i64::try_from(self.view.size(id)).unwrap_or(0);
        let inside = step == 0 || size == 0 || self.has(id, offset, 1);
        let offset = if inside {
            offset
        } else {
            offset.rem_euclid(size)
        };
        let moves = |place: &Place| {
            let element = place.element;
            element >= bytes && element > 0 && !place.is_hole && (step == 1 || step % element == 0)
        };
        let is_sure = step == 0
            || size > 0 && step % (size as u64) == 0
            || !self.view.is_record(id)
                && self
                    .places(id, offset, 1)
                    .iter()
                    .all(|one| one.path.is_empty())
            || self.places(id, offset, 1).iter().any(moves);
        (offset, is_sure)
    }
}

struct Descent<'v, 'p, 'd> {
    view: &'v TypeView<'p, 'd>,
    size: u64,
    found: Vec<Place>,
}

impl Descent<'_, '_, '_> {
    fn descend(&mut self, id: Id, offset: u64, mut place: Place) {
        if self.found.len() >= MOST_PLACES || place.chain.len() >= MOST_DEPTH {
            return;
        }
        let (_, found) = self.view.stripped(id);
        place.chain.push((id, offset, place.path.len()));
        match found.kind {
            Kind::Struct => self.descend_struct(id, &found, offset, place),
            Kind::Union => {
                for member in &found.members {
                    let mut named = named(&place, member);
                    if member.bits.is_some() {
                        named.is_bit_field = true;
                        named.leaf = member.target;
                        self.found.push(named);
                    } else {
                        self.descend(member.target, offset, named);
                    }
                }
            }
            Kind::Array => {
                let Some(element) = found.target else { return };
                let size = self.view.size(element);
                if size > 0 {
                    place.element = size;
                    place.path.push_str("[]");
                    self.descend(element, offset % size, place);
                }
            }
            _ => {
                let size = self.view.size(id);
                (place.leaf, place.leaf_offset) = (id, offset);
                place.wider |= size > 0 && offset.saturating_add(self.size) > size;
                if offset < size.max(1) {
                    self.found.push(place);
                }
            }
        }
    }

    fn descend_struct(&mut self, id: Id, record: &Type, offset: u64, mut place: Place) {
        let end = offset.saturating_add(self.size.max(1));
        let flexible = |member: &Member| {
            let (_, found) = self.view.stripped(member.target);
            found.kind == Kind::Array && self.view.size(member.target) == 0
        };
        if offset >= record.size && !record.members.last().is_some_and(flexible) {
            return;
        }
        let covers = |member: &&Member| {
            let start = member.offset / 8;
            let size = self.view.size(member.target);
            let open = size == 0 && flexible(member) && offset >= record.size.min(start);
            member.bits.is_none() && start <= offset && (offset - start < size || open)
        };
        let whole = record.members.iter().filter(covers);
        let best = whole.max_by_key(|one| (self.view.size(one.target) > 0, one.offset));
        if let Some(member) = best {
            let (start, size) = (member.offset / 8, self.view.size(member.target));
            let mut named = named(&place, member);
            named.wider |= size > 0 && end > start.saturating_add(size);
            return self.descend(member.target, offset - start, named);
        }
        let mut bits = record.members.iter().filter(|member| {
            let size = member.bits.unwrap_or(0);
            let last = member.offset.saturating_add(size);
            size > 0 && member.offset < end.saturating_mul(8) && last > offset.saturating_mul(8)
        });
        if let Some(first) = bits.next() {
            place = named(&place, first);
            place.is_bit_field = true;
            place.wider |= bits.next().is_some();
            (place.leaf, place.leaf_offset) = (first.target, 0);
            self.found.push(place);
        } else if let Some(next) = record
            .members
            .iter()
            .filter(|member| {
                let (first, last) = (offset.saturating_mul(8), end.saturating_mul(8));
                member.offset > first && member.offset < last
            })
            .min_by_key(|member| member.offset)
        {
            // It begins before the field that it is for.
            let mut named = named(&place, next);
            named.wider = true;
            self.descend(next.target, 0, named);
        } else if offset < record.size {
            if !place.path.is_empty() {
                place.path.push('.');
            }
            place.path.push_str(&format!("(hole at {offset:#x})"));
            (place.leaf, place.leaf_offset, place.is_hole) = (id, offset, true);
            self.found.push(place);
        }
    }
}

fn named(place: &Place, member: &Member) -> Place {
    let mut place = place.clone();
    if !member.name.is_empty() {
        if !place.path.is_empty() {
            place.path.push('.');
        }
        place.path.push_str(&member.name);
        place.last = member.name.as_str().into();
    }
    place
}

/// The likeliest of some places, and how many others are as likely: one where a value of the type
/// `hint` lies, one with a word in its name that the function's has, too (`compound_head`), one of the size of the access, the least deep, the
/// first.
pub(crate) fn choose<'f>(
    view: &TypeView<'_, '_>,
    found: &'f [Place],
    size: u64,
    hint: Option<Id>,
    function: &str,
) -> Option<(&'f Place, usize)> {
    let score = |place: &Place| {
        let starts = |one: &(Id, u64, usize), wanted| one.1 == 0 && view.same(one.0, wanted);
        let inner = place.chain.iter().skip(1);
        let hinted = hint.is_some_and(|wanted| inner.clone().any(|one| starts(one, wanted)));
        let named = match place.wider {
            true => 0,
            false => shared(&place.last, function),
        };
        let fits = match place.leaf_offset {
            _ if place.is_hole => -1,
            0 if view.size(place.leaf) == size => 2,
            0 => 1,
            _ => 0,
        };
        (hinted, named, fits)
    };
    let best = found.iter().map(score).max()?;
    let alike: Vec<&Place> = found.iter().filter(|one| score(one) == best).collect();
    let first = *alike.iter().min_by_key(|one| one.chain.len())?;
    let others = alike.iter().filter(|one| one.path != first.path).count();
    Some((first, others))
}

/// The length of the longest word that two names have in common.
fn shared(name: &str, function: &str) -> usize {
    /// Shorter words are in too many names.
    const SHORTEST: usize = 4;
    let words = name.split('_').filter(|word| word.len() >= SHORTEST);
    let shared = words.filter(|word| function.split('_').any(|other| other == *word));
    shared.map(str::len).max().unwrap_or(0)
}

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use hashbrown::HashMap;
use rayon::prelude::*;

use super::unit::UnitReader;
use super::{Debug, Failure, UnitTable};
use crate::budget::Account;
use crate::Result;

/// Convert all units, in parallel, and hand over their tables in the order of the file, each as soon as
/// all before it are done. Units that cannot be read are left out; what is returned says why the
/// first one cannot. It is an error where reading costs too much.
pub(crate) fn convert<'d>(
    debug: &Debug<'d>,
    text: &[Range<u64>],
    mut take: impl FnMut(UnitTable<'d>) + Send,
) -> Result<Option<String>> {
    let mut result = Ok(());
    let mut unread = None;
    let ordered = Ordered::new(|table| match table {
        Ok(table) if result.is_ok() => take(table),
        Ok(_) => {}
        Err(Failure::Exhausted) => result = Err(debug.budget.error()),
        Err(failure) => {
            unread.get_or_insert_with(|| failure.to_string());
        }
    });
    // Units differ in size by a factor of 100: one at a time keeps both cores busy.
    let next = AtomicUsize::new(0);
    let threads = (0..rayon::current_num_threads()).into_par_iter();
    threads.with_max_len(1).for_each(|_| loop {
        let number = next.fetch_add(1, Ordering::Relaxed);
        let Some(header) = debug.headers.get(number) else {
            return;
        };
        let table = table(debug, *header, text);
        if matches!(table, Err(Failure::Exhausted)) {
            // All before it have begun.
            next.fetch_max(debug.headers.len(), Ordering::Relaxed);
        }
        ordered.put(number, table);
    });
    ordered.take();
    drop(ordered);
    result.map(|()| unread.or_else(|| debug.unread.clone()))
}

fn table<'d>(
    debug: &Debug<'d>,
    header: gimli::UnitHeader<super::Slice<'d>>,
    text: &[Range<u64>],
) -> std::result::Result<UnitTable<'d>, Failure> {
    let mut account = Account::new(debug.budget);
    let unit = debug.open(header, &mut account);
    unit.and_then(|unit| UnitReader::convert(debug, &unit, text, account))
        .map_err(|failure| match failure {
            Failure::Dwarf(error) => {
                let at = header.debug_info_offset().map_or(0, |offset| offset.0);
                Failure::Unit(at, error)
            }
            failure => failure,
        })
}

/// Takes things one by one in their order, which threads make in any.
struct Ordered<T, F> {
    early: Mutex<HashMap<usize, T>>,
    taking: Mutex<(usize, F)>,
}

impl<T, F: FnMut(T)> Ordered<T, F> {
    fn new(take: F) -> Self {
        Ordered {
            early: Mutex::default(),
            taking: Mutex::new((0, take)),
        }
    }

    /// `number`: its place in the order.
    fn put(&self, number: usize, thing: T) {
        let mut early = self.early.lock().unwrap_or_else(PoisonError::into_inner);
        early.insert(number, thing);
        drop(early);
        self.take();
    }

    /// Take what is next in the order, unless another thread does.
    fn take(&self) {
        let Ok(mut taking) = self.taking.try_lock() else {
            return;
        };
        let (next, take) = &mut *taking;
        let early = || self.early.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            let Some(thing) = early().remove(next) else {
                return;
            };
            *next += 1;
            take(thing);
        }
    }
}

use std::path::Path;
use std::thread;

use hashbrown::HashMap;
use kernel_symbols::{Error, FileBytes, Result};
use object::Architecture;

use crate::anchors::anchors;
use crate::budget::Budget;
use crate::code::CodeComparer;
use crate::content::Contents;
use crate::image::Image;
use crate::objects::{Thing, Things};
use crate::sections::Kind;
use crate::symbols::Number;
use crate::tables::Tables;
use crate::targets::{Pairs, Targets};
use crate::verdict::{Compared, Difference, Verdict};

/// Functions of one kernel, compared with another.
#[derive(Debug, Default)]
pub struct Comparison {
    /// Each function that has an address, by where it starts.
    pub functions: Vec<Compared>,
    /// The function of each address; none where no symbol has it.
    pub function: Vec<Option<u32>>,
}

/// Compare the functions of the kernel at `old` that have these addresses (svmas) with the same
/// functions of the kernel at `new`. Both are a vmlinux of one architecture, plain or packed; other
/// code than that of x86-64 is not compared.
pub fn compare(old: &Path, new: &Path, addresses: &[u64]) -> Result<Comparison> {
    let (old_bytes, new_bytes) = both(|| FileBytes::open(old), || FileBytes::open(new));
    let (old_bytes, new_bytes) = (old_bytes?, new_bytes?);
    let (first, second) = both(
        || Image::parse(old, &old_bytes).map(|image| (Tables::of(&image), image)),
        || Image::parse(new, &new_bytes).map(|image| (Tables::of(&image), image)),
    );
    let ((first_tables, first), (second_tables, second)) = (first?, second?);
    if first.architecture != second.architecture {
        return Err(Error::Kind {
            path: new.into(),
            expected: "a kernel of the same architecture",
            found: format!(
                "{:?} instead of {:?}",
                second.architecture, first.architecture
            ),
            advice: "give kernels that were built for one architecture",
        });
    }
    if first.architecture != Architecture::X86_64 {
        return Ok(not_compared(&first, addresses));
    }
    let budget = Budget::new(old_bytes.len().saturating_add(new_bytes.len()));
    let mut targets = Targets {
        old: &first,
        new: &second,
        pairs: Pairs::default(),
    };
    Ok(compared(
        &mut targets,
        [&first_tables, &second_tables],
        &budget,
        addresses,
    ))
}

/// Every function is unknown: on other architectures, an address takes several instructions.
fn not_compared(image: &Image<'_>, addresses: &[u64]) -> Comparison {
    let (functions, function) = distinct(image, addresses);
    let functions = functions.iter().map(|one| {
        let symbol = image.symbols.get(*one);
        Compared {
            name: symbol.shown(),
            start: symbol.address,
            verdict: Verdict::Unknown,
            detail: format!("{:?} code is not compared", image.architecture),
        }
    });
    Comparison {
        functions: functions.collect(),
        function,
    }
}

/// What two functions return, which run at the same time.
fn both<T: Send>(one: impl FnOnce() -> T + Send, other: impl FnOnce() -> T) -> (T, T) {
    thread::scope(|scope| {
        let first = scope.spawn(one);
        let second = other();
        match first.join() {
            Ok(first) => (first, second),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}

fn compared(
    targets: &mut Targets<'_, '_>,
    tables: [&Tables; 2],
    budget: &Budget,
    addresses: &[u64],
) -> Comparison {
    let (functions, function) = distinct(targets.old, addresses);
    let counterparts: Vec<Option<Number>> = functions
        .iter()
        .map(|one| targets.new.symbols.counterpart(*one, &targets.old.symbols))
        .collect();
    // Which function is which is known before what they call.
    for (one, other) in functions.iter().zip(&counterparts) {
        if let Some(other) = other {
            targets.pairs.pair(*one, *other);
        }
    }
    let mut things = Things::default();
    let mut results = Vec::with_capacity(functions.len());
    for (one, other) in functions.iter().zip(counterparts) {
        let mut comparer = CodeComparer {
            targets: &mut *targets,
            things: &mut things,
            tables,
            budget,
        };
        results.push(match other {
            Some(other) => comparer.function((*one, other)),
            None => Err(Difference::new(Verdict::Absent, "no function of that name")),
        });
    }
    let things = contents(targets, things, tables, budget);
    let functions = functions.iter().zip(results).map(|(one, result)| {
        let symbol = targets.old.symbols.get(*one);
        let difference = match result {
            Ok(used) => used
                .iter()
                .find_map(|thing| things[*thing as usize].clone()),
            Err(difference) => Some(difference),
        };
        Compared {
            name: symbol.shown(),
            start: symbol.address,
            verdict: difference
                .as_ref()
                .map_or(Verdict::Equal, |one| one.verdict),
            detail: difference.map_or_else(String::new, |one| one.detail),
        }
    });
    Comparison {
        functions: functions.collect(),
        function,
    }
}

/// The functions that have addresses, by where they start, and which one each address has.
fn distinct(image: &Image<'_>, addresses: &[u64]) -> (Vec<Number>, Vec<Option<u32>>) {
    let of = |address: &u64| {
        let code = image.sections.kind(*address) == Some(Kind::Code);
        image.symbols.covering(*address).filter(|_| code)
    };
    let found: Vec<Option<Number>> = addresses.iter().map(of).collect();
    let mut functions: Vec<Number> = found.iter().flatten().copied().collect();
    functions.sort_unstable_by_key(|number| number.0);
    functions.dedup();
    let places: HashMap<Number, u32> = functions.iter().copied().zip(0..).collect();
    let function = found
        .iter()
        .map(|number| places.get(number.as_ref()?).copied())
        .collect();
    (functions, function)
}

/// What differs of the things that code refers to, and of those that these lead to.
fn contents(
    targets: &mut Targets<'_, '_>,
    mut things: Things,
    tables: [&Tables; 2],
    budget: &Budget,
) -> Vec<Option<Difference>> {
    let needed = things
        .iter()
        .any(|thing| matches!(thing, Thing::Constant(..)));
    let anchors = match needed {
        true => {
            let (old, new) = (targets.old, targets.new);
            let (old, new) = both(|| anchors(old), || anchors(new));
            [old, new]
        }
        false => Default::default(),
    };
    let mut number = 0;
    while let Some(thing) = things.get(number) {
        let mut data = Contents {
            targets: &mut *targets,
            things: &mut things,
            budget,
            anchors: &anchors,
        };
        let found = match thing {
            Thing::Object(old, new) => data.object(old, new),
            Thing::Constant(old, new, extent) => data.constant(old, new, extent),
            Thing::Code(old, new) => CodeComparer {
                targets: &mut *targets,
                things: &mut things,
                tables,
                budget,
            }
            .nameless(old, new),
        };
        things.note(number, found);
        number += 1;
    }
    things.differences()
}

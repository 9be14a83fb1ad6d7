use std::collections::HashMap;
use std::path::PathBuf;

use crate::elf::Elf;
use crate::file::FileBytes;
use crate::resolution::Reason;
use crate::{Avma, Displacement, Result, Svma};

const PAGE: u64 = 4096;

/// How many comparisons of an address with a byte of code are made in the search for bases. A real
/// recording takes 10^6; this bounds what a hostile one can ask for to a second or two.
const MOST_WORK: u64 = 2_000_000_000;

/// An instruction that ran in user space.
#[derive(Clone, Copy, Debug)]
pub struct Instruction<'a> {
    /// Where.
    pub address: Avma,
    /// Its bytes, 1 to 15; empty if they are not known.
    pub code: &'a [u8],
}

/// Where an instruction comes from: the object's number and the address in it, or why that cannot
/// be said.
pub type Placed = std::result::Result<(u32, Svma), Reason>;

/// A program or library whose code may be anywhere.
struct Object {
    number: u32,
    fixed: bool,
    segments: Vec<(u64, Vec<u8>)>,
}

/// An object at a base.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Mapping {
    object: usize,
    base: Displacement,
}

/// Find from which of the ELF files at `paths` each instruction comes.
///
/// Where the guest mapped them is not known, and several processes may have mapped them at several
/// bases. But the instructions' bytes are: a base is right where the recorded bytes are those of
/// the object. Bases are found page by page, the page with the most instructions first; then each
/// instruction goes to the object that has its bytes, among those that are needed to explain its
/// page. None comes from a file that cannot be read as an ELF file.
pub fn place_user(paths: &[PathBuf], instructions: &[Instruction<'_>]) -> Result<Vec<Placed>> {
    let mut objects: Vec<Object> = Vec::new();
    for (number, path) in paths.iter().enumerate() {
        let bytes = FileBytes::open(path)?;
        let read = |elf: Elf<'_>| {
            let segments = elf.code(&bytes)?.into_iter();
            Ok(Object {
                number: number as u32,
                fixed: elf.is_fixed(),
                segments: segments.map(|one| (one.svma, one.bytes.to_vec())).collect(),
            })
        };
        // One of 32 bits, or a damaged one, takes nothing from the others.
        let Ok(object) = Elf::parse(path, &bytes).and_then(read) else {
            continue;
        };
        // The same file under a second name (busybox's applets, hard links) says nothing new.
        if !objects
            .iter()
            .any(|known| known.segments == object.segments)
        {
            objects.push(object);
        }
    }
    let mappings = find_mappings(&objects, instructions);
    let mut pages: HashMap<u64, Vec<usize>> = HashMap::new();
    for (i, one) in instructions.iter().enumerate() {
        pages.entry(one.address.0 / PAGE).or_default().push(i);
    }
    let mut out = vec![Err(Reason::NoObject); instructions.len()];
    for page in pages.into_values() {
        let present = present(&objects, &mappings, instructions, &page);
        for i in page {
            out[i] = place(&objects, &present, &instructions[i]);
        }
    }
    Ok(out)
}

/// The mappings that are needed to explain a page. One that only has what a better one has as well
/// (a `ret`, a `push`) did not show that it ran there.
fn present(
    objects: &[Object],
    mappings: &[Mapping],
    instructions: &[Instruction<'_>],
    page: &[usize],
) -> Vec<Mapping> {
    let matches = |mapping: &Mapping, i: usize| {
        let one = &instructions[i];
        objects[mapping.object].matches(one.address.0, mapping.base, one.code)
    };
    let mut out = Vec::new();
    let mut left: Vec<usize> = page
        .iter()
        .copied()
        .filter(|i| !instructions[*i].code.is_empty())
        .collect();
    loop {
        let explained = |mapping: &Mapping| -> usize {
            left.iter()
                .filter(|i| matches(mapping, **i))
                .map(|i| instructions[*i].code.len())
                .sum()
        };
        // The first of equals: they are of the same object, or the page is ambiguous anyway.
        let best = mappings.iter().map(|mapping| (explained(mapping), mapping));
        let Some((bytes, best)) = best.rev().max_by_key(|(bytes, _)| *bytes) else {
            return out;
        };
        if bytes == 0 {
            return out;
        }
        out.extend(
            mappings
                .iter()
                .filter(|mapping| explained(mapping) == bytes)
                .copied(),
        );
        let best = *best;
        left.retain(|i| !matches(&best, *i));
    }
}

impl Object {
    fn matches(&self, address: u64, base: Displacement, code: &[u8]) -> bool {
        let svma = address.wrapping_sub(base.0);
        self.segments.iter().any(|(start, bytes)| {
            let at = svma
                .checked_sub(*start)
                .and_then(|at| usize::try_from(at).ok());
            at.and_then(|at| bytes.get(at..))
                .is_some_and(|bytes| bytes.starts_with(code))
        })
    }
}

fn place(objects: &[Object], mappings: &[Mapping], one: &Instruction<'_>) -> Placed {
    let mut found: Option<(u32, Svma)> = None;
    for mapping in mappings {
        let object = &objects[mapping.object];
        if !one.code.is_empty() && object.matches(one.address.0, mapping.base, one.code) {
            let place = (object.number, one.address.to_svma(mapping.base));
            if found.is_some_and(|found| found != place) {
                return Err(Reason::Ambiguous);
            }
            found = Some(place);
        }
    }
    found.ok_or(Reason::NoObject)
}

/// The mappings that explain the instructions, with as few as will do.
fn find_mappings(objects: &[Object], instructions: &[Instruction<'_>]) -> Vec<Mapping> {
    let mut pages: HashMap<u64, Vec<Instruction<'_>>> = HashMap::new();
    for one in instructions.iter().filter(|one| !one.code.is_empty()) {
        pages.entry(one.address.0 / PAGE).or_default().push(*one);
    }
    let mut mappings: Vec<Mapping> = Vec::new();
    let mut accept = |mapping: Mapping, pages: &mut HashMap<u64, Vec<Instruction<'_>>>| {
        let object = &objects[mapping.object];
        let mut explained = 0;
        pages.retain(|_, page| {
            let before = page.len();
            page.retain(|one| !object.matches(one.address.0, mapping.base, one.code));
            explained += before - page.len();
            !page.is_empty()
        });
        if explained > 0 {
            mappings.push(mapping);
        }
        explained
    };
    // Programs with a fixed address need no search, and any of them may have run.
    let mut fixed = Vec::new();
    for i in (0..objects.len()).filter(|i| objects[*i].fixed) {
        accept(
            Mapping {
                object: i,
                base: Displacement(0),
            },
            &mut pages,
        );
    }
    let mut work = 0;
    while work < MOST_WORK {
        let Some(page) = pages
            .iter()
            .max_by_key(|(number, page)| (page.len(), **number))
        else {
            break;
        };
        let (number, page) = (*page.0, page.1.clone());
        let best = best_base(objects, number, &page, &mut work);
        let explained = best.map_or(0, |mapping| accept(mapping, &mut pages));
        if explained == 0 {
            pages.remove(&number); // nobody's code
        }
    }
    mappings.retain(|mapping| !fixed.contains(mapping));
    fixed.extend(mappings);
    fixed
}

/// The object and base that explain the most of one page, if no accident explains it: at least half
/// of the page's bytes (the rest may be another process's), and no other base as well.
fn best_base(
    objects: &[Object],
    number: u64,
    page: &[Instruction<'_>],
    work: &mut u64,
) -> Option<Mapping> {
    /// A one-byte instruction is at one place in 20 of any code; six bytes at one in 10^7.
    const FEWEST_BYTES: usize = 6;
    let total: usize = page.iter().map(|one| one.code.len()).sum();
    let mut most = FEWEST_BYTES.max(total.div_ceil(2)) - 1;
    let mut best = None;
    for (i, object) in objects
        .iter()
        .enumerate()
        .filter(|(_, object)| !object.fixed)
    {
        for (start, bytes) in &object.segments {
            let first = start / PAGE;
            let pages = (bytes.len() as u64 + start % PAGE).div_ceil(PAGE);
            *work = work.saturating_add(pages.saturating_mul(page.len() as u64));
            for candidate in first..first.saturating_add(pages) {
                let base = Displacement(number.wrapping_sub(candidate).wrapping_mul(PAGE));
                let matches = |one: &&Instruction<'_>| {
                    let svma = one.address.0.wrapping_sub(base.0);
                    let at = usize::try_from(svma.wrapping_sub(*start)).unwrap_or(usize::MAX);
                    bytes
                        .get(at..)
                        .is_some_and(|bytes| bytes.starts_with(one.code))
                };
                let matched = page.iter().filter(matches).map(|one| one.code.len()).sum();
                if matched > most {
                    most = matched;
                    best = Some(Mapping { object: i, base });
                } else if matched == most {
                    best = None;
                }
            }
        }
    }
    best
}

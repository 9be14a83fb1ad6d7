use std::collections::HashMap;
use std::path::Path;

use rayon::prelude::*;

use crate::budget::{Account, Budget};
use crate::dwarf::{Debug, DebugData, Failure, OpenUnit};
use crate::elf::Elf;
use crate::file::FileBytes;
use crate::{Error, Result, Svma};

/// What a row of a line table takes to keep.
const ROW: usize = size_of::<Statement>();

/// Where a source statement begins: before this instruction executes, the program is at the line.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct Statement {
    /// Of the instruction.
    pub svma: Svma,
    /// An index into the files' names.
    pub file: u32,
    /// The line in it.
    pub line: u32,
}

/// Statements in order of addresses, and the names of their files.
pub type Statements = (Vec<Statement>, Vec<String>);

/// Where statements begin in ranges of (start, end) of the ELF file at `path`, which rise and do not
/// overlap: what the line tables call `is_stmt`, all of an address in any order.
///
/// gcc leaves these marks where the source has the statement, also if it moves, merges or removes
/// the code of it.
pub fn statements(path: &Path, ranges: &[(Svma, Svma)]) -> Result<Statements> {
    let file = FileBytes::map(path)?;
    let packed = file.len();
    let bytes = file.unpacked(path)?.map_or(file, FileBytes::Owned);
    let budget = Budget::new(path, packed, bytes.len());
    let elf = Elf::parse(path, &bytes)?;
    let data = DebugData::load(path, &elf, &budget)?;
    let debug = Debug::new(&data, &elf, &budget)?;
    if let Some(unread) = &debug.unread {
        return Err(Error::damaged(path, unread));
    }
    let found: Vec<Unit> = debug
        .headers
        .par_iter()
        .map(|header| {
            let mut account = Account::new(&budget);
            let unit = debug.open(*header, &mut account);
            let found = unit.and_then(|unit| of_unit(&debug, &unit, ranges, &mut account));
            found
                .and_then(|found| account.settle().map(|()| found).map_err(Failure::from))
                .map_err(|failure| match failure {
                    Failure::Exhausted => budget.error(),
                    failure => Error::damaged(path, failure),
                })
        })
        .collect::<Result<_>>()?;
    Ok(merged(found))
}

/// Of one unit: files by their number in it.
type Unit = Vec<(Svma, Vec<u8>, u32)>;

fn of_unit<'d>(
    debug: &Debug<'d>,
    unit: &OpenUnit<'d>,
    ranges: &[(Svma, Svma)],
    account: &mut Account<'_>,
) -> std::result::Result<Unit, Failure> {
    let mut found = Vec::new();
    let is_wanted = |start: u64, end: u64| {
        let after = ranges.partition_point(|(first, _)| first.0 < end);
        let last = after.checked_sub(1).and_then(|at| ranges.get(at));
        last.is_some_and(|(_, last)| last.0 > start)
    };
    // Of a kernel's units a workload executes few, and line tables take longer than all else.
    if unit
        .place
        .is_outside(&debug.dwarf, &unit.unit, account, is_wanted)?
    {
        return Ok(found);
    }
    let program = unit.paths.program();
    let Some(program) = program.filter(|one| debug.first_use(one.header().offset())) else {
        return Ok(found);
    };
    account.spend(program.header().raw_program_buf().len() + unit.paths.cost())?;
    let mut rows = program.clone().rows();
    let mut names: HashMap<u64, Vec<u8>> = HashMap::new();
    while let Some((_, row)) = rows.next_row()? {
        let Some(line) = row.line().filter(|_| row.is_stmt() && !row.end_sequence()) else {
            continue;
        };
        let svma = Svma(row.address());
        let after = ranges.partition_point(|(start, _)| *start <= svma);
        let range = after.checked_sub(1).and_then(|at| ranges.get(at));
        if range.is_none_or(|(_, end)| *end <= svma) {
            continue;
        }
        let index = row.file_index();
        let name = match names.get(&index) {
            Some(name) => name.clone(),
            None => {
                let name = unit.paths.name(&debug.dwarf, &unit.unit, index, account)?;
                names.insert(index, name.clone());
                name
            }
        };
        account.spend(ROW + name.len())?;
        found.push((svma, name, line.get().min(1 << 31) as u32));
    }
    Ok(found)
}

fn merged(units: Vec<Unit>) -> Statements {
    let mut numbers: HashMap<Vec<u8>, u32> = HashMap::new();
    let mut files = Vec::new();
    let mut found = Vec::new();
    for (svma, name, line) in units.into_iter().flatten() {
        let next = numbers.len() as u32;
        let file = *numbers.entry(name).or_insert_with_key(|name| {
            files.push(String::from_utf8_lossy(name).into_owned());
            next
        });
        found.push(Statement { svma, file, line });
    }
    found.sort_unstable();
    found.dedup();
    (found, files)
}

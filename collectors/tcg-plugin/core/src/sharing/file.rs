//! The file of shared lines, read by `profdiff.collectors.sharing.lines`. All numbers are little
//! endian.
//!
//! | bytes | header |
//! |---|---|
//! | 8 | `PDSHARED` |
//! | 4 | version of this format: 3 |
//! | 4 | window: 0 none was opened, 1 the command, 2 the workload's marks |
//! | 4 | bytes of a line |
//! | 4 | what ends an operation: 0 a system call, 1 a mark |
//! | 8 | windows opened |
//! | 8 | windows closed |
//! | 8 | misplaced marks |
//! | 8 each | numbers of vCPUs, places, lines, touches, accesses, holds |
//!
//! A vCPU has its complete operations and the kernel's instructions that it executed (8 each). A
//! place is an instruction: address (8), length (1), bytes (15); they are sorted. A line has 72
//! bytes: virtual address (8), the kernel's where it used one, how many lines it stands for (4),
//! flags (4; 1: a program's memory, 2: a sum of several, which has neither addresses nor touches),
//! transfers, read fetches, write fetches, upgrades, the fewest and the most misses if vCPUs take
//! other turns (8 each; more than the most: not known), and the address by which programs access it
//! (8; 0: none does, or a sum). A touch: line (4), vCPU (4), operations
//! that touch it (8), operations that write it (8). An access: line (4), place (4), vCPU, offset in
//! the line, bytes, flags (1 each; 1: stores, 2: locked, 4: repeated, and the whole line stands for
//! what it accesses), zero (4), how often (8), how often that was a miss (8); sorted.
//! A hold: line, the place of a locked instruction that stores, of the next instruction of the vCPU
//! that stores to the same word, and of the call that led to the function of the first (4 each;
//! 0xffffffff: not known), offset in the line (4), zero (4), how often, and the kernel's instructions
//! from the one to the other (8 each).
//!
//! Lines that do not change hands are left out. Of those that change hands less than once in a
//! hundred operations, the kernel's are one line and the programs' another, the last ones: objects
//! that are freed and allocated again have thousands.
//!
//! Places are all of the kernel that executed in the window, also those that access nothing shared:
//! who follows values through the code must know the way.
//!
//! Accesses are counted from when their line was found to miss often, within its first operations;
//! a workload that does some before its window has them all.

use std::collections::BTreeMap;
use std::io::{self, Write};

use crate::marked_window::Window;
use crate::sharing::accesses::{Access, Counted};
use crate::sharing::holds::{Held, Hold, NO_CALL};
use crate::sharing::lines::{Line, LineNumber, Lines};
use crate::sharing::recorder::{Ends, Recorder};
use crate::slots::{Place, PlaceNumber};

const MAGIC: &[u8; 8] = b"PDSHARED";
const VERSION: u32 = 3;
const IN_USER: u32 = 1;
const SUMMED: u32 = 2;
const STORE: u8 = 1;
const LOCKED: u8 = 2;
/// A line is told alone if it changes hands once in so many operations.
const OFTEN: u64 = 100;
const LEFT_OUT: u32 = u32::MAX;

/// What was recorded, and what its instructions are.
pub struct Recorded<'r> {
    /// The lines, and who accesses them.
    pub recorder: &'r Recorder,
    /// The instructions, by number.
    pub places: &'r [Place],
    /// Those of the kernel that executed.
    pub executed: &'r [PlaceNumber],
    /// Flags of their accesses.
    pub flags: &'r dyn Fn(PlaceNumber) -> u8,
    /// What ends an operation.
    pub ends: Ends,
    /// Whose window it is: see the header.
    pub kind: u32,
    /// That window.
    pub window: &'r Window,
}

/// Which line of the file each line is, and the lines of the file: those that are told alone, then
/// sums, of the kernel's and of programs'.
struct Chosen {
    row: Vec<u32>,
    alone: Vec<LineNumber>,
    summed: Vec<Vec<LineNumber>>,
    /// Of the sums of the kernel's lines and of programs'.
    rows_of_sums: [u32; 2],
}

impl Chosen {
    fn of(lines: &Lines, operations: u64) -> Chosen {
        let (mut alone, mut summed) = (Vec::new(), vec![Vec::new(), Vec::new()]);
        for (at, line) in lines.all().iter().enumerate() {
            let number = at as LineNumber;
            if lines.transfers(number) * OFTEN >= operations.max(1) {
                alone.push(number);
            } else if lines.is_shared(number) {
                summed[usize::from(line.user > 0)].push(number);
            }
        }
        let mut row = vec![LEFT_OUT; lines.all().len()];
        for (at, number) in alone.iter().enumerate() {
            row[*number as usize] = at as u32;
        }
        let first = alone.len() as u32;
        let rows_of_sums = match (summed[0].is_empty(), summed[1].is_empty()) {
            (true, true) => [LEFT_OUT; 2],
            (false, true) => [first, LEFT_OUT],
            (true, false) => [LEFT_OUT, first],
            (false, false) => [first, first + 1],
        };
        summed.retain(|numbers| !numbers.is_empty());
        for (at, numbers) in summed.iter().enumerate() {
            for number in numbers {
                row[*number as usize] = (alone.len() + at) as u32;
            }
        }
        Chosen {
            row,
            alone,
            summed,
            rows_of_sums,
        }
    }
}

impl Recorded<'_> {
    /// Write it.
    pub fn write(&self, out: &mut impl Write) -> io::Result<()> {
        let lines = &self.recorder.lines;
        let operations: Vec<u64> = self.recorder.operations().collect();
        let chosen = Chosen::of(lines, operations.iter().sum());
        let ranges = self.recorder.trace.ranges(
            self.recorder.accesses.all(),
            |access| (self.flags)(access.place) & LOCKED != 0,
            lines.all().len(),
        );
        let mut accesses = self.accesses(&chosen);
        let mut used: Vec<PlaceNumber> = accesses.iter().map(|(access, _)| access.place).collect();
        used.extend(self.executed);
        let mut holds = self.holds(&chosen);
        for (hold, _) in &holds {
            let all = [hold.taken, hold.released, hold.call];
            used.extend(all.iter().filter(|place| **place != NO_CALL));
        }
        used.sort_unstable_by_key(|place| self.places[*place as usize]);
        used.dedup();
        let flags: Vec<u8> = used.iter().map(|place| (self.flags)(*place)).collect();
        let mut record = vec![LEFT_OUT; self.places.len()];
        for (at, place) in used.iter().enumerate() {
            record[*place as usize] = at as u32;
        }
        for (access, _) in &mut accesses {
            access.place = record[access.place as usize];
        }
        accesses.sort_unstable_by_key(|(access, _)| *access);
        for (hold, _) in &mut holds {
            for place in [&mut hold.taken, &mut hold.released, &mut hold.call] {
                if *place != NO_CALL {
                    *place = record[*place as usize];
                }
            }
        }
        holds.sort_unstable_by_key(|(hold, _)| *hold);
        let touches = self.touches(&chosen);

        out.write_all(MAGIC)?;
        let ends = u32::from(self.ends == Ends::Marks);
        let size = self.recorder.lines.size() as u32;
        for number in [VERSION, self.kind, size, ends] {
            out.write_all(&number.to_le_bytes())?;
        }
        let n_lines = chosen.alone.len() + chosen.summed.len();
        for number in [
            self.window.opened,
            self.window.closed,
            self.window.misplaced,
            operations.len() as u64,
            used.len() as u64,
            n_lines as u64,
            touches.len() as u64,
            accesses.len() as u64,
            holds.len() as u64,
        ] {
            out.write_all(&number.to_le_bytes())?;
        }
        for (number, path) in operations.iter().zip(&self.recorder.paths) {
            out.write_all(&number.to_le_bytes())?;
            out.write_all(&path.executed().to_le_bytes())?;
        }
        for place in used {
            let Place {
                address,
                code,
                length,
            } = self.places[place as usize];
            out.write_all(&address.to_le_bytes())?;
            out.write_all(&[length])?;
            out.write_all(&code)?;
        }
        self.write_lines(&chosen, &ranges, out)?;
        for (line, vcpu, numbers) in touches {
            out.write_all(&line.to_le_bytes())?;
            out.write_all(&vcpu.to_le_bytes())?;
            for number in numbers {
                out.write_all(&number.to_le_bytes())?;
            }
        }
        for (access, counted) in accesses {
            let store = if access.store { STORE } else { 0 };
            out.write_all(&access.line.to_le_bytes())?;
            out.write_all(&access.place.to_le_bytes())?;
            let flags = store | flags[access.place as usize];
            out.write_all(&[access.vcpu, access.offset, access.size, flags, 0, 0, 0, 0])?;
            out.write_all(&counted.count.to_le_bytes())?;
            out.write_all(&counted.misses.to_le_bytes())?;
        }
        for (hold, held) in holds {
            let offset = u32::from(hold.offset);
            for number in [hold.line, hold.taken, hold.released, hold.call, offset, 0] {
                out.write_all(&number.to_le_bytes())?;
            }
            for number in [held.times, held.instructions] {
                out.write_all(&number.to_le_bytes())?;
            }
        }
        out.flush()
    }

    fn write_lines(
        &self,
        chosen: &Chosen,
        ranges: &[(u64, u64)],
        out: &mut impl Write,
    ) -> io::Result<()> {
        let all = &self.recorder.lines;
        let alone = chosen.alone.chunks(1).map(|one| (one, false));
        let summed = chosen.summed.iter().map(|all| (&all[..], true));
        for (numbers, sums) in alone.chain(summed) {
            let lines = numbers.iter().map(|number| &all.all()[*number as usize]);
            let transfers = numbers.iter().map(|number| all.transfers(*number));
            let (mut address, mut user, mut flags) = (0, 0, if sums { SUMMED } else { 0 });
            if let Some(line) = lines.clone().next() {
                flags |= if line.user > 0 { IN_USER } else { 0 };
                if !sums {
                    let page = self.recorder.map.pages()[line.page as usize];
                    address = page.address + u64::from(line.at) * self.recorder.lines.size();
                    user = line.user;
                }
            }
            out.write_all(&address.to_le_bytes())?;
            out.write_all(&(numbers.len() as u32).to_le_bytes())?;
            out.write_all(&flags.to_le_bytes())?;
            // Those of sums are not known: their lines are not followed.
            let first = numbers.first().map_or(0, |number| *number as usize);
            let hot = !sums && all.all().get(first).is_some_and(|line| line.is_hot);
            let range = ranges.get(first).filter(|_| hot);
            let (fewest, most) = range.copied().unwrap_or((1, 0));
            let sum = |of: fn(&Line) -> u64| lines.clone().map(of).sum::<u64>();
            for number in [
                transfers.sum(),
                sum(|line| line.read_fetches),
                sum(|line| line.write_fetches),
                sum(|line| line.upgrades),
                fewest,
                most,
                user,
            ] {
                out.write_all(&number.to_le_bytes())?;
            }
        }
        Ok(())
    }

    /// Line, vCPU, operations that touch and that write it.
    fn touches(&self, chosen: &Chosen) -> Vec<(u32, u32, [u64; 2])> {
        let mut found = Vec::new();
        for (row, number) in chosen.alone.iter().enumerate() {
            let touches = self.recorder.lines.touches(*number);
            for (vcpu, one) in touches.iter().enumerate() {
                if one.touching() > 0 {
                    let numbers = [one.touching(), one.writing()];
                    found.push((row as u32, vcpu as u32, numbers));
                }
            }
        }
        found
    }

    /// What was held on lines that are told alone.
    fn holds(&self, chosen: &Chosen) -> Vec<(Hold, Held)> {
        let every = self.recorder.holds.all().into_iter();
        let told = every.map(|(hold, held)| {
            let line = chosen.row[hold.line as usize];
            (Hold { line, ..hold }, held)
        });
        told.filter(|(hold, _)| (hold.line as usize) < chosen.alone.len())
            .collect()
    }

    /// The accesses to lines of the file. Those of the sum are told by instruction, and only what
    /// misses.
    fn accesses(&self, chosen: &Chosen) -> Vec<(Access, Counted)> {
        let mut sums: BTreeMap<Access, Counted> = BTreeMap::new();
        let mut found = Vec::new();
        let often = self.recorder.accesses.all().iter();
        let often = often.map(|one| (chosen.row[one.0.line as usize], one));
        let seldom = self.recorder.seldom.all().iter();
        let seldom = seldom.map(|one| (chosen.rows_of_sums[one.0.line as usize], one));
        for (line, (access, counted)) in often.chain(seldom) {
            let access = Access { line, ..*access };
            if line == LEFT_OUT {
                continue;
            }
            if (line as usize) < chosen.alone.len() {
                found.push((access, *counted));
            } else if counted.misses > 0 {
                let sum = sums.entry(Access {
                    offset: 0,
                    ..access
                });
                let sum = sum.or_default();
                sum.count += counted.count;
                sum.misses += counted.misses;
            }
        }
        found.extend(sums);
        found
    }
}

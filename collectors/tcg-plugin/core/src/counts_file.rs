//! The counts file, read by `profdiff.collectors.counts`. All numbers are little endian.
//!
//! | bytes | header |
//! |---|---|
//! | 8 | `PDCOUNTS` |
//! | 4 | version of this format: 6 |
//! | 4 | window: 0 none was opened, 1 the command, 2 the workload's marks, 3 the boot |
//! | 8 | windows opened |
//! | 8 | windows closed |
//! | 8 | misplaced marks |
//! | 8 | number of records |
//! | 8 | number of nodes: 0 without a call tree |
//! | 8 | number of rows |
//! | 8 | number of repeated string instructions |
//! | 8 | number of conditional jumps: 0 without a call tree |
//! | 8 | number of vCPUs: 0 without a call tree, and where QEMU does not tell |
//! | 8 | number of paths in which vCPUs idled |
//! | 8 | nanoseconds by which the guest's clock advanced; 0 where QEMU does not tell |
//! | 8 | of them, those in which no vCPU had anything to do |
//!
//! A record is 32 bytes: address (8), count (8), length of the instruction (1), its bytes (15).
//! Records are sorted by address, then bytes; those whose count is zero are there because a node
//! names them. An address has a record for each instruction that executed there: in user space that
//! of different processes, in the kernel what patching its text made of it.
//!
//! A node is 24 bytes: its caller's number (4), the record of the call or of the instruction that
//! was interrupted (4), the record of the first instruction behind it (4), zero or, in node 0, how
//! often a path was not followed because there were too many (4), how often it was entered (8). A
//! caller's number is lower than its callees'; node 0 has no caller. 0xffffffff means none, or
//! unknown. A row is 16 bytes: node (4), record (4), count (8), sorted.
//!
//! A repeated string instruction (`rep movsb`) counts once, however often it iterates. Behind the
//! rows, each has 16 bytes: its record (8), in order, and how often it started, which is once for
//! each iteration and once more to find that none is left (8).
//!
//! Behind those, each conditional jump that executed has 24 bytes: its record (8), in order, how
//! often it was taken (8), and how often it was not (8). What its count has more is not known: what
//! was interrupted at its end never went on there, or it leads to the instruction behind it.
//!
//! Behind those, each vCPU has 8 bytes: for how many nanoseconds it idled. Behind those, each path has
//! 24 bytes: its node (4), zero (4), for how many nanoseconds vCPUs idled so (8), and how often they
//! began to (8).

use std::io::{self, Write};

use crate::blocks::Blocks;
use crate::call_tree::{CallTree, Row};
use crate::idling::Idled;
use crate::iterations::Iterating;
use crate::node::{Node, NodeNumber, NONE};
use crate::slots::Place;
use crate::window::Windows;

const MAGIC: &[u8; 8] = b"PDCOUNTS";
const VERSION: u32 = 6;

/// What was counted.
#[derive(Clone, Copy, Debug)]
pub struct Counted<'c> {
    /// The instructions, by number.
    pub places: &'c [Place],
    /// Those of them that iterate.
    pub iterating: &'c Iterating,
    /// What executed in the windows.
    pub windows: &'c Windows,
    /// What idled in those that count.
    pub idle: &'c Idled<'c>,
    /// Who called whom.
    pub calls: Option<(&'c CallTree, &'c Blocks)>,
}

/// The parts of the tree in which something ran, numbered anew.
#[derive(Default)]
struct Calls {
    nodes: Vec<(Node, u64)>,
    rows: Vec<Row>,
    refused: u32,
    idle: Vec<(NodeNumber, [u64; 2])>,
}

impl Counted<'_> {
    /// Write the counts of the workload's own windows if it opened any, else of the command's.
    pub fn write(&self, out: &mut impl Write) -> io::Result<()> {
        // A stray stop mark counts as a use of marks: its window never opened, which must be told.
        let (windows, window) = (self.windows, self.windows.used());
        let kind = windows.kind();
        let idle = self.idle;
        let calls = self.calls.map(|calls| Calls::of(calls, &idle.paths));
        let mut calls = calls.unwrap_or_default();
        let mut counts = window.sums().to_vec();
        counts.resize(self.places.len(), 0);
        let mut wanted: Vec<bool> = counts.iter().map(|count| *count > 0).collect();
        let mut repeated = Vec::new();
        for (place, iterations) in self.iterating {
            let row = *place as usize;
            let extra = iterations.numbers.map(|number| number as usize);
            if counts[row] > 0 {
                repeated.push((row, counts[row]));
                let of_it = iterations.of(extra.map(|number| counts[number]));
                counts[row] = counts[row].saturating_sub(of_it);
            }
            for number in extra {
                wanted[number] = false;
            }
        }
        // A window that is still open adds no instruction to the sums, and no branch either.
        let closed = self.calls.filter(|_| !window.is_open());
        let branches = closed.map(|(_, blocks)| blocks.branches());
        let mut branches: Vec<(usize, [u64; 2])> = branches
            .into_iter()
            .flatten()
            .map(|(place, went)| (place as usize, went))
            .filter(|(row, went)| counts[*row] > 0 || *went != [0, 0])
            .collect();
        for (row, _) in &branches {
            wanted[*row] = true;
        }
        for place in calls.places() {
            wanted[*place as usize] = true;
        }
        let mut order: Vec<usize> = (0..counts.len()).filter(|row| wanted[*row]).collect();
        order.sort_unstable_by_key(|row| self.places[*row]);
        let mut records = vec![NONE; counts.len()];
        for (record, row) in order.iter().enumerate() {
            records[*row] = record as u32;
        }
        for place in calls.places() {
            *place = records[*place as usize];
        }
        calls.rows.sort_unstable();
        repeated.sort_unstable_by_key(|(row, _)| records[*row]);
        branches.sort_unstable_by_key(|(row, _)| records[*row]);

        out.write_all(MAGIC)?;
        out.write_all(&VERSION.to_le_bytes())?;
        out.write_all(&kind.to_le_bytes())?;
        for number in [
            window.opened,
            window.closed,
            window.misplaced,
            order.len() as u64,
            calls.nodes.len() as u64,
            calls.rows.len() as u64,
            repeated.len() as u64,
            branches.len() as u64,
            idle.vcpus.len() as u64,
            calls.idle.len() as u64,
            idle.clock,
            idle.nobody,
        ] {
            out.write_all(&number.to_le_bytes())?;
        }
        for row in order {
            let place = self.places[row];
            out.write_all(&place.address.to_le_bytes())?;
            out.write_all(&counts[row].to_le_bytes())?;
            out.write_all(&[place.length])?;
            out.write_all(&place.code)?;
        }
        for (number, (node, entered)) in calls.nodes.iter().enumerate() {
            let refused = if number == 0 { calls.refused } else { 0 };
            for number in [node.parent, node.site, node.target, refused] {
                out.write_all(&number.to_le_bytes())?;
            }
            out.write_all(&entered.to_le_bytes())?;
        }
        for row in &calls.rows {
            out.write_all(&row.node.to_le_bytes())?;
            out.write_all(&row.place.to_le_bytes())?;
            out.write_all(&row.count.to_le_bytes())?;
        }
        for (row, starts) in repeated {
            out.write_all(&u64::from(records[row]).to_le_bytes())?;
            out.write_all(&starts.to_le_bytes())?;
        }
        for (row, [passed, taken]) in branches {
            for number in [u64::from(records[row]), taken, passed] {
                out.write_all(&number.to_le_bytes())?;
            }
        }
        for one in idle.vcpus {
            out.write_all(&one.to_le_bytes())?;
        }
        for (node, [idle, times]) in &calls.idle {
            for number in [u64::from(*node), *idle, *times] {
                out.write_all(&number.to_le_bytes())?;
            }
        }
        out.flush()
    }
}

impl Calls {
    fn of((tree, blocks): (&CallTree, &Blocks), idle: &[(NodeNumber, [u64; 2])]) -> Calls {
        let mut rows = tree.rows(blocks);
        let mut wanted: Vec<bool> = tree.calls().iter().map(|count| *count > 0).collect();
        wanted[0] = true;
        for row in &rows {
            wanted[row.node as usize] = true;
        }
        for (node, _) in idle {
            wanted[*node as usize] = true;
        }
        for (number, node) in tree.nodes().iter().enumerate().skip(1).rev() {
            if wanted[number] {
                wanted[node.parent as usize] = true;
            }
        }
        let mut numbers = vec![NONE; wanted.len()];
        let mut nodes = Vec::new();
        for (number, node) in tree.nodes().iter().enumerate() {
            if wanted[number] {
                numbers[number] = nodes.len() as u32;
                let parent = numbers.get(node.parent as usize).copied();
                let parent = parent.unwrap_or(NONE);
                nodes.push((Node { parent, ..*node }, tree.calls()[number]));
            }
        }
        for row in &mut rows {
            row.node = numbers[row.node as usize];
        }
        Calls {
            nodes,
            rows,
            refused: u32::try_from(tree.refused()).unwrap_or(u32::MAX),
            idle: idle
                .iter()
                .map(|(node, sums)| (numbers[*node as usize], *sums))
                .collect(),
        }
    }

    /// All places that it names.
    fn places(&mut self) -> impl Iterator<Item = &mut u32> {
        let nodes = self.nodes.iter_mut();
        let named = nodes.flat_map(|(node, _)| [&mut node.site, &mut node.target]);
        let rows = self.rows.iter_mut().map(|row| &mut row.place);
        named.filter(|place| **place != NONE).chain(rows)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::iterations::Iterations;
    use crate::window::Window;
    use std::sync::atomic::AtomicU64;

    #[test]
    fn marks_win_over_the_command_and_records_are_sorted() {
        let places = [
            Place::new(0xffff_ffff_8000_0000, &[0x90]),
            Place::new(0x40_0000, &[0xc3]),
            Place::new(0x30_0000, &[0xc3]),
        ];
        let (mut command, mut marks) = (Window::default(), Window::default());
        command.start(&[0, 0, 0]);
        marks.start(&[1, 1, 1]);
        marks.stop(&[3, 2, 1]);
        command.stop(&[9, 9, 9]);
        let mut bytes = Vec::new();
        let counted = Counted {
            places: &places,
            iterating: &Iterating::default(),
            windows: &Windows {
                command,
                marks,
                boot: None,
                until: None,
            },
            idle: &Idled::default(),
            calls: None,
        };
        counted.write(&mut bytes).unwrap();
        assert_eq!(bytes.len(), 112 + 2 * 32);
        assert_eq!(bytes[12..16], 2u32.to_le_bytes());
        assert_eq!(bytes[40..48], 2u64.to_le_bytes());
        assert_eq!(bytes[112..120], 0x40_0000u64.to_le_bytes());
        assert_eq!(bytes[120..128], 1u64.to_le_bytes());
        assert_eq!(bytes[128..130], [1, 0xc3]);
        assert_eq!(bytes[144..152], 0xffff_ffff_8000_0000u64.to_le_bytes());
        assert_eq!(bytes[152..162], [2, 0, 0, 0, 0, 0, 0, 0, 1, 0x90]);
    }

    #[test]
    fn a_repeated_instruction_counts_once_and_keeps_its_starts() {
        let rep = Place::new(0x20, &[0xf3, 0xaa]);
        let places = [rep, Place::new(0, &[]), Place::new(0x10, &[0xc3])];
        static COUNTER: AtomicU64 = AtomicU64::new(0);
        let iterations = Iterations::new((1, &COUNTER), 1);
        let mut marks = Window::default();
        marks.start(&[0, 0, 0]);
        marks.stop(&[22, 20, 7]);
        let mut bytes = Vec::new();
        let counted = Counted {
            places: &places,
            iterating: &Iterating::from_iter([(0, iterations)]),
            windows: &Windows {
                marks,
                ..Windows::default()
            },
            idle: &Idled::default(),
            calls: None,
        };
        counted.write(&mut bytes).unwrap();
        assert_eq!(bytes.len(), 112 + 2 * 32 + 16);
        let number = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap());
        assert_eq!([40, 64, 72].map(number), [2, 1, 0]);
        assert_eq!([112, 120, 144, 152].map(number), [0x10, 7, 0x20, 2]);
        assert_eq!([176, 184].map(number), [1, 22]);
    }

    #[test]
    fn nodes_in_which_nothing_ran_are_left_out() {
        let places = [Place::new(0x20, &[0xe8]), Place::new(0x10, &[0xc3])];
        let mut tree = CallTree::default();
        let node = |parent, site, target| Node {
            parent,
            site,
            target,
        };
        tree.node(node(0, 1, NONE));
        let caller = tree.node(node(0, 0, 1));
        let callee = tree.node(node(caller, 0, NONE));
        tree.entered(callee);
        let mut bytes = Vec::new();
        let counted = Counted {
            places: &places,
            iterating: &Iterating::default(),
            windows: &Windows::default(),
            idle: &Idled::default(),
            calls: Some((&tree, &Blocks::default())),
        };
        counted.write(&mut bytes).unwrap();
        let numbers: Vec<u32> = bytes[112 + 2 * 32..]
            .chunks(4)
            .map(|four| u32::from_le_bytes(four.try_into().unwrap()))
            .collect();
        assert_eq!(
            numbers,
            [
                [NONE, NONE, NONE, 0, 0, 0],
                [0, 1, 0, 0, 0, 0],
                [1, 1, NONE, 0, 1, 0]
            ]
            .concat()
        );
    }

    #[test]
    fn what_idled_keeps_its_node() {
        let places = [Place::new(0x20, &[0xe8]), Place::new(0x10, &[0xc3])];
        let mut tree = CallTree::default();
        let mut node = |site| {
            tree.node(Node {
                parent: 0,
                site,
                target: NONE,
            })
        };
        let (_, waits) = (node(1), node(0));
        let mut bytes = Vec::new();
        let counted = Counted {
            places: &places,
            iterating: &Iterating::default(),
            windows: &Windows::default(),
            idle: &Idled {
                clock: 90,
                nobody: 40,
                vcpus: &[50, 60],
                paths: vec![(waits, [70, 3])],
            },
            calls: Some((&tree, &Blocks::default())),
        };
        counted.write(&mut bytes).unwrap();
        let number = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap());
        assert_eq!([80, 88, 96, 104].map(number), [2, 1, 90, 40]);
        // One record, two nodes, no rows.
        let behind = 112 + 32 + 2 * 24;
        assert_eq!(bytes.len(), behind + 2 * 8 + 24);
        assert_eq!(
            [0, 8, 16, 24, 32].map(|at| number(behind + at)),
            [50, 60, 1, 70, 3]
        );
    }
}

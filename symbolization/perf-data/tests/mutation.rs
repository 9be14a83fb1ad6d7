//! Damaged recordings: no panic, no hang, no allocation beyond the stated factor.
//!
//! A seeded mutation test, for machines without a nightly compiler and its fuzzer. It damages small
//! recordings of every kind, and the first records of the fixture profiles where they are there.
//! `PROFDIFF_MUTATIONS` sets how many cases; `PROFDIFF_SEED` which ones.
#![allow(clippy::unwrap_used, clippy::panic)] // a test says what is wrong by ending

mod common;

use std::path::Path;

use common::{alone, bounded};
use perf_data::Profile;

/// xorshift64*: enough to choose bytes.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit.max(1) as u64) as usize
    }
}

/// One record: type, misc, body.
fn record(out: &mut Vec<u8>, kind: u32, misc: u16, body: &[u8]) {
    let size = 8 + body.len().next_multiple_of(8);
    out.extend(kind.to_le_bytes());
    out.extend(misc.to_le_bytes());
    out.extend((size as u16).to_le_bytes());
    out.extend(body);
    out.resize(out.len() + size - 8 - body.len(), 0);
}

fn words(values: &[u64]) -> Vec<u8> {
    values
        .iter()
        .flat_map(|value| value.to_le_bytes())
        .collect()
}

/// IP, TID, TIME, READ, CALLCHAIN, PERIOD, BRANCH_STACK and IDENTIFIER: all that is parsed.
const SAMPLE_TYPE: u64 = 1 | 2 | 4 | 16 | 32 | 256 | 1 << 11 | 1 << 16;
const KERNEL: u64 = 0xffff_ffff_8100_0000;

fn attribute(id: u64) -> Vec<u8> {
    let group_with_times = 1 | 2 | 4 | 8 | 16;
    let sample_id_all = 1 << 18;
    let mut out = Vec::new();
    out.extend(1u32.to_le_bytes());
    out.extend(112u32.to_le_bytes());
    out.extend(words(&[
        id,
        1000,
        SAMPLE_TYPE,
        group_with_times,
        sample_id_all,
        0,
        0,
        0,
        1 << 11,
    ]));
    out.resize(112, 0);
    out
}

fn records() -> Vec<u8> {
    let mut out = Vec::new();
    let trailer = words(&[0, 5, 10]);
    let told = |out: &mut Vec<u8>, kind, misc, body: &[u8]| {
        let mut body = body.to_vec();
        body.resize(body.len().next_multiple_of(8), 0);
        body.extend(&trailer);
        record(out, kind, misc, &body);
    };
    let seven = 7u64 | 7 << 32;
    told(
        &mut out,
        3,
        1 << 13,
        &[words(&[seven]), b"name\0".to_vec()].concat(),
    );
    let mapping = words(&[seven, 0x40_0000, 0x1000, 0, 0x14, 1, 2, 3]);
    told(
        &mut out,
        10,
        2 | 1 << 14,
        &[mapping.clone(), b"/bin/x\0".to_vec()].concat(),
    );
    told(
        &mut out,
        10,
        1,
        &[mapping, b"[kernel.kallsyms]_text\0".to_vec()].concat(),
    );
    told(&mut out, 7, 0, &words(&[8 | 7 << 32, 8 | 7 << 32, 9]));
    for round in 0..6u64 {
        let callers = [
            -128i64 as u64,
            KERNEL,
            KERNEL + 9,
            -512i64 as u64,
            0x40_0010,
            0x40_0020,
        ];
        let group = [2, 100, 50, 10 + round, 10, 0, round, 11, 0];
        let mut body = words(&[10 + round % 2, KERNEL + round, seven, round, 3]);
        body.extend(words(&group));
        body.extend(words(&[callers.len() as u64]));
        body.extend(words(&callers));
        body.extend(words(&[1, 0x40_0030, 0x40_0040, 0]));
        record(&mut out, 9, 1, &body);
    }
    record(&mut out, 2, 0, &words(&[10, 3]));
    record(&mut out, 8, 0, &words(&[seven, 1, 5, 4, 3, 10, 0]));
    record(
        &mut out,
        17,
        0,
        &[words(&[KERNEL, 64]), b"bpf\0".to_vec()].concat(),
    );
    out
}

/// A stream as `perf record -o -` writes it, perhaps with its records packed.
fn stream(packed: bool) -> Vec<u8> {
    let mut out = b"PERFILE2".to_vec();
    out.extend(words(&[16]));
    for id in [10, 11] {
        record(&mut out, 64, 0, &[attribute(id), words(&[id])].concat());
    }
    record(
        &mut out,
        80,
        0,
        &[words(&[5]), b"\x04\0\0\x006.1\0".to_vec()].concat(),
    );
    if packed {
        let content = zstd::stream::encode_all(&records()[..], 1).unwrap();
        let size = words(&[content.len() as u64]);
        record(&mut out, 83, 0, &[size, content].concat());
    } else {
        out.extend(records());
    }
    out
}

/// A file with events, records and features.
fn file() -> Vec<u8> {
    let ids = words(&[10, 11]);
    let (ids_at, data) = (104u64, records());
    let table_at = ids_at + 16;
    let mut table = Vec::new();
    for number in 0..2u64 {
        table.extend(attribute(10 + number));
        table.extend(words(&[ids_at + 8 * number, 8]));
    }
    let data_at = table_at + table.len() as u64;
    let features: [(u64, Vec<u8>); 3] = [
        (
            2,
            [words(&[0x24 << 48]), vec![1; 28], b"/bin/x\0\0".to_vec()].concat(),
        ),
        (
            11,
            [vec![1, 0, 0, 0, 8, 0, 0, 0], b"perf\0\0\0\0".to_vec()].concat(),
        ),
        (
            12,
            [vec![1, 0, 0, 0, 112, 0, 0, 0], attribute(10), vec![0; 16]].concat(),
        ),
    ];
    let bits = features.iter().fold(0u64, |bits, (bit, _)| bits | 1 << bit);
    let mut out = b"PERFILE2".to_vec();
    out.extend(words(&[
        104,
        128,
        table_at,
        table.len() as u64,
        data_at,
        data.len() as u64,
    ]));
    out.extend(words(&[0, 0, bits, 0, 0, 0]));
    out.extend(ids);
    out.extend(table);
    out.extend(data);
    let mut at = out.len() as u64 + 16 * features.len() as u64;
    for (_, content) in &features {
        out.extend(words(&[at, content.len() as u64]));
        at += content.len() as u64;
    }
    features.iter().for_each(|(_, content)| out.extend(content));
    out
}

/// The head of a fixture profile and its first records, as a file that nobody finished.
fn fixture(name: &str) -> Option<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/perf-data");
    let mut content = std::fs::read(folder.join(name)).ok()?;
    content.truncate(6000);
    content[48..56].fill(0); // the size of the data
    Some(content)
}

fn mutate(random: &mut Random, content: &mut Vec<u8>) {
    const TELLING: [u64; 9] = [0, 1, 7, 8, 0x7fff, 0xffff, 1 << 31, u64::MAX, 1 << 63];
    for _ in 0..=random.below(6) {
        if content.is_empty() {
            return;
        }
        let at = random.below(content.len());
        match random.below(7) {
            0 => content[at] ^= 1 << random.below(8),
            1 => content[at] = random.next() as u8,
            2 | 3 => {
                let width = [1, 2, 4, 8][random.below(4)];
                let at = at / width * width;
                let value = TELLING[random.below(TELLING.len())].to_le_bytes();
                let end = (at + width).min(content.len());
                content[at..end].copy_from_slice(&value[..end - at]);
            }
            4 => content.truncate(at),
            5 => {
                let end = (at + random.below(200)).min(content.len());
                let part = content[at..end].to_vec();
                let to = random.below(content.len());
                content.splice(to..to, part);
            }
            _ => {
                let end = (at + random.below(64)).min(content.len());
                content.drain(at..end);
            }
        }
    }
}

fn setting(name: &str, default: u64) -> u64 {
    let set = std::env::var(name).ok();
    set.and_then(|text| text.parse().ok()).unwrap_or(default)
}

#[test]
fn damaged_recordings_do_no_harm() {
    let _alone = alone();
    let cases = setting("PROFDIFF_MUTATIONS", 250_000);
    let mut seeds = vec![file(), stream(false), stream(true)];
    for name in [
        "mprotect-v6.12.107.perf.data",
        "mprotect-v6.18.15.perf.data",
    ] {
        seeds.extend(fixture(name));
    }
    let path = Path::new("mutated.perf.data");
    for (number, seed) in seeds.iter().enumerate() {
        let profile = Profile::parse(path, seed).unwrap();
        assert!(
            profile.statistics.samples > 0,
            "seed {number} has no sample"
        );
    }
    let mut random = Random(setting("PROFDIFF_SEED", 0x9E37_79B9_7F4A_7C15));
    let mut read = 0u64;
    for case in 0..cases {
        let mut content = seeds[case as usize % seeds.len()].clone();
        mutate(&mut random, &mut content);
        read += u64::from(
            bounded("a mutation", content.len(), || {
                Profile::parse(path, &content)
            })
            .is_ok(),
        );
    }
    // Damage that nothing survives would test only the first check of each field.
    assert!(read * 20 > cases, "{read} of {cases} cases were read");
}

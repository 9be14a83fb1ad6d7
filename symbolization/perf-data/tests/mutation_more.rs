//! Damage to what `mutation.rs` does not have: whole fixtures cut down to a few records of each kind
//! with their features, the other byte order, and text.
//!
//! `PROFDIFF_MUTATIONS` sets how many cases; `PROFDIFF_SEED` which ones.
#![allow(clippy::unwrap_used, clippy::panic)] // a test says what is wrong by ending

mod common;

use std::collections::HashMap;
use std::path::Path;

use common::{alone, bounded, Order, Temporary, CALLCHAIN, IDENTIFIER, IP, LITTLE, TID, TIME};
use perf_data::{parse_text, Profile};

/// Processes, mappings and samples of two events.
fn everyday(order: Order) -> Vec<u8> {
    let trailer = |time: u64| [order.pair(7, 7), order.words(&[time, 10])].concat();
    let mut data = Vec::new();
    let comm = [order.pair(7, 7), b"name\0\0\0\0".to_vec(), trailer(1)].concat();
    data.extend(order.record(3, 1 << 13, &comm));
    for (number, path) in [b"/bin/a\0\0", b"//anon\0\0", b"[vdso]\0\0"]
        .iter()
        .enumerate()
    {
        let start = 0x1000 * (number as u64 + 1);
        let place = order.words(&[start, 0x1800, 0, 0, 0, 0, 0]);
        let body = [
            order.pair(7, 7),
            place,
            path.to_vec(),
            trailer(2 + number as u64),
        ]
        .concat();
        data.extend(order.record(10, 2, &body));
    }
    let fork = [
        order.pair(8, 7),
        order.pair(8, 7),
        order.words(&[9]),
        trailer(9),
    ]
    .concat();
    data.extend(order.record(7, 0, &fork));
    for round in 0..8u64 {
        let head = [
            order.words(&[10 + round % 2, 0x1008]),
            order.pair(7 + round as u32 % 2, 7),
        ];
        let chain = [4, -512i64 as u64, 0x1008, 0x2008 + round, 0x3008];
        let body = [
            head.concat(),
            order.words(&[20 + round]),
            order.words(&chain),
        ]
        .concat();
        data.extend(order.record(9, 2, &body));
    }
    let attribute = order.attribute(IDENTIFIER | IP | TID | TIME | CALLCHAIN, 4);
    order.file(&attribute, &[&[10], &[11]], &data)
}

fn le64(content: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(content[at..at + 8].try_into().unwrap())
}

/// A fixture profile with a few records of each kind and all of its features.
fn fixture(name: &str) -> Option<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/perf-data");
    let whole = std::fs::read(folder.join(name)).ok()?;
    let (data_at, data_size) = (le64(&whole, 40) as usize, le64(&whole, 48) as usize);
    let end = data_at + data_size;
    let mut out = whole[..data_at].to_vec();
    let mut kept: HashMap<u32, usize> = HashMap::new();
    let mut at = data_at;
    while at < end {
        let kind = u32::from_le_bytes(whole[at..at + 4].try_into().unwrap());
        let size = usize::from(u16::from_le_bytes(
            whole[at + 6..at + 8].try_into().unwrap(),
        ));
        let many = kept.entry(kind).or_default();
        *many += 1;
        if *many <= 12 {
            out.extend(&whole[at..at + size]);
        }
        at += size;
    }
    let new_size = (out.len() - data_at) as u64;
    out[48..56].copy_from_slice(&new_size.to_le_bytes());
    let features: u32 = whole[72..104].iter().map(|byte| byte.count_ones()).sum();
    let mut content_at = out.len() + 16 * features as usize;
    let mut contents: Vec<u8> = Vec::new();
    for number in 0..features as usize {
        let (from, size) = (
            le64(&whole, end + 16 * number),
            le64(&whole, end + 16 * number + 8),
        );
        out.extend(LITTLE.words(&[content_at as u64, size]));
        contents.extend(&whole[from as usize..(from + size) as usize]);
        content_at += size as usize;
    }
    out.extend(contents);
    Some(out)
}

/// xorshift64*.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 16) as usize % limit.max(1)
    }
}

fn damage(random: &mut Random, content: &mut Vec<u8>, telling: &[&[u8]]) {
    for _ in 0..=random.below(5) {
        if content.is_empty() {
            return;
        }
        let at = random.below(content.len());
        let end = (at + random.below(100)).min(content.len());
        match random.below(6) {
            0 => content[at] ^= 1 << random.below(8),
            1 | 2 => {
                let value = telling[random.below(telling.len())];
                let end = (at + value.len()).min(content.len());
                content[at..end].copy_from_slice(&value[..end - at]);
            }
            3 => {
                let part = content[at..end].to_vec();
                let to = random.below(content.len());
                content.splice(to..to, part);
            }
            4 => drop(content.drain(at..end)),
            _ if random.below(4) == 0 => content.truncate(at),
            _ => content[at] = random.below(256) as u8,
        }
    }
}

fn setting(name: &str, default: u64) -> u64 {
    let set = std::env::var(name).ok();
    set.and_then(|text| text.parse().ok()).unwrap_or(default)
}

fn cases() -> u64 {
    let default = if cfg!(debug_assertions) {
        20_000
    } else {
        1_000_000
    };
    setting("PROFDIFF_MUTATIONS", default)
}

fn random() -> Random {
    Random(setting("PROFDIFF_SEED", 0x9E37_79B9_7F4A_7C15).max(1))
}

#[test]
fn damaged_recordings_with_features_and_of_both_byte_orders() {
    let _alone = alone();
    let mut seeds = vec![everyday(LITTLE), everyday(Order { big: true })];
    for version in ["v6.12.107", "v6.18.15"] {
        seeds.extend(fixture(&format!("mprotect-{version}.perf.data")));
    }
    let path = Path::new("damaged.perf.data");
    for (number, seed) in seeds.iter().enumerate() {
        let profile = Profile::parse(path, seed).unwrap();
        let told = &profile.statistics;
        assert!(told.samples >= 8, "seed {number}: {told:?}");
        assert_eq!(
            (told.malformed, told.unknown_event),
            (0, 0),
            "seed {number}"
        );
        assert_eq!(number >= 2, !profile.features.release.is_empty());
    }
    let small: Vec<[u8; 2]> = [0, 8, 0x7fff, 0xffff].map(u16::to_le_bytes).to_vec();
    let words: Vec<[u8; 8]> = [
        0,
        1,
        104,
        1 << 31,
        1 << 32,
        1 << 63,
        u64::MAX,
        -128i64 as u64,
    ]
    .map(u64::to_le_bytes)
    .to_vec();
    let telling: Vec<&[u8]> = small
        .iter()
        .map(|s| &s[..])
        .chain(words.iter().map(|w| &w[..]))
        .collect();
    let mut random = random();
    let mut read = 0;
    for case in 0..cases() {
        let mut content = seeds[case as usize % seeds.len()].clone();
        damage(&mut random, &mut content, &telling);
        let what = format!("case {case}");
        let result = bounded(&what, content.len(), || Profile::parse(path, &content));
        if let Err(error) = &result {
            assert!(!error.to_string().contains('\n'), "{what}: {error}");
        }
        read += u64::from(result.is_ok());
    }
    assert!(read * 20 > cases(), "{read} of {} cases were read", cases());
}

const SCRIPT: &str = "\
# captured on: today
sh    40/41    [001] 6.430506:       5000 cpu-clock:u: 
\tffffffff811a109c anon_vma_interval_tree_insert+0xac ([kernel.kallsyms])
\tffffffff811a109c inner (inlined)
\t            1580 main+0x10 (/bin/dash)

dd 3 1.5: cycles: ffffffffc0000000 f ([ext4])
";
const FIELDS: &str = "\
w 1 K 1.000001: PERF_RECORD_LOST lost 7
   w 4711 [003]   1.000001:  5 cycles:     7f00 x+0x1 (//anon) |OP| ffffffff81000010 f ([xfs]) ABI:2
dd 1000003 raw 0x1a8:
\tffffffff811a109c (anonymous namespace)::f(int) (.cold) (/a (b)/c.ko.zst (deleted))
  a.c:12

dd
\t401010 main

a 1 x:y: z=(401010)           401010 f+0x1 (/p) => 402020 g (/p)
";
const SIMPLEPERF: &str = "\
sample:
  event_type: cycles
  event_count: 70
  file: /s/libc.so
  symbol: f(int)
  callchain:
    file: /p
    symbol: l.so[+12]
lost_situation:
  lost_count: 4
";
const FOLDED: &str = "sh;main;do_it_[k];inner_[i] 12\n\nsh;[unknown] 3\nsh;ü;b c 0\n";

#[test]
fn damaged_text() {
    let _alone = alone();
    let file = Temporary::new("damaged.txt");
    let telling: [&[u8]; 12] = [
        b"\n",
        b" ",
        b": ",
        b";",
        b" 18446744073709551615\n",
        b"-1",
        b"(",
        b")",
        b"[",
        b"+0x",
        b"\xff\xfe",
        b"1.5: ",
    ];
    let mut random = random();
    for case in 0..cases() / 20 {
        let mut content = [SCRIPT, FOLDED, FIELDS, SIMPLEPERF][case as usize % 4]
            .as_bytes()
            .to_vec();
        damage(&mut random, &mut content, &telling);
        std::fs::write(&file.0, &content).unwrap();
        let what = format!("case {case}: {:?}", String::from_utf8_lossy(&content));
        let result = bounded(&what, content.len(), || parse_text(&file.0));
        if let Err(error) = &result {
            assert!(!error.to_string().contains('\n'), "{what}: {error}");
        }
    }
}

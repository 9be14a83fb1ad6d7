//! Files made to be expensive, or to promise what they do not hold.
#![allow(clippy::unwrap_used, clippy::panic)] // a test says what is wrong by ending

mod common;

use std::io::Write;
use std::path::Path;

use common::{alone, bounded, Temporary, CALLCHAIN, IDENTIFIER, IP, LITTLE};
use perf_data::{parse_text, Profile, MEMORY_FACTOR};

fn read_whole(what: &str, content: &[u8]) -> Profile {
    bounded(what, content.len(), || {
        Profile::parse(Path::new(what), content)
    })
    .unwrap()
}

/// Small records of one kind, each of which costs as much as it can.
#[test]
fn many_small_records() {
    let _alone = alone();
    let attribute = LITTLE.attribute(IP, 0);
    let file = |records: Vec<Vec<u8>>| LITTLE.file(&attribute, &[&[]], &records.concat());
    let samples = (0..100_000).map(|n| LITTLE.record(9, 2, &LITTLE.words(&[0x1000 + 7 * n])));
    read_whole("samples", &file(samples.collect()));
    let names = (0..100_000u32).map(|n| {
        let text = LITTLE.words(&[u64::from(n) + 0x0101_0101_0101]);
        LITTLE.record(3, 1 << 13, &[LITTLE.pair(n, n), text].concat())
    });
    read_whole("names", &file(names.collect()));
    let forks = (0..100_000u32).map(|n| {
        let body = [
            LITTLE.pair(n + 1, n),
            LITTLE.pair(n + 1, n),
            LITTLE.words(&[0]),
        ]
        .concat();
        LITTLE.record(7, 0, &body)
    });
    read_whole("forks", &file(forks.collect()));
    // Each inside the one before.
    let nested = (0..100_000u64).map(|n| {
        let place = LITTLE.words(&[0x1_0000 + n * 16, (200_000 - 2 * n) * 16, 0]);
        LITTLE.record(1, 2, &[LITTLE.pair(7, 7), place, b"/a\0".to_vec()].concat())
    });
    read_whole("nested mappings", &file(nested.collect()));
}

/// All events give the whole file as their ids.
#[test]
fn events_that_share_their_ids() {
    let _alone = alone();
    let size = 128 * 1000;
    let mut content = LITTLE.head(size, 104 + size, 8);
    for _ in 0..1000 {
        content.extend(LITTLE.attribute(IP, 0));
        content.extend(LITTLE.words(&[0, 104 + size]));
    }
    content.extend(LITTLE.record(4, 0, &[]));
    let result = bounded("shared ids", content.len(), || {
        Profile::parse(Path::new("shared ids"), &content)
    });
    assert!(result.is_err());
}

#[test]
fn reads_of_many_ids() {
    let _alone = alone();
    let attribute = LITTLE.attribute(IDENTIFIER, 4);
    let ids: Vec<u64> = (0..200_000).collect();
    let last = 199_999;
    let body = [LITTLE.pair(7, 7), LITTLE.words(&[5, last, last])].concat();
    let data = LITTLE.record(8, 0, &body).repeat(200_000);
    read_whole("reads", &LITTLE.file(&attribute, &[&ids], &data));
}

/// What unpacks to much, and is kept.
#[test]
fn compressed_records_that_unpack_to_much() {
    let _alone = alone();
    let mut plain = Vec::new();
    let mut chain: Vec<u64> = (0..8000).map(|n| 0x1000 + n).collect();
    for round in 0..1000 {
        chain[1] = 0x10_0000 + round;
        let body = LITTLE.words(&[&[0x10, 8000], &chain[..]].concat());
        plain.extend(LITTLE.record(9, 2, &body));
    }
    let packed = zstd::stream::encode_all(&plain[..], 3).unwrap();
    let mut data = Vec::new();
    for part in packed.chunks(60_000) {
        data.extend(LITTLE.record(
            83,
            0,
            &[LITTLE.words(&[part.len() as u64]), part.to_vec()].concat(),
        ));
    }
    let unpacked = plain.len();
    drop(plain);
    let content = LITTLE.file(&LITTLE.attribute(IP | CALLCHAIN, 0), &[&[]], &data);
    bounded("compressed", unpacked, || {
        Profile::parse(Path::new("compressed"), &content)
    })
    .unwrap();
}

/// Little that unpacks to very much: what is kept has a bound that is not that of the input.
#[test]
fn compressed_names_without_end() {
    let _alone = alone();
    let mut packed = zstd::stream::write::Encoder::new(Vec::new(), 1).unwrap();
    let record = LITTLE.record(3, 1 << 13, &[LITTLE.pair(7, 7), vec![0x41; 8]].concat());
    for _ in 0..2000 {
        packed.write_all(&record.repeat(1000)).unwrap();
    }
    let mut data = Vec::new();
    for part in packed.finish().unwrap().chunks(60_000) {
        let body = [LITTLE.words(&[part.len() as u64]), part.to_vec()].concat();
        data.extend(LITTLE.record(83, 0, &body));
    }
    let content = LITTLE.file(&LITTLE.attribute(IP, 0), &[&[]], &data);
    let most = content.len().max((2 << 30) / MEMORY_FACTOR);
    let read = bounded("names", most, || {
        Profile::parse(Path::new("names"), &content)
    });
    let error = read.map(|_| ()).unwrap_err().to_string();
    assert!(error.contains("unpack to implausibly much"), "{error}");
}

#[test]
fn text_of_one_deep_stack() {
    let _alone = alone();
    let file = Temporary::new("deep.txt");
    let content = "a;".repeat(1 << 20) + "b 1\n";
    std::fs::write(&file.0, &content).unwrap();
    bounded("deep", content.len(), || parse_text(&file.0)).unwrap();
}

/// Each word of these could be an address, a process or an object.
#[test]
fn text_of_long_lines() {
    let _alone = alone();
    let file = Temporary::new("long.txt");
    for words in [
        "  a",
        "  a x",
        " a) ",
        " (a) (",
        " 1",
        " 1.000001: ",
        " a:b: 1 ",
        " [1] 1",
        "\tb",
    ] {
        for start in ["p 1 1.000001: x:y: ", "p ", "\ta ", "a;b"] {
            let header = "p 1 1.000001: cycles:\n\t1 a (b)\n\n";
            let content = format!("{header}{start}{}\n", words.repeat(300_000));
            std::fs::write(&file.0, &content).unwrap();
            let read = || parse_text(&file.0);
            bounded(words, content.len(), read).unwrap();
        }
    }
}

#[test]
fn data_promised_behind_the_end_of_a_large_file() {
    let _alone = alone();
    let mut data = LITTLE.record(71, 0, &LITTLE.words(&[1 << 40, 0, 0, 0, 0, 0]));
    data.extend(LITTLE.record(9, 2, &LITTLE.words(&[0x10])).repeat(400_000));
    let content = LITTLE.file(&LITTLE.attribute(IP, 0), &[&[]], &data);
    let result = bounded("aux", content.len(), || {
        Profile::parse(Path::new("aux"), &content)
    });
    assert!(result.is_err());
}

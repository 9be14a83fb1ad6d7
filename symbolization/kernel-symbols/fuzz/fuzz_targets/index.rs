//! An index in the cache, with its checksum right, of an ELF file that is as it was.
#![no_main]

use std::path::PathBuf;
use std::sync::OnceLock;

use kernel_symbols::{Svma, SymbolIndex};
use kernel_symbols_fuzz::file;
use libfuzzer_sys::fuzz_target;

/// An ELF file without sections but a note, its build id; the cache's folder; its index there.
static FILES: OnceLock<(PathBuf, PathBuf, PathBuf)> = OnceLock::new();

fn files() -> (PathBuf, PathBuf, PathBuf) {
    let elf = file("elf", &elf());
    let cache = elf.with_file_name("cache");
    let _ = std::fs::remove_dir_all(&cache);
    SymbolIndex::open(&elf, Some(&cache)).expect("an ELF file");
    let made = std::fs::read_dir(&cache).expect("a cache");
    let mut paths = made.map(|entry| entry.expect("a file").path());
    let index = paths.find(|path| path.extension().is_some_and(|end| end == "symbols"));
    let index = index.expect("an index");
    (elf, cache, index)
}

/// Header, one program header of a note, the note.
fn elf() -> Vec<u8> {
    let mut out = b"\x7fELF\x02\x01\x01".to_vec();
    out.resize(16, 0);
    for (value, width) in [
        (2, 2),
        (62, 2),
        (1, 4),
        (0x40_1000, 8),
        (64, 8),
        (0, 8),
        (0, 4),
        (64, 2),
        (56, 2),
        (1, 2),
        (64, 2),
        (0, 2),
        (0, 2), // the file's header ends
        (4, 4),
        (4, 4),
        (120, 8),
        (0, 8),
        (0, 8),
        (36, 8),
        (36, 8),
        (4, 8), // PT_NOTE
        (4, 4),
        (20, 4),
        (3, 4), // NT_GNU_BUILD_ID
    ] {
        out.extend(&u64::to_le_bytes(value)[..width]);
    }
    out.extend(b"GNU\0");
    out.extend([0xab; 20]);
    out
}

fuzz_target!(|data: &[u8]| {
    let (elf, cache, index) = FILES.get_or_init(files);
    let mut content = data.to_vec();
    if content.len() > 16 {
        let checksum = crc32fast::hash(&content[16..]);
        content[12..16].copy_from_slice(&checksum.to_le_bytes());
    }
    std::fs::write(index, content).expect("an index");
    let index = SymbolIndex::open(elf, Some(cache)).expect("an index that is made anew if it must");
    let addresses: Vec<Svma> = (0..64)
        .map(|n| Svma(n * 0x1000))
        .chain([Svma(u64::MAX)])
        .collect();
    assert_eq!(index.resolve(&addresses).reason.len(), addresses.len());
    for section in index.sections() {
        index.resolve(&[section.svma]);
    }
    let _ = index.symbol_address("main");
    assert!(index.symbols().count() <= data.len());
    assert!(index.segments().len() <= data.len());
});

//! /proc/kallsyms of a guest, and the lines that tell where a module's sections were.
#![no_main]

use kernel_symbols::{Avma, Kallsyms, SymbolRanges};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let kallsyms = Kallsyms::parse(data.to_vec());
    let addresses = [0, 0xffff_ffff_8100_0010, u64::MAX].map(Avma);
    let owners = kallsyms.owners(&addresses);
    let modules = kallsyms.modules().len() as u32;
    assert!(owners.into_iter().flatten().all(|owner| owner < modules));
    assert_eq!(kallsyms.resolve(&addresses).reason.len(), 3);
    SymbolRanges::parse_perf_map(data).resolve(&addresses);
});

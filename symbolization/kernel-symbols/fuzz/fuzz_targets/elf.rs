//! An ELF file with its debug information: a kernel, a module, a program; packed or not.
#![no_main]

use kernel_symbols::{
    demangled, elf_build_id, elf_code, elf_data, elf_debug_info, elf_references, elf_sizes,
    file_offsets_to_svma, place_module, place_user, statements, Avma, Instruction, Kallsyms, Svma, SymbolIndex,
};
use kernel_symbols_fuzz::file;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let path = file("elf", data);
    let _ = elf_build_id(&path);
    let _ = elf_debug_info(&path);
    let _ = elf_data(&path);
    let _ = elf_sizes(&path);
    let _ = elf_references(&path);
    let _ = file_offsets_to_svma(&path, &[0, 0x1000, u64::MAX]);
    let instruction = Instruction {
        address: Avma(0x1000),
        code: &[0xc3],
    };
    let _ = place_user(std::slice::from_ref(&path), &[instruction]);
    let Ok(index) = SymbolIndex::open(&path, None) else {
        return;
    };
    let mut addresses = vec![Svma(0), Svma(u64::MAX)];
    for section in index.sections().iter().take(16) {
        let rows = 0..section.size.min(512);
        addresses.extend(rows.map(|row| Svma(section.svma.0.wrapping_add(row))));
    }
    let resolution = index.resolve(&addresses);
    assert_eq!(resolution.reason.len(), addresses.len());
    for name in &resolution.strings {
        let _ = demangled(name);
    }
    let ranges: Vec<_> = index
        .symbol_ranges(&addresses)
        .iter()
        .map(|(start, end)| (*start, end.0.saturating_sub(start.0)))
        .collect();
    let _ = elf_code(&path, &ranges);
    let _ = statements(&path, &[(Svma(0), Svma(u64::MAX))]);
    let kallsyms = Kallsyms::parse(b"ffffffffc0000000 t main\t[mod]\n".to_vec());
    place_module(&index, "mod", &kallsyms, b"mod .text ffffffffc0000000\n");
});

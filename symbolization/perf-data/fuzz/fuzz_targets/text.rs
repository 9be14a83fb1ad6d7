//! Text of perf script, or folded stacks, packed or not.
#![no_main]

use libfuzzer_sys::fuzz_target;
use perf_data::parse_text;
use perf_data_fuzz::file;

fuzz_target!(|data: &[u8]| {
    let Ok(text) = parse_text(&file("stacks", data)) else {
        return;
    };
    let stacks = text.stacks.parent.len() as i64;
    assert!(text.stacks.entry_stack.iter().all(|stack| *stack < stacks));
    let functions = text.function_name.len() as i64;
    assert!(text.stacks.function.iter().all(|one| *one < functions));
});

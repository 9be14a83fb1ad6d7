//! A perf.data file, and its stacks with a function for each place.
#![no_main]

use std::path::Path;

use libfuzzer_sys::fuzz_target;
use perf_data::Profile;
use stacks::{expand_samples, Chains};

fuzz_target!(|data: &[u8]| {
    let Ok(profile) = Profile::parse(Path::new("recording"), data) else {
        return;
    };
    let places = profile.stacks.place_address.len() as u32;
    let offsets: Vec<u32> = (0..=places).collect();
    let functions: Vec<u32> = (0..places).collect();
    let inlined = vec![false; functions.len()];
    let chains = Chains {
        offsets: &offsets,
        functions: &functions,
        inlined: &inlined,
    };
    let stacks = expand_samples((&profile.stacks).into(), chains, Some(places));
    assert_eq!(stacks.entry_stack.len(), profile.stacks.entry_row.len());
});

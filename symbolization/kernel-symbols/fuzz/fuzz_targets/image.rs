//! A kernel image.
#![no_main]

use kernel_symbols::KernelImage;
use kernel_symbols_fuzz::file;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    if let Ok(image) = KernelImage::open(&file("bzImage", data)) {
        assert!(image.version.len() <= data.len());
    }
});

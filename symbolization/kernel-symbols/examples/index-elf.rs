//! Index one ELF file and say how long it took.
fn main() -> kernel_symbols::Result<()> {
    let path = std::env::args().nth(1).unwrap_or_default();
    let cache = std::env::args().nth(2);
    for _ in 0..4 {
        let start = std::time::Instant::now();
        let index = kernel_symbols::SymbolIndex::open(
            path.as_ref(),
            cache.as_deref().map(std::path::Path::new),
        )?;
        println!("{:?} {} sections", start.elapsed(), index.sections().len());
    }
    Ok(())
}

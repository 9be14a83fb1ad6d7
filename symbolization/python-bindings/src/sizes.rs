//! How many bytes the parts of a program take.

use std::path::PathBuf;

use kernel_symbols as ks;
use pyo3::prelude::*;

use crate::error::native;
use crate::threads::parallel;

/// The sections of an ELF file and its functions, as (name, size).
#[pyfunction]
pub(crate) fn elf_sizes(
    py: Python<'_>,
    path: PathBuf,
) -> PyResult<(ks::NamedSizes, ks::NamedSizes)> {
    py.detach(|| ks::elf_sizes(&path)).map_err(native)
}

/// Kind, name and size of all structs and unions of a file that have a name.
#[pyfunction]
pub(crate) fn type_sizes(
    py: Python<'_>,
    path: PathBuf,
) -> PyResult<Vec<(&'static str, String, u64)>> {
    let found = py
        .detach(|| parallel(|| data_types::sizes(&path)))
        .map_err(native)?;
    let sizes = found.into_iter();
    Ok(sizes.map(|one| (one.kind, one.name, one.size)).collect())
}

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

/// Kind, name and size of types.
type TypeSizes = Vec<(&'static str, String, u64)>;

/// Kind, name and size of all structs and unions of a file that have a name; None
/// where it has no types.
#[pyfunction]
pub(crate) fn type_sizes(py: Python<'_>, path: PathBuf) -> PyResult<Option<TypeSizes>> {
    let found = py
        .detach(|| parallel(|| data_types::sizes(&path)))
        .map_err(native)?;
    let told = |one: data_types::TypeSize| (one.kind, one.name, one.size);
    Ok(found.map(|sizes| sizes.into_iter().map(told).collect()))
}

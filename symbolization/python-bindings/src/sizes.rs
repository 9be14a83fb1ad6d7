//! How many bytes the parts of a program take, and what its code refers to.

use std::path::PathBuf;

use kernel_symbols as ks;
use pyo3::prelude::*;

use crate::error::native;
use crate::threads::parallel;

/// Name, address and size of functions.
type Functions = Vec<(String, u64, u64)>;

/// The sections of an ELF file, as (name, size), and its functions.
#[pyfunction]
pub(crate) fn elf_sizes(py: Python<'_>, path: PathBuf) -> PyResult<(ks::NamedSizes, Functions)> {
    let (sections, functions) = py.detach(|| ks::elf_sizes(&path)).map_err(native)?;
    let told = |(name, start, size): (String, ks::Svma, u64)| (name, start.0, size);
    Ok((sections, functions.into_iter().map(told).collect()))
}

/// Field, width, whether it is relative, name, section, target, addend.
type Reference = (u64, u8, bool, u32, u32, u64, i64);
/// Section, offset, size, name.
type Variable = (u32, u64, u64, String);

/// Architecture, names, references and variables.
type References = (&'static str, Vec<String>, Vec<Reference>, Vec<Variable>);

/// What the code of an object file refers to.
#[pyfunction]
pub(crate) fn elf_references(py: Python<'_>, path: PathBuf) -> PyResult<References> {
    let found = py.detach(|| ks::elf_references(&path)).map_err(native)?;
    let told = |one: ks::Reference| {
        let (field, target) = (one.field.0, one.target.0);
        let (width, name, section) = (one.width, one.name, one.section);
        (
            field,
            width,
            one.relative,
            name,
            section,
            target,
            one.addend,
        )
    };
    let references = found.references.into_iter().map(told).collect();
    Ok((found.architecture, found.names, references, found.variables))
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

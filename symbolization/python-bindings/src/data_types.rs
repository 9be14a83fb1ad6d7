//! What the crate data-types knows.

use std::path::PathBuf;

use pyo3::prelude::*;

use crate::error::native;
use crate::threads::parallel;

/// Name, type, offset and size in bits, whether it is a bit field.
type Field = (String, String, u64, u64, bool);

/// Kind, size, start, how many others, fields.
type Layout = (&'static str, u64, u64, usize, Vec<Field>);

/// How the types of a file are laid out, and where the file says so.
#[pyfunction]
pub(crate) fn type_layouts(
    py: Python<'_>,
    path: PathBuf,
    names: Vec<String>,
) -> PyResult<(&'static str, Vec<Option<Layout>>)> {
    let found = py
        .detach(|| parallel(|| data_types::layouts(&path, &names)))
        .map_err(native)?;
    let layouts = found.found.into_iter().map(|one| {
        let one = one?;
        let fields = one.fields.into_iter().map(|field| {
            let (offset, size) = (field.offset, field.size);
            let (name, kind) = (field.name, field.type_name);
            (name, kind, offset, size, field.is_bit_field)
        });
        Some((one.kind, one.size, one.start, one.others, fields.collect()))
    });
    Ok((found.source, layouts.collect()))
}

//! What the crate equal-code knows.

use std::path::Path;

use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::types::PyList;

use crate::error::native;

/// N functions, as columns.
#[pyclass(frozen, get_all, module = "profdiff.symbolization._native")]
pub(crate) struct CodeComparison {
    name: Py<PyList>,
    start: Py<PyArray1<u64>>,
    verdict: Py<PyArray1<u8>>,
    detail: Py<PyList>,
    function: Py<PyArray1<i64>>,
}

/// Functions of one kernel against another.
#[pyfunction]
#[pyo3(signature = (old, new, svma))]
pub(crate) fn compare_code(
    py: Python<'_>,
    old: &str,
    new: &str,
    svma: PyReadonlyArray1<'_, u64>,
) -> PyResult<CodeComparison> {
    let addresses = svma.as_array().to_vec();
    let found = py
        .detach(|| equal_code::compare(Path::new(old), Path::new(new), &addresses))
        .map_err(native)?;
    let every = &found.functions;
    let start: Vec<u64> = every.iter().map(|one| one.start).collect();
    let verdict: Vec<u8> = every.iter().map(|one| one.verdict as u8).collect();
    let function: Vec<i64> = found
        .function
        .iter()
        .map(|one| one.map_or(-1, i64::from))
        .collect();
    Ok(CodeComparison {
        name: PyList::new(py, every.iter().map(|one| &one.name))?.unbind(),
        start: start.into_pyarray(py).unbind(),
        verdict: verdict.into_pyarray(py).unbind(),
        detail: PyList::new(py, every.iter().map(|one| &one.detail))?.unbind(),
        function: function.into_pyarray(py).unbind(),
    })
}

/// Names of the verdicts.
#[pyfunction]
pub(crate) fn verdicts() -> Vec<&'static str> {
    equal_code::Verdict::NAMES.to_vec()
}

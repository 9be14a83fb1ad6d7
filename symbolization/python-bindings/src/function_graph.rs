//! What the crate function-graph knows.

use numpy::{IntoPyArray, PyArray1};
use pyo3::prelude::*;

/// The calls of some functions in a trace, and how long each took.
#[pyfunction]
#[pyo3(signature = (text, functions))]
pub(crate) fn traced_calls(
    py: Python<'_>,
    text: &[u8],
    functions: Vec<String>,
) -> (Py<PyArray1<u32>>, Py<PyArray1<u64>>) {
    let names: Vec<&str> = functions.iter().map(String::as_str).collect();
    let found = py.detach(|| function_graph::calls(text, &names));
    (
        found.function.into_pyarray(py).unbind(),
        found.duration.into_pyarray(py).unbind(),
    )
}

//! Tables of stacks.

use numpy::{IntoPyArray, PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1};
use perf_data as pd;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

fn no_table() -> PyErr {
    PyValueError::new_err("no table of stacks")
}

type Column<'py> = Bound<'py, PyArray1<i64>>;

/// Equal stacks as one: parent, function and depth of each, and where each given stack went.
#[pyfunction]
fn distinct_stacks<'py>(
    py: Python<'py>,
    parent: PyReadonlyArray1<'py, i64>,
    function: PyReadonlyArray1<'py, i64>,
) -> PyResult<(Column<'py>, Column<'py>, Column<'py>, Column<'py>)> {
    let (parent, function) = (parent.as_slice()?, function.as_slice()?);
    let out = py.detach(|| pd::distinct_stacks(parent, function));
    let out = out.ok_or_else(no_table)?;
    Ok((
        out.parent.into_pyarray(py),
        out.function.into_pyarray(py),
        out.depth.into_pyarray(py),
        out.place.into_pyarray(py),
    ))
}

/// Add to the counts of each stack those of all stacks on top of it, in place.
#[pyfunction]
fn add_to_parents<'py>(
    py: Python<'py>,
    parent: PyReadonlyArray1<'py, i64>,
    counts: &Bound<'py, PyArray2<i64>>,
) -> PyResult<()> {
    let mut counts = counts.readwrite();
    let columns = counts.as_array().ncols();
    let (parent, counts) = (parent.as_slice()?, counts.as_slice_mut()?);
    py.detach(|| pd::add_to_parents(parent, counts, columns))
        .ok_or_else(no_table)
}

/// Per stack: the nearest one below it with the same function on top, or -1.
#[pyfunction]
fn outer_calls<'py>(
    py: Python<'py>,
    parent: PyReadonlyArray1<'py, i64>,
    function: PyReadonlyArray1<'py, i64>,
    functions: usize,
) -> PyResult<Column<'py>> {
    let (parent, function) = (parent.as_slice()?, function.as_slice()?);
    let out = py.detach(|| pd::outer_calls(parent, function, functions));
    Ok(out.ok_or_else(no_table)?.into_pyarray(py))
}

pub(crate) fn add_to(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_function(wrap_pyfunction!(distinct_stacks, m)?)?;
    m.add_function(wrap_pyfunction!(add_to_parents, m)?)?;
    m.add_function(wrap_pyfunction!(outer_calls, m)?)
}

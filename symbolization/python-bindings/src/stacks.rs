//! Tables of stacks.

use numpy::{IntoPyArray, PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use stacks as st;

fn no_table() -> PyErr {
    PyValueError::new_err("no table of stacks")
}

type Column<'py> = Bound<'py, PyArray1<i64>>;

/// Equal stacks as one: parent, function and depth of each, and where each given stack went.
#[pyfunction]
pub(crate) fn distinct_stacks<'py>(
    py: Python<'py>,
    parent: PyReadonlyArray1<'py, i64>,
    function: PyReadonlyArray1<'py, i64>,
) -> PyResult<(Column<'py>, Column<'py>, Column<'py>, Column<'py>)> {
    let (parent, function) = (parent.as_slice()?, function.as_slice()?);
    let out = py.detach(|| st::distinct_stacks(parent, function));
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
pub(crate) fn add_to_parents<'py>(
    py: Python<'py>,
    parent: PyReadonlyArray1<'py, i64>,
    counts: &Bound<'py, PyArray2<i64>>,
) -> PyResult<()> {
    let mut counts = counts.readwrite();
    let columns = counts.as_array().ncols();
    let (parent, counts) = (parent.as_slice()?, counts.as_slice_mut()?);
    py.detach(|| st::add_to_parents(parent, counts, columns))
        .ok_or_else(no_table)
}

/// Per stack: the nearest one below it with the same function on top, or -1.
#[pyfunction]
pub(crate) fn outer_calls<'py>(
    py: Python<'py>,
    parent: PyReadonlyArray1<'py, i64>,
    function: PyReadonlyArray1<'py, i64>,
    functions: usize,
) -> PyResult<Column<'py>> {
    let (parent, function) = (parent.as_slice()?, function.as_slice()?);
    let out = py.detach(|| st::outer_calls(parent, function, functions));
    Ok(out.ok_or_else(no_table)?.into_pyarray(py))
}

/// Stacks of functions, as columns.
#[pyclass(frozen, get_all, module = "profdiff.symbolization._native")]
pub(crate) struct FunctionStacks {
    parent: Py<PyArray1<i64>>,
    function: Py<PyArray1<i64>>,
    depth: Py<PyArray1<i64>>,
    inlined: Py<PyArray1<bool>>,
    entry_stack: Py<PyArray1<i64>>,
}

impl FunctionStacks {
    pub(crate) fn new(py: Python<'_>, from: st::FunctionStacks) -> Self {
        FunctionStacks {
            parent: from.parent.into_pyarray(py).unbind(),
            function: from.function.into_pyarray(py).unbind(),
            depth: from.depth.into_pyarray(py).unbind(),
            inlined: from.inlined.into_pyarray(py).unbind(),
            entry_stack: from.entry_stack.into_pyarray(py).unbind(),
        }
    }
}

pub(crate) fn chains<'c>(
    offsets: &'c PyReadonlyArray1<'_, u32>,
    functions: &'c PyReadonlyArray1<'_, u32>,
    inlined: &'c PyReadonlyArray1<'_, bool>,
) -> PyResult<st::Chains<'c>> {
    Ok(st::Chains {
        offsets: offsets.as_slice()?,
        functions: functions.as_slice()?,
        inlined: inlined.as_slice()?,
    })
}

/// The stacks of what ran in a tree of calls.
#[pyfunction]
#[allow(clippy::too_many_arguments)] // Columns, one to one.
pub(crate) fn expand_calls(
    py: Python<'_>,
    parent: PyReadonlyArray1<'_, i64>,
    site: PyReadonlyArray1<'_, i64>,
    node: PyReadonlyArray1<'_, i64>,
    place: PyReadonlyArray1<'_, i64>,
    called: PyReadonlyArray1<'_, bool>,
    offsets: PyReadonlyArray1<'_, u32>,
    functions: PyReadonlyArray1<'_, u32>,
    inlined: PyReadonlyArray1<'_, bool>,
) -> PyResult<FunctionStacks> {
    let calls = st::CallNodes {
        parent: parent.as_slice()?,
        site: site.as_slice()?,
    };
    let chains = chains(&offsets, &functions, &inlined)?;
    let (node, place, called) = (node.as_slice()?, place.as_slice()?, called.as_slice()?);
    if calls.parent.len() != calls.site.len()
        || node.len() != place.len()
        || node.len() != called.len()
    {
        return Err(PyValueError::new_err("columns of different lengths"));
    }
    let entries = node.iter().zip(place).zip(called);
    let entries = entries.map(|((node, place), called)| (*node, *place, *called));
    let stacks = py.detach(|| st::expand_calls(calls, entries, chains));
    Ok(FunctionStacks::new(py, stacks))
}

/// Stacks as FlameGraph's scripts read them.
#[pyfunction]
pub(crate) fn write_folded<'py>(
    py: Python<'py>,
    parent: PyReadonlyArray1<'py, i64>,
    function: PyReadonlyArray1<'py, i64>,
    names: Vec<String>,
    counts: PyReadonlyArray1<'py, i64>,
) -> PyResult<Bound<'py, PyBytes>> {
    let (parent, function, counts) = (parent.as_slice()?, function.as_slice()?, counts.as_slice()?);
    let text = py.detach(|| st::write_folded(parent, function, &names, counts));
    Ok(PyBytes::new(py, &text))
}

//! What the crate alignment knows.

use alignment as al;
use numpy::{PyArray1, PyReadonlyArray2};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

type Column<'py, T> = Bound<'py, PyArray1<T>>;

fn instructions(code: &PyReadonlyArray2<'_, u32>) -> PyResult<Vec<al::Instruction>> {
    let code = code.as_array();
    if code.ncols() != 5 {
        return Err(PyValueError::new_err(
            "an instruction has five columns: key, operation, line, block, ran",
        ));
    }
    let rows = code.rows().into_iter();
    let found = rows.map(|row| al::Instruction {
        key: row[0],
        operation: row[1],
        line: row[2],
        starts_block: row[3] != 0,
        ran: row[4] != 0,
    });
    Ok(found.collect())
}

/// Pairs of instructions, as (old, new, kind).
#[pyfunction]
pub(crate) fn align<'py>(
    py: Python<'py>,
    old: PyReadonlyArray2<'py, u32>,
    new: PyReadonlyArray2<'py, u32>,
) -> PyResult<(Column<'py, i64>, Column<'py, i64>, Column<'py, u8>)> {
    let (old, new) = (instructions(&old)?, instructions(&new)?);
    let pairs = py.detach(|| al::align(&old, &new));
    let column = |of: fn(&al::Pair) -> usize| pairs.iter().map(move |pair| of(pair) as i64);
    Ok((
        PyArray1::from_iter(py, column(|pair| pair.old)),
        PyArray1::from_iter(py, column(|pair| pair.new)),
        PyArray1::from_iter(py, pairs.iter().map(|pair| pair.kind as u8)),
    ))
}

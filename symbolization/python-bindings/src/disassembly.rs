//! What the crate disassembly knows.

use ::disassembly as asm;
use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyList;

/// N instructions, as columns.
#[pyclass(frozen, get_all, module = "profdiff.symbolization._native")]
pub(crate) struct Disassembly {
    strings: Py<PyList>,
    operation: Py<PyArray1<u32>>,
    operands: Py<PyArray1<u32>>,
    reference: Py<PyArray1<u64>>,
    shape: Py<PyArray1<u32>>,
    flow: Py<PyArray1<u8>>,
    classes: Py<PyArray1<u32>>,
}

fn architecture(name: &str) -> PyResult<asm::Architecture> {
    asm::Architecture::named(name)
        .ok_or_else(|| PyValueError::new_err(format!("no decoder for the architecture {name:?}")))
}

/// Instructions with their addresses.
#[pyfunction]
#[pyo3(signature = (architecture, address, code))]
pub(crate) fn disassemble(
    py: Python<'_>,
    architecture: &str,
    address: PyReadonlyArray1<'_, u64>,
    code: PyReadonlyArray2<'_, u8>,
) -> PyResult<Disassembly> {
    let architecture = self::architecture(architecture)?;
    let (addresses, code) = (address.as_array().to_vec(), code.as_array());
    if code.dim() != (addresses.len(), 16) {
        return Err(PyValueError::new_err(
            "code must have a row of 16 bytes for each address",
        ));
    }
    let bytes: Vec<u8> = code.iter().copied().collect();
    let rows = bytes.chunks_exact(16).zip(&addresses);
    let instructions = rows.map(|(row, address)| {
        let length = usize::from(row[0]).min(15);
        (*address, &row[1..1 + length])
    });
    let out = py.detach(|| asm::disassemble(architecture, instructions));
    Ok(Disassembly {
        strings: PyList::new(py, out.strings)?.unbind(),
        operation: out.operation.into_pyarray(py).unbind(),
        operands: out.operands.into_pyarray(py).unbind(),
        reference: out.reference.into_pyarray(py).unbind(),
        shape: out.shape.into_pyarray(py).unbind(),
        flow: out.flow.into_pyarray(py).unbind(),
        classes: out.classes.into_pyarray(py).unbind(),
    })
}

/// The length of each instruction of code.
#[pyfunction]
#[pyo3(signature = (architecture, code))]
pub(crate) fn split_code<'py>(
    py: Python<'py>,
    architecture: &str,
    code: &[u8],
) -> PyResult<Bound<'py, PyArray1<u8>>> {
    let architecture = self::architecture(architecture)?;
    Ok(py.detach(|| architecture.split(code)).into_pyarray(py))
}

/// Names of the flows.
#[pyfunction]
pub(crate) fn flows() -> Vec<&'static str> {
    asm::Flow::NAMES.to_vec()
}

/// Names of the classes.
#[pyfunction]
pub(crate) fn classes() -> Vec<&'static str> {
    asm::Class::NAMES.to_vec()
}

//! What the crate data-accesses knows.

use std::path::PathBuf;

use kernel_symbols::{Avma, LoadedSection, Svma};
use numpy::{IntoPyArray, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use ::data_accesses as known;

use crate::error::native;
use crate::symbols::Kallsyms;
use crate::threads::parallel;

/// Names of the kinds of what is accessed.
#[pyfunction]
pub(crate) fn access_kinds() -> Vec<&'static str> {
    known::Kind::NAMES.to_vec()
}

/// Names of the reasons why an access is unresolved.
#[pyfunction]
pub(crate) fn access_reasons() -> Vec<&'static str> {
    known::Reason::NAMES.to_vec()
}

/// Address, the function that has the code, how it is held (`value`, `memory`, `frame`, `constant`,
/// `return` or `nothing`), in which register, the offset or the constant, why nothing holds it, bytes, and whether
/// it is signed.
type Begin = (u64, String, &'static str, u16, i64, &'static str, u8, bool);

type Probed = (Vec<Begin>, bool, bool, Vec<String>);

/// Where a function begins and what holds a variable there; whether the file has the function, and it
/// the variable; the names of its variables. None where the file has no DWARF.
#[pyfunction]
pub(crate) fn probed(
    py: Python<'_>,
    path: PathBuf,
    architecture: &str,
    function: &str,
    variable: &str,
) -> PyResult<Option<Probed>> {
    let found = py.detach(|| parallel(|| known::probed(&path, architecture, function, variable)));
    Ok(found.map_err(native)?.map(|found| {
        let begins = found.begins.into_iter().map(|one| {
            let (how, register, number, why) = match one.held {
                known::Held::Value(register, offset) => ("value", register, offset, ""),
                known::Held::Memory(register, offset) => ("memory", register, offset, ""),
                known::Held::Frame(offset) => ("frame", 0, offset, ""),
                known::Held::Constant(value) => ("constant", 0, value, ""),
                known::Held::Returned(register) => ("return", register, 0, ""),
                known::Held::Nothing(why) => ("nothing", 0, 0, why),
            };
            let (size, signed) = (one.size, one.is_signed);
            (
                one.address,
                one.within,
                how,
                register,
                number,
                why,
                size,
                signed,
            )
        });
        (
            begins.collect(),
            found.is_known,
            found.has_variable,
            found.variables,
        )
    }))
}

/// A kernel or a module whose debug information says what its code accesses.
#[pyclass(frozen, module = "profdiff.symbolization._native")]
pub(crate) struct DataIndex(known::DataIndex);

#[pymethods]
impl DataIndex {
    #[staticmethod]
    fn open(py: Python<'_>, path: PathBuf) -> PyResult<Option<Self>> {
        let found = py.detach(|| parallel(|| known::DataIndex::open(&path)));
        Ok(found.map_err(native)?.map(DataIndex))
    }

    /// What instructions access, as columns by name.
    fn accesses<'py>(
        &self,
        py: Python<'py>,
        architecture: &str,
        sections: Vec<(u64, u64, u64)>,
        kallsyms: &Kallsyms,
        address: PyReadonlyArray1<'_, u64>,
        code: PyReadonlyArray2<'_, u8>,
    ) -> PyResult<Option<Bound<'py, PyDict>>> {
        let (addresses, code) = (address.as_array().to_vec(), code.as_array());
        if code.dim() != (addresses.len(), 16) {
            return Err(PyValueError::new_err(
                "code must have a row of 16 bytes for each address",
            ));
        }
        let bytes: Vec<u8> = code.iter().copied().collect();
        let rows = bytes.chunks_exact(16).zip(&addresses);
        let executed: Vec<_> = rows
            .map(|(row, address)| known::Executed {
                address: *address,
                code: &row[1..1 + usize::from(row[0]).min(15)],
            })
            .collect();
        let sections: Vec<_> = sections
            .into_iter()
            .map(|(svma, size, avma)| LoadedSection {
                svma: Svma(svma),
                size,
                avma: Avma(avma),
            })
            .collect();
        let found = py.detach(|| {
            self.0
                .accesses(architecture, &sections, &kallsyms.0, &executed)
        });
        let Some(found) = found.map_err(native)? else {
            return Ok(None);
        };
        let columns = PyDict::new(py);
        columns.set_item("strings", found.strings)?;
        columns.set_item("address", found.address.into_pyarray(py))?;
        columns.set_item("flags", found.flags.into_pyarray(py))?;
        columns.set_item("size", found.size.into_pyarray(py))?;
        columns.set_item("kind", found.kind.into_pyarray(py))?;
        columns.set_item("reason", found.reason.into_pyarray(py))?;
        columns.set_item("type", found.r#type.into_pyarray(py))?;
        columns.set_item("symbol", found.symbol.into_pyarray(py))?;
        columns.set_item("field", found.field.into_pyarray(py))?;
        columns.set_item("alternatives", found.alternatives.into_pyarray(py))?;
        columns.set_item("nested", found.nested.into_pyarray(py))?;
        columns.set_item("origins", found.origins.into_pyarray(py))?;
        columns.set_item("offset", found.offset.into_pyarray(py))?;
        columns.set_item("type_size", found.type_size.into_pyarray(py))?;
        columns.set_item("layout_type", found.layout_type.into_pyarray(py))?;
        columns.set_item("layout_size", found.layout_size.into_pyarray(py))?;
        columns.set_item("layout_alignment", found.layout_alignment.into_pyarray(py))?;
        columns.set_item("field_type", found.field_type.into_pyarray(py))?;
        columns.set_item("field_name", found.field_name.into_pyarray(py))?;
        columns.set_item("field_offset", found.field_offset.into_pyarray(py))?;
        columns.set_item("field_size", found.field_size.into_pyarray(py))?;
        columns.set_item("global_name", found.global_name.into_pyarray(py))?;
        columns.set_item("global_section", found.global_section.into_pyarray(py))?;
        columns.set_item("global_address", found.global_address.into_pyarray(py))?;
        columns.set_item("global_size", found.global_size.into_pyarray(py))?;
        columns.set_item("global_accessed", found.global_accessed.into_pyarray(py))?;
        Ok(Some(columns))
    }
}

//! An x86 kernel image.

use std::path::PathBuf;

use kernel_symbols as ks;
use pyo3::prelude::*;

use crate::error::native;

/// What an x86 bzImage says of itself.
#[pyclass(frozen, module = "profdiff.symbolization._native")]
pub(crate) struct KernelImage(ks::KernelImage);

#[pymethods]
impl KernelImage {
    #[staticmethod]
    fn open(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        Ok(KernelImage(
            py.detach(|| ks::KernelImage::open(&path)).map_err(native)?,
        ))
    }

    #[getter]
    fn version(&self) -> &str {
        &self.0.version
    }

    #[getter]
    fn build_id(&self) -> Option<String> {
        self.0.build_id.as_ref().map(ToString::to_string)
    }
}

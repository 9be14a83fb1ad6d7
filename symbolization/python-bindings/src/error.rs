use std::fmt::Display;

use pyo3::create_exception;
use pyo3::exceptions::PyException;
use pyo3::prelude::*;

create_exception!(
    _native,
    NativeError,
    PyException,
    "A file that could not be used."
);

pub(crate) fn native(error: impl Display) -> PyErr {
    NativeError::new_err(error.to_string())
}

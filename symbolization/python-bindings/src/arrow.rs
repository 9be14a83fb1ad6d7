//! A table as an Arrow stream of one batch, by the C data interface and the C stream interface
//! (<https://arrow.apache.org/docs/format/CDataInterface.html>), in the capsule of the PyCapsule
//! interface. Nothing here needs Python once the capsule is made: what reads it may let go of it on
//! any thread, at any time.

use std::ffi::{c_char, c_int, c_void, CStr, CString};
use std::ptr;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

const NULLABLE: i64 = 2;

/// `ArrowSchema`.
#[repr(C)]
struct Schema {
    format: *const c_char,
    name: *const c_char,
    metadata: *const c_char,
    flags: i64,
    n_children: i64,
    children: *mut *mut Schema,
    dictionary: *mut Schema,
    release: Option<unsafe extern "C" fn(*mut Schema)>,
    private: *mut c_void,
}

/// `ArrowArray`.
#[repr(C)]
struct Array {
    length: i64,
    null_count: i64,
    offset: i64,
    n_buffers: i64,
    n_children: i64,
    buffers: *mut *const c_void,
    children: *mut *mut Array,
    dictionary: *mut Array,
    release: Option<unsafe extern "C" fn(*mut Array)>,
    private: *mut c_void,
}

/// `ArrowArrayStream`.
#[repr(C)]
struct Stream {
    get_schema: unsafe extern "C" fn(*mut Stream, *mut Schema) -> c_int,
    get_next: unsafe extern "C" fn(*mut Stream, *mut Array) -> c_int,
    get_last_error: unsafe extern "C" fn(*mut Stream) -> *const c_char,
    release: Option<unsafe extern "C" fn(*mut Stream)>,
    private: *mut c_void,
}

// SAFETY: what `private` points to is a table of its own, which nothing else has.
unsafe impl Send for Stream {}

impl Drop for Stream {
    fn drop(&mut self) {
        if let Some(release) = self.release {
            // SAFETY: nobody moved the stream out of the capsule, or `release` would be gone.
            unsafe { release(self) };
        }
    }
}

/// What the children of an `ArrowSchema` or `ArrowArray` keep alive, and their places.
struct Owned<Child, Kept> {
    children: Vec<*mut Child>,
    buffers: Vec<*const c_void>,
    _kept: Kept,
}

/// Its rows; `given`: whether they were handed over.
struct Table {
    names: Vec<CString>,
    formats: Vec<&'static CStr>,
    columns: Vec<Column>,
    rows: i64,
    given: bool,
}

/// Values of rows with a bit for each that is known.
struct Column {
    known: Vec<u8>,
    unknown: i64,
    values: Values,
}

enum Values {
    Integers(Vec<i64>),
    Unsigned(Vec<u64>),
    Floats(Vec<f64>),
    Flags(Vec<u8>),
    Texts { ends: Vec<i64>, bytes: Vec<u8> },
}

/// A capsule with an ``ArrowArrayStream`` of columns: (name, type, values), of which a value may be
/// None. Types: ``int64``, ``uint64``, ``float64``, ``bool``, ``utf8``. Raises ValueError for
/// another type, for a name with a NUL, and for columns of unequal length.
#[pyfunction]
pub(crate) fn arrow_stream<'py>(
    py: Python<'py>,
    columns: Vec<(String, String, Bound<'py, PyAny>)>,
) -> PyResult<Bound<'py, PyCapsule>> {
    let rows = columns
        .first()
        .map_or(Ok(0), |(_, _, values)| values.len())?;
    let mut table = Table {
        names: Vec::new(),
        formats: Vec::new(),
        columns: Vec::new(),
        rows: rows as i64,
        given: false,
    };
    for (name, kind, values) in columns {
        if values.len()? != rows {
            return Err(PyValueError::new_err(format!("{name}: not {rows} rows")));
        }
        let (format, column) = read(&kind, &values)?;
        table.names.push(CString::new(name)?);
        table.formats.push(format);
        table.columns.push(column);
    }
    let stream = Stream {
        get_schema,
        get_next,
        get_last_error,
        release: Some(release_stream),
        private: Box::into_raw(Box::new(table)).cast(),
    };
    PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
}

fn read(kind: &str, values: &Bound<'_, PyAny>) -> PyResult<(&'static CStr, Column)> {
    Ok(match kind {
        "int64" => (c"l", column(values.extract()?, Values::Integers)),
        "uint64" => (c"L", column(values.extract()?, Values::Unsigned)),
        "float64" => (c"g", column(values.extract()?, Values::Floats)),
        "bool" => (
            c"b",
            column(values.extract()?, |flags| Values::Flags(bits(&flags))),
        ),
        "utf8" => (c"U", column(values.extract()?, texts)),
        _ => return Err(PyValueError::new_err(format!("no type {kind}"))),
    })
}

fn column<T: Default>(values: Vec<Option<T>>, packed: impl FnOnce(Vec<T>) -> Values) -> Column {
    let known: Vec<bool> = values.iter().map(Option::is_some).collect();
    Column {
        unknown: known.iter().filter(|one| !**one).count() as i64,
        known: bits(&known),
        values: packed(values.into_iter().map(Option::unwrap_or_default).collect()),
    }
}

fn bits(flags: &[bool]) -> Vec<u8> {
    let packed = |eight: &[bool]| (0..).zip(eight).map(|(at, one)| u8::from(*one) << at).sum();
    flags.chunks(8).map(packed).collect()
}

fn texts(values: Vec<String>) -> Values {
    let mut ends = vec![0];
    let mut bytes = Vec::new();
    for one in values {
        bytes.extend_from_slice(one.as_bytes());
        ends.push(bytes.len() as i64);
    }
    Values::Texts { ends, bytes }
}

fn schema(format: &'static CStr, name: CString, children: Vec<*mut Schema>) -> Schema {
    let flags = if children.is_empty() { NULLABLE } else { 0 };
    let place = name.as_ptr();
    let mut owned = Box::new(Owned {
        children,
        buffers: Vec::new(),
        _kept: name,
    });
    Schema {
        format: format.as_ptr(),
        name: place,
        metadata: ptr::null(),
        flags,
        n_children: owned.children.len() as i64,
        children: owned.children.as_mut_ptr(),
        dictionary: ptr::null_mut(),
        release: Some(release_schema),
        private: Box::into_raw(owned).cast(),
    }
}

fn array(length: i64, children: Vec<*mut Array>, column: Option<Column>) -> Array {
    let unknown = column.as_ref().map_or(0, |one| one.unknown);
    let mut buffers = vec![ptr::null()];
    if let Some(one) = &column {
        if one.unknown > 0 {
            buffers[0] = one.known.as_ptr().cast();
        }
        match &one.values {
            Values::Integers(values) => buffers.push(values.as_ptr().cast()),
            Values::Unsigned(values) => buffers.push(values.as_ptr().cast()),
            Values::Floats(values) => buffers.push(values.as_ptr().cast()),
            Values::Flags(values) => buffers.push(values.as_ptr().cast()),
            Values::Texts { ends, bytes } => {
                buffers.extend([ends.as_ptr().cast::<c_void>(), bytes.as_ptr().cast()]);
            }
        }
    }
    let mut owned = Box::new(Owned {
        children,
        buffers,
        _kept: column,
    });
    Array {
        length,
        null_count: unknown,
        offset: 0,
        n_buffers: owned.buffers.len() as i64,
        n_children: owned.children.len() as i64,
        buffers: owned.buffers.as_mut_ptr(),
        children: owned.children.as_mut_ptr(),
        dictionary: ptr::null_mut(),
        release: Some(release_array),
        private: Box::into_raw(owned).cast(),
    }
}

unsafe extern "C" fn get_schema(stream: *mut Stream, out: *mut Schema) -> c_int {
    // SAFETY: a reader passes the stream that it was given, which holds a table until its release.
    let table = unsafe { &*(*stream).private.cast::<Table>() };
    let columns = table.names.iter().zip(&table.formats);
    let children = columns
        .map(|(name, format)| Box::into_raw(Box::new(schema(format, name.clone(), Vec::new()))))
        .collect();
    // SAFETY: `out` is the reader's, with room for one that it has not filled.
    unsafe { out.write(schema(c"+s", CString::default(), children)) };
    0
}

unsafe extern "C" fn get_next(stream: *mut Stream, out: *mut Array) -> c_int {
    // SAFETY: as in `get_schema`; a reader does not call from two threads at once.
    let table = unsafe { &mut *(*stream).private.cast::<Table>() };
    let children = std::mem::take(&mut table.columns)
        .into_iter()
        .map(|one| Box::into_raw(Box::new(array(table.rows, Vec::new(), Some(one)))))
        .collect();
    let mut batch = array(table.rows, children, None);
    if std::mem::replace(&mut table.given, true) {
        // The end is an array that is released already.
        // SAFETY: it was just made, and is released once.
        unsafe { release_array(&mut batch) };
    }
    // SAFETY: as in `get_schema`.
    unsafe { out.write(batch) };
    0
}

unsafe extern "C" fn get_last_error(_stream: *mut Stream) -> *const c_char {
    ptr::null()
}

unsafe extern "C" fn release_stream(stream: *mut Stream) {
    // SAFETY: a reader releases what it was given, once: what has no `release` is released.
    let stream = unsafe { &mut *stream };
    stream.release = None;
    // SAFETY: `arrow_stream` leaked it.
    drop(unsafe { Box::from_raw(stream.private.cast::<Table>()) });
}

unsafe extern "C" fn release_schema(schema: *mut Schema) {
    // SAFETY: as in `release_stream`.
    let schema = unsafe { &mut *schema };
    schema.release = None;
    // SAFETY: `schema()` leaked it.
    let owned = unsafe { Box::from_raw(schema.private.cast::<Owned<Schema, CString>>()) };
    for child in &owned.children {
        // SAFETY: `get_schema` leaked it; a reader may have moved its content out, and then left it
        // without `release`.
        let mut child = unsafe { Box::from_raw(*child) };
        if let Some(release) = child.release {
            // SAFETY: as above.
            unsafe { release(&mut *child) };
        }
    }
}

unsafe extern "C" fn release_array(array: *mut Array) {
    // SAFETY: as in `release_stream`.
    let array = unsafe { &mut *array };
    array.release = None;
    // SAFETY: `array()` leaked it.
    let owned = unsafe { Box::from_raw(array.private.cast::<Owned<Array, Option<Column>>>()) };
    for child in &owned.children {
        // SAFETY: `get_next` leaked it; as in `release_schema`.
        let mut child = unsafe { Box::from_raw(*child) };
        if let Some(release) = child.release {
            // SAFETY: as above.
            unsafe { release(&mut *child) };
        }
    }
}

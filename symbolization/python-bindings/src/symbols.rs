//! What the crate kernel-symbols knows.

use std::path::PathBuf;

use kernel_symbols as ks;
use kernel_symbols::{Avma, Svma};
use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList};

use crate::error::native;
use crate::threads::parallel;

fn addresses<T>(array: &PyReadonlyArray1<'_, u64>, kind: fn(u64) -> T) -> Vec<T> {
    array
        .as_array()
        .iter()
        .map(|address| kind(*address))
        .collect()
}

/// Chains of N addresses, as columns.
#[pyclass(frozen, get_all, module = "profdiff.symbolization._native")]
pub(crate) struct Resolution {
    strings: Py<PyList>,
    function_name: Py<PyArray1<u32>>,
    function_file: Py<PyArray1<u32>>,
    function_line: Py<PyArray1<u32>>,
    frame_function: Py<PyArray1<u32>>,
    frame_inlined: Py<PyArray1<bool>>,
    frame_file: Py<PyArray1<u32>>,
    frame_line: Py<PyArray1<u32>>,
    chain_offsets: Py<PyArray1<u32>>,
    chain_frames: Py<PyArray1<u32>>,
    symbol: Py<PyArray1<u32>>,
    reason: Py<PyArray1<u8>>,
}

impl Resolution {
    fn new(py: Python<'_>, from: ks::Resolution) -> PyResult<Self> {
        Ok(Resolution {
            strings: PyList::new(py, from.strings)?.unbind(),
            function_name: from.function_name.into_pyarray(py).unbind(),
            function_file: from.function_file.into_pyarray(py).unbind(),
            function_line: from.function_line.into_pyarray(py).unbind(),
            frame_function: from.frame_function.into_pyarray(py).unbind(),
            frame_inlined: from.frame_inlined.into_pyarray(py).unbind(),
            frame_file: from.frame_file.into_pyarray(py).unbind(),
            frame_line: from.frame_line.into_pyarray(py).unbind(),
            chain_offsets: from.chain_offsets.into_pyarray(py).unbind(),
            chain_frames: from.chain_frames.into_pyarray(py).unbind(),
            symbol: from.symbol.into_pyarray(py).unbind(),
            reason: from.reason.into_pyarray(py).unbind(),
        })
    }
}

/// The functions, inlined ones too, of one ELF file.
#[pyclass(frozen, module = "profdiff.symbolization._native")]
pub(crate) struct SymbolIndex(ks::SymbolIndex);

#[pymethods]
impl SymbolIndex {
    #[staticmethod]
    #[pyo3(signature = (path, cache=None))]
    fn open(py: Python<'_>, path: PathBuf, cache: Option<PathBuf>) -> PyResult<Self> {
        let index = py.detach(|| parallel(|| ks::SymbolIndex::open(&path, cache.as_deref())));
        Ok(SymbolIndex(index.map_err(native)?))
    }

    #[getter]
    fn build_id(&self) -> Option<String> {
        self.0.build_id().map(ToString::to_string)
    }

    #[getter]
    fn has_inlines(&self) -> bool {
        self.0.has_inlines()
    }

    #[getter]
    fn unread(&self) -> Option<String> {
        self.0.unread()
    }

    fn symbol_address(&self, name: &str) -> Option<u64> {
        self.0.symbol_address(name).map(|address| address.0)
    }

    fn sections(&self) -> Vec<(String, u64, u64)> {
        let sections = self.0.sections();
        sections
            .into_iter()
            .map(|section| (section.name, section.svma.0, section.size))
            .collect()
    }

    fn resolve(&self, py: Python<'_>, svma: PyReadonlyArray1<'_, u64>) -> PyResult<Resolution> {
        let addresses = addresses(&svma, Svma);
        Resolution::new(py, py.detach(|| self.0.resolve(&addresses)))
    }

    fn segments<'py>(&self, py: Python<'py>) -> Pairs<'py> {
        pairs(py, &self.0.segments())
    }

    fn symbol_ranges<'py>(&self, py: Python<'py>, svma: PyReadonlyArray1<'py, u64>) -> Pairs<'py> {
        let addresses = addresses(&svma, Svma);
        pairs(py, &py.detach(|| self.0.symbol_ranges(&addresses)))
    }
}

type Pairs<'py> = (Bound<'py, PyArray1<u64>>, Bound<'py, PyArray1<u64>>);

/// Where ranges start, and where they end.
fn pairs<'py>(py: Python<'py>, ranges: &[(Svma, Svma)]) -> Pairs<'py> {
    (
        PyArray1::from_iter(py, ranges.iter().map(|(start, _)| start.0)),
        PyArray1::from_iter(py, ranges.iter().map(|(_, end)| end.0)),
    )
}

/// What mangled names stand for; others as they are.
#[pyfunction]
pub(crate) fn demangled(names: Vec<String>) -> Vec<String> {
    let demangled = |name: String| ks::demangled(&name).unwrap_or(name);
    names.into_iter().map(demangled).collect()
}

/// The code of an ELF file in ranges of addresses.
#[pyfunction]
pub(crate) fn elf_code(
    py: Python<'_>,
    path: PathBuf,
    svma: PyReadonlyArray1<'_, u64>,
    size: PyReadonlyArray1<'_, u64>,
) -> PyResult<Vec<Py<PyBytes>>> {
    let (starts, sizes) = (addresses(&svma, Svma), addresses(&size, |size| size));
    if starts.len() != sizes.len() {
        return Err(PyValueError::new_err("columns of different lengths"));
    }
    let ranges: Vec<_> = starts.into_iter().zip(sizes).collect();
    let code = py
        .detach(|| parallel(|| ks::elf_code(&path, &ranges)))
        .map_err(native)?;
    Ok(code
        .iter()
        .map(|code| PyBytes::new(py, code).unbind())
        .collect())
}

/// Where each statement begins, the number of its file, its line, and the files.
type Statements<'py> = (
    Bound<'py, PyArray1<u64>>,
    Bound<'py, PyArray1<u32>>,
    Bound<'py, PyArray1<u32>>,
    Vec<String>,
);

/// Where source statements begin in ranges of an ELF file.
#[pyfunction]
pub(crate) fn statements<'py>(
    py: Python<'py>,
    path: PathBuf,
    start: PyReadonlyArray1<'_, u64>,
    end: PyReadonlyArray1<'_, u64>,
) -> PyResult<Statements<'py>> {
    let (starts, ends) = (addresses(&start, Svma), addresses(&end, Svma));
    if starts.len() != ends.len() {
        return Err(PyValueError::new_err("columns of different lengths"));
    }
    let ranges: Vec<_> = starts.into_iter().zip(ends).collect();
    let (found, files) = py
        .detach(|| parallel(|| ks::statements(&path, &ranges)))
        .map_err(native)?;
    Ok((
        PyArray1::from_iter(py, found.iter().map(|one| one.svma.0)),
        PyArray1::from_iter(py, found.iter().map(|one| one.file)),
        PyArray1::from_iter(py, found.iter().map(|one| one.line)),
        files,
    ))
}

/// Names, and for each address which of them it has, and how far it is behind it.
type Nearest<'py> = (
    Vec<String>,
    Bound<'py, PyArray1<u32>>,
    Bound<'py, PyArray1<u64>>,
);

/// A guest's /proc/kallsyms.
#[pyclass(frozen, module = "profdiff.symbolization._native")]
pub(crate) struct Kallsyms(pub(crate) ks::Kallsyms);

#[pymethods]
impl Kallsyms {
    #[new]
    fn new(py: Python<'_>, text: Vec<u8>) -> Self {
        Kallsyms(py.detach(|| ks::Kallsyms::parse(text)))
    }

    fn __len__(&self) -> usize {
        self.0.len()
    }

    fn address(&self, name: &str) -> Option<u64> {
        self.0.address(name).map(|address| address.0)
    }

    fn modules(&self) -> Vec<String> {
        self.0.modules().to_vec()
    }

    fn displacement(&self, kernel: &SymbolIndex) -> Option<u64> {
        self.0
            .displacement(&kernel.0)
            .map(|displacement| displacement.0)
    }

    fn owners<'py>(
        &self,
        py: Python<'py>,
        avma: PyReadonlyArray1<'py, u64>,
    ) -> Bound<'py, PyArray1<i64>> {
        let owners = self.0.owners(&addresses(&avma, Avma));
        let owners = owners.into_iter();
        PyArray1::from_iter(py, owners.map(|owner| owner.map_or(-1, i64::from)))
    }

    fn nearest<'py>(
        &self,
        py: Python<'py>,
        avma: PyReadonlyArray1<'py, u64>,
    ) -> PyResult<Nearest<'py>> {
        let found = self.0.nearest(&addresses(&avma, Avma));
        let mut names = vec![String::new()];
        let mut known = std::collections::HashMap::new();
        let mut number = |name: &[u8]| {
            *known.entry(name.to_vec()).or_insert_with(|| {
                names.push(String::from_utf8_lossy(name).into_owned());
                (names.len() - 1) as u32
            })
        };
        let rows = found.iter();
        let row: Vec<u32> = rows
            .map(|one| one.map_or(0, |(name, _)| number(name)))
            .collect();
        let offset = found.iter().map(|one| one.map_or(0, |(_, offset)| offset));
        let offset = PyArray1::from_iter(py, offset);
        Ok((names, row.into_pyarray(py), offset))
    }

    fn resolve(&self, py: Python<'_>, avma: PyReadonlyArray1<'_, u64>) -> PyResult<Resolution> {
        let addresses = addresses(&avma, Avma);
        Resolution::new(py, py.detach(|| self.0.resolve(&addresses)))
    }
}

/// Where the sections of a module were loaded, as (svma, size, avma).
#[pyfunction]
pub(crate) fn place_module(
    index: &SymbolIndex,
    name: &str,
    kallsyms: &Kallsyms,
    sections: &[u8],
) -> Vec<(u64, u64, u64)> {
    let placed = ks::place_module(&index.0, name, &kallsyms.0, sections);
    placed
        .into_iter()
        .map(|section| (section.svma.0, section.size, section.avma.0))
        .collect()
}

type Columns<'py> = (
    Bound<'py, PyArray1<u32>>,
    Bound<'py, PyArray1<u64>>,
    Bound<'py, PyArray1<u8>>,
);

/// From which file each instruction of user space comes, as (object, svma, reason).
#[pyfunction]
pub(crate) fn place_user<'py>(
    py: Python<'py>,
    paths: Vec<PathBuf>,
    avma: PyReadonlyArray1<'py, u64>,
    code: PyReadonlyArray2<'py, u8>,
) -> PyResult<Columns<'py>> {
    let (addresses, code) = (addresses(&avma, Avma), code.as_array());
    if code.dim() != (addresses.len(), 16) {
        return Err(PyValueError::new_err(
            "code must have a row of 16 bytes for each address",
        ));
    }
    let bytes: Vec<u8> = code.iter().copied().collect();
    let rows = bytes.chunks_exact(16).zip(&addresses);
    let instructions: Vec<ks::Instruction<'_>> = rows
        .map(|(row, address)| ks::Instruction {
            address: *address,
            code: &row[1..1 + usize::from(row[0]).min(15)],
        })
        .collect();
    let placed = py
        .detach(|| ks::place_user(&paths, &instructions))
        .map_err(native)?;
    let objects = placed.iter().map(|one| one.map_or(0, |(object, _)| object));
    let svmas = placed.iter().map(|one| one.map_or(0, |(_, svma)| svma.0));
    let reasons = placed
        .iter()
        .map(|one| one.err().unwrap_or(ks::Reason::Resolved) as u8);
    Ok((
        PyArray1::from_iter(py, objects),
        PyArray1::from_iter(py, svmas),
        PyArray1::from_iter(py, reasons),
    ))
}

/// Functions as ranges of addresses, without a file.
#[pyclass(frozen, module = "profdiff.symbolization._native")]
pub(crate) struct SymbolRanges(ks::SymbolRanges);

#[pymethods]
impl SymbolRanges {
    #[new]
    fn new(ranges: Vec<(u64, u64, String)>) -> Self {
        SymbolRanges(ks::SymbolRanges::new(ranges))
    }

    #[staticmethod]
    fn parse_perf_map(text: &[u8]) -> Self {
        SymbolRanges(ks::SymbolRanges::parse_perf_map(text))
    }

    fn resolve(&self, py: Python<'_>, avma: PyReadonlyArray1<'_, u64>) -> PyResult<Resolution> {
        let addresses = addresses(&avma, Avma);
        Resolution::new(py, py.detach(|| self.0.resolve(&addresses)))
    }
}

type PlacedOffsets<'py> = (Bound<'py, PyArray1<u64>>, Bound<'py, PyArray1<bool>>);

/// Where the loader puts the bytes at offsets of an ELF file, as (svma, found).
#[pyfunction]
pub(crate) fn file_offsets_to_svma<'py>(
    py: Python<'py>,
    path: PathBuf,
    offsets: PyReadonlyArray1<'py, u64>,
) -> PyResult<PlacedOffsets<'py>> {
    let offsets = addresses(&offsets, |offset| offset);
    let placed = py
        .detach(|| ks::file_offsets_to_svma(&path, &offsets))
        .map_err(native)?;
    let svmas = placed.iter().map(|one| one.map_or(0, |svma| svma.0));
    let found = placed.iter().map(Option::is_some);
    Ok((
        PyArray1::from_iter(py, svmas),
        PyArray1::from_iter(py, found),
    ))
}

/// Names of the reason codes.
#[pyfunction]
pub(crate) fn reasons() -> Vec<&'static str> {
    ks::Reason::NAMES.to_vec()
}

/// The GNU build id of an ELF file.
#[pyfunction]
pub(crate) fn elf_build_id(py: Python<'_>, path: PathBuf) -> PyResult<Option<String>> {
    let id = py.detach(|| ks::elf_build_id(&path)).map_err(native)?;
    Ok(id.map(|id| id.to_string()))
}

/// Whether an ELF file has its debug information inside, and the name and the CRC-32 of the file that
/// has it instead.
#[pyfunction]
pub(crate) fn elf_debug_info(
    py: Python<'_>,
    path: PathBuf,
) -> PyResult<(bool, Option<(String, u32)>)> {
    let info = py.detach(|| ks::elf_debug_info(&path)).map_err(native)?;
    Ok((info.is_inside, info.link))
}

type DataParts = Vec<(String, u64, u64)>;

/// The variables of an ELF file and its sections with data, as (name, svma, size).
#[pyfunction]
pub(crate) fn elf_data(py: Python<'_>, path: PathBuf) -> PyResult<(DataParts, DataParts)> {
    let (variables, sections) = py.detach(|| ks::elf_data(&path)).map_err(native)?;
    let told = |parts: Vec<ks::DataPart>| {
        let each = parts.into_iter();
        each.map(|one| (one.name, one.svma.0, one.size)).collect()
    };
    Ok((told(variables), told(sections)))
}

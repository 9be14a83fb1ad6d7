//! What the crate perf-data reads.

use std::path::PathBuf;
use std::sync::Mutex;
use std::thread::JoinHandle;

use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use perf_data as pd;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use stacks::expand_samples;

use crate::error::native;
use crate::stacks::{chains, FunctionStacks};

/// What perf counted.
#[pyclass(frozen, get_all, module = "profdiff.symbolization._native")]
pub(crate) struct Event {
    name: String,
    kind: u32,
    config: u64,
    rate: u64,
    is_frequency: bool,
}

/// Where perf says that the kernel or a module lies.
#[pyclass(frozen, get_all, module = "profdiff.symbolization._native")]
pub(crate) struct KernelMapping {
    name: String,
    start: u64,
    length: u64,
    offset: u64,
    build_id: Option<String>,
}

/// A recording of perf record.
#[pyclass(frozen, module = "profdiff.symbolization._native")]
pub(crate) struct PerfData {
    from: pd::Profile,
    #[pyo3(get)]
    place_object: Py<PyArray1<u32>>,
    #[pyo3(get)]
    place_address: Py<PyArray1<u64>>,
    #[pyo3(get)]
    entry_thread: Py<PyArray1<u32>>,
    #[pyo3(get)]
    entry_event: Py<PyArray1<u32>>,
    #[pyo3(get)]
    entry_weight: Py<PyArray1<u64>>,
    #[pyo3(get)]
    entry_samples: Py<PyArray1<u64>>,
}

impl PerfData {
    fn new(py: Python<'_>, mut from: pd::Profile) -> Self {
        let entry_thread: Vec<u32> = from.stacks.entry_name().collect();
        let stacks = &mut from.stacks;
        // These columns are Python's from here on.
        let place_object = std::mem::take(&mut stacks.place_object);
        let place_address = std::mem::take(&mut stacks.place_address);
        let entry_event = std::mem::take(&mut stacks.entry_event);
        let entry_weight = std::mem::take(&mut stacks.entry_weight);
        let entry_samples = std::mem::take(&mut stacks.entry_samples);
        PerfData {
            from,
            place_object: place_object.into_pyarray(py).unbind(),
            place_address: place_address.into_pyarray(py).unbind(),
            entry_thread: entry_thread.into_pyarray(py).unbind(),
            entry_event: entry_event.into_pyarray(py).unbind(),
            entry_weight: entry_weight.into_pyarray(py).unbind(),
            entry_samples: entry_samples.into_pyarray(py).unbind(),
        }
    }
}

/// A recording that a thread reads.
#[pyclass(frozen, module = "profdiff.symbolization._native")]
pub(crate) struct PerfReading {
    thread: Mutex<Option<JoinHandle<pd::Result<pd::Profile>>>>,
}

#[pymethods]
impl PerfReading {
    #[new]
    fn new(path: PathBuf) -> PyResult<Self> {
        let thread = std::thread::Builder::new().spawn(move || pd::Profile::open(&path))?;
        Ok(PerfReading {
            thread: Mutex::new(Some(thread)),
        })
    }

    /// It, once it is read; only once.
    fn result(&self, py: Python<'_>) -> PyResult<PerfData> {
        let thread = self.thread.lock().ok().and_then(|mut thread| thread.take());
        let thread = thread.ok_or_else(|| PyRuntimeError::new_err("it was taken already"))?;
        match py.detach(|| thread.join()) {
            Ok(from) => Ok(PerfData::new(py, from.map_err(native)?)),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    }
}

#[pymethods]
impl PerfData {
    #[staticmethod]
    fn open(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        let from = py.detach(|| pd::Profile::open(&path)).map_err(native)?;
        Ok(PerfData::new(py, from))
    }

    #[getter]
    fn events(&self) -> Vec<Event> {
        let events = self.from.events.iter().map(|event| Event {
            name: event.name.clone(),
            kind: event.kind,
            config: event.config,
            rate: event.sample_period,
            is_frequency: event.is_frequency,
        });
        events.collect()
    }

    #[getter]
    fn objects(&self) -> Vec<(&'static str, &str, Option<&str>, u32)> {
        let objects = self.from.objects.iter().map(|object| {
            let kind = pd::ObjectKind::NAMES[object.kind as usize];
            let id = Some(object.build_id.as_str()).filter(|id| !id.is_empty());
            (kind, object.path.as_str(), id, object.pid)
        });
        objects.collect()
    }

    #[getter]
    fn kernel_mappings(&self) -> Vec<KernelMapping> {
        let mappings = self.from.kernel_mappings.iter().map(|one| KernelMapping {
            name: one.name.clone(),
            start: one.start,
            length: one.length,
            offset: one.offset,
            build_id: Some(one.build_id.clone()).filter(|id| !id.is_empty()),
        });
        mappings.collect()
    }

    #[getter]
    fn kernel_symbols(&self) -> Vec<(u64, u64, &str)> {
        let symbols = self.from.kernel_symbols.iter();
        symbols
            .map(|symbol| (symbol.start, symbol.length, symbol.name.as_str()))
            .collect()
    }

    #[getter]
    fn build_ids(&self) -> std::collections::HashMap<String, String> {
        self.from.features.build_ids.clone()
    }

    #[getter]
    fn machine<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let features = &self.from.features;
        let out = PyDict::new(py);
        out.set_item("hostname", &features.hostname)?;
        out.set_item("release", &features.release)?;
        out.set_item("perf_version", &features.perf_version)?;
        out.set_item("architecture", &features.architecture)?;
        out.set_item("processor", &features.processor)?;
        out.set_item("cpus", features.cpus)?;
        out.set_item("command", &features.command)?;
        Ok(out)
    }

    #[getter]
    fn statistics<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let from = &self.from.statistics;
        let out = PyDict::new(py);
        out.set_item("samples", from.samples)?;
        out.set_item("lost", from.lost)?;
        out.set_item("lost_samples", from.lost_samples)?;
        out.set_item("throttled", from.throttled)?;
        out.set_item("unknown_event", from.unknown_event)?;
        out.set_item("malformed", from.malformed)?;
        out.set_item("weightless", from.weightless)?;
        out.set_item("user_stack_dumps", from.user_stack_dumps)?;
        out.set_item("corrupt_chains", from.corrupt_chains)?;
        out.set_item("unmapped", from.unmapped)?;
        out.set_item("deep_forks", from.deep_forks)?;
        out.set_item("unterminated", from.unterminated)?;
        out.set_item("unknown_records", from.unknown_records.clone())?;
        out.set_item("enabled_running", from.enabled_running.clone())?;
        Ok(out)
    }

    #[getter]
    fn threads(&self) -> Vec<String> {
        self.from.stacks.strings.clone()
    }

    #[pyo3(signature = (offsets, functions, inlined, thread_function=None))]
    fn expand(
        &self,
        py: Python<'_>,
        offsets: PyReadonlyArray1<'_, u32>,
        functions: PyReadonlyArray1<'_, u32>,
        inlined: PyReadonlyArray1<'_, bool>,
        thread_function: Option<u32>,
    ) -> PyResult<FunctionStacks> {
        let chains = chains(&offsets, &functions, &inlined)?;
        let samples = (&self.from.stacks).into();
        let stacks = py.detach(|| expand_samples(samples, chains, thread_function));
        Ok(FunctionStacks::new(py, stacks))
    }
}

/// Stacks that came as text.
#[pyclass(frozen, get_all, module = "profdiff.symbolization._native")]
pub(crate) struct PerfText {
    format: &'static str,
    events: Vec<String>,
    function_name: Vec<String>,
    function_object: Vec<String>,
    function_in_kernel: Vec<bool>,
    function_unresolved: Vec<bool>,
    sides_known: bool,
    stacks: Py<FunctionStacks>,
    entry_event: Py<PyArray1<u32>>,
    entry_weight: Py<PyArray1<u64>>,
    entry_samples: Py<PyArray1<u64>>,
    frameless: u64,
    lost: u64,
    unknown_lines: u64,
    unknown_line: String,
}

#[pymethods]
impl PerfText {
    #[staticmethod]
    fn open(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        let from = py.detach(|| pd::parse_text(&path)).map_err(native)?;
        Ok(PerfText {
            format: from.format,
            events: from.events,
            function_name: from.function_name,
            function_object: from.function_object,
            function_in_kernel: from.function_in_kernel,
            function_unresolved: from.function_unresolved,
            sides_known: from.sides_known,
            stacks: Py::new(py, FunctionStacks::new(py, from.stacks))?,
            entry_event: from.entry_event.into_pyarray(py).unbind(),
            entry_weight: from.entry_weight.into_pyarray(py).unbind(),
            entry_samples: from.entry_samples.into_pyarray(py).unbind(),
            frameless: from.frameless,
            lost: from.lost,
            unknown_lines: from.unknown_lines,
            unknown_line: from.unknown_line,
        })
    }
}

/// Whether a file begins like a perf.data file.
#[pyfunction]
pub(crate) fn is_perf_data(py: Python<'_>, path: PathBuf) -> PyResult<bool> {
    py.detach(|| pd::is_perf_data_file(&path)).map_err(native)
}

//! `profdiff.symbolization._native`: conversions between Python and the crates alignment,
//! checksums, data-accesses, data-types, disassembly, function-graph, kernel-symbols, perf-data and
//! stacks, and of tables to Arrow; no logic.

mod alignment;
mod arrow;
mod checksums;
mod data_accesses;
mod data_types;
mod disassembly;
mod error;
mod function_graph;
mod kernel_image;
mod perf;
mod sizes;
mod stacks;
mod symbols;
mod threads;

#[pyo3::pymodule]
mod _native {
    #[pymodule_export]
    use crate::alignment::align;
    #[pymodule_export]
    use crate::arrow::arrow_stream;
    #[pymodule_export]
    use crate::checksums::{checksum, file_checksums};
    #[pymodule_export]
    use crate::data_accesses::{access_kinds, access_reasons, probed, DataIndex};
    #[pymodule_export]
    use crate::data_types::type_layouts;
    #[pymodule_export]
    use crate::disassembly::{classes, disassemble, flows, split_code, Disassembly};
    #[pymodule_export]
    use crate::error::NativeError;
    #[pymodule_export]
    use crate::function_graph::traced_calls;
    #[pymodule_export]
    use crate::kernel_image::KernelImage;
    #[pymodule_export]
    use crate::perf::{is_perf_data, Event, KernelMapping, PerfData, PerfReading, PerfText};
    #[pymodule_export]
    use crate::sizes::{elf_references, elf_sizes, type_sizes};
    #[pymodule_export]
    use crate::stacks::{
        add_to_parents, distinct_stacks, expand_calls, outer_calls, write_folded, FunctionStacks,
    };
    #[pymodule_export]
    use crate::symbols::{
        demangled, elf_build_id, elf_code, elf_data, elf_debug_info, file_offsets_to_svma,
        place_module, place_user, reasons, statements, Kallsyms, Resolution, SymbolIndex,
        SymbolRanges,
    };

    #[pymodule_init]
    fn init(_module: &pyo3::Bound<'_, pyo3::types::PyModule>) -> pyo3::PyResult<()> {
        // A panic becomes an exception, which tells of it in one line; its text may be a stranger's.
        std::panic::set_hook(Box::new(|_| {}));
        Ok(())
    }
}

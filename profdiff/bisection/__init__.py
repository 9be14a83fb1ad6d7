"""Which commit made a workload slower: git bisect over kernels that are built and measured."""

"""Published experiments, a folder each: a workload, its ``profdiff.toml``, and a README."""

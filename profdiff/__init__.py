"""Differential profiler for Linux kernels: which functions, inlined ones too, cost more."""

__version__ = "0.1.0"

"""What a processor takes for single operations: ``docs/prices.md``. In C, since a wheel brings the
guest's agent in the same way: its build needs no other compiler and no library."""

from pathlib import Path

from profdiff.collectors.architecture import ARM64, X86_64
from profdiff.collectors.static_program import StaticProgram

CALIBRATE = StaticProgram(
    "calibrate", "calibrate", Path(__file__).parent, architectures=(X86_64, ARM64)
)

"""The exact collector: every instruction between two marks, counted in QEMU."""

"""The files of a kernel, as what others are looked up by."""

from dataclasses import replace

from profdiff.collectors.kernels.files import KernelFiles
from profdiff.collectors.records import BuiltFrom


def test_a_kernel_that_was_built_is_looked_up() -> None:
    """Also with patches, of which its source has a list."""
    one, other = ("0123456789" * 4, "9876543210" * 4)
    source = BuiltFrom("/src/linux", one, "v7.1", "mm: x", one, one, patches=["a.patch"])
    built = KernelFiles("new", "git:/src/linux", source=source)
    found = {built: "this one"}
    assert found[replace(built)] == "this one"
    assert replace(built, source=None) not in found
    assert KernelFiles("new", "git:/src/linux", source=BuiltFrom("/", *[other] * 5)) not in found

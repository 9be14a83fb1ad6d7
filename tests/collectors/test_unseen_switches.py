"""A kernel whose tasks switch in a way that the plugin does not know."""

import struct
from pathlib import Path

import pytest
from support import EXAMPLE, run_guests

from profdiff.collectors.guest.qemu import Qemu
from profdiff.collectors.kernels.files import KernelFiles

pytestmark = [pytest.mark.guest, pytest.mark.network]

# cpu_switch_to() (arch/arm64/kernel/entry.S) moves its base along; here the last pair and the link
# register are at offsets from it, which comes to the same.
_OTHERWISE = {
    0xA881251D: 0xA900251D,  # stp x29, x9, [x8], #16 -> stp x29, x9, [x8]
    0xF900011E: 0xF900091E,  # str x30, [x8] -> str x30, [x8, #16]
    0xA8C1251D: 0xA940251D,  # the same loads
    0xF940011E: 0xF940091E,
}


@pytest.fixture
def image(arm64_kernel: KernelFiles, tmp_path: Path) -> Path:
    """The kernel's image with these words instead."""
    assert arm64_kernel.image
    code = bytearray(arm64_kernel.image.read_bytes())
    words = list(_OTHERWISE)
    for pair in (words[:2], words[2:]):
        found = struct.pack("<2I", *pair)
        assert code.count(found) == 1
        at = code.index(found)
        struct.pack_into("<2I", code, at, *(_OTHERWISE[word] for word in pair))
    path = tmp_path / "Image"
    path.write_bytes(code)
    return path


def test_the_tree_is_refused(arm64_qemu: Qemu, image: Path, tmp_path: Path) -> None:
    command = [str(EXAMPLE), "400", "5"]
    with_tree, without = (
        run_guests(arm64_qemu, image, command, tmp_path / name, count=1, settle=0, calls=calls)[0]
        for name, calls in (("tree", True), ("flat", False))
    )
    assert with_tree.failure
    assert with_tree.failure.kind == "qemu"
    assert "switch" in with_tree.failure.message
    assert "--no-call-tree" in with_tree.failure.message
    assert "\n" not in with_tree.failure.message
    assert with_tree.counts is None
    assert without.failure is None
    assert without.counts
    assert without.counts.count.sum() > 50_000

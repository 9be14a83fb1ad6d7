"""What the data is called that guests share, where it is known (known.c)."""

import json
from pathlib import Path

import pytest
from support import RESTORED, profdiff
from tables import rows, tables

from profdiff.collectors.guest.qemu import Qemu

pytestmark = pytest.mark.guest

PROGRAM = Path(__file__).with_name("known.c")
OPS = 300


# All threads of a program have one lock for signals, which functions take that get a pointer to it
# alone; of a folder that several read at once the dentry, and a lock that readers count in.
@pytest.mark.parametrize(
    ("case", "names"),
    [
        ("signalfd-beside", [{"sighand_struct.siglock"}] * 2),
        ("entries-same", [{"dentry.d_lockref.lock", "inode.i_rwsem"}] * 2),
        # As test_truth.py has it of lseek().
        pytest.param("fstat-same", [{"file.f_count"}, {"file.f_ref"}], marks=pytest.mark.nightly),
    ],
)
def test_data_has_the_name_of_the_whole(
    old_kernel: Path,
    newest_kernel: Path,
    qemu: Qemu,
    tmp_path: Path,
    case: str,
    names: list[set[str]],
) -> None:
    session = tmp_path / "s.profdiff"
    kernels = ["--kernel", f"old={old_kernel}", "--kernel", f"new={newest_kernel}"]
    options = ["--collector", "sharing", "--cpus", "2", "--no-observe", "--ops", OPS, *kernels]
    profdiff("record", *RESTORED, *options, "-o", session, "--", PROGRAM, case, OPS)
    profdiff("report", session, "--sharing", "--json", tmp_path / "sharing.json")
    document = json.loads((tmp_path / "sharing.json").read_text())
    every = {one["name"]: rows(one) for one in tables(document, "sharing")}
    for kernel, wanted in zip(every["sharing-kernels"], names, strict=True):
        found = set()
        for row in every["sharing-lines"]:
            transfers = row["transfers"][kernel["kernel"]] / kernel["ops"]
            if row["type"] and transfers > 0.5:
                found.add(f"{row['type']}.{row['field']}")
                assert not row["alternatives"]
        assert found == wanted

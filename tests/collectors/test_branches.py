"""How often each conditional branch is taken: a program that knows, callgrind, and conservation."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from branches import check, conserved
from own_counts import own_counts

from profdiff.collectors.exact.counts import Counts
from profdiff.collectors.guest.qemu import Qemu
from profdiff.profile.recordings import Recordings
from profdiff.session.session import Session

pytestmark = pytest.mark.guest


@pytest.mark.parametrize("cpus", [pytest.param(1, marks=pytest.mark.nightly), 2])
def test_branches_taken(
    qemu: Qemu, new_kernel: Path, tmp_path: Path, compile_c: Callable[..., Path], cpus: int
) -> None:
    check(qemu, new_kernel, tmp_path, compile_c, cpus)


def test_a_comparison_has_what_its_files_have(recorded: Path) -> None:
    session = Session.open(recorded)
    (comparison,) = Recordings(session).comparisons()
    for label, (addresses,) in zip(comparison.labels, comparison.addresses, strict=True):
        assert addresses.taken is not None
        assert addresses.untold is not None
        for column, run in enumerate(session.finished(label, "exact")):
            conserved(Counts.load(session.path(run.files["counts"])), least=(0, 500))
            counts, _ = own_counts(session, run)
            assert counts.taken is not None
            assert addresses.taken[:, column].sum() == counts.taken.sum() > 0
        assert (addresses.taken + addresses.untold <= addresses.counts[:, :, 0]).all()
        assert np.array_equal(addresses.taken[:, 0], addresses.taken[:, 1])

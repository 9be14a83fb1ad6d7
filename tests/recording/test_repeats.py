"""What counts do not depend on: the folder, the environment, and what the cache keeps."""

from pathlib import Path

import pytest
from support import EXAMPLE, RESTORED, profdiff

import profdiff as package


def counts(session: Path) -> dict[tuple[str | None, str, str | None], int]:
    opened = package.open(session)
    assert isinstance(opened, package.Session)
    rows = opened.functions()
    return {(row.function, row.object, row.reason): row.self for row in rows}


@pytest.mark.guest
@pytest.mark.nightly
def test_another_folder_and_an_empty_cache_count_the_same(
    tmp_path: Path, qemu: object, old_kernel: Path
) -> None:
    """As docs/tutorial.md says. With an empty cache the agent and the workload are compiled anew,
    and the machine boots again."""
    found = []
    for folder, more in (
        (tmp_path / "a", {}),
        (tmp_path / "a-longer-name/b", {"PROFDIFF_CACHE": str(tmp_path / "cache"), "MORE": "x"}),
    ):
        folder.mkdir(parents=True)
        kernel = f"--kernel=k={old_kernel / 'bzImage'},vmlinux={old_kernel / 'vmlinux'}"
        command = ("record", *RESTORED, kernel, "-o", "s.profdiff", "--", EXAMPLE, "64", "20")
        profdiff(*command, cwd=folder, env=more)
        found.append(counts(folder / "s.profdiff"))
    assert found[0] == found[1]

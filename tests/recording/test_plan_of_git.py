"""``profdiff plan`` runs nothing of a stranger's tree, and writes nothing, before it has asked."""

from pathlib import Path

import made_repository
import pytest
import small_linux
from made_repository import Made, MadeRepository
from support import EXAMPLE, error_line, profdiff

pytestmark = [pytest.mark.kernel, pytest.mark.kernel]

QUICK = ["--collector", "timed"]


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> MadeRepository:
    """Its make file leaves ``sprung`` behind."""
    small_linux.kernels(monkeypatch)
    monkeypatch.setenv("PROFDIFF_CACHE", str(tmp_path / "cache"))
    trap = f"$(shell touch {tmp_path}/sprung)\n"
    trees = {name: small_linux.tree(name) for name in ("v6.12.107", "v6.18.15")}
    old, new = ({**tree, "Makefile": trap + tree["Makefile"]} for tree in trees.values())
    return made_repository.make(tmp_path / "r", {"old": Made(old), "new": Made(new, ["old"])})


def files(folder: Path) -> set[Path]:
    return set(folder.rglob("*"))


@pytest.mark.parametrize("suite", [False, True])
def test_plan_asks_before_it_builds(
    repository: MadeRepository, tmp_path: Path, suite: bool
) -> None:
    patch = tmp_path / "x.patch"
    patch.write_text(repository.git("diff", "old", "new", "--", "which"))
    place = repository.folder
    kernels = ["--kernel", f"old=git:{place}@old", "--kernel", f"new=git:{place}@old+{patch}"]
    words = ["plan", *QUICK, *kernels, "-o", tmp_path / "s"]
    if suite:
        toml = tmp_path / "mine.toml"
        toml.write_text(f'[[workload]]\nname = "a"\ncommand = ["{EXAMPLE}", "4", "20"]\n')
        words += ["--suite", toml]
    else:
        words += ["--", EXAMPLE, "4", "20"]
    before = files(tmp_path)
    refused = profdiff(*words, cwd=tmp_path, status=2)
    assert "2 kernels are not known to be built" in refused.stderr
    assert f"old=git:{place}@old" in refused.stderr
    assert "add --yes to build them" in error_line(refused)
    assert not (tmp_path / "sprung").exists()
    made = {path for path in files(tmp_path) - before if tmp_path / "cache" not in path.parents}
    assert made <= {tmp_path / "cache"}
    # Whoever agrees gets the plan.
    agreed = [words[0], "--yes", *words[1:]]
    assert "to do" in profdiff(*agreed, cwd=tmp_path).stdout
    assert (tmp_path / "sprung").exists()
    (tmp_path / "sprung").unlink()
    # What is built is planned without a question; of patches only the build tells.
    plain = [one if str(patch) not in str(one) else f"new=git:{place}@old" for one in words]
    assert "to do" in profdiff(*plain, cwd=tmp_path).stdout

"""A made-up session whose lines are known, and the repository that they are in."""

from pathlib import Path

import numpy as np
import pytest
from blame import truth
from msgspec.structs import replace
from support import unclaimed
from synthetic_session import exact_session

from profdiff.session import manifest as m
from profdiff.symbolization.chains import Chains

# Where each function of the example executes: a file and a line.
LINES = {
    "change_pte_range": ("mm/x.c", 3),
    "can_change_pte_writable": ("mm/x.c", 7),
    "prot_commit_flush_ptes": ("mm/x.c", 7),
    "commit_anon_folio_batch": ("mm/x.c", 8),
    "main": ("work.c", 1),
}
TEXT = [f"line {number} of the file" for number in range(1, 11)]


@pytest.fixture(scope="session")
def repo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two commits: the second one replaces a line by two. Tags are of the session's releases."""
    folder = tmp_path_factory.mktemp("linux")
    truth.git(folder, "init", "-q", "-b", "main")
    file = folder / "mm/x.c"
    file.parent.mkdir()
    for tag, lines, subject in (
        ("v6.12.107", TEXT, "mm: begin"),
        ("v6.18.15", [*TEXT[:6], "batches", "of pages", *TEXT[7:]], "mm: batch \x1b[31mpages"),
    ):
        file.write_text("\n".join(lines) + "\n")
        truth.git(folder, "add", "-A")
        truth.git(folder, "commit", "-q", "-m", subject)
        truth.git(folder, "tag", tag)
    return folder


@pytest.fixture(scope="session")
def session(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("blame") / "s.profdiff"
    made = exact_session(folder)
    releases = {"base": "6.12.107-profdiff", "new": "6.18.15-profdiff"}
    kernels = [m.replace(one, release=releases[one.label]) for one in made.manifest.kernels]
    made.save(m.replace(made.manifest, kernels=kernels))
    for label in ("base", "new"):
        path = folder / f"symbols/{label}.npz"
        chains = Chains.load(path)
        names = [chains.strings[n] for n in chains.function_name[chains.frame_function]]
        files = [LINES[name][0] for name in names]
        strings = [*chains.strings, *dict.fromkeys(files)]
        replace(
            chains,
            strings=strings,
            frame_file=np.array([strings.index(file) for file in files], np.uint32),
            frame_line=np.array([LINES[name][1] for name in names], np.uint32),
        ).save(path)
    return unclaimed(folder)

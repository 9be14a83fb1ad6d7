"""The wheel that tests are of."""

import os
import subprocess
from pathlib import Path

import whole_run
from support import ROOT


def built() -> Path:
    """The folder with a source archive and the wheel that was built from it: the one that is
    tested, if it is not the checkout that is."""
    if tested := os.environ.get("PROFDIFF_TESTED"):
        return Path(tested, "wheel")

    def make(folder: Path) -> None:
        subprocess.run([ROOT / "scripts/wheel", folder], capture_output=True, check=True)

    return whole_run.once("wheel", make)

"""NOTICES tells what is linked into the binaries."""

import re
import subprocess

import pytest
from support import ROOT, need_program

END = "\n\n" + "=" * 100 + "\n"


@pytest.mark.build
def test_notices_are_of_the_locked_crates() -> None:
    """What stands before the licences' texts; those are Debian's, and the crates' own."""
    need_program("cargo")
    made = subprocess.run(
        [ROOT / "scripts/notices"], capture_output=True, text=True, check=True
    ).stdout
    kept = (ROOT / "NOTICES").read_text()
    again = "NOTICES is of other crates: run scripts/notices > NOTICES"
    assert kept.partition(END)[0] == made.partition(END)[0], again
    # Of each crate something is there: its own licence, or one that it shares.
    titles = [part.partition("\n")[0] for part in kept.split(END)[1:]]
    told = {title.split(":")[0].split(" (")[0] for line in titles for title in line.split(", ")}
    crates = {line.split()[0] for line in kept.splitlines() if line.endswith("(_native)")}
    assert len(crates) > 40
    assert crates - told == set()


def test_the_licences_go_together() -> None:
    """QEMU, which loads the plugins, is GPL-2.0: nothing in them is under Apache-2.0 alone."""
    rows = re.findall(r"(?m)^(\S+) \S+: (.*) \((.*)\)$", (ROOT / "NOTICES").read_text())
    binaries = {name: where for name, _, where in rows}
    alone = [name for name, licence, _ in rows if licence == "Apache-2.0"]
    assert alone == ["similar"]
    assert binaries["similar"] == "_native"
    assert "tcg_plugin_api2" in binaries["iced-x86"]

"""What a lab says of a kernel that does not end: the kernel's fault, or the lab's."""

from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path

import pytest
from kernelci_programs import started
from pull_labs_server import TOKEN, Server, serving
from synthetic import manifest

from profdiff.collectors.records import Failure
from profdiff.examples.kernelci import counting
from profdiff.session import manifest as m
from profdiff.session.session import Session

OK, HANGS, FULL, NO_QEMU = "ok", "hangs", "no room", "no qemu"
KERNELS = ["boot", "panic", "timeout", "workload", "absent", "protocol", "metric", "window", "perf"]
LABS = ["qemu", "connection"]


def counted(
    folder: Path, monkeypatch: pytest.MonkeyPatch, base: str, new: str, first: str
) -> bool | None:
    """What is counted where the two kernels do this, and the runs of ``first`` come first."""
    does = {"/base": base, str(folder / "kernel"): new}

    def run(words: Sequence[str], log: Path, seconds: float) -> int | None:
        given = [word.partition("=")[2] for word in words if word.startswith("--kernel=")]
        specs = dict(one.split("=", 1) for one in given)
        place = Path(next(word for word in words if word.startswith("--output="))[9:])
        labels = sorted(specs, key=lambda label: label != first)
        whole = manifest(list(specs))
        if NO_QEMU in does.values():
            return 2
        session = Session.create(place, m.replace(whole, runs=[]))
        for label in labels:
            what = does[specs[label]]
            if what == HANGS:
                return None
            if what == FULL:
                return 2
            (made,) = (one for one in whole.runs if one.kernel == label)
            failure = None if what == OK else Failure(what, "so it is")
            ended = m.replace(made, failure=failure, files={})
            session.save(m.replace(session.manifest, runs=[*session.manifest.runs, ended]))
        failed = any(does[spec] != OK for spec in specs.values())
        return 2 if failed else 0

    monkeypatch.setattr(counting, "run", run)
    experiment = folder / "e.toml"
    experiment.write_text('command = ["true"]\n')
    return counting.counted(folder, experiment, "/base", 60, 600)[0].ran


@pytest.mark.parametrize("first", ["base", "new"])
@pytest.mark.parametrize(
    ("base", "new", "booted"),
    [
        (OK, OK, True),
        (OK, HANGS, False),
        *((OK, kind, False) for kind in KERNELS),
        *((OK, kind, None) for kind in (*LABS, FULL, NO_QEMU)),
        *((base, HANGS, None) for base in ("boot", "qemu", HANGS, FULL, NO_QEMU)),
        *((base, new, None) for base, new in product(("boot", "qemu"), ("panic", "qemu"))),
        # It ran the workload, whatever the base did.
        (HANGS, OK, True),
        ("boot", OK, True),
    ],
)
def test_whose_fault_it_is(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    base: str,
    new: str,
    booted: bool | None,
    first: str,
) -> None:
    assert counted(tmp_path, monkeypatch, base, new, first) is booted


def hanging(image: bytes) -> bytes:
    """A kernel whose first instruction in protected mode jumps to itself (boot.rst of Linux: it
    stands behind the sectors of set-up code, 0x1f1 says how many)."""
    start = (image[0x1F1] + 1) * 512
    return image[:start] + b"\xeb\xfe" + image[start + 2 :]


@pytest.fixture
def server() -> Iterator[Server]:
    with serving() as found:
        yield found


@pytest.mark.guest
@pytest.mark.nightly
def test_a_kernel_that_hangs_fails(server: Server, tmp_path: Path, old_kernel: Path) -> None:
    node = "65a1f0c2d3"
    server.announce(node, server.job(node, hanging((old_kernel / "bzImage").read_bytes())))
    experiment = tmp_path / "e.toml"
    experiment.write_text('command = ["true"]\njobs = 1\nsettle = 0\n')
    words = ["--server", f"{server.address}/latest", "--base", old_kernel, "--origin", "test_lab"]
    words += ["--fail-if", "instructions > +50%", "--timeout", "60", "--once", "-o", tmp_path / "l"]
    said = started(
        "pull_lab", experiment, *words, env={"no_proxy": "127.0.0.1", "PROFDIFF_LAB_TOKEN": TOKEN}
    )
    answer = server.answers[node]
    assert answer["tests"]["boot-test-1"]["status"] == "fail", said.stderr
    assert "error_code" not in answer

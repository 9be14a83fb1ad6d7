"""The probe collector without a guest: what it asks for, what it refuses, and its words."""

from pathlib import Path

import pytest
from support import error_line, profdiff

from profdiff.base.errors import InputError
from profdiff.collectors.guest.result import Left, Result
from profdiff.collectors.probe.entry import Probe
from profdiff.collectors.registry import recording

FORKS = b"{ parent_pid: 10, child_pid: 11 } hitcount: 1\n"
VALUES = b"{ common_pid: 11, value: 4096 } hitcount: 5\n{ common_pid: 3, value: 1 } hitcount: 9\n"


def judged(folder: Path, probes: list[str], **files: bytes) -> Result:
    """The result of a run that left such files."""
    every = {"status": b"exit 0\n", "usage": b"wall_ns 1000\n", "probe-pid": b"10\n", **files}
    every = {name.replace("_", "-").replace("-0", ".0"): data for name, data in every.items()}
    for name, data in every.items():
        (folder / name).write_bytes(data)
    left = Left(folder, {n: n for n in every}, None, {"probe": probes}, False, has_marks=False)
    return Probe().judge(left)


def test_values_of_the_workload_are_kept_in_the_plugins_words(tmp_path: Path) -> None:
    files = {"probe-forks": FORKS, "probe.0": VALUES}
    found = judged(tmp_path, ["ksys_read  count"], **files)
    assert found.failure is None
    assert [(one.name, one.values) for one in found.measured] == [("ksys_read.count", [5.0])]
    assert (tmp_path / found.files["probes"]).read_text() == "place 0 1 5 0\nvalue 0 4096 5\n"
    # What the kernel counted of other programs stays nowhere.
    assert not (tmp_path / "probe.0").exists()
    assert found.remarks == []


def test_what_the_kernel_does_not_take_is_said_in_its_words(tmp_path: Path) -> None:
    errors = b"1 error: Invalid fetch argument\n0 error: Invalid probed address or symbol\n7 x\n"
    files = {"probe-forks": FORKS, "probe-errors": errors}
    found = judged(tmp_path, ["f a", "g b"], **files)
    assert found.remarks == [
        "the kernel refuses the probe 'g b': Invalid fetch argument; names of variables need Linux "
        "6.6 or later with CONFIG_PROBE_EVENTS_BTF_ARGS=y",
        "the kernel refuses the probe 'f a': Invalid probed address or symbol",
    ]


@pytest.mark.parametrize(
    ("word", "told"),
    [
        (b"rights\n", "only root can use kprobe events there"),
        (b"tracefs\n", "there is no tracefs"),
        (b"events\n", "it needs CONFIG_KPROBE_EVENTS=y"),
        (b"histogram\n", "it needs CONFIG_HIST_TRIGGERS=y"),
    ],
)
def test_refusals(tmp_path: Path, word: bytes, told: str) -> None:
    failure = judged(tmp_path, ["f a"], **{"tracefs-refusal": word}).failure
    assert failure
    assert failure.kind == "probe"
    assert told in failure.message


def test_a_probe_is_a_function_and_a_variable() -> None:
    assert "probe" in recording()
    for bad in ([], ["f"], ["f a b"], ["f a;reboot"], ["f $a"], ["f a"] * 17):
        with pytest.raises(InputError, match="--probe"):
            Probe().settings({"probe": tuple(bad)})


def test_an_option_that_no_chosen_collector_has_says_which_to_add(tmp_path: Path) -> None:
    command = ["record", "--kernel", "a=running", "-o", tmp_path / "s"]
    line = error_line(profdiff(*command, "--probe", "f a", "--", "true", status=2))
    assert line.endswith("--probe: only exact and probe runs use it: add --collector probe")

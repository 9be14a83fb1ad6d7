"""Documents of strangers: what they cost is bounded, and what JSON alone can say is told."""

import subprocess
import sys
from pathlib import Path

import pytest
from support import IMPORTED

from profdiff.base.errors import InputError
from profdiff.collectors.workload.metrics import Wanted, read
from profdiff.examples.kernelci.jobs import announced
from profdiff.examples.kernelci.servers import LabError

MIB = 2**20
# What decodes a file, with no more memory than so many bytes, and says what comes of it.
DECODE = """
import resource, sys
from pathlib import Path
from profdiff.base.errors import ProfdiffError
from profdiff.bisection.kept import Kept
from profdiff.collectors.workload.metrics import Wanted, read
from profdiff.examples.kernelci.jobs import announced
from profdiff.examples.kernelci.servers import LabError
from profdiff.session.session import Session
from profdiff.session.suite import Suite
what, place = sys.argv[1], Path(sys.argv[2])
readers = {
    "events": lambda: announced(place.read_bytes()),
    "output": lambda: read([Wanted.parse("fio")], place.read_text()),
    "manifest": lambda: Session.open(place.parent),
    "suite": lambda: Suite.open(place.parent),
}
resource.setrlimit(resource.RLIMIT_AS, (int(sys.argv[3]), int(sys.argv[3])))
try:
    readers[what]()
except (ProfdiffError, LabError) as error:
    print(error)
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("what", "name", "start", "value", "size"),
    [
        ("events", "events", b"[", b"{}", 63 * MIB),
        ("events", "events", b"[", b"0", 60 * MIB),
        ("events", "events", b"[", b'{"node":{"artifacts":{"a":"b"}}}', 60 * MIB),
        ("output", "stdout", b'{"jobs":[', b"{}", 15 * MIB),
        ("output", "stdout", b'{"jobs":[', b"[]", 15 * MIB),
        (
            "manifest",
            "manifest.json",
            b'{"schema":"profdiff.session/3","points":[',
            b"{}",
            64 * MIB,
        ),
        ("suite", "suite.json", b'{"schema":"profdiff.suite/1","choices":[', b"{}", 15 * MIB),
    ],
)
def test_many_small_values(
    tmp_path: Path, what: str, name: str, start: bytes, value: bytes, size: int
) -> None:
    place = tmp_path / name
    values = b",".join([value] * (size // (len(value) + 1)))
    place.write_bytes(start + values + b"]" + b"}" * start.count(b"{"))
    done = subprocess.run(
        [sys.executable, "-P", "-c", DECODE, what, place, str(700 * MIB)],
        env={"PYTHONPATH": str(IMPORTED)},
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )
    assert "values" in done.stdout and done.stdout.count("\n") == 1, done.stderr


@pytest.mark.parametrize(
    "value",
    [
        b"9" * 5000,
        b"-" + b"9" * 5000,
        b"1e999",
        b"NaN",
        b"Infinity",
        b'"\\ud800"',
        b'"\xff"',
        b"[" * 100_000,
        b'{"a":' * 100_000,
    ],
)
def test_odd_values_are_passed_over_or_told(value: bytes) -> None:
    event = b'{"timestamp":%b,"node":%b,"node":{"id":%b}}' % (value, value, value)
    try:
        assert announced(b"[%b]" % event)[0] == []
    except LabError as error:
        assert len(str(error)) < 300


@pytest.mark.parametrize(
    ("output", "why"),
    [
        (r'{"benchmarks":[{"name":"a\ud800","real_time":3}]}', "half a character"),
        (r'{"benchmarks":[{"name":"a","real_time":3,"time_unit":"\udfff"}]}', "half a character"),
        ('{"benchmarks":[{"name":"%s","real_time":3}]}' % ("a" * 100_000), "too long"),
        ('{"benchmarks":[{"name":"a","real_time":NaN}]}', "not a finite number"),
        ('{"benchmarks":[{"name":"a","real_time":%s}]}' % ("9" * 5000), "not a finite number"),
        (
            '{"benchmarks":['
            + '{"name":"a","real_time":1},' * 10_000
            + '{"name":"a","real_time":1}]}',
            "more than 10,000",
        ),
    ],
)
def test_what_a_session_cannot_hold_is_not_recorded(output: str, why: str) -> None:
    with pytest.raises(InputError, match=why) as told:
        read([Wanted.parse("google-benchmark")], output)
    assert len(str(told.value)) < 300


def test_what_begins_as_json_and_is_none() -> None:
    """Each try reads up to where it fails."""
    output = '{"jobs":[\n' * 900 + "[" + "1," * 500_000
    with pytest.raises(InputError, match="holds no JSON"):
        read([Wanted.parse("fio")], output)

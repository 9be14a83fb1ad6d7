"""The metrics of recordings made now are perf's own events, by their whole names."""

import json
import re
import subprocess
from collections import Counter
from pathlib import Path

import pytest
from support import need_program, profdiff

CLOCKS = ["-e", "cpu-clock/period=250000/u", "-e", "cpu-clock:k", "-c", "500000"]
OPTIONS = {
    "tracepoints of one system": ["-e", "syscalls:sys_enter_openat,syscalls:sys_exit_openat"],
    "of several": ["-e", "sched:sched_switch,syscalls:sys_enter_write,raw_syscalls:sys_enter"],
    "with modifiers": ["-e", "syscalls:sys_enter_openat:u,syscalls:sys_enter_write:k"],
    "clocks of both sides": CLOCKS,
    "a tracepoint and a clock": ["-e", "cpu-clock:u", "-e", "sched:sched_waking", "-c", "1"],
    "named by the user": ["-e", "cpu-clock/name=sched:kick,period=250000/"],
    "in a group": ["-e", "{page-faults:u,minor-faults:u}", "-c", "3"],
    "several groups": ["-e", "{page-faults,minor-faults},{cpu-clock}", "-c", "100"],
    "compressed": ["-z", "-e", "syscalls:sys_enter_openat,page-faults:u,page-faults:k", "-c", "1"],
}
WORKLOAD = ["sh", "-c", "ls -R /usr/include >/dev/null; ls / >/dev/null"]


def of_perf(path: Path, *, stream: bool) -> Counter[str]:
    """Sums by event of ``perf script``."""
    command = ["perf", "script", "-i", "-" if stream else path, "-G", "-F", "period,event,ip"]
    with path.open("rb") as file:
        done = subprocess.run(command, stdin=file, capture_output=True, text=True, check=True)
    found: Counter[str] = Counter()
    for line in done.stdout.splitlines():
        match = re.match(r"\s*(\d+)\s+(.+):\s", line)
        assert match, line
        found[match[2]] += int(match[1])
    return found


@pytest.mark.slow
@pytest.mark.parametrize("stream", [False, True], ids=["file", "stream"])
@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_metrics_are_perfs_events(tmp_path: Path, options: list[str], stream: bool) -> None:
    path = tmp_path / "perf.data"
    command = [need_program("perf", "linux-perf"), "record", "-q", *options]
    command += ["-o", "-" if stream else str(path), "--", *WORKLOAD]
    done = subprocess.run(command, capture_output=True, check=False)
    if done.returncode:
        pytest.skip(f"perf may not record so here: {done.stderr[-200:]!r}")
    if stream:
        path.write_bytes(done.stdout)
    document = json.loads(profdiff("diff", path, "--json", "-").stdout)
    found = {one["metric"]: one["totals"]["perf.data"] for one in document["metrics"]}
    assert found
    expected = of_perf(path, stream=stream)
    if stream:
        # perf does not name the events of a stream as those of a file.
        assert sum(found.values()) == expected.total()
        assert not [name for name in found if name.startswith("tracepoint ")]
    else:
        assert found == expected

"""The scheduler and the workers of ``--cluster local:``: what they serve, and what they leave."""

import os
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

import pytest

from profdiff.base.errors import InputError
from profdiff.base.temporary import temporary_folder
from profdiff.recording.cluster.connection import Connection, Where, connected

SECONDS = 60
PAGES = (
    *("", "status", "info/main/workers.html", "json/counts.json", "health", "metrics"),
    "statics/css/base.css",
)


@contextmanager
def cluster(text: str) -> Iterator[Connection]:
    """With its workers there."""
    if find_spec("distributed") is None:
        pytest.skip("Dask is not installed (pip install 'profdiff[cluster]')")
    where = Where.parse(text)
    with connected(where) as connection:
        connection.client.wait_for_workers(where.local, timeout=SECONDS)
        yield connection


def listening(pids: list[int]) -> list[int]:
    """The TCP ports on which processes listen (``/proc/PID/net/tcp``, proc_pid_net(5))."""
    inodes = set()
    for pid in pids:
        for one in Path(f"/proc/{pid}/fd").iterdir():
            try:
                target = str(one.readlink())
            except FileNotFoundError:
                continue
            if target.startswith("socket:["):
                inodes.add(target[8:-1])
    found = []
    for line in Path("/proc/net/tcp").read_text().splitlines()[1:]:
        fields = line.split()
        if fields[3] == "0A" and fields[9] in inodes:
            found.append(int(fields[1].rpartition(":")[2], 16))
    return found


def served(port: int, page: str) -> bool:
    """Whether anybody gets a page there."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/{page}", timeout=5) as answer:
            return bool(answer.status == 200)
    except (OSError, urllib.error.HTTPError, ValueError):
        return False


@pytest.mark.filterwarnings("ignore")
def test_no_page_is_served_unless_it_is_asked_for() -> None:
    with cluster("local:1") as connection:
        assert connection.dashboard == ""
        ports = listening([os.getpid(), connection.workers[0].process.pid])
        assert len(ports) > 1
        proxied = [f"proxy/{port}/127.0.0.1/health" for port in ports]
        found = [(port, page) for port in ports for page in (*PAGES, *proxied)]
        assert [one for one in found if served(*one)] == []


@pytest.mark.filterwarnings("ignore")
def test_a_dashboard_lists_workers_and_fetches_nothing() -> None:
    with cluster("local:1+dashboard") as connection:
        page, *_ = connection.dashboard.split("/info/", 1)
        port = int(page.rpartition(":")[2].partition("/")[0])
        assert served(port, "info/main/workers.html")
        ports = listening([os.getpid(), connection.workers[0].process.pid])
        assert [one for one in ports if served(port, f"proxy/{one}/127.0.0.1/health")] == []


def test_only_a_cluster_that_is_started_has_a_dashboard() -> None:
    assert not Where.parse("local:2").dashboard
    assert Where.parse("ssh:a,b+dashboard") == Where(
        hosts=Where.parse("ssh:a,b").hosts, dashboard=True
    )
    with pytest.raises(InputError, match="is none of a scheduler's address"):
        Where.parse("tcp://127.0.0.1:8786+dashboard")


@pytest.mark.filterwarnings("ignore")
def test_what_a_killed_worker_leaves_goes_with_the_next_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)

    def left() -> list[str]:
        return [one.name for one in tmp_path.glob("profdiff-*")]

    with cluster("local:1") as connection:
        before = left()
        assert len(before) == 1
        connection.workers[0].process.kill()
        connection.workers[0].process.wait()
        assert left() == before
        with temporary_folder():
            deadline = time.monotonic() + SECONDS
            while before[0] in left():
                assert time.monotonic() < deadline
                time.sleep(0.1)

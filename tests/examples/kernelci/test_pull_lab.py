"""A pull lab: jobs of a server on loopback that follows the PULL_LABS protocol."""

import base64
import gzip
import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
import whole_run
from kernelci_programs import started
from pull_labs_server import TOKEN, Server, serving
from support import EXAMPLE, profdiff

from profdiff.examples.kernelci import pull_lab
from profdiff.examples.kernelci.servers import Servers

NODE, OTHER = "65a1f0c2d3", "65a1f0c2d4"


@pytest.fixture
def server() -> Iterator[Server]:
    with serving() as found:
        yield found


def lab(
    server: Server, tmp_path: Path, *words: str | Path, base: str = "/none", status: int = 0
) -> subprocess.CompletedProcess[str]:
    experiment = tmp_path / "toggle.toml"
    experiment.write_text(
        f'command = ["{EXAMPLE}", "40", "20", "40", "20"]\nops = 800\njobs = 1\nsettle = 0\n'
    )
    output = tmp_path / "lab"
    usual = {"--server": f"{server.address}/latest", "--base": base, "--origin": "test_lab"}
    given = [word for one in usual.items() if one[0] not in words for word in one]
    check = ("--fail-if", "instructions:user > +50%", "--fail-if", "instructions:kernel > -90%")
    environment = {"PROFDIFF_LAB_TOKEN": TOKEN, "no_proxy": "127.0.0.1"}
    return started(
        "pull_lab",
        experiment,
        *given,
        *check,
        "--once",
        "-o",
        output,
        *words,
        env=environment,
        status=status,
    )


@pytest.mark.guest
def test_a_job_is_booted_counted_and_answered_once(
    server: Server, tmp_path: Path, old_kernel: Path, new_kernel: Path
) -> None:
    server.announce(NODE, server.job(NODE, (new_kernel / "bzImage").read_bytes()))
    with whole_run.processors(1):
        lab(server, tmp_path, base=str(old_kernel / "bzImage"))
    answer = server.answers[NODE]
    log = gzip.decompress(base64.b64decode(answer["artifacts"]["log"].removeprefix("base64:")))
    assert answer["tests"]["boot-test-1"]["status"] == "pass", log.decode()
    assert answer["tests"]["ltp-smoke"] == {"status": "skip"}
    below = answer["tests"]["profdiff"]["subtests"]
    assert {name: one["status"] for name, one in below.items()} == {
        "profdiff.toggle.instructions.user": "pass",
        "profdiff.toggle.instructions.kernel": "fail",
    }
    folder = tmp_path / "lab" / NODE
    rows = json.loads((folder / "kcidb.json").read_text())["tests"]
    assert [one["metrics"]["value"] for one in below.values()] == [
        row["number"]["value"] for row in rows
    ]
    assert answer["summary"] == {"total": 3, "passed": 1, "failed": 1, "skipped": 1}
    assert answer["metadata"] == {"system": "qemu-x86_64"} and "error_code" not in answer
    assert profdiff("report", folder / "toggle.profdiff").stdout
    server.answers.clear()
    lab(server, tmp_path)
    assert not server.answers


def test_a_kernel_that_is_none_fails_in_the_lab(server: Server, tmp_path: Path) -> None:
    """Nothing is known of the kernel where the base does not run: that is the lab's trouble."""
    server.announce(NODE, server.job(NODE, b"not a kernel"))
    lab(server, tmp_path)
    answer = server.answers[NODE]
    assert answer["error_code"] == "Infrastructure"
    assert answer["tests"]["boot-test-1"]["status"] == "error"
    assert "/none" in gzip.decompress(base64.b64decode(answer["artifacts"]["log"][7:])).decode()


def test_only_its_own_jobs(server: Server, tmp_path: Path) -> None:
    server.announce(NODE, server.job(NODE), platform="bcm2711", runtime="mine")
    server.announce(OTHER, server.job(OTHER), platform="qemu-x86_64", runtime="other")
    lab(server, tmp_path, "--platform", "qemu-x86_64", "--runtime", "mine")
    assert not server.answers


def hostile(server: Server, elsewhere: Server, what: str) -> dict[str, Any]:
    """A job that wants what it must not have."""
    job = server.job(NODE, b"kernel")
    place = f"/{NODE}/bzImage"
    if what == "a file":
        job["artifacts"]["kernel"] = "file:///etc/hostname"
    elif what == "another server":
        elsewhere.files["/x"] = b"kernel"
        job["artifacts"]["kernel"] = f"{elsewhere.address}/x"
    elif what == "a way to a file":
        server.files[place] = "file:///etc/hostname"
    elif what == "a way to another server":
        elsewhere.files["/x"] = b"kernel"
        server.files[place] = f"{elsewhere.address}/x"
    else:
        job["integrity"]["sha256"]["kernel"] = "0" * 64
    return job


@pytest.mark.parametrize(
    ("what", "why"),
    [
        ("a file", "only http://"),
        ("another server", "does not talk to this server"),
        ("a way to a file", "only http://"),
        ("a way to another server", "it leads to 127.0.0.1"),
        ("another kernel", "does not have the SHA-256"),
    ],
)
def test_an_artifact_that_a_job_must_not_have(
    server: Server, tmp_path: Path, what: str, why: str
) -> None:
    with serving() as elsewhere:
        server.announce(NODE, hostile(server, elsewhere, what))
        lab(server, tmp_path)
    assert why in server.answers[NODE]["error_msg"]
    folder = tmp_path / "lab" / NODE
    assert sorted(one.name for one in folder.iterdir()) == ["answer.json", "job.json", "sent"]


def test_the_token_goes_to_no_server_that_a_job_names(server: Server, tmp_path: Path) -> None:
    with serving() as elsewhere:
        callback = {"url": f"{elsewhere.address}/node/{NODE}"}
        server.announce(NODE, server.job(NODE, b"x", callback=callback))
        said = lab(server, tmp_path)
        assert "does not talk to this server (--allow)" in said.stderr
        assert not elsewhere.tokens
        lab(server, tmp_path, "--allow", elsewhere.address)
        assert elsewhere.tokens == [TOKEN]
        assert elsewhere.answers.keys() == {NODE}


def test_what_is_no_job_is_told_and_passed_over(server: Server, tmp_path: Path) -> None:
    """A name that leads out of the folder, a definition without a kernel, and what is not JSON."""
    server.event("../../outside", f"{server.address}/x")
    server.announce(OTHER, {"tests": []})
    server.files["/deep"] = b"[" * 100_000
    server.event("65a1f0c2d5", f"{server.address}/deep")
    server.events.append({"node": 3})
    for one in server.events:
        one.setdefault("timestamp", "")
    said = lab(server, tmp_path).stderr
    assert f"{OTHER}: the job definition cannot be read" in said
    assert "65a1f0c2d5: the job definition cannot be read" in said
    assert not server.answers and not (tmp_path / "outside").exists()


def test_wrong_use(server: Server, tmp_path: Path) -> None:
    said = lab(server, tmp_path, "--allow", "ftp://x", status=2)
    assert "only http://" in one_line(said)
    assert "lower-case" in one_line(lab(server, tmp_path, "--origin", "A B", status=2))
    said = lab(server, tmp_path, "--fail-if", "instructions ~ +1%", status=2)
    assert "unknown comparison" in one_line(said)
    server.files["/latest/events"] = b""
    said = lab(server, tmp_path, "--server", f"{server.address}/elsewhere", status=2)
    assert "it answers 404" in one_line(said)


def one_line(said: subprocess.CompletedProcess[str]) -> str:
    (line,) = said.stderr.splitlines()
    return line


def test_a_list_of_events_that_does_not_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each page has a newer event; the first has a time behind all others."""
    asked = []

    def page(url: str, most: int) -> bytes:
        since = parse_qs(urlsplit(url).query)["from"][0]
        asked.append(since)
        last = "zzzz" if len(asked) == 1 else f"2026-11-26T00:00:{len(asked):02}"
        times = [last, f"2026-11-26T00:00:{len(asked):02}"] if len(asked) < 50 else []
        return json.dumps([{"timestamp": one} for one in times]).encode()

    monkeypatch.setattr(Servers, "read", lambda self, url, most: page(url, most))
    monkeypatch.setattr(pull_lab, "PAGES", 5)
    experiment = tmp_path / "e.toml"
    experiment.write_text('command = ["true"]\n')
    words = ["--server", "http://127.0.0.1:1", "--base", "x", "--origin", "test", "--once"]
    words += ["--fail-if", "instructions > +1%", "-o", str(tmp_path / "l")]
    assert pull_lab.main([str(experiment), *words]) == 0 and len(asked) == 5
    assert asked[1:] == [f"2026-11-26T00:00:{number:02}" for number in range(1, 5)]

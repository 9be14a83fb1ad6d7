"""Which node a run goes to, and how often it is tried, with nodes that are made up."""

import concurrent.futures
from collections.abc import Callable, Coroutine
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from profdiff.base.errors import InputError, MissingError
from profdiff.collectors.records import Failure
from profdiff.recording.cluster import connection
from profdiff.recording.cluster.address import Where
from profdiff.recording.cluster.attempt import MOST_LOST, Attempt
from profdiff.recording.cluster.emulators import Emulator
from profdiff.recording.cluster.errand import Errand, Left, Told, packed
from profdiff.recording.cluster.nodes import Node

QEMU = Emulator("x86_64", None, "QEMU 7.2", "a" * 64, "b" * 64)


class Nodes:
    """Nodes whose answers a test gives."""

    def __init__(self) -> None:
        self.asked: list[concurrent.futures.Future[Any]] = []
        self.refused: list[str] = []

    def spawn(self, work: Coroutine[Any, Any, Any]) -> concurrent.futures.Future[Any]:
        work.close()
        self.asked.append(concurrent.futures.Future())
        return self.asked[-1]

    def refuse(self, one: Node, why: str) -> str:
        self.refused.append(one.told.host)
        return f"{one.name} is left out: {why}"


class Files:
    def bring(self, *_: object) -> None:
        raise AssertionError

    def forget(self, digests: tuple[str, ...], there: Node) -> None:
        there.has.difference_update(digests)


def node(host: str) -> Node:
    return Node(f"tcp://{host}:1", 1, Told(host, host, None), True, set())


def attempt(
    nodes: Nodes, hosts: list[str], folder: Path, inputs: tuple[str, ...] = ()
) -> tuple[Attempt, list[Node], list[str]]:
    """A run that is given nodes on ``hosts``, one after the other; those, and what it said."""
    errand = Errand("k-1", QEMU, (), inputs, {}, 60)
    given: list[Node] = []
    said: list[str] = []

    def pick(_: Errand, without: set[str]) -> Node | None:
        assert without == {one.told.host for one in given if one.lost}
        given.append(node(hosts[len(given)]))
        return given[-1]

    one = Attempt(nodes, Files(), errand, folder, pick, said.append, said.append)  # type: ignore[arg-type]
    return one, given, said


def test_a_run_that_takes_its_workers_with_it(tmp_path: Path) -> None:
    nodes = Nodes()
    hosts = [f"n{number}" for number in range(MOST_LOST)]
    one, given, said = attempt(nodes, hosts, tmp_path)
    polls = 0
    while not one.poll():
        given[-1].lost = True
        polls += 1
        assert polls < 20
    outcome = one.result({})
    assert isinstance(outcome, Failure)
    assert outcome.kind == "connection"
    assert outcome.message == "3 workers were lost while they made this run (n0, n1, n2)"
    assert len(said) == MOST_LOST - 1
    assert all(one.runs == 0 for one in given)
    assert all(asked.cancelled() for asked in nodes.asked)


def test_what_is_lost_twice_is_made_by_the_third(tmp_path: Path) -> None:
    nodes = Nodes()
    one, given, _ = attempt(nodes, ["a", "b", "c"], tmp_path)
    for _ in range(2):
        given[-1].lost = True
        assert not one.poll()
        assert not one.poll()
    (tmp_path / "left").mkdir()
    (tmp_path / "left/stdout").write_text("7\n")
    files = packed(tmp_path / "left", without=set())
    nodes.asked[-1].set_result(Left("c", ["qemu"], 1.5, {"stdout"}, files))
    assert one.poll()
    assert one.result({}) == {"stdout"}
    assert (tmp_path / "stdout").read_text() == "7\n"
    assert (one.host, one.lost, one.wall_seconds) == ("c", ["a", "b"], 1.5)


@pytest.mark.parametrize(
    "error", [MissingError("no room"), OSError(28, "No space left on device"), InputError("x")]
)
def test_a_node_that_cannot(error: Exception, tmp_path: Path) -> None:
    """It gets no more runs, and its run goes elsewhere, without being counted as lost."""
    pytest.importorskip("distributed", reason="Dask is not installed")
    nodes = Nodes()
    one, given, _ = attempt(nodes, ["a", "b"], tmp_path)
    nodes.asked[-1].set_exception(error)
    assert not one.poll()
    assert not one.poll()
    assert nodes.refused == ["a"]
    assert [one.told.host for one in given] == ["a", "b"]
    assert one.lost == []


def fail(one: Attempt, nodes: Nodes, error: BaseException) -> int:
    """Let it fail with ``error`` wherever it is tried: how often it was."""
    for tries in range(1, 50):
        nodes.asked[-1].set_exception(error)
        if one.poll():
            return tries
        assert not one.poll()
    raise AssertionError


@pytest.mark.parametrize(
    ("error", "tries", "refused"),
    [
        (OSError(28, "No space left on device"), MOST_LOST, MOST_LOST - 1),
        (InputError("no such thing"), MOST_LOST, MOST_LOST - 1),
        (FileNotFoundError("damaged"), 3 * MOST_LOST, MOST_LOST - 1),
        (concurrent.futures.CancelledError(), MOST_LOST, 0),
    ],
)
def test_a_run_that_fails_everywhere_leaves_nodes(
    tmp_path: Path, error: BaseException, tries: int, refused: int
) -> None:
    """It is a failed run after some tries, and does not take the whole cluster with it."""
    pytest.importorskip("distributed", reason="Dask is not installed")
    nodes = Nodes()
    one, given, said = attempt(nodes, [f"n{number}" for number in range(50)], tmp_path)
    assert fail(one, nodes, error) == tries
    outcome = one.result({})
    assert isinstance(outcome, Failure)
    assert outcome.kind == "connection"
    assert outcome.message.startswith("3 times it could not be made (n")
    assert len(nodes.refused) == refused
    assert all(node.runs == 0 for node in given)
    assert len(said) == tries - 1 + refused


def test_a_damaged_file_is_sent_again(tmp_path: Path) -> None:
    """The node stays, and is known to lack it."""
    pytest.importorskip("distributed", reason="Dask is not installed")
    nodes = Nodes()
    one, given, _ = attempt(nodes, ["a", "b"], tmp_path, ("f",))
    given[0].has.update(("e", "f"))
    nodes.asked[-1].set_exception(FileNotFoundError("damaged"))
    assert not one.poll()
    assert not one.poll()
    assert given[0].has == {"e"}
    assert nodes.refused == []
    nodes.asked[-1].set_result(Left("b", ["qemu"], 1.5, {"stdout"}, {}))
    assert one.poll()
    assert one.result({}) == {"stdout"}


def other(**fields: str) -> Emulator:
    return replace(QEMU, **fields)


@pytest.mark.parametrize(
    ("found", "told"),
    [
        (other(version="QEMU 9.0"), "its QEMU is 'QEMU 9.0', not 'QEMU 7.2'"),
        (other(program="c" * 64), "another build of 'QEMU 7.2'"),
        (other(firmware="c" * 64), "firmware"),
        (QEMU, None),
    ],
)
def test_counts_belong_to_one_qemu(found: Emulator, told: str | None) -> None:
    refusal = QEMU.refusal(found)
    assert (told is None and refusal is None) or (refusal and told and told in refusal)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("local:4", lambda one: one.local == 4),
        ("tls://head:8786", lambda one: one.scheduler == "tls://head:8786"),
        ("10.0.0.1:8786", lambda one: one.scheduler == "10.0.0.1:8786"),
        ("tcp://[::1]:8786/", lambda one: one.scheduler == "tcp://[::1]:8786"),
        ("ssh:a,me@b:22", lambda one: [str(h) for h in one.hosts] == ["ssh://a", "ssh://me@b:22"]),
    ],
)
def test_addresses(text: str, wanted: Callable[[Where], bool]) -> None:
    assert wanted(Where.parse(text))


@pytest.mark.parametrize(
    "text",
    [
        *("", "local:", "local:0", "local:x", "local:99999", "ssh:", "ssh:a,,b", "ssh:-oProxy=x"),
        *("head", "tcp://head", "no/such.json", "file:///etc/passwd", "tcp://a b:1", "http://a:1"),
    ],
)
def test_what_is_no_address(text: str) -> None:
    with pytest.raises(InputError) as error:
        Where.parse(text)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("content", ["", "x", "[]", "{}", '{"address": 5}', "[" * 99999])
def test_a_file_that_no_scheduler_wrote(content: str, tmp_path: Path) -> None:
    path = tmp_path / "s.json"
    path.write_text(content)
    with pytest.raises(InputError, match="it is not a file that dask scheduler wrote"):
        Where.parse(str(path))
    path.write_text('{"address": "tls://head:8786", "type": "Scheduler"}')
    assert Where.parse(str(path)) == Where(scheduler="tls://head:8786")


@pytest.mark.parametrize(
    ("lacking", "text"),
    [("distributed", "tcp://a:1"), ("distributed", "local:2"), ("cryptography", "local:2")],
)
def test_without_the_extra(lacking: str, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "find_spec", lambda name: None if name == lacking else name)
    with pytest.raises(MissingError) as error, connection.connected(Where.parse(text)):
        raise AssertionError
    told = f"--cluster needs {lacking}: install it with pip install 'profdiff[cluster]'"
    assert str(error.value) == told

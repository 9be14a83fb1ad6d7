"""Which node a run goes to, and how often it is tried, with nodes that are made up."""

import concurrent.futures
from collections.abc import Callable, Coroutine, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from coroutines import run

from profdiff.base.errors import InputError, MissingError
from profdiff.collectors.records import Failure
from profdiff.recording.cluster import connection
from profdiff.recording.cluster.attempt import MOST_LOST, Attempt
from profdiff.recording.cluster.connection import Where
from profdiff.recording.cluster.errand import Emulator, Errand, Left, Needs, packed
from profdiff.recording.cluster.nodes import Node, NodeLostError, TakenBackError
from profdiff.recording.cluster.nodes import Nodes as NodesThere

QEMU = Emulator("x86_64", None, "QEMU 7.2", "a" * 64, "b" * 64)


class Nodes(NodesThere):
    """Nodes whose answers a test gives, one for each time that a run is tried."""

    def __init__(self, answers: Iterable[Left | BaseException | None]) -> None:
        super().__init__(None, Needs("1", (), {}))  # type: ignore[arg-type]
        self._answers = iter(answers)
        self.refused: list[str] = []

    def spawn(self, work: Coroutine[Any, Any, Any]) -> Any:
        made: concurrent.futures.Future[Any] = concurrent.futures.Future()
        made.set_result(run(work))
        return made

    async def on(self, where: Node, function: Any, *arguments: Any) -> Any:
        answer = next(self._answers)
        if answer is None:
            where.gone.set()
            raise NodeLostError
        if isinstance(answer, BaseException):
            raise answer
        return answer

    def refuse(self, one: Node, why: str) -> None:
        self.refused.append(one.host)
        super().refuse(one, why)


class Files:
    """What is brought is there."""

    def __init__(self) -> None:
        self.brought: list[str] = []

    async def bring(self, digests: tuple[str, ...], to: Node) -> None:
        missing = [one for one in digests if one not in to.has]
        self.brought += missing
        to.has.update(missing)


def attempt(
    answers: Iterable[Left | BaseException | None], folder: Path, inputs: tuple[str, ...] = ()
) -> tuple[Attempt, Nodes, list[Node], Files]:
    """A run that is given nodes n0, n1, ...; those."""
    nodes, files = Nodes(answers), Files()
    errand = Errand("k-1", QEMU, (), inputs, {}, 60)
    given: list[Node] = []

    def pick(_: Errand, without: set[str]) -> Node | None:
        assert without == {one.host for one in given if one.gone.is_set()}
        host = f"n{len(given)}"
        given.append(Node(f"tcp://{host}:1", 1, host, {"f"}))
        return given[-1]

    return Attempt(nodes, files, errand, folder, pick), nodes, given, files  # type: ignore[arg-type]


def test_a_run_that_takes_its_workers_with_it(tmp_path: Path) -> None:
    one, nodes, given, _ = attempt([None] * 99, tmp_path)
    assert one.poll()
    outcome = one.result({})
    assert isinstance(outcome, Failure)
    assert outcome.kind == "connection"
    assert outcome.message == "3 workers were lost while they made this run (n0, n1, n2)"
    assert len(nodes.lines) == nodes.retries == MOST_LOST - 1
    assert nodes.lines[0] == "k-1: n0 (n0:1) was lost; it is tried again"
    assert not any(one.runs for one in given)


def test_what_is_lost_twice_is_made_by_the_third(tmp_path: Path) -> None:
    (tmp_path / "left").mkdir()
    (tmp_path / "left/stdout").write_text("7\n")
    files = packed(tmp_path / "left", without=set())
    left = Left("n2", ["qemu"], 1.5, {"stdout"}, files)
    one, _, given, _ = attempt([None, None, left], tmp_path)
    assert one.poll()
    assert one.result({}) == {"stdout"}
    assert (tmp_path / "stdout").read_text() == "7\n"
    assert (one.host, one.lost, one.wall_seconds) == ("n2", ["n0", "n1"], 1.5)
    assert not any(one.runs for one in given)


@pytest.mark.parametrize(
    "error", [MissingError("no room"), OSError(28, "No space left on device"), InputError("x")]
)
def test_a_node_that_cannot(error: Exception, tmp_path: Path) -> None:
    """It gets no more runs, and its run goes elsewhere, without being counted as lost."""
    one, nodes, given, _ = attempt([error, Left("n1", [], 1.5, set(), {})], tmp_path)
    assert one.poll()
    assert nodes.refused == ["n0"]
    assert [one.host for one in given] == ["n0", "n1"]
    assert one.lost == []


@pytest.mark.parametrize(
    ("error", "tries", "refused"),
    [
        (OSError(28, "No space left on device"), MOST_LOST, MOST_LOST - 1),
        (InputError("no such thing"), MOST_LOST, MOST_LOST - 1),
        (FileNotFoundError("damaged"), 3 * MOST_LOST, MOST_LOST - 1),
        (TakenBackError(), MOST_LOST, 0),
    ],
)
def test_a_run_that_fails_everywhere_leaves_nodes(
    tmp_path: Path, error: Exception, tries: int, refused: int
) -> None:
    """It is a failed run after some tries, and does not take the whole cluster with it."""
    one, nodes, given, _ = attempt([error] * 99, tmp_path)
    assert one.poll() and len(given) == tries
    outcome = one.result({})
    assert isinstance(outcome, Failure)
    assert outcome.kind == "connection"
    assert outcome.message.startswith("3 times it could not be made (n")
    assert len(nodes.refused) == refused
    assert not any(one.runs for one in given)


def test_a_defect_is_none_of_the_nodes(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError):
        attempt([ZeroDivisionError()], tmp_path)


def test_a_damaged_file_is_sent_again(tmp_path: Path) -> None:
    """The node stays, and is known to lack it."""
    left = Left("n1", [], 1.5, set(), {})
    one, nodes, given, files = attempt([FileNotFoundError("damaged"), left], tmp_path, ("e", "f"))
    assert one.poll() and nodes.refused == []
    assert files.brought == ["e", "e"]
    assert given[0].has == set() and given[1].has == {"e", "f"}


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

"""Workers that come, are refused and go, as a scheduler that is made up tells of them."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from coroutines import run

from profdiff.recording.cluster import nodes as n
from profdiff.recording.cluster.errand import Needs, Told
from profdiff.recording.cluster.nodes import Node, NodeLostError, Nodes, TakenBackError

ADDRESS = "tcp://n0:1"


class Answering(Nodes):
    """Nodes that say of themselves what a test gives."""

    def __init__(self, answer: Callable[[], Told]) -> None:
        super().__init__(None, Needs("1", (), {}))  # type: ignore[arg-type]
        self._answer = answer

    async def on(self, where: Node, function: Any, *arguments: Any) -> Any:
        return self._answer()


@pytest.mark.parametrize("runs", [0, 1])
@pytest.mark.parametrize("refused", [False, True])
def test_runs_are_lost_with_a_node_also_one_that_was_left_out(*, refused: bool, runs: int) -> None:
    async def go() -> None:
        nodes = Answering(lambda: Told("n0", "n0:/c", None))
        nodes.update({ADDRESS: 2})
        (one,) = nodes.known.values()
        await asyncio.sleep(0.01)
        assert nodes.here == [one] and nodes.lines == ["n0 (n0:1) takes part, 2 guests at a time"]
        one.runs.update(range(runs))
        if refused:
            nodes.refuse(one, "its disk is full")
            assert nodes.lines.pop() == "n0 (n0:1) is left out: its disk is full"
            assert nodes.here == [] and nodes.refusals
        nodes.lines.clear()
        nodes.update({ADDRESS: 2})
        assert not one.gone.is_set()
        nodes.update({})
        assert one.gone.is_set() and nodes.here == nodes.refusals == []
        assert nodes.lines == (["n0 (n0:1) has left"] if not refused and not runs else [])

    run(go())


def raising(error: Exception) -> Callable[[], Told]:
    def answer() -> Told:
        raise error

    return answer


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (
            lambda: Told("n0", "n0:/c", "its QEMU is another"),
            "n0 (n0:1) is left out: its QEMU is another",
        ),
        (
            raising(ModuleNotFoundError("x", name="profdiff.base")),
            "n0:1 is left out: its Python ha",
        ),
        (raising(OSError(5, "odd")), "n0:1 is left out: OSError: [Errno 5] odd"),
    ],
)
def test_a_node_that_does_not_take_part(answer: Callable[[], Told], why: str) -> None:
    async def go() -> None:
        nodes = Answering(answer)
        nodes.update({ADDRESS: 2})
        assert nodes.refusals == []
        await asyncio.sleep(0.01)
        assert nodes.here == [] and len(nodes.refusals) == 1
        assert nodes.refusals[0].startswith(why)

    run(go())


def test_what_waits_for_a_node_that_is_gone() -> None:
    async def go() -> None:
        one, other = Node(ADDRESS), Node(ADDRESS)
        never: asyncio.Future[int] = asyncio.Future()
        waiting = asyncio.ensure_future(n.unless_gone(never, one))
        await asyncio.sleep(0)
        one.gone.set()
        with pytest.raises(NodeLostError):
            await waiting
        assert never.cancelled()
        with pytest.raises(TakenBackError):
            await n.unless_gone(never, other)
        done: asyncio.Future[int] = asyncio.Future()
        done.set_result(7)
        assert await n.unless_gone(done, one) == 7

    run(go())

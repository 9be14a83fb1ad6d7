"""Workers that come, are refused and go, as a scheduler that is made up tells of them."""

from typing import Any

import pytest

from profdiff.recording.cluster.errand import Needs, Told
from profdiff.recording.cluster.nodes import Node, Nodes

ADDRESS = "tcp://n0:1"


class Serving:
    """What a node does for another one, and the loop and the client that it is cancelled in."""

    def __init__(self) -> None:
        self.cancelled = 0
        self.loop = self

    def cancel(self) -> None:
        self.cancelled += 1

    def add_callback(self, function: Any) -> None:
        function()


@pytest.mark.parametrize("runs", [0, 1])
@pytest.mark.parametrize("refused", [False, True])
def test_runs_are_lost_with_a_node_also_one_that_was_left_out(*, refused: bool, runs: int) -> None:
    serving = Serving()
    nodes = Nodes(serving, Needs("1", (), {}), {})  # type: ignore[arg-type]
    one = Node(ADDRESS, 2, Told("n0", "n0", None), True, set(), runs=runs)
    one.serving.add(serving)  # type: ignore[arg-type]
    nodes._known[ADDRESS] = one
    if refused:
        assert nodes.refuse(one, "its disk is full") == "n0 (n0:1) is left out: its disk is full"
        assert nodes.here == []
    assert nodes._update({ADDRESS: 2}) == []
    assert not one.lost
    told = nodes._update({})
    assert told == (["n0 (n0:1) has left"] if not refused and not runs else [])
    assert one.lost
    assert serving.cancelled == 1
    assert nodes._update({}) == []
    assert serving.cancelled == 1
    assert nodes.here == []

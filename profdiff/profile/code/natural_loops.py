"""The natural loops of code, whose places lead to each other: an edge back to a place that
dominates its source closes one; an inner loop belongs to the outer one, too."""

from collections.abc import Iterator, Sequence


def natural_loops(
    edges: Sequence[Sequence[int]], entered: Sequence[int]
) -> Iterator[tuple[int, set[int]]]:
    """The first place of each loop, and all of its places. ``edges``: where each place leads to;
    ``entered``: the places that something else leads to."""
    # Most functions have none: only an edge that does not lead onwards can close a loop.
    if not any(other <= node for node, to in enumerate(edges) for other in to):
        return
    before: list[list[int]] = [[] for _ in edges]
    for node, to in enumerate(edges):
        for other in to:
            before[other].append(node)
    dominator, order = _dominators(edges, entered, before)
    bodies: dict[int, set[int]] = {}
    for node, to in enumerate(edges):
        for head in to:
            if node in order and _dominates(dominator, order, head, node):
                body, waiting = bodies.setdefault(head, {head}), [node]
                while waiting:
                    inside = waiting.pop()
                    if inside not in body:
                        body.add(inside)
                        waiting += [other for other in before[inside] if other in order]
    yield from bodies.items()


_ROOT = -1


def _dominators(
    edges: Sequence[Sequence[int]], entered: Sequence[int], before: Sequence[Sequence[int]]
) -> tuple[dict[int, int], dict[int, int]]:
    """The immediate dominator of each place, and its place in reverse postorder, after Cooper,
    Harvey and Kennedy, *A Simple, Fast Dominance Algorithm*; ``_ROOT`` leads to what is entered."""
    seen = {_ROOT}
    postorder: list[int] = []
    stack: list[tuple[int, Iterator[int]]] = [(_ROOT, iter(entered))]
    while stack:
        node, rest = stack[-1]
        other = next((other for other in rest if other not in seen), None)
        if other is None:
            postorder.append(node)
            stack.pop()
        else:
            seen.add(other)
            stack.append((other, iter(edges[other])))
    order = {node: number for number, node in enumerate(reversed(postorder))}
    roots, dominator = set(entered), {_ROOT: _ROOT}
    changes = True
    while changes:
        changes = False
        for node in sorted(order, key=order.__getitem__)[1:]:
            known = [_ROOT] if node in roots else []
            known += [other for other in before[node] if other in dominator]
            best = known[0]
            for other in known[1:]:
                while best != other:
                    if order[best] > order[other]:
                        best = dominator[best]
                    else:
                        other = dominator[other]
            if dominator.get(node) != best:
                dominator[node], changes = best, True
    return dominator, order


def _dominates(dominator: dict[int, int], order: dict[int, int], head: int, node: int) -> bool:
    while order[node] > order[head]:
        node = dominator[node]
    return node == head

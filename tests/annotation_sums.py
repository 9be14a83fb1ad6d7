"""What the parts of an annotation sum to."""

from profdiff.profile.comparison import Comparison
from profdiff.views.annotation.records import Annotation


def agree(comparison: Comparison, row: int, found: Annotation) -> None:
    """All sums of an annotation are the comparison's."""
    labels = comparison.labels
    wanted = dict(zip(labels, comparison.self_[row].tolist(), strict=True))
    assert found.self == wanted
    for parts in (found.rows, found.lines):
        assert {x: sum(part.count.get(x, 0) for part in parts) for x in labels} == wanted
    assert {x: sum(place.self[x] for place in found.places) for x in labels} == wanted
    for label, split in found.split.items():
        assert split.same + split.other == wanted[label] - wanted[labels[0]]
    if comparison.samples is not None:
        samples = dict(zip(labels, comparison.samples[row].tolist(), strict=True))
        assert found.samples == samples
        for parts in (found.rows, found.lines):
            known = [part.samples or {} for part in parts]
            assert {x: sum(one.get(x, 0) for one in known) for x in labels} == samples
    for row_ in found.rows:
        assert row_.count.keys() == row_.text.keys() == row_.address.keys()
        assert (row_.relation == "only") == (len(row_.count) < len(labels))

"""What the tables of a recording's layout have in common."""

from collections.abc import Mapping, Sequence

from profdiff.forms.columns import Column


def by_kernel(labels: Sequence[str], titles: Sequence[tuple[str, int]]) -> list[Column]:
    """The same columns for each kernel, a title and how well a reader can do without it."""
    several = len(labels) > 2
    return [
        Column(title, group=label, part=part if several else None, spare=spare)
        for part, label in enumerate(labels)
        for title, spare in titles
    ]


def rest(title: str, numbers: Mapping[str, int]) -> list[list[str]]:
    """A line that says how many are not shown, and which; nothing where all are."""
    told = [f"{number:,} {what}" for what, number in numbers.items() if number > 0]
    return [[f"{title}: {', '.join(told)}"]] if told else []

"""What an installation looks like."""

import importlib.metadata


def test_only_the_name_profdiff_is_installed() -> None:
    names = importlib.metadata.distribution("profdiff").read_text("top_level.txt")
    assert names
    assert names.split() == ["profdiff"]

"""A session in an atlas."""

from pathlib import Path

from made_atlas import session

from profdiff.reports.atlas import write
from profdiff.session import manifest as m
from profdiff.views.suite_making import reproduce


def test_a_session_is_recorded_again_by_its_own_command(tmp_path: Path) -> None:
    opened = session(tmp_path / "w.profdiff", {"6.1.1": {"f": 100}, "6.2.1": {"f": 120}})
    command = ["profdiff", "record", "--kernel", "a", "-o", "S", "--", "./w.sh", "-o", "x"]
    opened.save(m.replace(opened.manifest, command=command))
    atlas = write(tmp_path / "site", [opened.folder], 0.05, lambda line: None)
    point = atlas.series[0].cells[0].points[0]
    assert point.reproduce == "profdiff record --kernel a -o w.profdiff -- ./w.sh -o x"


def test_words_of_the_workload_stay() -> None:
    # Behind -- nothing is ours; a session has no cells to choose from.
    own = ["profdiff", "record", "-o", "S", "--kernel", "k=x", "--", "./w.sh", "-o", "x", "--only"]
    assert reproduce(own, "w", alone=True) == (
        "profdiff record --kernel k=x -o w.profdiff -- ./w.sh -o x --only"
    )
    assert reproduce(own, "w").endswith("--only w -o w.profdiff -- ./w.sh -o x --only")

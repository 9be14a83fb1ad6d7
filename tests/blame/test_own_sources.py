"""What profdiff built kernels from is their source, unless another one is named."""

import shutil
from pathlib import Path

import pytest
from blame import truth
from support import error_line, profdiff

from profdiff.recording import origin
from profdiff.session import manifest as m
from profdiff.session.session import Session

RILEY = "Riley Reporter <riley@example.org>"


def source(repo: Path, tag: str, built: str | None = None) -> m.BuiltFrom:
    commit = truth.git(repo, "rev-parse", tag).strip()
    tree = truth.git(repo, "rev-parse", f"{tag}^{{tree}}").strip()
    return m.BuiltFrom(
        repository=str(repo),
        commit=commit,
        described=tag,
        subject="mm: x",
        tree=tree,
        built=built or commit,
    )


def copied(session: Path, repo: Path, folder: Path, built: str | None = None) -> Path:
    """The session whose kernels profdiff built from the repository; their releases say nothing."""
    shutil.copytree(session, folder)
    opened = Session.open(folder)
    tags = ("v6.12.107", "v6.18.15")
    sources = [source(repo, tags[0]), source(repo, tags[1], built)]
    kernels = [
        m.replace(kernel, source=one, release="6.12.0-profdiff")
        for kernel, one in zip(opened.manifest.kernels, sources, strict=True)
    ]
    opened.save(m.replace(opened.manifest, kernels=kernels))
    origin.remember(folder, opened.manifest)
    return folder


@pytest.fixture(scope="module")
def own(session: Path, repo: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return copied(session, repo, tmp_path_factory.mktemp("own") / "s.profdiff")


def test_blame_needs_no_repository(own: Path, session: Path, repo: Path) -> None:
    said = profdiff("blame", own, "--width", "100").stdout
    # The other session's releases have tags.
    assert said == profdiff("blame", session, "--repo", repo, "--width", "100").stdout


def test_what_was_built_is_the_revision(session: Path, repo: Path, tmp_path: Path) -> None:
    """Patches and reverts are commits that no branch names."""
    built = truth.git(
        repo, "commit-tree", "-m", "made", "-p", "v6.18.15", "v6.18.15^{tree}"
    ).strip()
    made = copied(session, repo, tmp_path / "s.profdiff", built)
    assert f"new ({built[:12]}) against base" in profdiff("blame", made).stdout


def test_a_repository_that_went_is_named(session: Path, repo: Path, tmp_path: Path) -> None:
    gone = tmp_path / "linux"
    shutil.copytree(repo, gone)
    made = copied(session, gone, tmp_path / "s.profdiff")
    shutil.rmtree(gone)
    said = error_line(profdiff("blame", made, status=2))
    assert said == f"the kernels were built from {gone}, which is not here: name a copy with --repo"
    assert "batches" not in profdiff("annotate", made, "prot_commit_flush_ptes").stdout
    # A clone has the commits.
    assert "against base" in profdiff("blame", made, "--repo", repo).stdout


def test_annotate_shows_the_lines(own: Path, session: Path) -> None:
    words = ("prot_commit_flush_ptes", "--by", "line")
    assert "batches" not in profdiff("annotate", session, *words).stdout
    assert "batches" in profdiff("annotate", own, *words).stdout


def test_only_a_repository_outside_and_without_links(
    session: Path, repo: Path, tmp_path: Path
) -> None:
    """A folder of the repository's name with @COMMIT behind it would be taken for the sources, a
    link leads anywhere, and what lies in the session came with it."""
    head = truth.git(repo, "rev-parse", "v6.18.15").strip()
    outside = tmp_path / "outside"
    (outside / "mm").mkdir(parents=True)
    (outside / "mm/mprotect.c").write_text("secret\n" * 2000)
    made = copied(session, repo, tmp_path / "s.profdiff")
    inner = made / "r"
    shutil.copytree(repo, inner)
    for tag in (head, truth.git(repo, "rev-parse", "v6.12.107").strip()):
        (made / f"r@{tag}").symlink_to(outside)
    link = tmp_path / "link"
    link.symlink_to(repo)
    words = ("prot_commit_flush_ptes", "--by", "line")
    for place in (inner, link):
        opened = Session.open(made)
        kernels = [
            m.replace(kernel, source=m.replace(kernel.source, repository=str(place)))
            for kernel in opened.manifest.kernels
            if kernel.source
        ]
        opened.save(m.replace(opened.manifest, kernels=kernels))
        shown = profdiff("annotate", made, *words).stdout
        assert "secret" not in shown
        assert "batches" not in shown
        assert "is reached by a link, or lies in the session" in " ".join(shown.split())
        line = error_line(profdiff("blame", made, status=2))
        assert "is reached by a link, or lies in the session" in line


def test_a_mail_names_suspects_of_a_session_of_ones_own(
    own: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not of a stranger's: what it says of repositories here would go out."""
    monkeypatch.setenv("PROFDIFF_STATE", str(tmp_path))
    words = ("prot_commit_flush_ptes", "--by", "line")
    shown = profdiff("annotate", own, *words).stdout
    assert "batches" not in shown
    assert "which is not read unasked, as you did not record the session here" in " ".join(
        shown.split()
    )
    assert "name the repository with --repo" in error_line(profdiff("blame", own, status=2))
    assert "uspects by lines" not in profdiff("mail", own, "--from", RILEY).stdout
    origin.remember(own, Session.open(own).manifest)
    said = profdiff("mail", own, "--from", RILEY).stdout
    assert "Suspects by lines, not bisected" in said
    assert "on v6.18.15 (new) than on v6.12.107 (base)" in " ".join(said.split())

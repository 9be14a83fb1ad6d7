"""The documents as Sphinx reads them: a copy of what is in the repository, with what it has no file
for, and the order in which docs/README.md lists them."""

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
LINK = re.compile(r"\[([^]\n]+)\]\(([^)\s#:]+)(#[^)\s]*)?\)")


def documents() -> list[Path]:
    """All Markdown that is about profdiff, relative to the repository."""
    places = ("*.md", "docs/**/*.md", "examples/**/*.md", "tests/symbolization/*.md")
    return sorted(path.relative_to(ROOT) for place in places for path in ROOT.glob(place))


def stage(folder: Path, reports: str) -> None:
    """Put all documents into ``folder``: manual pages, what leads to ``reports``, what is in the
    repository, and the files that they lead to."""
    subprocess.run([sys.executable, ROOT / "scripts/manual", folder / "man"], check=True)
    manual = [f"man/{path.stem}" for path in sorted((folder / "man").iterdir())]
    write(folder / "reports.md", reports)
    for document in documents():
        text = (ROOT / document).read_text()
        for target in linked_files(document, text):
            copy(target, folder)
        if (ROOT / document).with_name("profdiff.toml").exists():
            text += "".join(listings(document.parent, folder))
        if document == Path("README.md"):
            text += "".join(navigation(manual))
        write(folder / document, folder_links_lead_to_readmes(document, text))


def write(path: Path, text: str) -> None:
    """A file, with its folder."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def copy(path: Path, folder: Path) -> None:
    """A file of the repository to its place."""
    (folder / path).parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(ROOT / path, folder / path)


def linked_files(document: Path, text: str) -> Iterator[Path]:
    """Files that are no documents, to which a document leads or which it shows."""
    for _, target, _ in LINK.findall(text):
        path = (ROOT / document.parent / target).resolve()
        if path.is_file() and path.suffix != ".md":
            yield path.relative_to(ROOT)


def folder_links_lead_to_readmes(document: Path, text: str) -> str:
    """A repository's view shows a folder; the site has its README, if there is one."""

    def led(found: re.Match[str]) -> str:
        label, target, _ = found.groups()
        folder = ROOT / document.parent / target
        if not folder.is_dir():
            return found[0]
        readme = f"{target.rstrip('/')}/README.md"
        return f"[{label}]({readme})" if (folder / "README.md").is_file() else label

    return LINK.sub(led, text)


def listings(example: Path, folder: Path) -> Iterator[str]:
    """The files of an example, below what its document says."""
    languages = {".c": "c", ".toml": "toml", ".patch": "diff"}
    yield "\n## Files\n"
    for path in sorted((ROOT / example).rglob("*")):
        if path.suffix in languages:
            copy(path.relative_to(ROOT), folder)
            name = path.relative_to(ROOT / example)
            yield f"\n```{{literalinclude}} {name}\n:language: {languages[path.suffix]}\n"
            yield f":caption: {name}\n```\n"


def navigation(manual: Sequence[str]) -> Iterator[str]:
    """Hidden tables of contents: the sections of docs/README.md, and what is on the site alone."""
    first = ["Introduction <self>", "All documents <docs/README>", "Live reports <reports>"]
    for title, entries in {"Documents": first, **mapped(), "Manual pages": manual}.items():
        lines = [":hidden:", f":caption: {title}", "", *entries]
        yield "\n```{toctree}\n" + "\n".join(lines) + "\n```\n"


def mapped() -> dict[str, list[str]]:
    """The documents that docs/README.md lists, by section."""
    parts = re.split(r"^## (.+)$", (ROOT / "docs/README.md").read_text(), flags=re.M)[1:]
    result = {}
    for title, text in zip(parts[::2], parts[1::2], strict=True):
        # The first link of an item is what it is about.
        items = re.findall(rf"^- {LINK.pattern}", text, re.M)
        result[title] = [entry(label, target) for label, target, _ in items]
    return {title: entries for title, entries in result.items() if entries}


def entry(label: str, target: str) -> str:
    """A line of a table of contents."""
    path = (ROOT / "docs" / target).resolve().relative_to(ROOT)
    name = re.sub(r"(\.md|\.schema\.json)$", "", str(path))
    return f"{label.replace('`', '')} <{name}>"

"""A git repository: which lines two of its revisions share, and who changed the others."""

import subprocess
from pathlib import Path

from made_repository import ENV

from fuzz.target import Target
from profdiff.sources.repository import Repository
from profdiff.sources.sources import Sources

# Between the files of a commit, and between the commits; within a file its name comes first.
_FILE, _COMMIT, _NAME = b"\n%%\n", b"\n%%%\n", b"\n"


def seeds() -> list[bytes]:
    """Two or three commits of one or two files each."""
    code = b"int f(int n)\n{\n\tint count_of_all = 0;\n\treturn work_on(n, count_of_all);\n}\n"
    makefile = b"Makefile\nVERSION = 6\nPATCHLEVEL = 12\nSUBLEVEL = 107\n"
    return [
        _COMMIT.join([b"mm/a.c\n" + code, b"mm/a.c\n" + code.replace(b"0", b"1")]),
        _COMMIT.join(
            [
                _FILE.join([b"a.c\n" + code * 2, makefile]),
                _FILE.join([b"b.c\n" + code * 2, makefile]),
                _FILE.join([b'odd "name"\t.c\n' + code, b"b.c\n" + code + b"\r\n\x00\xff"]),
            ]
        ),
        b"a.c\nx",
    ]


def stream(data: bytes) -> tuple[bytes, list[str]]:
    """What git fast-import reads, and the names of all files."""
    said, names = b"feature done\n", set()
    for i, commit in enumerate(data.split(_COMMIT)[:4], 1):
        said += b"commit refs/heads/c%d\ncommitter A <a@b> %d +0000\ndata 1\nx\n" % (i, i)
        said += b"from refs/heads/c%d\n" % (i - 1) if i > 1 else b""
        said += b"deleteall\n"
        taken: set[bytes] = set()
        for file in commit.split(_FILE)[:4]:
            name, _, content = file.partition(_NAME)
            parts = name.split(b"/")
            # What git itself refuses; a file cannot be a folder too.
            odd = any(part.lower() in (b"", b".", b"..", b".git") for part in parts)
            above = {b"/".join(parts[:n]) for n in range(1, len(parts))}
            if odd or b"\0" in name or len(name) > 200 or taken & (above | {name}):
                continue
            if any(other.startswith(name + b"/") for other in taken):
                continue
            taken.add(name)
            names.add(name.decode(errors="surrogateescape"))
            quoted = b"".join(b"\\%03o" % byte for byte in name)
            said += b'M 100644 inline "%s"\ndata %d\n%s\n' % (quoted, len(content), content)
    return said + b"done\n", sorted(names)


def read(data: bytes, folder: Path) -> str | None:
    """All lines of the first and the last commit."""
    said, names = stream(data)
    git = ["git", "-C", str(folder)]
    subprocess.run(["git", "init", "-q", str(folder)], check=True, env=ENV)
    subprocess.run([*git, "fast-import", "--quiet"], input=said, check=True, env=ENV)
    repository = Repository.open(folder)
    first, last = "c1", f"c{min(data.count(_COMMIT) + 1, 4)}"
    same = repository.same_lines(first, last, names)
    old, new = (repository.files(revision, names) for revision in (first, last))

    def lines(files: dict[str, bytes]) -> dict[tuple[str, int], bytes]:
        return {
            (name, i): b"".join(line.split())
            for name, content in files.items()
            for i, line in enumerate(content.removesuffix(b"\n").split(b"\n") if content else [], 1)
        }

    before, now = lines(old), lines(new)
    assert all(same.base_has(*line) for line in before) and all(same.has(*line) for line in now)
    for line, text in now.items():
        there = same.in_base(*line)
        assert there is None or (before[there] == text and same.in_new(*there) == line)
    found = repository.trace(
        first,
        last,
        [line for line in now if same.in_base(*line) is None],
        [line for line in before if same.in_new(*line) is None],
        same,
    )
    assert all(now[line] == before[there] for line, there in found.moved.items())
    assert not found.moved.keys() & found.added.keys()
    sources = Sources.open("k", f"{folder}@{last}")
    told = [sources.misfit(name, 3, {"f": 1}) or "" for name in names]
    return "\n".join(told)


TARGETS = [Target("git-repository", seeds, read, cases=12, seconds=30)]

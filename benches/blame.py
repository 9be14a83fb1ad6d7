"""How long profdiff blame takes: 500 executed lines that changed, in a long history.

    .venv/bin/python benches/blame.py [COMMITS] [FILES]

Makes a repository of so many commits and files in a temporary folder (git fast-import), and asks
who added 500 lines of it, and who removed 500, spread over 60 files. Limit: 20 s.
"""

import subprocess
import sys
import tempfile
import time
from pathlib import Path

from profdiff.sources.repository import Repository

LIMIT = 20.0
FILES_EXECUTED, LINES, LENGTH = 60, 500, 400


def main() -> int:
    commits = int(sys.argv[1]) if len(sys.argv) > 1 else 20_000
    files = int(sys.argv[2]) if len(sys.argv) > 2 else 80_000
    with tempfile.TemporaryDirectory() as folder:
        repo = Path(folder)
        subprocess.run(["git", "init", "-q", "-b", "main", repo], check=True)
        imported = subprocess.Popen(
            ["git", "-C", repo, "fast-import", "--quiet"], stdin=subprocess.PIPE
        )
        assert imported.stdin
        _write(imported.stdin.write, commits, files)
        imported.stdin.close()
        assert imported.wait() == 0
        started = time.monotonic()
        repository = Repository.open(repo)
        base, new = repository.commit(f"main~{commits - 1}"), repository.commit("main")
        names = [_name(number) for number in range(FILES_EXECUTED)]
        same = repository.same_lines(base, new, names)
        every = [(name, line) for name in names for line in range(1, LENGTH + 1)]
        added = [place for place in every if not same.in_base(*place)][:LINES]
        removed = [place for place in every if not same.in_new(*place)][:LINES]
        traced = repository.trace(base, new, added, removed, same)
        took = time.monotonic() - started
    told = len(traced.added) + len(traced.moved), len(traced.removed)
    print(
        f"{took:.1f} s for {len(added)} added and {len(removed)} removed lines ({told[0]} and "
        f"{told[1]} of them known) in {commits:,} commits of {files:,} files (limit: {LIMIT:g} s)"
    )
    complete = told == (len(added), len(removed)) and min(told) >= LINES // 2
    return 0 if took <= LIMIT and complete else 1


def _name(number: int) -> str:
    return f"d{number % 97}/e{number % 31}/f{number}.c"


def _write(write: object, commits: int, files: int) -> None:
    """A history in which each commit changes three files, one in 20 of those that executed."""
    assert callable(write)
    texts = {n: [f"f{n} line {at}\n" for at in range(LENGTH)] for n in range(FILES_EXECUTED)}
    plain = b"".join(f"line {at}\n".encode() for at in range(40))
    write(b"blob\nmark :1\ndata %d\n%s\n" % (len(plain), plain))
    for commit in range(commits):
        write(b"commit refs/heads/main\n")
        write(b"committer C <c@example.org> %d +0000\n" % (1_600_000_000 + 60 * commit))
        subject = b"change %d" % commit
        write(b"data %d\n%s\n" % (len(subject), subject))
        changed = [(commit * 7 + step * 131) % files for step in range(2)]
        if commit == 0:
            changed = list(range(FILES_EXECUTED, files))
            for number in range(FILES_EXECUTED):
                _file(write, number, texts[number])
        for number in changed:
            if number < FILES_EXECUTED:
                continue
            if commit == 0:
                write(b"M 100644 :1 %s\n" % _name(number).encode())
            else:
                data = b"changed by %d\n" % commit
                write(
                    b"M 100644 inline %s\ndata %d\n%s\n" % (_name(number).encode(), len(data), data)
                )
        if commit and commit % 20 == 0:
            number = commit // 20 % FILES_EXECUTED
            at = (commit // 20 // FILES_EXECUTED * 37 + number) % LENGTH
            texts[number][at] = f"f{number} changed by {commit}\n"
            _file(write, number, texts[number])
        write(b"\n")


def _file(write: object, number: int, lines: list[str]) -> None:
    assert callable(write)
    data = "".join(lines).encode()
    write(b"M 100644 inline %s\ndata %d\n%s\n" % (_name(number).encode(), len(data), data))


if __name__ == "__main__":
    sys.exit(main())

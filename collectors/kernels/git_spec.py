"""``git:REPO[@REV]`` taken apart: a kernel that is built from a git repository, and how.

``git:REPO[@REV]``, then any of ``+PATCH`` and ``~COMMIT`` in their order, then ``,config=...``,
``,cc=...``, ``,arch=...``, options of code, and any number of ``,CONFIG_X=VALUE``
(``docs/kernels.md``).
"""

import contextlib
import os
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from profdiff.base.errors import InputError, ProfdiffError
from profdiff.base.git import Git
from profdiff.base.names import did_you_mean
from profdiff.base.units import listed
from profdiff.collectors.architecture import ARCHITECTURES, Architecture, named
from profdiff.collectors.kernels import code_options

PREFIX = "git:"
# Where the options of a spec begin, and each of them.
_FIRST_OPTION = re.compile(r",(?=(?:[a-z]+|CONFIG_\w+)=)", re.ASCII)
_PATCH = re.compile(r"\+([^+~]+)")
_OPTIONS = ("config", "cc", "arch", *code_options.NAMES)
# An option of the config; a text has neither quotes nor commas in it.
_SET = re.compile(
    r'CONFIG_\w{1,200}=([ymn]|-?\d{1,20}|0[xX][0-9A-Fa-f]{1,20}|"[^",\\]*")', re.ASCII
)
# A config as users run it.
DISTRIBUTION = "distribution"
# Where a part may end and a change begin.
_CHANGE = re.compile(r"[+~]")
# HEAD~3, HEAD~, HEAD~3^2: a parent, as git says it; anything else behind ~ is a commit to revert.
_PARENT = re.compile(r"~\d{0,6}(?![\w./-])")
_FORM = (
    "write git:REPO[@REV][+PATCH...][~COMMIT...][,config=...][,cc=...][,arch=...][,opt=...]"
    "[,CONFIG_X=y...]"
)


@dataclass(frozen=True)
class Change:
    """What is done to a revision before it is built. ``what``: the file of a patch, an mbox, or a
    folder of them; or the commit that is reverted."""

    kind: Literal["patch", "revert"]
    what: str

    def __str__(self) -> str:
        return ("+" if self.kind == "patch" else "~") + self.what


@dataclass(frozen=True)
class GitSpec:
    """``revision`` None: the work tree as it is. ``config``: "" is profdiff's own, DISTRIBUTION
    that of Debian's kernel nearest in version, else a file; ``settings``: options of it that are
    otherwise, ``CONFIG_X=y``. ``compiler`` "" is the default one, and ``architecture`` None this
    machine's. ``code``: how code is made, by option (``code_options``). ``str()`` gives a spec that
    means the same."""

    repository: Path
    revision: str | None = None
    changes: tuple[Change, ...] = ()
    config: str = ""
    compiler: str = ""
    architecture: Architecture | None = None
    settings: tuple[str, ...] = ()
    code: tuple[tuple[str, str], ...] = ()

    @staticmethod
    def parse(spec: str) -> "GitSpec":
        """Raises InputError for what is malformed, and where REPO is not a folder."""
        body = spec.removeprefix(PREFIX)
        if not is_git(spec) or not body:
            raise InputError(f"{spec}: {_FORM}")
        body, *options = _FIRST_OPTION.split(body)
        try:
            repository, rest = split_repository(body, spec)
        except InputError as error:
            meant = git_meant(body)
            raise InputError(f"{error}; did you mean {meant}?" if meant else str(error)) from None
        revision, changes = _revision(spec, rest) if rest[:1] == "@" else (None, rest)
        plain = GitSpec(_place(repository), revision, _changes(spec, changes))
        return _with_options(plain, spec, options)

    def __str__(self) -> str:
        revision = "" if self.revision is None else f"@{self.revision}"
        asked = {
            "config": self.config,
            "cc": self.compiler,
            "arch": self.architecture.arch if self.architecture else "",
            **dict(self.code),
        }
        options = "".join(f",{name}={value}" for name, value in asked.items() if value)
        options += "".join(f",{setting}" for setting in self.settings)
        changes = "".join(map(str, self.changes))
        return f"{PREFIX}{self.repository}{revision}{changes}{options}"

    def absolute(self) -> "GitSpec":
        """The same from any folder."""
        changes = (
            replace(change, what=_absolute(change.what)) if change.kind == "patch" else change
            for change in self.changes
        )
        config, compiler = self.config, self.compiler
        return replace(
            self,
            repository=self.repository.expanduser().absolute(),
            changes=tuple(changes),
            config=_absolute(config) if _names_file("config", config) else config,
            compiler=_absolute(compiler) if _names_file("cc", compiler) else compiler,
            code=tuple(
                (name, _absolute(value) if _names_file(name, value) else value)
                for name, value in self.code
            ),
        )

    @property
    def link_time(self) -> bool:
        """Whether code is made when the kernel is linked."""
        return dict(self.code).get("lto", "no") != "no"

    @property
    def label(self) -> str:
        """What a kernel of it may be called, before what a label cannot have is taken out."""
        words = [self.revision or self.repository.resolve().name]
        for change in self.changes:
            name = Path(change.what).stem if change.kind == "patch" else change.what[:12]
            words.append(f"+{name}" if change.kind == "patch" else f"-without-{name}")
        words += [f"-{setting.removeprefix('CONFIG_')}" for setting in self.settings]
        return "-".join(["".join(words), *code_options.words("", dict(self.code))])


def is_git(spec: str) -> bool:
    """Whether ``spec`` names a kernel that is built from a repository."""
    return spec.startswith(PREFIX)


def git_meant(text: str) -> str:
    """``git:`` with what somebody wrote without it, or without its repository: REPO@REV, REPO, or a
    revision of this folder's repository; "" where it is none of them."""
    with contextlib.suppress(InputError):
        repository, _ = split_repository(text, text)
        if _is_repository(_place(repository)):
            return f"{PREFIX}{text}"
    if not text.isprintable() or text.startswith("-"):
        return ""
    with contextlib.suppress(ProfdiffError):
        wanted = ("--verify", "--quiet", "--end-of-options", f"{text}^{{commit}}")
        if Git.open(Path()).succeeds("rev-parse", *wanted):
            return f"{PREFIX}.@{text}"
    return ""


def beside(spec: str, folder: Path) -> str:
    """``spec``, written in a file in ``folder``: the repository, patches and a config that are
    beside that file, as they are seen from the current folder."""
    body, *options = _FIRST_OPTION.split(spec.removeprefix(PREFIX))
    try:
        repository, rest = split_repository(body, spec, folder)
    except InputError:
        return spec
    changes = _PATCH.sub(lambda one: "+" + _beside(folder, one[1]), rest)
    made = f"{PREFIX}{_beside(folder, repository)}{changes}"
    for name, _, value in (option.partition("=") for option in options):
        made += f",{name}={_beside(folder, value) if _names_file(name, value) else value}"
    return made


def _beside(folder: Path, path: str) -> str:
    """A path as it is seen from the current folder, if it leads anywhere from ``folder``."""
    if path and not path.startswith(("~", "/")):
        with contextlib.suppress(OSError):  # a name that is too long
            if (folder / path).exists():
                return os.path.relpath(folder / path)
    return path


def _names_file(option: str, value: str) -> bool:
    """Whether the value of an option is a path: a config's, a compiler's, or a profile's."""
    if option == "config":
        return value not in ("", DISTRIBUTION)
    return option == "autofdo" or (option == "cc" and "/" in value)


def split_repository(body: str, named: str, seen_from: Path = Path()) -> tuple[str, str]:
    """REPO of what stands behind ``git:``, and the rest: the shortest beginning that is a
    repository's folder, else the shortest that is a folder (one in a repository), as paths are
    ``seen_from`` a folder. Raises InputError, which says ``named``, where none is."""
    end = _end(body, "@+~", lambda path: _is_repository(seen_from / path)) or _end(
        body, "@+~", lambda path: (seen_from / path).is_dir()
    )
    if not end:
        first = re.split(r"[@+]|(?<=.)~", body)[0]
        raise InputError(f"{named}: {first or 'nothing'} is not a folder: name a git repository")
    return body[:end], body[end:]


def _is_repository(folder: Path) -> bool:
    """Whether it is the top of a work tree, or a bare repository."""
    bare = (folder / name for name in ("HEAD", "objects", "refs"))
    return (folder / ".git").exists() or all(path.exists() for path in bare)


def _end(text: str, signs: str, exists: Callable[[Path], bool]) -> int | None:
    """Where the shortest beginning of ``text`` ends that exists, before one of ``signs`` or at its
    end. A sign at the start is of the path: ``~/linux``."""
    ends = [at for at, sign in enumerate(text) if at and sign in signs]
    for end in [*ends, len(text)]:
        # A name that is too long, a folder that nobody may look into: neither exists for us.
        with contextlib.suppress(OSError, ValueError):
            if exists(_place(text[:end])):
                return end
    return None


def _place(text: str) -> Path:
    try:
        return Path(text).expanduser()
    except RuntimeError:  # ~nobody/
        return Path(text)


def _revision(spec: str, rest: str) -> tuple[str, str]:
    """The revision behind ``@``, and the changes behind it."""
    at = 1
    while (match := _CHANGE.search(rest, at)) and (parent := _PARENT.match(rest, match.start())):
        at = parent.end()
    end = match.start() if match else len(rest)
    if end == 1:
        raise InputError(f"{spec}: no revision follows @: {_FORM}")
    return rest[1:end], rest[end:]


def _changes(spec: str, rest: str) -> tuple[Change, ...]:
    changes = []
    while rest:
        kind, rest = rest[0], rest[1:]
        end = _end(rest, "+~", Path.exists) if kind == "+" and rest else None
        if end is None:
            match = _CHANGE.search(rest, 1)
            end = match.start() if match else len(rest)
        what, rest = rest[:end], rest[end:]
        if not what or (what[0] in "+~-" and not what.startswith("~/")):
            raise InputError(f"{spec}: nothing follows {kind}: {_FORM}")
        if kind == "~" and re.fullmatch(r"\d{1,6}", what):
            raise InputError(
                f"{spec}: ~{what} names a parent only after a revision: write @HEAD~{what}, or "
                "more digits of the commit that is to be reverted"
            )
        changes.append(Change("patch" if kind == "+" else "revert", what))
    return tuple(changes)


def _with_options(plain: GitSpec, spec: str, options: list[str]) -> GitSpec:
    given: dict[str, str] = {}
    settings: dict[str, str] = {}
    for option in options:
        name, _, value = option.partition("=")
        if name.startswith("CONFIG_"):
            if not _SET.fullmatch(option):
                raise InputError(
                    f"{spec}: {option} sets no option: write {name}=y, m, n, a number or a text in "
                    "quotes, without commas"
                )
            settings[name] = option
            continue
        if name not in _OPTIONS:
            meant = did_you_mean(name, _OPTIONS) or f"known are {', '.join(_OPTIONS)}"
            raise InputError(f"{spec}: there is no option {name}=: {meant}")
        if name in given or not value:
            why = "is given twice" if name in given else "has no value"
            raise InputError(f"{spec}: {name}= {why}")
        given[name] = value
    architecture = named(given["arch"]) if "arch" in given else None
    if "arch" in given and not architecture:
        known = listed(one.arch for one in ARCHITECTURES)
        raise InputError(f"{spec}: profdiff boots {known}, not {given['arch']}")
    code_options.check(spec, given)
    return replace(
        plain,
        config=given.get("config", ""),
        compiler=given.get("cc", ""),
        architecture=architecture,
        settings=tuple(settings.values()),
        code=tuple((name, given[name]) for name in code_options.NAMES if name in given),
    )


def _absolute(path: str) -> str:
    return str(_place(path).absolute())

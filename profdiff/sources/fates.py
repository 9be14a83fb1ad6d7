"""Where lines come from and where they went, over the history between two revisions."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from profdiff.base.temporary import temporary_folder
from profdiff.sources.blamed import Origin, origins, ranges
from profdiff.sources.git import Git
from profdiff.sources.history import History
from profdiff.sources.same_lines import Place

# How often the history is walked again because a line came from a file that nobody asked for.
_ROUNDS = 4

Graph = Mapping[str, tuple[str, ...]]


@dataclass(frozen=True)
class Fate:
    """What became of a line: it is at ``place``, or ``commit`` made or removed it. Neither: git
    cannot tell."""

    commit: str | None = None
    place: Place | None = None


@dataclass
class Blamer:
    """Blame on the history from ``history.base`` to ``history.new``. ``ignored``: options that name
    revisions to be passed over."""

    git: Git
    history: History
    ignored: Sequence[str] = ()
    copies: bool = True
    _walked: dict[frozenset[str], History] = field(default_factory=dict)

    def origins(self, places: Iterable[Place]) -> dict[Place, Fate]:
        """For lines of the new revision the commit that added or changed each since the base, or
        the line of the base that it is."""
        found: dict[Place, Fate] = {}
        for file, lines, history, names, _ in self._blamed(places, self.history.new, back=True):
            for line, origin in lines.items():
                if origin.commit == history.base:
                    fate = Fate(place=(origin.file, origin.line))
                elif history.touches(origin.commit, names):
                    fate = Fate(commit=origin.commit)
                else:
                    fate = Fate()
                found[file, line] = fate
        return found

    def ends(self, places: Iterable[Place], tip: str = "") -> dict[Place, Fate]:
        """For lines of the base the commit that removed or changed each on the way to the new
        revision, or the line of the new revision that it is. ``tip``: another one's name for the
        new revision."""
        tip = tip or self.history.new
        found: dict[Place, Fate] = {}
        undecided: defaultdict[str, set[Place]] = defaultdict(set)
        for file, lines, history, _, graph in self._blamed(places, tip, back=False):
            children: defaultdict[str, list[str]] = defaultdict(list)
            for commit, parents in graph.items():
                for parent in parents:
                    children[parent].append(commit)
            for line, origin in lines.items():
                place = (file, line)
                if origin.commit == tip:
                    found[place] = Fate(place=(origin.file, origin.line))
                    continue
                after = [c for c in children[origin.commit] if c in history.parents]
                single = [c for c in after if len(graph[c]) == 1]
                if single:
                    # Where several branches removed it, the first of them.
                    found[place] = Fate(commit=max(single, key=history.order.__getitem__))
                    continue
                found[place] = Fate(commit=after[0]) if after else Fate()
                for merge in after:
                    for other in graph[merge]:
                        if other not in (origin.commit, history.base):
                            undecided[other].add(place)
        # At a merge, what removed the line is on the branch that came without it, if it ever had
        # it; else the merge itself.
        for other, asked in undecided.items():
            there = self.ends(asked, other)
            found |= {place: fate for place, fate in there.items() if fate.commit}
        return found

    def _blamed(
        self, places: Iterable[Place], tip: str, *, back: bool
    ) -> Iterable[tuple[str, dict[int, Origin], History, Collection[str], Graph]]:
        """Each file with the origins of its lines, or with the last commits that have them; with
        the history and the names that this was seen on."""
        asked: defaultdict[str, set[int]] = defaultdict(set)
        for file, line in places:
            asked[file].add(line)
        names = {file: {file} for file in asked}
        waiting, history = sorted(asked), self.history
        for last in [False] * (_ROUNDS - 1) + [True]:
            if not waiting:
                return
            graphs = {file: history.graph(names[file]) for file in waiting}
            said = self._run(graphs, asked, tip, back=back)
            again = []
            for file in waiting:
                lines = said[file]
                foreign = {
                    origin.file
                    for origin in lines.values()
                    if origin.file not in names[file]
                    and self._stuck(origin, tip, history, graphs[file], names[file], back=back)
                }
                if foreign and not last:
                    names[file] |= foreign
                    again.append(file)
                else:
                    yield file, lines, history, names[file], graphs[file]
            waiting = again
            if waiting:
                history = self._wider({name for file in waiting for name in names[file]})

    def _stuck(
        self,
        origin: Origin,
        tip: str,
        history: History,
        graph: Graph,
        names: Collection[str],
        *,
        back: bool,
    ) -> bool:
        """Whether a line's way ended at a commit that only the graph leads to: one that changed
        this file, but is not in the graph, lies behind it."""
        if back:
            return origin.commit != history.base and not history.touches(origin.commit, names)
        return origin.commit != tip and not any(
            origin.commit in parents and history.touches(commit, names)
            for commit, parents in graph.items()
        )

    def _wider(self, names: set[str]) -> History:
        key = frozenset(names)
        if key not in self._walked:
            self._walked[key] = History.read(self.git, self.history.base, self.history.new, names)
        return self._walked[key]

    def _run(
        self, graphs: Mapping[str, Graph], asked: Mapping[str, set[int]], tip: str, *, back: bool
    ) -> dict[str, dict[int, Origin]]:
        options = ["-w", *(["-C"] if self.copies else []), "--root", "--incremental"]
        options += ["--no-textconv", "--no-ext-diff", "--no-progress", *self.ignored]
        base = self.history.base
        direction = [tip] if back else ["--reverse", f"{base}..{tip}"]
        with temporary_folder() as folder:
            commands = [
                [
                    *("blame", f"-S{_grafts(folder / str(i), graph)}", *options),
                    *(*ranges(asked[file]), *direction, "--", file),
                ]
                for i, (file, graph) in enumerate(graphs.items())
            ]
            said = self.git.run_all(commands)
            return {
                file: {line: origin for line, origin in origins(text) if line in asked[file]}
                for file, text in zip(graphs, said, strict=True)
            }


def _grafts(path: Path, graph: Graph) -> Path:
    path.write_text("".join(" ".join((commit, *ps)) + "\n" for commit, ps in graph.items()))
    return path

"""What a perf.data file says that perf was to run."""

from collections.abc import Sequence

# Options of perf-record(1) whose value may be a word of its own. Those that are not known have
# their value in the same word, or none.
_SHORT = frozenset("epratCcoFmDuGkjI") - frozenset("aI")
_LONG = frozenset(
    (
        *("event", "filter", "pid", "tid", "realtime", "cpu", "count", "output", "freq"),
        *("mmap-pages", "delay", "uid", "cgroup", "clockid", "branch-filter", "call-graph"),
        *("max-size", "mmap-flush", "switch-max-files", "vmlinux", "proc-map-timeout"),
        *("control", "affinity", "synth", "comp"),
    )
)


def workload_of(command: Sequence[str]) -> list[str]:
    """The command that ``perf record`` ran, of its own command line; nothing where it ran none, or
    this is another program's command line."""
    words = list(command)
    if "record" not in words[1:]:
        return []
    rest = words[words.index("record", 1) + 1 :]
    while rest:
        word = rest.pop(0)
        if word == "--":
            return rest
        if not word.startswith("-") or word == "-":
            return [word, *rest]
        if word.startswith("--"):
            takes = word[2:] in _LONG
        else:
            # If one word has several letters, the first that has a value takes what follows.
            at = next((n for n, one in enumerate(word[1:], 1) if one in _SHORT), 0)
            takes = at == len(word) - 1 and at > 0
        if takes and rest:
            rest.pop(0)
    return []

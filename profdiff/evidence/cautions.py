"""What a reader must know of what was asked for: features that kernels lack, so that a workload
does nothing there and looks the same; what is counted of a program without marks; and commits that
were not built with one config."""

from collections.abc import Iterator, Mapping

from profdiff.base import bounded, units
from profdiff.base.errors import SessionError
from profdiff.collectors import registry
from profdiff.profile.session_facts import known_options
from profdiff.session.bisection import CULPRIT, PARENT
from profdiff.session.facts import Facts
from profdiff.session.kernel_config import NOT_SET
from profdiff.session.manifest import Run
from profdiff.session.points import Setting
from profdiff.session.session import Session
from profdiff.session.state import SYSTEM_CALL, State

# What a program that uses a feature has in its source or its code, and the option of the kernel:
# Documentation/admin-guide/mm/soft-dirty.rst, ksm.rst and hugetlbpage.rst.
_NAMED = {
    b"/clear_refs": "MEM_SOFT_DIRTY",
    b"/mm/ksm/": "KSM",
    b"/mm/hugepages/": "HUGETLB_PAGE",
    b"/mm/transparent_hugepage/": "TRANSPARENT_HUGEPAGE",
}
# Without the option, kernel/sys_ni.c has the system call.
_CALLED = {
    "bpf": "BPF_SYSCALL",
    "fanotify_init": "FANOTIFY",
    "inotify_init1": "INOTIFY_USER",
    "io_setup": "AIO",
    "io_uring_setup": "IO_URING",
    "landlock_create_ruleset": "SECURITY_LANDLOCK",
    "membarrier": "MEMBARRIER",
    "memfd_secret": "SECRETMEM",
    "mq_open": "POSIX_MQUEUE",
    "msgget": "SYSVIPC",
    "perf_event_open": "PERF_EVENTS",
    "semget": "SYSVIPC",
    "set_mempolicy": "NUMA",
    "shmget": "SYSVIPC",
    "swapon": "SWAP",
    "userfaultfd": "USERFAULTFD",
}
_MAX_PROGRAM = 32 << 20
# What a commit that changes Kconfig files may add, remove or set otherwise.
_MAX_OPTIONS = 10
# What a program calls so often is not part of its start.
_OFTEN, _PART, _SHOWN = 10, 0.05, 4


def cautions(session: Session, setting: Setting, state: State) -> list[str]:
    """A line for each. What cannot be read is passed over."""
    calls = _calls(setting, state)
    return [*_lacking(session, calls), *_unmarked(session, setting, calls)]


def of_builds(facts: Facts) -> list[str]:
    """A line if the first bad commit of a bisection and its parent were built with other configs
    than a commit explains."""
    options = [one for one in facts.config if {PARENT, CULPRIT} <= one.values.keys()]
    differ = sum(one.between(PARENT, CULPRIT) is not None for one in options)
    if differ <= _MAX_OPTIONS:
        return []
    return [
        f"CONFIGS DIFFER: {PARENT} and {CULPRIT} in {differ:,} options, more than one commit "
        "changes: the change may come from these and not from the commit"
    ]


def _lacking(session: Session, calls: Mapping[str, int]) -> Iterator[str]:
    wanted = {name.decode().strip("/"): option for name, option in _used(session)}
    wanted |= {f"{name}()": option for name, option in _CALLED.items() if name in calls}
    if not wanted:
        return
    configs = dict(known_options(session, {kernel.label for kernel in session.compared}))
    for what, option in wanted.items():
        off = [
            label
            for label, options in configs.items()
            if options.get(f"CONFIG_{option}", NOT_SET) == NOT_SET
        ]
        if off:
            yield (
                f"CONFIG_{option} is off on {units.listed(off)}: what the workload does with "
                f"{what} has no effect there"
            )


def _used(session: Session) -> Iterator[tuple[bytes, str]]:
    """Names of features that the workload's source has, or else its program."""
    workload = session.manifest.workload
    own = [file for kernel in session.compared for file in kernel.files[:1]]
    programs = [*own, *workload.files][:1]
    copies = [workload.source, *(one.path for one in programs if one.executable)]
    for copy in [one for one in copies if one][:1]:
        try:
            content = bounded.read(session.path(copy), _MAX_PROGRAM)
        except (OSError, SessionError):
            continue
        yield from ((name, option) for name, option in _NAMED.items() if name in content)


def _calls(setting: Setting, state: State) -> dict[str, int]:
    """How often the workload makes each system call on all kernels, at a setting."""
    here = [one for one in state.points if one.setting.point == setting.point]
    return {
        name.removeprefix(SYSTEM_CALL): int(value)
        for one in here
        for name, value in one.equal.items()
        if name.startswith(SYSTEM_CALL)
    }


def _unmarked(session: Session, setting: Setting, calls: Mapping[str, int]) -> Iterator[str]:
    """Where profdiff counts a whole command that makes several system calls often: only its user
    knows which of them are meant."""
    if not any(_counts_command(run, setting) for run in session.manifest.runs):
        return
    least = max(_OFTEN, _PART * sum(calls.values()))
    often = sorted((name for name in calls if calls[name] >= least), key=lambda one: -calls[one])
    if len(often) < 2:
        return
    shown = [f"{name} {calls[name]:,}" for name in often[:_SHOWN]]
    yield (
        f"no marks: profdiff counts {_counted(setting)}: {', '.join(shown)} and the program's own "
        "code (profdiff.h marks a part)"
    )


def _counts_command(run: Run, setting: Setting) -> bool:
    here = run.point == setting.point and run.failure is None
    exact = registry.collector(run.collector).kind.exact
    return here and exact and run.window is not None and run.window.kind == "command"


def _counted(setting: Setting) -> str:
    if setting.short is None:
        return "the whole command"
    return "all that grows with the number of ops"

"""From a session to its comparisons: counts and chains of each kernel, compared."""

from collections.abc import Callable
from functools import partial

import numpy as np

from profdiff._native import NativeError, PerfData, PerfText
from profdiff.base.errors import InputError, SessionError
from profdiff.collectors import registry
from profdiff.collectors.machine.environment import Environment
from profdiff.profile import session_facts
from profdiff.profile.comparison import Comparison
from profdiff.profile.exact_profile import exact_profile
from profdiff.profile.kernel_profile import Profile
from profdiff.profile.sampled_profile import folded, folded_profile, perf_profile, text_profile
from profdiff.profile.session_symbols import chains, perf_chains
from profdiff.session.facts import Facts
from profdiff.session.folder import Session
from profdiff.session.manifest import Collector, Run
from profdiff.session.points import Setting, settings


def compare(
    session: Session, setting: Setting | None = None, facts: Facts | None = None
) -> list[Comparison]:
    """The comparisons of all kernels of ``session`` that have a result: one for each collector that
    profiles and each of its metrics, those of the collector that was named first before the others.
    ``setting``: under what they ran, None for the first; ``facts`` of the session, if they were
    read before. None at all if all runs are timed ones.

    Raises SessionError when the base has no result, or a file of the session is damaged.
    """
    comparisons: list[Comparison] = []
    problems: list[SessionError] = []
    facts = facts or session_facts.read(session)
    chosen = setting or settings(session.manifest)[0]
    for collector in session.manifest.collectors:
        if not registry.collector(collector).profiles:
            continue
        try:
            comparisons += _compare(session, collector, chosen, facts)
        except SessionError as error:
            problems.append(error)
    if not comparisons:
        if problems:
            raise problems[0]
        return []
    comparisons[0].remarks.extend(f"nothing else is shown: {problem}" for problem in problems)
    return comparisons


def _compare(
    session: Session, collector: Collector, setting: Setting, facts: Facts
) -> list[Comparison]:
    runs: dict[str, list[Run]] = {}
    profiles: dict[str, Profile] = {}
    for kernel in session.manifest.kernels:
        if kernel.twin_of:
            continue
        short, long = _finished(session, kernel.label, collector, setting)
        runs[kernel.label] = long
        if long:
            profile = _profile(session, kernel.label, [*long, *short])
            profiles[kernel.label] = profile.subtracted(len(long)) if short else profile
    known = session_facts.with_profiles(facts, profiles)
    return Comparison.build(session.manifest, profiles, runs, known, setting)


def _finished(
    session: Session, label: str, collector: Collector, setting: Setting
) -> tuple[list[Run], list[Run]]:
    """The finished runs of a kernel at a setting: those to subtract (none without --difference),
    and as many to subtract them from."""
    finished = session.finished(label, collector)
    long = [run for run in finished if run.point == setting.point]
    if setting.short is None:
        return [], long
    short = [run for run in finished if run.point == setting.short]
    number = min(len(short), len(long))
    return short[:number], long[:number]


def _profile(session: Session, label: str, runs: list[Run]) -> Profile:
    if "counts" in runs[0].files:
        places = session.places(label)
        counts = np.stack([session.counts(run, places) for run in runs], axis=1)
        trees = [session.call_tree(run, places) for run in runs]
        return exact_profile(chains(session, label), counts, trees)
    return Profile.merged([run_profile(session, run) for run in runs])


def run_profile(session: Session, run: Run) -> Profile:
    """The profile of a run whose recording is samples. Raises SessionError, InputError."""
    try:
        if "perf-data" in run.files:
            data = open_perf_data(session, run)
            profile = perf_profile(data, perf_chains(session, run, data))
            environment = Environment.parse(
                (session.read(run, "environment") or b"").decode(errors="replace")
            )
            if changed := environment.rate_changed:
                profile.remarks.append(
                    f"the kernel changed perf_event_max_sample_rate from {changed[0]:,} to "
                    f"{changed[1]:,} during the run"
                )
            return profile
        if "stacks" in run.files:
            return text_profile(PerfText.open(str(session.path(run.files["stacks"]))))
    except NativeError as error:
        raise InputError(f"run {run.id}: {error}") from error
    raise SessionError(f"run {run.id} has no recording")


def open_perf_data(session: Session, run: Run) -> PerfData:
    """The recording of a run. Raises InputError, SessionError."""
    try:
        return PerfData.open(str(session.path(run.files["perf-data"])))
    except NativeError as error:
        raise InputError(f"run {run.id}: {error}") from error


def folded_stacks(
    session: Session, setting: Setting | None = None
) -> list[tuple[str, Callable[[], bytes]]]:
    """The stacks of the first finished run of each kernel in FlameGraph's format, made when called.

    Raises SessionError when no kernel has a result.
    """
    stacks: list[tuple[str, Callable[[], bytes]]] = []
    chosen = setting or settings(session.manifest)[0]
    for kernel in session.manifest.kernels:
        by_collector = [
            _finished(session, kernel.label, name, chosen)[1]
            for name in session.manifest.collectors
            if registry.collector(name).profiles and not kernel.twin_of
        ]
        run = next((runs[0] for runs in by_collector if runs), None)
        if run:
            stacks.append((kernel.label, partial(_folded, session, run)))
    if not stacks:
        raise SessionError(f"{session.folder}: no run gave a result")
    return stacks


def _folded(session: Session, run: Run) -> bytes:
    if "perf-data" in run.files:
        data = open_perf_data(session, run)
        return folded(data, perf_chains(session, run, data))
    return folded_profile(_profile(session, run.kernel, [run]))

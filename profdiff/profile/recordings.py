"""The recordings of a session at one setting, compared: each is read once, and then let go."""

from collections.abc import Callable, Sequence
from functools import partial

from msgspec.structs import replace

from profdiff.base import guest_clock
from profdiff.base.errors import SessionError
from profdiff.collectors import registry
from profdiff.collectors.machine.environment import Environment
from profdiff.collectors.recorded import Recorded
from profdiff.profile import session_facts
from profdiff.profile.comparison import Comparison
from profdiff.profile.exact_profile import exact_profile
from profdiff.profile.kept_chains import chains_of
from profdiff.profile.kernel_profile import Profile, chosen, common
from profdiff.profile.runs import paired, recorded
from profdiff.profile.sampled_profile import (
    folded,
    folded_profile,
    metrics_of,
    perf_profile,
    text_profile,
)
from profdiff.session.facts import Facts
from profdiff.session.manifest import Run
from profdiff.session.points import Setting, settings
from profdiff.session.session import Session

_NO_FACTS = Facts()


class Recordings:
    """``setting``: under what runs are looked at, None for the first of the session; ``state``: of
    exact counts, in which state."""

    def __init__(self, session: Session, setting: Setting | None = None, state: int = 0) -> None:
        self._session, self._state = session, state
        self._setting = setting or settings(session.manifest)[0]

    def comparisons(self, facts: Facts | None = None) -> list[Comparison]:
        """The comparisons of all kernels that have a result: one for each collector that profiles
        and each of its metrics, those of the collector that was named first before the others.
        ``facts`` of the session, if they were read before. None at all if no collector profiles.

        Raises SessionError when the base has no result, or a file of the session is damaged.
        """
        comparisons: list[Comparison] = []
        problems: list[SessionError] = []
        facts = facts or session_facts.read(self._session)
        for collector in self._session.profiling:
            try:
                comparisons += self.of_collector(collector, facts)
            except SessionError as error:
                problems.append(error)
        if not comparisons:
            if problems:
                raise problems[0]
            return []
        comparisons[0].remarks.extend(f"nothing else is shown: {problem}" for problem in problems)
        return comparisons

    def folded(self, metric: str | None = None) -> list[tuple[str, Callable[[], bytes]]]:
        """The stacks of the first finished run of each kernel in FlameGraph's format, made when
        called: of the metric that ``[COLLECTOR:]NAME`` names, or the first. Raises InputError, and
        SessionError when no kernel has a result."""
        known: dict[str, tuple[str, dict[str, tuple[Run, list[Run], Recorded]]]] = {}
        for collector in self._session.profiling:
            pairs = {
                one.label: self._paired(one.label, collector) for one in self._session.compared
            }
            runs = {
                label: (long[0], short[:1], self._read(long[0]))
                for label, (short, long) in pairs.items()
                if long
            }
            if runs:
                measured = common((label, metrics_of(run[-1])) for label, run in runs.items())
                known |= {f"{collector}:{one.name}": (one.name, runs) for one in measured}
            if known and metric is None:
                break
        if not known:
            raise SessionError(f"{self._session.folder}: no run gave a result")
        name, runs = chosen(known, metric)
        return [(label, partial(self._folded, name, *run)) for label, run in runs.items()]

    def of_collector(self, collector: str, facts: Facts = _NO_FACTS) -> list[Comparison]:
        """The comparisons of one collector's metrics. Raises what ``comparisons`` does."""
        runs: dict[str, list[Run]] = {}
        profiles: dict[str, Profile] = {}
        for kernel in self._session.compared:
            short, long = self._paired(kernel.label, collector)
            runs[kernel.label] = long
            if long:
                profile = self._profile([*long, *short])
                profiles[kernel.label] = profile.subtracted(len(long)) if short else profile
        known = session_facts.with_profiles(facts, profiles)
        return Comparison.build(self._session.manifest, profiles, runs, known, self._setting)

    def _paired(self, label: str, collector: str) -> tuple[list[Run], list[Run]]:
        state = self._state if registry.collector(collector).kind.exact else 0
        return paired(self._session, label, collector, self._setting, state)

    def _profile(self, runs: list[Run]) -> Profile:
        first = self._read(runs[0])
        if first.samples or first.text:
            others = (self._sampled(run, self._read(run)) for run in runs[1:])
            return Profile.merged([self._sampled(runs[0], first), *others])
        found = [first, *(self._read(run) for run in runs[1:])]
        symbolize = partial(chains_of, self._session, runs[0])
        return exact_profile(found, symbolize, lambda number: self._read(runs[number]))

    def _sampled(self, run: Run, found: Recorded) -> Profile:
        if found.text:
            return text_profile(found.text)
        if found.samples is None:
            raise SessionError(f"run {run.id} has samples of an unknown kind")
        chains = chains_of(self._session, run, found.places)
        profile = perf_profile(found, found.samples, chains, partial(self._read, run))
        if run.qemu and run.qemu.virtual_clock:
            metrics = tuple(map(guest_clock.counted, profile.metrics))
            named = [
                replace(address, metrics=tuple(map(guest_clock.counted, address.metrics)))
                for address in profile.addresses
            ]
            profile = replace(profile, metrics=metrics, addresses=named)
        said = self._session.read(run, "environment") or b""
        if changed := Environment.parse(said.decode(errors="replace")).rate_changed:
            profile.remarks.append(
                f"the kernel changed perf_event_max_sample_rate from {changed[0]:,} to "
                f"{changed[1]:,} during the run"
            )
        return profile

    def _folded(self, metric: str, run: Run, short: Sequence[Run], found: Recorded) -> bytes:
        if short:
            return folded_profile(self._profile([run, *short]).subtracted(1), metric)
        if found.samples:
            chains = chains_of(self._session, run, found.places)
            return folded(found, found.samples, chains, metric)
        return folded_profile(self._profile([run]), metric)

    def _read(self, run: Run) -> Recorded:
        found = recorded(self._session, run)
        if found is None:
            raise SessionError(f"run {run.id} has no recording")
        return found

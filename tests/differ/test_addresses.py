"""Addresses are what functions and stacks are sums over, whoever recorded them."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from support import frames_of, need_kernel, need_profile
from synthetic import Row, chains, frame
from tars import unpack_session

from profdiff.base.metric import INSTRUCTIONS
from profdiff.collectors.recorded import Recorded
from profdiff.profile import importing
from profdiff.profile.addresses import Addresses
from profdiff.profile.function_identity import fold
from profdiff.profile.kernel_profile import Profile
from profdiff.profile.recordings import Recordings
from profdiff.session.session import Session
from profdiff.symbolization.places import Places

KERNEL = 0xFFFF_FFFF_8100_0000


def by_function(addresses: Addresses, profile: Profile) -> np.ndarray:
    """int64[F, R, M] of the resolved functions, summed without the profile's code."""
    chains_ = addresses.chains
    numbers = {(f.name, f.object, f.file): row for row, f in enumerate(profile.functions)}
    sums = np.zeros((len(profile.functions), *addresses.counts.shape[1:]), np.int64)
    for place in range(len(chains_)):
        if frames := frames_of(chains_, place):
            function = chains_.frame_function[chains_.frames[chains_.offsets[place + 1] - 1]]
            file = chains_.strings[chains_.function_file[function]]
            name, owner, *_ = frames[-1]
            sums[numbers[fold(name)[0], owner, file]] += addresses.counts[place]
    return sums


def profile_sums(profile: Profile) -> np.ndarray:
    """int64[F, R, M], unresolved ones too."""
    stacks = profile.stacks
    columns = [
        stacks.self_by_function(profile.counts[:, :, metric], len(profile.functions))
        for metric in range(len(profile.metrics))
    ]
    return np.stack(columns, axis=2)


def agree(addresses: Addresses, profile: Profile) -> None:
    resolved = np.array([not function.reason for function in profile.functions])
    assert (by_function(addresses, profile)[resolved] == profile_sums(profile)[resolved]).all()
    assert (addresses.counts.sum(axis=0) == profile.totals).all()


def test_an_exact_session_keeps_its_addresses(tmp_path: Path) -> None:
    unpack_session(tmp_path)
    exact, _ = Recordings(Session.open(tmp_path)).comparisons()
    for kernel, (addresses,) in enumerate(exact.addresses):
        assert addresses.counts.shape == (len(addresses.chains), 2, 1)
        assert (addresses.chains.address == addresses.places.address).all()
        totals = addresses.counts.sum(axis=0)[:, 0]
        assert totals.tolist() == [exact.totals()[kernel]] * 2
        resolved = exact.self_[:, kernel]
        sums: dict[str, int] = {}
        for place in range(len(addresses.chains)):
            for name, *_ in frames_of(addresses.chains, place)[-1:]:
                name = fold(name)[0]
                sums[name] = sums.get(name, 0) + int(addresses.counts[place, 0, 0])
        told: dict[str, int] = {}
        for function, count in zip(exact.functions, resolved.tolist(), strict=True):
            told[function.name] = told.get(function.name, 0) + count
        assert {name: count for name, count in sums.items() if count} == {
            name: count for name, count in told.items() if count
        }


@pytest.mark.kernel
@pytest.mark.parametrize("version", ["v6.12.107", "v6.18.15"])
def test_samples_keep_their_addresses(version: str) -> None:
    file = need_profile(version)
    vmlinux = need_kernel(version) / "vmlinux.zst"
    imported = importing.read(importing.GivenRecording("one", file, vmlinux))
    (addresses,) = imported.profile.addresses
    assert len(addresses.counts)
    agree(addresses, imported.profile)


@given(
    st.lists(
        st.dictionaries(st.integers(0, 20), st.integers(1, 10**6), min_size=1),
        min_size=1,
        max_size=4,
    )
)
def test_runs_with_other_places_line_up(runs: list[dict[int, int]]) -> None:
    def recorded(counts: dict[int, int]) -> Recorded:
        # Places above ten are in user space: one address, told apart by their code.
        places = sorted(counts)
        address = np.array([KERNEL + 4 * n if n <= 10 else 0x1000 for n in places], np.uint64)
        code = np.zeros((len(places), 16), np.uint8)
        code[:, 0] = [1 if n > 10 else 0 for n in places]
        code[:, 1] = [n if n > 10 else 0 for n in places]
        order = np.lexsort((code[:, 1], address))
        column = np.array([counts[n] for n in places], np.int64)[order, None]
        known = Places.of_code(address[order], code[order])
        taken = column[:, 0] // 2
        return Recorded(
            (INSTRUCTIONS,), known, code[order], lambda: column, taken=taken, untold=taken % 2
        )

    def resolved(places: Places) -> object:
        rows: list[Row] = [
            ([frame(f"f{n}")], f"f{n}", True, [1]) for n in range(len(places.address))
        ]
        return chains(rows)

    addresses, rows = Addresses.of_runs([recorded(run) for run in runs], resolved)  # type: ignore[arg-type]
    assert [len(own) for own in rows] == [len(run) for run in runs]
    everything = {place for run in runs for place in run}
    assert addresses.counts.shape == (len(everything), len(runs), 1)
    assert addresses.counts.sum(axis=0)[:, 0].tolist() == [sum(run.values()) for run in runs]
    keys = addresses.places.keys()
    assert len(np.unique(keys)) == len(keys)
    code = np.where(addresses.places.in_kernel, 0, addresses.executed[:, 1])
    for row, (address, inside) in enumerate(zip(addresses.places.address, code, strict=True)):
        place = int(inside) if inside else (int(address) - KERNEL) // 4
        counted = [run.get(place, 0) for run in runs]
        assert addresses.counts[row, :, 0].tolist() == counted
        assert addresses.taken is not None
        assert addresses.untold is not None
        assert addresses.taken[row].tolist() == [count // 2 for count in counted]
        assert addresses.untold[row].tolist() == [count // 2 % 2 for count in counted]
    twice = Addresses.of_runs([recorded(run) for run in (*runs, *runs)], resolved)[0]  # type: ignore[arg-type]
    rest = twice.subtracted(len(runs))
    assert rest.taken is not None
    assert rest.taken.shape == (len(everything), len(runs))
    assert not rest.taken.any()
    assert twice.taken is not None
    assert (twice.taken.sum(axis=1) == 2 * addresses.taken.sum(axis=1)).all()  # type: ignore[union-attr]
    untold = replace(recorded(runs[0]), taken=None)
    assert Addresses.of_runs([recorded(runs[-1]), untold], resolved)[0].taken is None  # type: ignore[arg-type]

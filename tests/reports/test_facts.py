"""Facts: configs of strangers, what differs, and what the reports say of it."""

import gzip
import json
import re
from pathlib import Path

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from support import ROOT
from synthetic import compare, example, findings, manifest

from profdiff.profile import session_facts
from profdiff.profile.comparison import Comparison
from profdiff.reports.documents import encode, session_document
from profdiff.reports.text.session import render
from profdiff.session import manifest as m
from profdiff.session.facts import Facts
from profdiff.session.kernel_config import (
    MAX_SIZE,
    ConfigDifferences,
    OptionDifference,
    is_relevant,
    parse,
    unpacked,
)
from profdiff.session.session import Session
from profdiff.topics.functions.selection import Selection
from profdiff.views.kernels.facts import grouped_summaries, summaries

NAMES = st.sampled_from(["CONFIG_HZ", "CONFIG_SMP", "CONFIG_KASAN", "CONFIG_USB", "CONFIG_9P_FS"])
VALUES = st.sampled_from(["n", "y", "m", "250", '"text"'])
CONFIGS = st.dictionaries(NAMES, VALUES)


def written(options: dict[str, str]) -> bytes:
    """A config as Kconfig writes it."""
    lines = [
        f"# {name} is not set\n" if value == "n" else f"{name}={value}\n"
        for name, value in options.items()
    ]
    return "".join(["# Linux/x86 6.18 Kernel Configuration\n", *lines]).encode()


def differences(**configs: dict[str, str]) -> list[OptionDifference]:
    found = ConfigDifferences()
    for label, options in configs.items():
        found.add(label, options)
    return found.result()


@given(st.binary(max_size=300) | st.text(alphabet="# CONFIG_X=y is not\n\r", max_size=99))
def test_any_bytes_are_a_config(data: bytes | str) -> None:
    raw = data if isinstance(data, bytes) else data.encode()
    assert all(name.startswith("CONFIG_") for name in parse(raw))


@given(CONFIGS)
def test_what_kconfig_writes_is_read(options: dict[str, str]) -> None:
    assert parse(written(options)) == options
    assert parse(unpacked(gzip.compress(written(options)))) == options


@given(CONFIGS, CONFIGS, CONFIGS)
def test_nothing_differs_only_where_configs_are_equal(
    a: dict[str, str], b: dict[str, str], c: dict[str, str]
) -> None:
    found = differences(a=a, b=b, c=c)
    assert (found == []) == (a == b == c)
    for one in found:
        assert one.values == {
            label: own.get(one.option) for label, own in zip("abc", (a, b, c), strict=True)
        }
        assert len(set(one.values.values())) > 1
    for label, own in (("b", b), ("c", c)):
        pairs = [pair for one in found if (pair := one.between("a", label))]
        assert {pair.option for pair in pairs} == {
            name for name in a | own if a.get(name) != own.get(name)
        }


def test_relevant_options_come_first() -> None:
    found = differences(
        a={"CONFIG_HZ": "250", "CONFIG_USB": "y", "CONFIG_KASAN": "y", "CONFIG_9P_FS": "y"},
        b={"CONFIG_HZ": "1000", "CONFIG_USB": "n", "CONFIG_PREEMPT": "n"},
    )
    assert [one.option.removeprefix("CONFIG_") for one in found] == [
        "HZ",
        "KASAN",
        "USB",
        "9P_FS",
        "PREEMPT",
    ]
    # Not set and not mentioned are one to the code.
    assert [one.relevant for one in found] == [True, True, False, False, False]


@pytest.mark.parametrize(
    "name",
    ["HZ", "HZ_1000", "DEBUG_VM", "KASAN_INLINE", "LTO_CLANG_THIN", "MEM_SOFT_DIRTY", "IO_URING"],
)
def test_relevant(name: str) -> None:
    assert is_relevant(f"CONFIG_{name}")


@pytest.mark.parametrize("name", ["HZX", "DEBUG_INFO_DWARF5", "DEBUG_FS", "USB", "SMPX", "EXT4_FS"])
def test_irrelevant(name: str) -> None:
    assert not is_relevant(f"CONFIG_{name}")


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (b"#" * (MAX_SIZE + 1), "larger than 4 MiB"),
        (gzip.compress(bytes(2 * MAX_SIZE), mtime=0), "more than 4 MiB"),
        (gzip.compress(b"CONFIG_SMP=y\n", mtime=0)[:-9], "its end is missing"),
        (b"\x1f\x8bnonsense", "damaged"),
    ],
)
def test_what_is_no_config(data: bytes, told: str) -> None:
    with pytest.raises(ValueError, match=told):
        unpacked(data)


LINES = [
    (Facts(), []),
    (
        Facts(compilers={"a": "gcc 12", "b": "gcc 12"}, command_lines={"a": "quiet", "b": "debug"}),
        ["same compiler; command line differs"],
    ),
    (
        Facts(
            compilers={"a": "gcc 12", "b": "clang 19"},
            command_lines={"a": "BOOT_IMAGE=/boot/a  quiet", "b": "BOOT_IMAGE=/boot/b quiet"},
        ),
        ["compiler differs; same command line"],
    ),
    (Facts(configs=["a", "b"]), ["no known difference (same config)"]),
    (Facts(configs=["b"]), ["config of a unknown"]),
    (
        Facts(configs=["a"], config_problems={"b": "not read: damaged"}),
        ["config of b: not read: damaged"],
    ),
    (
        Facts(
            configs=["a", "b"],
            config=[
                OptionDifference("CONFIG_HZ", {"a": "250", "b": "1000"}),
                OptionDifference("CONFIG_KASAN", {"a": None, "b": "y"}),
                OptionDifference("CONFIG_USB", {"a": "y", "b": None}),
            ],
        ),
        [
            "config: 1 option differs, 2 in one config only (2 relevant: HZ 250 -> 1000, "
            "KASAN absent -> y)"
        ],
    ),
    (
        Facts(
            machines={
                "a": {"governor": "performance", "kernel": "6.12"},
                "b": {"governor": "powersave", "kernel": "6.18"},
            }
        ),
        ["machine: governor differs"],
    ),
    (
        Facts(machines={"a": {"cpus": "1"}, "b": {"cpus": "1"}}),
        ["no known difference (same machine)"],
    ),
]


LINES += [
    (
        Facts(machines={"a": {}, "b": {}}, workloads={"a": "./busy 1", "b": "./busy 3"}),
        ["same machine; workload differs: ./busy 1 / ./busy 3"],
    ),
    (Facts(workloads={"a": "./busy 1", "b": "./busy 1"}), []),
]


@pytest.mark.parametrize(("facts", "lines"), LINES)
def test_summaries(facts: Facts, lines: list[str]) -> None:
    assert summaries(facts, ["a", "b"]) == lines
    assert summaries(facts, ["a"]) == []


def test_three_kernels_are_named() -> None:
    facts = Facts(compilers={"a": "gcc 12", "b": "gcc 12", "c": "gcc 13"})
    assert summaries(facts, ["a", "b", "c"]) == [
        "b: no known difference (same compiler)",
        "c: compiler differs",
    ]
    assert list(facts.differences()) == ["compiler"]


def test_what_is_the_same_of_many_kernels_is_told_once() -> None:
    same = "no known difference (same compiler)"
    facts = Facts(compilers={"a": "gcc 12", "b": "gcc 12", "c": "gcc 13", "d": "gcc 12"})
    assert grouped_summaries(facts, ["a", "b"]) == [same]
    assert grouped_summaries(facts, ["a", "b", "d"]) == [f"every kernel: {same}"]
    assert grouped_summaries(facts, ["a", "b", "c", "d"]) == [
        f"b, d: {same}",
        "c: compiler differs",
    ]
    # Of x nothing is known: it is not every kernel.
    assert grouped_summaries(facts, ["a", "b", "d", "x"])[0] == f"b, d: {same}"


@pytest.fixture
def session(tmp_path: Path) -> Session:
    """Two kernels, with configs, a command line and an environment each."""
    described = manifest(["base", "new"])
    files = {
        "config.gz": gzip.compress(b"CONFIG_HZ=250\nCONFIG_X=y\n"),
        "config": b"CONFIG_HZ=1000\nCONFIG_X=y\n",
        "cmdline": b"quiet mitigations=off\n",
        "environment": b"kernel 6\ngovernor \x1b[2J\n",
    }
    for name, data in files.items():
        (tmp_path / name).write_bytes(data)
    runs = [
        m.replace(run, files={name: name for name in ("cmdline", "environment")})
        for run in described.runs
    ]
    kernels = [
        m.replace(kernel, config=config)
        for kernel, config in zip(described.kernels, ("config.gz", "config"), strict=True)
    ]
    return Session(tmp_path, m.replace(described, runs=runs, kernels=kernels))


def with_facts(comparison: Comparison, facts: Facts) -> Comparison:
    return replace(comparison, facts=facts)


def test_a_session_is_read(session: Session) -> None:
    facts = session_facts.read(session)
    assert facts.config == [OptionDifference("CONFIG_HZ", {"base": "250", "new": "1000"})]
    assert facts.command_lines == dict.fromkeys(["base", "new"], "quiet mitigations=off")
    assert facts.machines["new"]["emulator"] == "QEMU emulator version 7.2.22"
    (line,) = summaries(facts, ["base", "new"])
    (short,) = summaries(facts, ["base", "new"], 0)
    assert re.fullmatch(r"config: .* \(\d+ relevant\); .*", short)
    assert line == (
        "config: 1 option differs (1 relevant: HZ 250 -> 1000); same compiler; same command line; "
        "same machine"
    )


def test_a_damaged_session_still_has_facts(session: Session) -> None:
    (session.folder / "config.gz").write_bytes(b"\x1f\x8b\x08")
    (session.folder / "config").unlink()
    (session.folder / "config").symlink_to("/etc/passwd")
    (session.folder / "cmdline").unlink()
    (session.folder / "environment").write_bytes(bytes(2**21))
    facts = session_facts.read(session)
    assert facts.configs == []
    assert "damaged" in facts.config_problems["base"]
    assert "leads out of the session" in facts.config_problems["new"]
    assert summaries(facts, ["base", "new"])


def test_reports_say_it(session: Session) -> None:
    comparison = with_facts(compare(example()), session_facts.read(session))
    shown = render(findings([comparison]), Selection(), width=100)
    assert "\ndifferences: config: 1 option differs (1 relevant: HZ 250 -> 1000)" in shown
    data = json.loads(encode(session_document(findings([comparison]))))
    schema = json.loads((ROOT / "profdiff/report.schema.json").read_text())
    jsonschema.validate(data, schema)
    facts = data["facts"]
    assert facts["config"] == [
        {"option": "CONFIG_HZ", "values": {"base": "250", "new": "1000"}, "relevant": True}
    ]
    assert facts["command_lines"]["base"] == "quiet mitigations=off"
    (shares,) = facts["shares"]
    assert shares["unresolved"]["base"] == 12 / (1_144_320 + 300_000 + 3_764 + 12)
    assert shares["lost"] == {}


def test_hostile_values_stay_text() -> None:
    facts = Facts(
        configs=["base", "new"],
        config=[OptionDifference("CONFIG_HZ", {"base": '"\x1b[2J\u202e"', "new": None})],
    )
    shown = render(findings([with_facts(compare(example()), facts)]), Selection(), width=100)
    assert "\x1b" not in shown
    assert "\u202e" not in shown


def test_what_the_document_names_is_relevant() -> None:
    section = (ROOT / "docs/report.md").read_text().split("## Facts")[1].split("\n## ")[0]
    line = next(line for line in section.splitlines() if line.startswith("- **Config**"))
    relevant, irrelevant = line.split("not relevant are")
    words = [word for word in relevant.split("`")[1::2] if word.isupper()]
    assert len(words) > 20
    assert all(is_relevant(f"CONFIG_{word}") for word in words)
    for word in irrelevant.split("`")[1::2]:
        assert not is_relevant(f"CONFIG_{word}")

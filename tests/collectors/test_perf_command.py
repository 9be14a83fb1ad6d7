"""What perf is asked for, what machines say of themselves, and addresses of machines."""

from pathlib import Path

import pytest

from profdiff.base.errors import InputError
from profdiff.base.metric import event_metric
from profdiff.collectors.kernels.address import Address, parse_address
from profdiff.collectors.machine.environment import Environment
from profdiff.collectors.machine.run import pack, unpack
from profdiff.collectors.perf.command import attempts, fallback_reason, refusal_line
from profdiff.collectors.perf.entry import Perf
from profdiff.collectors.perf.programs import has_pmu, rights


def asked(**options: object) -> dict[str, object]:
    default = {option.name or "": option.default for option in Perf.options}
    return {**default, "events": None, "count": None, "frequency": None, "perf_args": [], **options}


def test_cycles_and_instructions_are_one_group_with_a_fixed_period() -> None:
    first, second = attempts(asked(), emulated=False)
    assert first.arguments[:4] == ("-e", "{cycles,instructions}", "-c", "1000003")
    assert second.arguments[:2] == ("-e", "cpu-clock")
    assert fallback_reason(first, first, "") is None
    assert "perf sampled cpu-clock instead" in str(fallback_reason(second, first, "why"))


def test_what_was_asked_for_is_not_replaced() -> None:
    (only,) = attempts(
        asked(events=["cache-misses"], frequency=99, call_graph="lbr", perf_args=["-a"]),
        emulated=True,
    )
    assert only.arguments == ("-e", "cache-misses", "-F", "99", "--call-graph", "lbr", "-a")


def test_the_telling_line_of_a_refusal() -> None:
    text = "Error:\nThe instructions event is not supported.\nTry\x1b[31m something\n"
    assert refusal_line(text) == "The instructions event is not supported."
    assert "\x1b" not in refusal_line("\x1b[31mbroken")


@pytest.mark.parametrize(
    ("event", "metric"),
    [
        ("cycles", "cycles"),
        ("cpu-cycles:P", "cycles"),
        ("cycles:ppp", "cycles"),
        ("cycles:u", "cycles:u"),
        ("cycles:upp", "cycles:u"),
        ("instructions:S", "instructions"),
        ("dummy:HG", "dummy"),
        ("cpu_core/cycles/", "cpu_core/cycles/"),
        ("cpu_core/cycles/P", "cpu_core/cycles/"),
        ("cpu_core/cycles:u/", "cpu_core/cycles/u"),
        ("cpu/mem-loads,ldlat=64/P", "cpu/mem-loads,ldlat=64/"),
        ("MEM_TRANS_RETIRED:LOAD_LATENCY:ldlat=128", "MEM_TRANS_RETIRED:LOAD_LATENCY:ldlat=128"),
        ("inst_retired.any:upp", "inst_retired.any:u"),
        ("cycles:uI", "cycles:Iu"),
        ("cycles:pppp", "cycles:pppp"),
        ("r1a8:k", "r1a8:k"),
        ("mem:0x1000/4:rw:uP", "mem:0x1000/4:rw:u"),
        ("sched:sched_switch", "sched:sched_switch"),
        ("sched:sched_switch:k", "sched:sched_switch:k"),
        ("syscalls:sys_enter_read", "syscalls:sys_enter_read"),
        ("probe_libc:malloc", "probe_libc:malloc"),
        ("probe_prog:Pp", "probe_prog:Pp"),
        ("sdt_prog:u", "sdt_prog:u"),
    ],
)
def test_metrics_of_events(event: str, metric: str) -> None:
    assert event_metric(event).name == metric


def test_what_is_no_modifier_of_a_tracepoint() -> None:
    """A perf.data file tells the kind of its events: users name probes as they like."""
    assert event_metric("mine:pk", tracepoint=True).name == "mine:pk"
    assert event_metric("mine:pk:kp", tracepoint=True).name == "mine:pk:k"
    assert event_metric("mine:pk", tracepoint=False).name == "mine:k"


def test_clocks_count_nanoseconds() -> None:
    assert event_metric("cpu-clock").title == "cpu-clock (ns)"
    assert event_metric("cycles").title == "cycles"


@pytest.mark.parametrize(
    ("spec", "address"),
    [
        ("running", Address()),
        ("ssh://host", Address("host")),
        ("ssh://me@host.example:2222", Address("host.example", "me", 2222)),
        ("ssh://[::1]:22", Address("::1", None, 22)),
        ("debian:sid", None),
        ("/boot/vmlinuz", None),
    ],
)
def test_addresses(spec: str, address: Address | None) -> None:
    assert parse_address(spec) == address


@pytest.mark.parametrize(
    "spec", ["ssh://", "ssh://-oProxyCommand=x", "ssh://a b", "ssh://h:0", "ssh://h:99999", "ssh:h"]
)
def test_addresses_that_are_none(spec: str) -> None:
    with pytest.raises(InputError, match="write ssh://"):
        parse_address(spec)


def test_files_travel_as_they_are(tmp_path: Path) -> None:
    program = tmp_path / "program"
    program.write_bytes(b"\x7fELF\r\n\0")
    unpack(pack({"a.sh": b"x\r\n"}, {"work/p": program}), tmp_path / "there")
    assert (tmp_path / "there/a.sh").read_bytes() == b"x\r\n"
    assert (tmp_path / "there/work/p").read_bytes() == program.read_bytes()
    assert (tmp_path / "there/work/p").stat().st_mode & 0o100


def environment(**values: str) -> Environment:
    return Environment.parse("".join(f"{name} {value}\n" for name, value in values.items()))


def test_what_stops_perf_has_one_command_that_mends_it() -> None:
    found = environment(user="1000", perf_event_paranoid="3", kptr_restrict="1")
    mends = {one.what: one.fix for one in rights(found) if one.state == "missing"}
    assert mends == {
        "perf": "apt-get install linux-perf",
        "perf_event_paranoid": "sysctl kernel.perf_event_paranoid=1",
        "kptr_restrict": "sysctl kernel.kptr_restrict=0",
    }
    root = environment(user="0", perf="/usr/bin/perf", perf_event_paranoid="3", kptr_restrict="1")
    assert not [one for one in rights(root) if one.state == "missing"]


def test_the_watchdog_and_what_makes_noise() -> None:
    text = "event_source cpu\nnmi_watchdog 1\ngovernor powersave\nno_turbo 0\nsmt on\n"
    text += "randomize_va_space 2\nnuma_balancing 1\ntransparent_hugepage always [madvise] never\n"
    text += "mitigation a: Mitigation: x\nmitigation b: Not affected\n"
    found = Environment.parse(text)
    assert has_pmu(found)
    assert "NMI watchdog" in {one.what for one in rights(found) if one.state == "noise"}
    noise = {one.what: one.value for one in found.noise()}
    assert noise["transparent huge pages"] == "madvise"
    assert noise["mitigations"] == "1 of 2 vulnerabilities mitigated"
    assert {"governor", "turbo", "SMT", "ASLR", "NUMA balancing"} <= noise.keys()


def test_a_rate_that_the_kernel_lowered() -> None:
    told = environment(
        perf_event_max_sample_rate="100000", perf_event_max_sample_rate_after="25000"
    )
    assert told.rate_changed == (100_000, 25_000)
    assert environment(perf_event_max_sample_rate="9").rate_changed is None

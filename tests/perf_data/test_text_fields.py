"""Texts as others print them: any fields of perf script, odd names, chains that are missing."""

import subprocess
from collections import Counter
from pathlib import Path

import pytest
from support import SHARED, error_line, need_profile, need_program, profdiff

from profdiff.symbolization._native import NativeError, PerfData, PerfText

EXTERNAL = SHARED / "external"
Numbers = dict[str, int]


def read(tmp_path: Path, content: str) -> PerfText:
    path = tmp_path / "given.txt"
    path.write_text(content)
    return PerfText.open(str(path))


def events(text: PerfText) -> Numbers:
    """Weights by event."""
    found: Counter[str] = Counter()
    for event, weight in zip(text.entry_event.tolist(), text.entry_weight.tolist(), strict=True):
        found[text.events[event] if text.events else ""] += weight
    return dict(found)


def leaves(text: PerfText) -> Numbers:
    """Weights by innermost function and its object."""
    found: Counter[str] = Counter()
    stacks = text.stacks.entry_stack.tolist()
    for stack, weight in zip(stacks, text.entry_weight.tolist(), strict=True):
        function = int(text.stacks.function[stack])
        name = "?" if text.function_unresolved[function] else text.function_name[function]
        owner = text.function_object[function]
        found[f"{name} {owner}".strip()] += weight
    return dict(found)


# What each input of ../shared/external has, as its README says.
RIGHT: dict[str, tuple[Numbers, Numbers]] = {
    "tracepoint-text-no-chain/prog.perf": ({"sched:sched_switch": 4}, {"?": 4}),
    "samples-without-stack/empty.perf": ({"cycles": 1000}, {"main prog": 200, "?": 800}),
    "data-address/faults.perf": ({"page-faults": 100}, {"touch p": 100}),
    "deleted-object/deleted.perf": (
        {"cycles": 1500},
        {
            "hot_jit /memfd:doublemapper (deleted)": 300,
            "? /memfd:doublemapper (deleted)": 400,
            "libfn libupgraded.so.1": 800,
        },
    ),
    "comm-parenthesis/padded.perf": ({"cycles": 7}, {"a p": 1, "b p": 2, "c p": 4}),
    "other-fields/notime.perf": ({"cycles": 1}, {"main p": 1}),
    "other-fields/notime2.perf": ({"cycles": 1}, {"main p": 1}),
    "names-without-dso/nodso.perf": (
        {"cycles": 700},
        {
            "void exec<void (*)()>(void (*)())": 100,
            "std::_Function_handler<void (), run()::{lambda()#1}>::_M_invoke("
            "std::_Any_data const&)": 200,
            "(anonymous namespace)::f(int)": 400,
        },
    ),
    "folded-number-leaf/numleaf.folded": ({"": 35}, {"worker 1": 10, "worker 2": 20, "idle": 5}),
    "folded-number-leaf/whole-fraction.folded": ({"": 15}, {"a": 10, "b": 5}),
    "compressed-module/base.perf": ({"cycles": 100}, {"xfs_read xfs": 100}),
    "compressed-module/new.perf": ({"cycles": 100}, {"xfs_read xfs": 100}),
    "tracepoint-names/syscalls.perf": (
        {"syscalls:sys_enter_read": 3, "syscalls:sys_enter_write": 2},
        {"__read libc.so.6": 3, "__write libc.so.6": 2},
    ),
}


@pytest.mark.parametrize("name", RIGHT)
def test_what_others_print_has_the_right_values(name: str) -> None:
    if not EXTERNAL.is_dir():
        pytest.skip("../shared/external is absent")
    text = PerfText.open(str(EXTERNAL / name))
    assert (events(text), leaves(text)) == RIGHT[name]
    assert text.unknown_lines == 0


A = "401010 a+0x1 (/p)"
ONE = ({"cycles": 1}, {"a p": 1})
# Headers with other fields, and what stands beside the frames.
LINES: dict[str, tuple[str, tuple[Numbers, Numbers]]] = {
    "event alone": (f"cycles: \n\t{A}\n\n", ONE),
    "thread and event": (f"a b:c cycles: \n\t{A}\n\n", ONE),
    "period without time": (
        f"prog    1000003 cycles: \n\t{A}\n",
        ({"cycles": 1000003}, {"a p": 1000003}),
    ),
    "name that ends with a number": (f"worker 1    4711 cycles: \n\t{A}\n", ONE),
    "process and period": (f"prog  4711 1000 cycles: \n\t{A}\n", ({"cycles": 1000}, {"a p": 1000})),
    "misc": (
        f"prog  4711 [003] KS     1.000001:  7 cycles: \n\t{A}\n",
        ({"cycles": 7}, {"a p": 7}),
    ),
    "hexadecimal names": (
        f"dd  1 1.000001: 5 cycles: \n\ncc1  2 1.000002: 6 cycles: \n\t{A}\n\n",
        ({"cycles": 11}, {"?": 5, "a p": 6}),
    ),
    "hexadecimal names in lines": (
        "   dd  1 [0] 1.000001: x:y: q=1\n   cc1  2 [0] 1.000002: x:y: q=2\n",
        ({"x:y": 2}, {"?": 2}),
    ),
    "an empty line behind the header": (f"p 1 1.000001: cycles:\n\n\t{A}\n\n", ONE),
    "no event": (f"p  1 1.000001: \n\t{A}\n\n", ({"samples": 1}, {"a p": 1})),
    "nothing but frames": (f"\n\t{A}\n\n\n\t{A}\n\n", ({"samples": 2}, {"a p": 2})),
    "no symbol": ("p 1 1.000001: cycles: \n\tffffffff81000010\n", ({"cycles": 1}, {"?": 1})),
    "frames without indent": (f"p 1 cycles:\n{A}\n", ONE),
    "other records": (
        f"p 1 1.000001: PERF_RECORD_MMAP2 1/1: [0x1(0x2) @ 0]: r-xp /p\n"
        f"p 1 1.000001: cycles: \n\t{A}\n",
        ONE,
    ),
    "warnings in front": (f"Warning:\n3 events were lost\np 1 1.000001: cycles: \n\t{A}\n", ONE),
    "data, its place and a weight": (
        "p 1 1.000001: 9 cycles:     7f00 x+0x1 (//anon)  1e05 |OP LOAD|LVL L1 hit|  30 "
        "ffffffff81000010 f+0x1 ([kernel.kallsyms])\n",
        ({"cycles": 9}, {"f vmlinux": 9}),
    ),
    "registers and branches": (
        f"p 1 1.000001: cycles:  {A} ABI:2    AX:0x1  0x4/0x5/P/-/-/0\n",
        ONE,
    ),
    "columns behind a chain": (
        f"p 1 1.000001: cycles: 7f0 x (//anon)\n\t{A}\n  a.c:12\n   ABI:2 AX:0x1\n       1000\n"
        " insn: 48 89 ilen: 2\n\n",
        ONE,
    ),
    "a branch": (f"p 1 1.000001: 1 cycles:  {A} =>  402020 b+0x1 (/q)\n", ONE),
    "part of a function": (
        "p 1 1.000001: cycles: \n\t401010 f(int) (.cold)\n",
        ({"cycles": 1}, {"f(int) (.cold)": 1}),
    ),
    "parenthesis in a path": ("p 1 1.000001: cycles: \n\t401010 a+0x1 (/x (y)/p)\n", ONE),
    "a module's dashes": (
        "p 1 1.000001: cycles: \n\tffffffffc0000010 f+0x1 (/m/nf-nat.ko.xz)\n",
        ({"cycles": 1}, {"f nf_nat": 1}),
    ),
    "raw event": (f"p 1 1.000001: 3 raw 0x1a8: \n\t{A}\n", ({"raw 0x1a8": 3}, {"a p": 3})),
    "tracepoint of user space": (
        f"p 1 1.000001: probe_p:a: (401010)           {A}\n",
        ({"probe_p:a": 1}, {"a p": 1}),
    ),
    "simpleperf's python": (
        f"my app\t1/2 [001] 1.000001: 9 cpu-cycles:\n\t{A}\n\t402 l.so[+12] (/l.so)\n\n",
        ({"cpu-cycles": 9}, {"a p": 9}),
    ),
    "simpleperf": (
        "meta_info:\n  trace_offcpu: false\nsample:\n  event_type: cpu-cycles:u\n  time: 1\n"
        "  event_count: 70\n  thread_id: 1\n  thread_name: a: b\n  vaddr_in_file: 10\n"
        "  file: /s/libc.so\n  symbol: std::f(int)\n  callchain:\n    vaddr_in_file: 20\n"
        "    file: /p\n    symbol: main\nlost_situation:\n  sample_count: 1\n  lost_count: 4\n",
        ({"cpu-cycles:u": 70}, {"std::f(int) libc.so": 70}),
    ),
    "a frame that begins with #": ("#1 f;g 3\n# remark\n", ({"": 3}, {"g": 3})),
    "all leaves are numbers": ("m;w 1 10\nm;w 2 20\n", ({"": 30}, {"w 1": 10, "w 2": 20})),
}


@pytest.mark.parametrize("name", LINES)
def test_headers_and_columns(tmp_path: Path, name: str) -> None:
    content, right = LINES[name]
    text = read(tmp_path, content)
    assert (events(text), leaves(text)) == right
    assert text.unknown_lines == (2 if name == "warnings in front" else 0)


def test_what_is_missing_is_told(tmp_path: Path) -> None:
    path = tmp_path / "x.txt"
    path.write_text(
        f"p 1 1.000001: 5 cycles: \n\np 1 1.000002: PERF_RECORD_LOST lost 7\n"
        f"p 1 1.000003: 5 cycles: \n\t{A}\nwhat\x1b is this\n\n"
    )
    shown = profdiff("diff", path).stdout
    assert "1 samples have no function in the text" in shown
    assert "7 samples were lost, as the text says" in shown
    assert (
        r"""1 lines were not understood; the first begins "what\u{1b} is this" """.strip() in shown
    )


def test_simpleperfs_protobuf_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "report_sample.trace"
    path.write_bytes(b"SIMPLEPERF\1\0\1\0\0\0\0")
    with pytest.raises(NativeError, match="simpleperf report-sample --show-callchain"):
        PerfText.open(str(path))


def test_a_recording_may_come_through_a_pipe(tmp_path: Path) -> None:
    header = f"p 1 1.000001: 5 cycles: \n\t{A}\n\n"
    path = tmp_path / "x.txt"
    path.write_text(header)
    expected = profdiff("diff", f"stdin={path}", "--width", "100").stdout
    shell = (
        f"cat {path} | profdiff diff - --width 100; profdiff diff stdin=<(cat {path}) --width 100"
    )
    done = subprocess.run(["bash", "-c", shell], capture_output=True, text=True, check=True)
    assert done.stdout == expected * 2
    folder = tmp_path / "session"
    shell = f"cat {path} | profdiff import - -o {folder}"
    subprocess.run(["bash", "-c", shell], capture_output=True, check=True)
    assert (folder / "runs/stdin-1/stacks.txt").read_text() == header
    done = subprocess.run(
        ["profdiff", "diff", "-"], input="nothing\n", capture_output=True, text=True, check=False
    )
    assert "standard input is neither a perf.data file" in error_line(done)


FIELDS = [
    ["-F", "comm,tid,time,event,ip,sym,dso"],
    ["-F", "comm,pid,tid,period,event,ip,sym"],
    ["-F", "comm,event,ip,sym"],
    ["-F", "event,ip,sym,symoff,dso"],
    ["-F", "ip,sym,dso"],
    ["-F", "comm,tid,misc,time,event,ip,sym"],
    ["-G", "-F", "comm,ip,sym"],
    ["-G", "-F", "ip,sym"],
    ["-G", "-F", "tid,event,ip,sym"],
    ["--show-mmap-events", "--show-task-events", "--ns"],
]


@pytest.mark.kernel
@pytest.mark.parametrize("options", FIELDS, ids=" ".join)
def test_any_fields_have_the_samples_of_the_recording(tmp_path: Path, options: list[str]) -> None:
    file = need_profile("v6.12.107")
    data = PerfData.open(str(file))
    command = [need_program("perf", "linux-perf"), "script", "-i", str(file), *options]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    text = read(tmp_path, done.stdout)
    assert int(text.entry_samples.sum()) == data.statistics["samples"]
    named = data.events[0].name if "-F" not in options or "event" in options[-1] else "samples"
    assert text.events == [named]
    assert (text.unknown_lines, text.frameless) == (0, 0)

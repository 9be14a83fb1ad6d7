"""Pictures and formats for other tools: they hold what was counted, and real tools read them."""

import gzip
import json
import os
import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import jsonschema
import pytest
from support import error_line, profdiff
from synthetic import Row, compare, example, frame, sampled_comparison

from profdiff.base.errors import InputError
from profdiff.profile.comparison import Comparison
from profdiff.reports.exports import firefox, pprof, speedscope, svg
from profdiff.reports.exports.stacks import folded_difference

HOSTILE = ["<img src=x onerror=a>", "</svg>&amp;", "a;b", "x\u202ey\x07", "n" * 10_000, "sp ace"]


def hostile() -> Comparison:
    rows: list[Row] = [
        ([frame("root"), frame(name, owner=name, file=name)], name, True, [10 + number])
        for number, name in enumerate(HOSTILE)
    ]
    return compare({"base": rows, "new": rows[1:]})


def three() -> Comparison:
    kernels: dict[str, Sequence[Row]] = example()
    return compare({**kernels, "third": kernels["base"]})


EVERY = {
    "example": compare(example(), ops=40_000),
    "hostile": hostile(),
    "three": three(),
    "one": compare({"base": example()["base"]}),
}


def stacks(comparison: Comparison, kernel: int) -> Counter[tuple[str, ...]]:
    """Counts by the names of the stack's frames, as the comparison has them."""
    names = [function.name for function in [*comparison.functions, *comparison.unnamed]]
    paths: list[tuple[str, ...]] = []
    table = comparison.stacks
    for parent, function in zip(table.parent.tolist(), table.function.tolist(), strict=True):
        paths.append((*(paths[parent] if parent >= 0 else ()), names[function]))
    found: Counter[tuple[str, ...]] = Counter()
    for path, count in zip(paths, comparison.counts[:, kernel].tolist(), strict=True):
        if count:
            found[path] += count
    return found


def printable(path: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(text.replace("\u202e", "\\u{202e}").replace("\x07", "\\u{7}") for text in path)


# After "FileFormat.File" of speedscope's src/lib/file-format-spec.ts, for sampled profiles.
_SPEEDSCOPE = {
    "type": "object",
    "required": ["$schema", "shared", "profiles"],
    "properties": {
        "$schema": {"const": "https://www.speedscope.app/file-format-schema.json"},
        "activeProfileIndex": {"type": "integer"},
        "exporter": {"type": "string"},
        "name": {"type": "string"},
        "shared": {
            "type": "object",
            "required": ["frames"],
            "additionalProperties": False,
            "properties": {
                "frames": {
                    "type": "array",
                    "items": {
                        "type": "object",
                        "required": ["name"],
                        "additionalProperties": False,
                        "properties": {
                            "name": {"type": "string"},
                            "file": {"type": "string"},
                            "line": {"type": "number"},
                            "col": {"type": "number"},
                        },
                    },
                }
            },
        },
        "profiles": {
            "type": "array",
            "items": {
                "type": "object",
                "required": [
                    "type",
                    "name",
                    "unit",
                    "startValue",
                    "endValue",
                    "samples",
                    "weights",
                ],
                "additionalProperties": False,
                "properties": {
                    "type": {"const": "sampled"},
                    "name": {"type": "string"},
                    "unit": {
                        "enum": ["bytes", "microseconds", "milliseconds", "nanoseconds", "none"]
                    },
                    "startValue": {"type": "number"},
                    "endValue": {"type": "number"},
                    "samples": {"type": "array", "items": {"type": "array"}},
                    "weights": {"type": "array", "items": {"type": "number"}},
                },
            },
        },
    },
}


@pytest.mark.parametrize("name", EVERY)
def test_speedscope_holds_every_stack(name: str) -> None:
    comparison = EVERY[name]
    document = json.loads(speedscope.render([comparison]))
    jsonschema.validate(document, _SPEEDSCOPE)
    frames = [one["name"] for one in document["shared"]["frames"]]
    assert len(document["profiles"]) == len(comparison.labels)
    for kernel, profile in enumerate(document["profiles"]):
        assert profile["name"].startswith(f"{comparison.labels[kernel]}: instructions")
        found: Counter[tuple[str, ...]] = Counter()
        for sample, weight in zip(profile["samples"], profile["weights"], strict=True):
            found[tuple(frames[number] for number in sample)] += weight
        expected: Counter[tuple[str, ...]] = Counter()
        for path, count in stacks(comparison, kernel).items():
            expected[printable(path)] += count
        assert found == expected
        assert profile["endValue"] == sum(expected.values())


@pytest.mark.parametrize("name", EVERY)
def test_firefox_holds_every_stack(name: str) -> None:
    """Tables are as long as they say, indexes lead somewhere, and stacks read back are equal."""
    comparison = EVERY[name]
    document = json.loads(firefox.render([comparison]))
    assert document["meta"]["preprocessedProfileVersion"] == 55
    assert len(document["threads"]) == len(comparison.labels)
    for kernel, thread in enumerate(document["threads"]):
        for table in thread.values():
            if isinstance(table, dict) and "length" in table:
                columns = [column for column in table.values() if isinstance(column, list)]
                assert columns
                assert {len(column) for column in columns} == {table["length"]}
        found: Counter[tuple[str, ...]] = Counter()
        samples = thread["samples"]
        for stack, weight in zip(samples["stack"], samples["weight"], strict=True):
            path: list[str] = []
            at: Any = stack
            while at is not None:
                function = thread["frameTable"]["func"][thread["stackTable"]["frame"][at]]
                path.insert(0, thread["stringArray"][thread["funcTable"]["name"][function]])
                at = thread["stackTable"]["prefix"][at]
            found[tuple(path)] += weight
        assert sum(found.values()) == comparison.totals()[kernel]
        assert found == Counter(
            {printable(path): count for path, count in stacks(comparison, kernel).items()}
        )


def test_inlined_frames_have_a_depth_in_firefox() -> None:
    thread = json.loads(firefox.render([EVERY["example"]]))["threads"][1]
    frames, functions = thread["frameTable"], thread["funcTable"]
    names = [thread["stringArray"][functions["name"][f]] for f in frames["func"]]
    depth = dict(zip(names, frames["inlineDepth"], strict=True))
    assert depth["change_pte_range"] == 0
    assert depth["commit_anon_folio_batch"] == 1


@pytest.mark.build
def test_pprof_shows_deltas(tmp_path: Path) -> None:
    """With the real tool: flat is other minus base."""
    go = shutil.which("go") or shutil.which("go", path="/usr/local/go/bin")
    if go is None:
        pytest.skip("go is not installed (apt-get install golang-go)")
    file = tmp_path / "p.pb.gz"
    comparison = EVERY["example"]
    file.write_bytes(pprof.render([comparison]))
    # Newer go compiles pprof at its first use, half a minute, and keeps it.
    cache = str(Path.home() / ".cache/go-build")
    environment = {"GOCACHE": cache, **os.environ, "HOME": str(tmp_path)}
    command = [go, "tool", "pprof", "-top", "-nodefraction=0", "-unit=count", str(file)]
    result = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    if "no such tool" in result.stderr:
        pytest.skip("go has no pprof (golang-go without its tools)")
    assert result.returncode == 0, result.stderr
    rows = {
        match[2]: int(float(match[1]))
        for match in re.finditer(
            r"^\s*(-?[\d.]+)\s+[\d.]+%\s+[\d.]+%\s+-?\S+\s+\S+\s+(\S.*)$", result.stdout, re.M
        )
    }
    deltas = comparison.deltas()[:, 1].tolist()
    for function, delta in zip(comparison.functions, deltas, strict=True):
        if delta:
            assert rows[function.name] == delta, result.stdout


def test_pprof_wants_two_kernels() -> None:
    with pytest.raises(InputError, match="holds two kernels, there are 3"):
        pprof.render([EVERY["three"]])
    assert gzip.decompress(pprof.render([EVERY["one"]]))


@pytest.mark.parametrize("form", ["json", "csv", "speedscope", "firefox", "pprof", "folded"])
def test_a_recording_without_stacks_is_written(tmp_path: Path, form: str) -> None:
    (tmp_path / "script.txt").write_text("work  7/7   1000.000001:       5000 cpu-clock:\n\n")
    profdiff("diff", "a=script.txt", f"--{form}", "out", cwd=tmp_path)
    assert (tmp_path / "out").is_file()


@pytest.mark.parametrize("name", ["example", "hostile", "three"])
def test_folded_difference_adds_up(name: str) -> None:
    comparison = EVERY[name]
    files = dict(folded_difference(comparison))
    assert list(files) == comparison.labels[1:]
    for kernel, lines in enumerate(files.values(), 1):
        sums = [0, 0]
        for line in lines.decode().splitlines():
            match = re.fullmatch(r"(.+) (\d+) (\d+)", line)
            assert match, line
            assert len(match[1].split(";")) <= 2
            sums[0] += int(match[2])
            sums[1] += int(match[3])
        assert sums == comparison.totals()[[0, kernel]].tolist()


def test_flamegraph_pl_takes_the_folded_difference(tmp_path: Path) -> None:
    packaged = "/usr/share/perl5/Devel/NYTProf/flamegraph.pl"
    named = os.environ.get("FLAMEGRAPH") or shutil.which("flamegraph.pl")
    script = named or shutil.which(packaged)
    if not script:
        pytest.skip("flamegraph.pl is not installed (apt-get install libdevel-nytprof-perl)")
    ((_, lines),) = folded_difference(EVERY["example"])
    command = ["perl", script] if script.endswith(".pl") else [script]
    result = subprocess.run(command, input=lines, capture_output=True, check=True)
    picture = result.stdout.decode()
    assert "commit_anon_folio_batch" in picture
    assert "+" in re.findall(r"commit_anon_folio_batch[^<]*<", picture)[0]


@pytest.mark.parametrize("name", EVERY)
@pytest.mark.parametrize("form", ["difference", "side_by_side"])
def test_pictures_are_text_and_load_nothing(name: str, form: str) -> None:
    comparison = EVERY[name]
    if form == "side_by_side" and name == "one":
        with pytest.raises(InputError, match="there is one kernel"):
            svg.side_by_side([comparison], [])
        return
    data = getattr(svg, form)([comparison], ["It is not certain."])
    assert b">It is not certain.</text>" in data
    root = ElementTree.fromstring(data)  # noqa: S314 (our own picture)
    tags = {element.tag.partition("}")[2] for element in root.iter()}
    assert tags == {"svg", "rect", "text", "g", "title"}
    for element in root.iter():
        assert not any("href" in key or key.startswith("on") for key in element.attrib)
    titles = [element.text or "" for element in root.iter("{http://www.w3.org/2000/svg}title")]
    first = {title.split("\n")[0].removesuffix(" (inlined)") for title in titles}
    expected = {printable((function.name,))[0] for function in comparison.functions}
    if name == "hostile":
        assert expected <= first
    else:
        assert {"change_pte_range", "can_change_pte_writable"} <= first
    assert (
        max(len(element.text or "") for element in root.iter() if element.tag[-4:] == "text") < 200
    )


def test_frames_that_vanished_are_drawn() -> None:
    text = svg.difference([EVERY["example"]], []).decode()
    title = re.search(r"<title>can_change_pte_writable[^<]*</title>", text)
    assert title
    assert "delta -300,000 (vanished)" in title[0]
    assert "per op -7.50" in title[0]


def test_what_the_page_leaves_grey_is_grey() -> None:
    """The page mixes by the root of a delta's part of the largest."""
    rows = {"large": (0, 10**6), "small": (10**6, 10**6 + 1), "some": (0, 10**6 // 16)}
    made = compare(
        {
            label: [([frame(name)], name, True, [both[side]]) for name, both in rows.items()]
            for side, label in enumerate(("base", "new"))
        }
    )
    text = svg.difference([made], []).decode()
    fills = {
        name: re.search(rf"<title>{name}[^<]*</title><rect [^>]*fill=\"(#\w+)\"", text)
        for name in rows
    }
    (large, small, some) = (found and found[1] for found in fills.values())
    assert small == "#ececec"
    neutral, full, part = (int(colour[5:], 16) for colour in ("#ececec", large or "", some or ""))
    assert part - neutral == pytest.approx((full - neutral) / 4, abs=1)


def test_what_chance_can_make_of_samples_is_grey() -> None:
    """20 and 30 samples: 10 of three standard errors of 21. 100 and 200: 100 of 52."""
    made = sampled_comparison({"chance": (20, 30), "grown": (100, 200), "none": (50, 50)})
    text = svg.difference([made], []).decode()
    found = re.findall(r"<title>(\w+)[^<]*</title><rect [^>]*fill=\"(#\w+)\"", text)
    colours = dict(found)
    assert colours["chance"] == colours["none"] == "#ececec"
    assert colours["grown"] != "#ececec"


def test_nothing_to_draw() -> None:
    nothing = compare({"base": [([frame("f")], "f", True, [0])]})
    with pytest.raises(InputError, match="nothing to draw"):
        svg.difference([nothing], [])


def test_the_command_writes_all_and_reads_folded_stacks_back(tmp_path: Path) -> None:
    (tmp_path / "a.folded").write_text("main;work_[k];busy_[k] 70\nmain;idle 30\n")
    (tmp_path / "b.folded").write_text("main;work_[k];busy_[k] 90\nmain;work_[k];more_[k] 20\n")
    forms = ["svg", "svg-side-by-side", "speedscope", "firefox", "pprof", "folded-diff", "folded"]
    options = [text for form in forms for text in (f"--{form}", f"out.{form}")]
    profdiff("diff", "a=a.folded", "b=b.folded", *options, cwd=tmp_path)
    lines = (tmp_path / "out.folded-diff").read_text().splitlines()
    assert "main;work;busy 70 90" in lines
    assert "main;idle 30 0" in lines
    again = profdiff("diff", "out.a.folded", "out.b.folded", "--csv", "-", cwd=tmp_path).stdout
    first = profdiff("diff", "a.folded", "b.folded", "--csv", "-", cwd=tmp_path).stdout
    counts = re.compile(r",(\w+),.*?,(\d+),(\d+),(\d+),(\d+),", re.M)
    assert counts.findall(again) == counts.findall(first) != []
    (tmp_path / "out.svg").write_text("old")
    result = profdiff("diff", "a.folded", "--svg-side-by-side", "out.svg", cwd=tmp_path, status=2)
    assert "one kernel" in error_line(result)
    assert (tmp_path / "out.svg").read_text() == "old"
    result = profdiff("diff", "a.folded", "b.folded", "--svg", "no/out.svg", cwd=tmp_path, status=2)
    assert "cannot write no/out.svg" in error_line(result)
    both = ["--svg", "-", "--pprof", "-"]
    result = profdiff("diff", "a.folded", "b.folded", *both, cwd=tmp_path, status=2)
    assert "only one file" in error_line(result)

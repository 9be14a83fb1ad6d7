"""Names of functions of C++ and Rust, with and without debug information; in texts, too."""

import os
import subprocess
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from support import SHARED, need_program

from profdiff.profile.function_identity import Function, match, parted
from profdiff.profile.importing import GivenRecording, compare, describe, read
from profdiff.symbolization._native import SymbolIndex, demangled

EXTERNAL = SHARED / "external"
CXX = """
#include <functional>
volatile long x;
#define SPIN(n) for (long i = 0; i < (n); i++) x += i
#define NOINLINE __attribute__((noinline))
namespace {
struct Worker {
    void inlined(long n) { SPIN(n); }
    NOINLINE void run(long n) { SPIN(n); }
};
NOINLINE void over(int n) { SPIN(20L * n); }
NOINLINE void over(double n) { SPIN(30L * (long)n); }
}
namespace alpha { struct Worker { NOINLINE void run(long n) { SPIN(n); } }; }
namespace beta { inline namespace v1 { template<class T> struct Worker {
    template<class U> NOINLINE long run(U u) const { SPIN(3000); return (long)u; }
    NOINLINE bool operator<(const Worker &) const { SPIN(2000); return x > 3; }
    NOINLINE void operator()(T) const { SPIN(2000); }
}; } }
static inline void alone(long n) { SPIN(n); }
template<class F> NOINLINE void call(F f, long n) { f(n); }
NOINLINE void through(const std::function<void(int)> &f) { SPIN(2000); f(3); }
int main() {
    auto one = [&](long n) NOINLINE { SPIN(n); };
    auto two = [&](long n) NOINLINE { SPIN(2 * n); };
    for (long j = 0; j < 6000; j++) {
        one(1000); two(1000);
        call([](long n) { SPIN(n); }, 1000);
        call([](long n) { SPIN(3 * n); }, 1000);
        Worker w; w.inlined(1000); w.run(1000); over(100); over(100.0); alone(1000);
        alpha::Worker a; a.run(2000);
        beta::Worker<int> b; b.run(3ul); b.run(2.0); b(3); x += b < b;
        through([](int n) NOINLINE { SPIN(1000 * n); });
    }
}
"""
RUST = """
use std::hint::black_box;
trait Work { fn work(&self, n: u64) -> u64; }
macro_rules! kind { ($m:ident, $k:literal) => { mod $m { pub struct T; impl T {
    #[inline(never)] pub fn read(&self, n: u64) -> u64 {
        (0..$k * n).fold(0, |s, i| std::hint::black_box(s ^ i)) } }
    impl super::Work for T { #[inline(never)] fn work(&self, n: u64) -> u64 {
        (0..n).fold(0, |s, i| std::hint::black_box(s + i)) + self.read(n) } } } } }
kind!(a, 1);
kind!(b, 3);
fn main() { for _ in 0..3000 { black_box(a::T.work(5000)); black_box(b::T.work(5000)); } }
"""


def recorded(program: Path) -> Path:
    need_program("perf", "linux-perf")
    file = program.with_suffix(".perf.data")
    command = ["perf", "record", "-qN", "-e", "cpu-clock:u", "-c", "250000", "-o", file, program]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode != 0 or not file.is_file():
        pytest.skip(f"perf may not record here: {result.stderr.strip()[-200:]}")
    return file


def rows(*files: Path, roots: list[Path] | None = None) -> list[dict[str, int]]:
    """What each function executed itself, by recording."""
    given = [
        GivenRecording(f"k{n}", file, root=roots[n] if roots else None)
        for n, file in enumerate(files)
    ]
    imported = [read(one) for one in given]
    comparison = compare(imported, describe(imported, ops=None, command=[]))[0]
    names = [function.name for function in comparison.functions]
    found = []
    for column in range(len(files)):
        sums = Counter[str]()
        for name, count in zip(names, comparison.self_[:, column].tolist(), strict=True):
            sums[name] += count
        found.append({name: count for name, count in sums.items() if count})
    return found


def by_symbol(file: Path) -> Counter[str]:
    """What perf gives each symbol of the program, mangled."""
    command = ["perf", "script", "-i", file, "--no-demangle", "-F", "period,ip,sym,dso"]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    found: Counter[str] = Counter()
    for line in text.splitlines():
        period, _, symbol, dso = line.split(maxsplit=3)
        if dso.startswith(f"({file.parent}/"):
            found[symbol] += int(period)
    return found


def filtered(symbol: str, *options: str) -> str:
    command = ["c++filt", *options, symbol]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


@pytest.mark.build
@pytest.mark.slow
@pytest.mark.parametrize("debug", ["-g", "-g0", "-g1"])
def test_functions_of_cxx_are_those_of_perf_and_cxxfilt(debug: str, tmp_path: Path) -> None:
    for program in ("g++", "c++filt"):
        need_program(program, "g++" if program == "g++" else "binutils")
    (tmp_path / "names.cpp").write_text(CXX)
    program = tmp_path / "names"
    command = ["g++", "-O1", debug, "-std=c++17", "-o", program, tmp_path / "names.cpp"]
    subprocess.run(command, check=True)
    file = recorded(program)
    symbols = by_symbol(file)
    (own,) = rows(file)
    short = Counter(filtered(symbol, "-p") for symbol in symbols)
    whole = {name: filtered(name) for name in symbols}
    expected: dict[str, int] = {}
    for symbol, weight in symbols.items():
        name = filtered(symbol, "-p")
        if short[name] > 1:
            name += whole[symbol].partition(name)[2]
        expected[name] = weight
    assert {"(anonymous namespace)::over(int)", "(anonymous namespace)::over(double)"} < {*expected}
    assert {"alpha::Worker::run", "main::{lambda(long)#1}::operator()"} < {*expected}
    for name, weight in expected.items():
        inlines = name in ("main", "through") or "call<" in name or "_M_invoke" in name
        if debug != "-g0" and inlines:
            continue  # what is inlined there has rows of its own
        assert own.get(name) == weight, (name, weight, own)
    if debug == "-g":
        inlined = {"(anonymous namespace)::Worker::inlined", "alone"}
        inlined |= {f"main::{{lambda(long)#{n}}}::operator()" for n in (3, 4)}
        assert inlined < {*own}
        assert sum(own.values()) >= sum(expected.values())


@pytest.mark.build
@pytest.mark.slow
@pytest.mark.parametrize("mangling", ["legacy", "v0"])
def test_functions_of_rust_are_the_same_in_the_next_build(mangling: str, tmp_path: Path) -> None:
    """Another crate's metadata changes every mangled name. Without and with line tables."""
    need_program("rustc", "rustc")
    (tmp_path / "spin.rs").write_text(RUST)
    files = []
    options = ["-Cdebuginfo=0", "-Cdebuginfo=line-tables-only", "-Cdebuginfo=2"]
    for number, debug in enumerate(options):
        program = tmp_path / f"spin{number}"
        flags = ["-O", debug, f"-Cmetadata={number}", f"-Csymbol-mangling-version={mangling}"]
        command = ["rustc", "--crate-name=spin", *flags, "-Zunstable-options"]
        command += ["-o", program, tmp_path / "spin.rs"]
        subprocess.run(command, check=True, env={**os.environ, "RUSTC_BOOTSTRAP": "1"})
        files.append(recorded(program))
    plain, lines, whole = rows(*files)
    method = "<spin::{}::T>::read" if mangling == "v0" else "spin::{}::T::read"
    names = {method.format(m) for m in "ab"}
    names |= {f"<spin::{m}::T as spin::Work>::work" for m in "ab"}
    assert names <= {*plain}
    # What the loops inline has rows of its own where debug information tells it.
    for table in (lines, whole):
        assert not [name for name in table if name.startswith("_") and "R" in name[:3]]
        assert not [name for name in table if "17h" in name]
    assert names <= {*plain} & {*lines, *plain}


def shared(name: str) -> Path:
    folder = EXTERNAL / name
    if not folder.is_dir():
        pytest.skip(f"{folder} is not here")
    return folder


def test_methods_of_one_name_are_two_rows() -> None:
    folder = shared("cxx-same-name")
    (own,) = rows(folder / "ns.perf.data", roots=[folder / "symfs"])
    assert own == {
        "beta::Worker::run": 44_000_000,
        "alpha::Worker::run": 17_000_000,
        "tmpl<int>": 33_000_000,
        "tmpl<double>": 27_000_000,
        "V::operator<": 17_000_000,
    }


def test_hashes_of_rust_are_no_part_of_a_function() -> None:
    folder = shared("rust-symbols")
    files = [folder / f"{name}.perf.data" for name in "ab"]
    base, new = rows(*files, roots=[folder / "symfs"] * 2)
    assert base["r::b::T::read"] == 170_000_000
    assert new["r::b::T::read"] == 174_000_000
    assert base["<r::b::T as r::Work>::work"] == 84_000_000
    assert new["<r::b::T as r::Work>::work"] == 86_000_000
    program = {name for name in {*base, *new} if name.startswith(("r::", "<r::"))}
    assert program <= {*base} & {*new}


TEXT = """
prog  4711  100.000001:        100 cycles:
\t    401010 {0}+0x10 (/opt/prog)
\t    401010 main+0x1 (/opt/prog)

"""


@pytest.mark.parametrize("form", ["script", "folded"])
def test_names_in_texts_are_demangled(form: str, tmp_path: Path) -> None:
    given = {
        "_ZN4beta6Worker3runEl": "beta::Worker::run",
        "_ZN5alpha6Worker3runEl": "alpha::Worker::run",
        "_Z4overi": "over(int)",
        "_Z4overd": "over(double)",
        "_ZL4coldv.cold": "cold",
        "warm(int) [clone .cold] [clone .isra.0]": "warm(int)",
        "_ZN1r1b1T4read17hedd5e97b7bbbae86E": "r::b::T::read",
        "r::a::T::read::h0123456789abcdef": "r::a::T::read",
        "_RNvNtCs1234_7mycrate3foo3bar": "mycrate::foo::bar",
        "void exec<void (*)()>(void (*)())": "void exec<void (*)()>(void (*)())",
        "do_mprotect_pkey": "do_mprotect_pkey",
        "_Zombie": "_Zombie",
    }
    file = tmp_path / "text"
    script = form == "script"
    texts = [TEXT.format(name) if script else f"main;{name} 100\n" for name in given]
    file.write_text("".join(texts))
    (own,) = rows(file)
    assert own == dict.fromkeys(given.values(), 100)


def test_names_are_those_of_cxxfilt() -> None:
    """All functions of a library of C++."""
    need_program("nm", "binutils")
    need_program("c++filt", "binutils")
    libraries = sorted(Path("/usr/lib").glob("*/libstdc++.so.6"))
    if not libraries:
        pytest.skip("libstdc++6 is not installed")
    command = ["nm", "-D", "--defined-only", libraries[0]]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    symbols = [line.split() for line in text.splitlines()]
    names = sorted({s[2].partition("@")[0] for s in symbols if s[1] in "TtWw"})
    names = [name for name in names if name.startswith("_Z")]
    own = [parted(name)[0] for name in demangled(names)]
    unequal = dict(zip(names, own, strict=True))
    # perf's way to write what std::string is, and c++filt's own.
    for options in (["--no-verbose"], []):
        shown = subprocess.run(
            ["c++filt", *options], input="\n".join(names), capture_output=True, text=True
        ).stdout
        for name, other in zip(names, shown.splitlines(), strict=True):
            # It shows what a template returns, too.
            if parted(other)[0].endswith(unequal.get(name, " ")):
                del unequal[name]
    assert len(names) > 3000
    assert len(unequal) < len(names) / 80, unequal


def functions(*places: tuple[str, str]) -> list[Function]:
    return [Function("f", "o", file, False, parameters=its) for file, its in places]


def test_parameters_tell_functions_apart_only_where_they_are_known() -> None:
    one, two, none = ("a", "(int)"), ("a", "(double)"), ("a", "")
    matched = match([functions(one, two), functions(two, one)])
    assert [function.name for function in matched.functions] == ["f(double)", "f(int)"]
    assert matched.numbers == [[1, 0], [0, 1]]
    # Another one that a kernel did not execute is not the same.
    assert match([functions(one), functions(two)]).numbers == [[1], [0]]
    assert match([functions(one), functions(none)]).numbers == [[0], [0]]
    assert match([functions(one), functions(none)]).functions[0].name == "f"
    assert len(match([functions(one), functions(none), functions(two)]).functions) == 3
    assert match([functions(one), functions(("b", "(int)"))]).numbers == [[0], [0]]


def test_kernel_names_stay_as_they_are() -> None:
    for name in ("do_mprotect_pkey", "__x64_sys_read", "a::b", "_Rsomething", "f.h0123"):
        assert Function.of(name, "vmlinux", "", True).name == name


@pytest.mark.build
def test_symbols_of_an_index_stay_mangled(tmp_path: Path) -> None:
    """Modules are placed by their symbols, which kallsyms has mangled."""
    need_program("gcc")
    (tmp_path / "s.S").write_text(
        ".globl _RNvC1a1f\n.type _RNvC1a1f, @function\n_RNvC1a1f: nop\n.size _RNvC1a1f, 1\n"
    )
    subprocess.run(["gcc", "-c", "s.S", "-o", "s.o"], cwd=tmp_path, check=True)
    index = SymbolIndex.open(str(tmp_path / "s.o"))
    address = index.symbol_address("_RNvC1a1f")
    assert address is not None
    found = index.resolve(np.array([address], np.uint64))
    assert found.strings[found.symbol[0]] == "_RNvC1a1f"
    assert found.strings[found.function_name[0]] == "a::f"

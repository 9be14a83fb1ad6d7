"""What docs/python.md shows is what happens, and it names all that there is."""

import doctest
import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest
from support import ROOT

import profdiff

TEXT = (ROOT / "docs/python.md").read_text()
SECTIONS = {text.partition("\n")[0]: text for text in re.split(r"(?m)^#+ ", TEXT)[1:]}
NEEDED = {"pandas": ["pandas", "pyarrow"], "polars": ["polars"]}


def examples(section: str) -> str:
    return "".join(re.findall(r"(?s)```python\n(.*?)```", SECTIONS[section]))


@pytest.mark.usefixtures("parts", "suite")
@pytest.mark.parametrize("section", [one for one in SECTIONS if examples(one)])
def test_examples(section: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in NEEDED.get(section, ()):
        pytest.importorskip(name, reason=f"{name} is not installed")
    monkeypatch.chdir(folder.parent)
    names = {"profdiff": profdiff, "session": profdiff.open("mprotect.profdiff")}
    test = doctest.DocTestParser().get_doctest(examples(section), names, section, None, 0)
    told: list[str] = []
    assert test.examples
    assert doctest.DocTestRunner().run(test, out=told.append).failed == 0, "".join(told)


def test_every_name_and_method_is_named() -> None:
    kinds = [profdiff.Session, profdiff.Parts, profdiff.Suite, profdiff.Table]
    assert set(profdiff.__all__) >= {one.__name__ for one in kinds}
    for name in profdiff.__all__:
        assert name in dir(profdiff)
        assert getattr(profdiff, name).__doc__ or name == "__version__"
    # What all recordings have, and what is a session's.
    for kind in kinds:
        for name, one in inspect.getmembers(kind):
            if not name.startswith("_"):
                assert inspect.getdoc(one), name
                assert re.search(rf"\b{name}\b", TEXT), name
    with pytest.raises(AttributeError, match="nothing"):
        profdiff.nothing  # noqa: B018


def test_an_import_loads_nothing() -> None:
    code = "import sys, profdiff; print(sorted({'click', 'msgspec', 'numpy'} & set(sys.modules)))"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout == "[]\n"

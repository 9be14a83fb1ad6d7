"""The report as one page: styles, scripts and data inside, nothing loaded from anywhere."""

import base64
import gzip
import hashlib
import re
from collections.abc import Iterable
from graphlib import TopologicalSorter
from importlib import resources

import msgspec

from profdiff.evidence.findings import Findings
from profdiff.reports import chart_scheme, charts, document, page_code, page_points
from profdiff.views.blame import Blame

# The one form in which a page's module imports another one.
_IMPORT = re.compile(r'^import \{[^}]*\} from "\./(\w+)\.js";\n', re.M)


def render(findings: Findings, others: Iterable[Findings] = (), blame: Blame | None = None) -> str:
    """The page; ``others``: the findings at other points; ``blame``: of its own."""
    shown = document.build(findings)
    code = page_code.page_code(findings)
    text = document.encode(
        shown,
        charts=page_charts(findings),
        points=page_points.page_points(findings, shown, others),
        code=code.held,
        blame=None if blame is None else msgspec.to_builtins(blame),
        joint=None,
        parts={},
    )
    return page(text, code.elements)


def page_charts(findings: Findings) -> list[dict[str, str]]:
    """The charts of findings, for either scheme of a page."""
    return [with_scheme(chart) for chart in charts.figures(findings)]


def with_scheme(chart: dict[str, str]) -> dict[str, str]:
    """A chart that is light or dark as its page."""
    return {**chart, "svg": chart_scheme.with_scheme(chart["svg"])}


def page(text: bytes, code: str) -> str:
    """The page of a document as JSON, and of elements with code. What comes from a recording is
    compressed JSON in base64, which has no character that could end its script element; the script
    shows it as text."""
    files = resources.files("profdiff.templates")
    style = files.joinpath("report.css").read_text()
    script = joined_modules()
    # No time of compression: the same recording makes the same page.
    packed = gzip.compress(text, compresslevel=6, mtime=0)
    data = base64.b64encode(packed).decode()
    policy = (
        f"default-src 'none'; style-src 'sha256-{_hash(style)}'; "
        f"script-src 'sha256-{_hash(script)}'; img-src data:; base-uri 'none'; form-action 'none'"
    )
    left = files.joinpath("report.html").read_text()
    # One pass from the first to the last, so that no replacement is searched for the next one.
    result = []
    for name, value in (
        ("POLICY", policy),
        ("STYLE", style),
        ("DATA", data),
        ("CODE", code),
        ("SCRIPT", script),
    ):
        before, _, left = left.partition(f"@{name}@")
        result += [before, value]
    return "".join([*result, left])


def joined_modules() -> str:
    """The page's ES modules as one, each behind those that it imports, without ``import`` and
    ``export``: a script inside a page cannot import another one that is inside it.

    Raises graphlib.CycleError if modules import each other in a circle.
    """
    files = resources.files("profdiff.templates").iterdir()
    modules = {file.name[:-3]: file.read_text() for file in files if file.name.endswith(".js")}
    # Sorted: the same modules make the same script.
    imports = {name: _IMPORT.findall(modules[name]) for name in sorted(modules)}
    order = TopologicalSorter(imports).static_order()
    joined = "".join(_IMPORT.sub("", modules[name]) for name in order)
    return re.sub("^export ", "", joined, flags=re.M)


def _hash(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()

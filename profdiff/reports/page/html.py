"""The report as one page: styles, scripts and data inside, nothing loaded from anywhere."""

import base64
import hashlib
import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from graphlib import TopologicalSorter
from html import escape
from importlib import resources
from posixpath import normpath

import msgspec

from profdiff import __version__
from profdiff.base import program
from profdiff.evidence.findings import Findings
from profdiff.reports import charts, documents
from profdiff.reports.page import accesses, points, sharing
from profdiff.reports.page.code import page_code
from profdiff.reports.page.element import packed
from profdiff.reports.page.records import Chart, Page, TablesPage, page_of
from profdiff.shapes.table import Section
from profdiff.views.blame import Blame
from profdiff.views.record import Record

# Colours of the charts, and what stands for them on dark ground; the page's own, see scheme.css.
# Colours that are told apart on both are left out.
DARK = {
    "#ffffff": "#15171a",
    "#000000": "#e4e6e9",
    "#dddddd": "#363b42",
    "#bbbbbb": "#565d67",
    "#0072b2": "#6bb8f0",
    "#d55e00": "#ff9a52",
}


def _svg_with_scheme(svg: str) -> str:
    """A chart with a style for dark ground. matplotlib writes colours into ``style`` attributes,
    and none where it draws black."""
    rules = [f"svg{{fill:{DARK['#000000']}}}"]
    for light, dark in DARK.items():
        rules += [
            f'[style*="{name}: {light}"]{{{name}:{dark} !important}}' for name in ("fill", "stroke")
        ]
    style = f"<style>@media (prefers-color-scheme: dark){{{''.join(rules)}}}</style>"
    end = svg.index(">", svg.index("<svg")) + 1
    return svg[:end] + style + svg[end:]


# The one form in which a page's module imports another one.
_IMPORT = re.compile(r'^import \{[^}]*\} from "(\.\.?/[\w/]+)\.js";\n', re.M)
# The module that starts each page.
_ENTRIES = {name: f"{name}/{name}" for name in ("report", "suite", "atlas", "tables")}
# What all pages look like, and what some have besides.
_STYLES = (
    "page/scheme.css",
    "page/page.css",
    "page/lines.css",
    "accesses/accesses.css",
    "sharing/sharing.css",
)
_OWN_STYLES = {"suite": ("suite/overview.css",), "atlas": ("atlas/atlas.css",)}


def render(findings: Findings, others: Iterable[Findings] = (), blame: Blame | None = None) -> str:
    """The page; ``others``: the findings at other points; ``blame``: of its own."""
    shown = documents.session_document(findings)
    data = accesses.page_accesses(findings)
    code = page_code(findings, data.numbers)
    lines = sharing.page_sharing(findings)
    made = page_of(
        shown,
        charts=page_charts(findings),
        points=points.page_points(findings, shown, others),
        code=code.held,
        accesses=data.held,
        sharing=lines.held,
        blame=blame,
    )
    return page(made, code.elements + data.elements + lines.elements)


def page_charts(findings: Findings) -> list[Chart]:
    """The charts of findings, for either scheme of a page."""
    return [with_scheme(chart) for chart in charts.figures(findings)]


def with_scheme(chart: dict[str, str]) -> Chart:
    """A chart that is light or dark as its page."""
    return msgspec.convert({**chart, "svg": _svg_with_scheme(chart["svg"])}, Chart)


def page(made: Page, code: str) -> str:
    """The page of one report; ``code``: elements with the code of functions."""
    return alone("report", made, ["report/report.html"], code)


def tables_page(section: Section, heading: str) -> bytes:
    """The page of tables that belong to no recording, or that a command alone shows."""
    command = shlex.join(program.called())
    made = TablesPage(heading=heading, command=command, profdiff=__version__, sections=[section])
    return alone("tables", made, ["tables/tables.html"], "").encode(errors="backslashreplace")


def alone(entry: str, data: Record, body: Sequence[str], code: str) -> str:
    """A page that holds its styles and the modules that ``entry`` needs, and loads nothing. What
    comes from a recording is in ``data`` and ``code``: compressed JSON in base64, which has no
    character that could end its script element; the script shows it as text. ``body``: files of
    the page's elements."""
    style = styles(entry)
    script = joined_modules(entry)
    policy = (
        f"default-src 'none'; style-src 'sha256-{_hash(style)}'; "
        f"script-src 'sha256-{_hash(script)}'; img-src data:; base-uri 'none'; form-action 'none'"
    )
    return filled(
        template("page/page.html"),
        {
            "POLICY": policy,
            "STYLE": f"<style>{style}</style>",
            "BODY": "".join(map(template, body)),
            "WITHOUT": "This page needs JavaScript; profdiff prints the same as text.",
            "DATA": packed(documents.encode(data)),
            "CODE": code,
            "SCRIPT": f'<script type="module">{script}</script>',
        },
    )


# A page that is opened as a file has no origin that 'self' could be.
_LINKED_POLICY = (
    "default-src 'none'; style-src 'self' file:; script-src 'self' file:; img-src data:; "
    "base-uri 'none'; form-action 'none'"
)


def linked(entry: str, data: bytes, body: Sequence[str], place: str) -> str:
    """The page of a site at ``place``, without ``.html``, beside which the same lies as JSON.
    ``data``: a record as JSON. Its styles and scripts lie in the site's ``assets``."""
    assets, beside = f"{'../' * place.count('/')}assets/", f"{place.rpartition('/')[2]}.json"
    name = escape(beside)
    return filled(
        template("page/page.html"),
        {
            "POLICY": _LINKED_POLICY,
            "STYLE": f'<link rel="stylesheet" href="{assets}style.css">',
            "BODY": "".join(map(template, body)),
            "WITHOUT": f'This page needs JavaScript; <a href="{name}">{name}</a> has its data.',
            "DATA": packed(data),
            "CODE": "",
            "SCRIPT": f'<script src="{assets}{entry}.js" defer></script>',
        },
    )


def styles(*entries: str) -> str:
    """What the pages of all ``entries`` look like."""
    own = [name for entry in entries for name in _OWN_STYLES.get(entry, ())]
    return "".join(map(template, [*_STYLES, *own]))


def linked_script(entry: str) -> str:
    """The modules of a linked page: no module, as browsers load none from a file."""
    return f'"use strict";\n(() => {{\n{joined_modules(entry)}}})();\n'


def filled(text: str, values: Mapping[str, str]) -> str:
    """A text whose ``@NAME@`` are replaced in one pass from the first to the last, so that no
    replacement is searched for the next one. Raises KeyError for one that it has not."""
    left, result = text, []
    for name, value in values.items():
        before, found, left = left.partition(f"@{name}@")
        if not found:
            raise KeyError(name)
        result += [before, value]
    return "".join([*result, left])


def joined_modules(entry: str = "report") -> str:
    """The modules that a page's module ``entry`` needs and itself as one, each behind those that it
    imports, without ``import`` and ``export``: a script inside a page cannot import another one
    that is inside it.

    Raises graphlib.CycleError if modules import each other in a circle.
    """
    imports: dict[str, list[str]] = {}
    wanted = [_ENTRIES[entry]]
    while wanted:
        name = wanted.pop()
        if name not in imports:
            found = _IMPORT.findall(template(f"{name}.js"))
            imports[name] = [normpath(f"{name}/../{one}") for one in found]
            wanted += imports[name]
    # Sorted: the same modules make the same script.
    order = TopologicalSorter({name: imports[name] for name in sorted(imports)}).static_order()
    joined = "".join(_IMPORT.sub("", template(f"{name}.js")) for name in order)
    return re.sub("^export ", "", joined, flags=re.M)


def template(name: str) -> str:
    """The text of a file of ``templates/``."""
    return resources.files("profdiff.templates").joinpath(name).read_text()


def _hash(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()

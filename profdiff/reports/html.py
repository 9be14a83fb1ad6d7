"""The report as one page: styles, scripts and data inside, nothing loaded from anywhere."""

import base64
import gzip
import hashlib
from importlib import resources

from profdiff.evidence.findings import Findings
from profdiff.reports import charts, document

# In the order in which they are put together: the last starts the page.
SCRIPTS = (
    "text",
    "state",
    "model",
    "flamegraph",
    "details",
    "tree_view",
    "sandwich",
    "table",
    "experiment",
    "facts",
    "report",
)


def render(findings: Findings) -> str:
    """The page. Whatever comes from a recording is compressed JSON in base64, which has no
    character that could end its script element; the script shows it as text."""
    files = resources.files("profdiff.templates")
    style = files.joinpath("report.css").read_text()
    script = "".join(files.joinpath(f"{name}.js").read_text() for name in SCRIPTS)
    text = document.encode(document.build(findings), charts=charts.figures(findings))
    # No time of compression: the same recording makes the same page.
    packed = gzip.compress(text, compresslevel=6, mtime=0)
    data = base64.b64encode(packed).decode()
    policy = (
        f"default-src 'none'; style-src 'sha256-{_hash(style)}'; "
        f"script-src 'sha256-{_hash(script)}'; img-src data:; base-uri 'none'; form-action 'none'"
    )
    page = files.joinpath("report.html").read_text()
    # One pass from the first to the last, so that no replacement is searched for the next one.
    result = []
    for name, value in (("POLICY", policy), ("STYLE", style), ("DATA", data), ("SCRIPT", script)):
        before, _, page = page.partition(f"@{name}@")
        result += [before, value]
    return "".join([*result, page])


def _hash(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()

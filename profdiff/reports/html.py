"""The report as one page: styles, script and data inside, nothing loaded from anywhere."""

import base64
import hashlib
import json
from collections.abc import Sequence
from importlib import resources

from profdiff.comparison import Comparison
from profdiff.reports.document import document


def render(comparisons: Sequence[Comparison]) -> str:
    """The page. Whatever comes from a recording is JSON in a script element that does not execute,
    without any character that could end it; the script shows it as text."""
    files = resources.files("profdiff.templates")
    style = files.joinpath("report.css").read_text()
    script = files.joinpath("report.js").read_text()
    data = json.dumps(document(comparisons), ensure_ascii=True, separators=(",", ":"))
    for character in "<>&":
        data = data.replace(character, f"\\u{ord(character):04x}")
    policy = (
        f"default-src 'none'; style-src 'sha256-{_hash(style)}'; "
        f"script-src 'sha256-{_hash(script)}'; base-uri 'none'; form-action 'none'"
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

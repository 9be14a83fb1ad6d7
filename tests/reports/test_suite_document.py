"""The data of a suite's report."""

from goldens import check_schema
from support import ROOT

from profdiff.views import suite


def test_the_schema_is_that_of_the_records() -> None:
    check_schema(ROOT / "profdiff/suite-report.schema.json", suite.schema(), "reports")

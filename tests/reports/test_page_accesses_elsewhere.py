"""The data that kernels access on pages of several points or architectures, which hold that of
their own point alone."""

from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from browsed_page import Page
from made_accesses import Site, table
from reports.test_page_points import at_point, others
from synthetic_joint import joint

from profdiff.evidence.findings import Findings
from profdiff.evidence.parts import PartsFindings
from profdiff.reports.page import accesses
from profdiff.session.parts import Parts


def known(findings: Findings) -> accesses.ShownAccesses:
    """As if its kernels accessed a field."""
    comparison = findings.comparisons[0]
    sites = {label: [Site("flags", 10 + n)] for n, label in enumerate(comparison.labels)}
    return accesses._shown(0, comparison, table(sites))


def test_another_point_says_where_it_is_known(browser: Any, tmp_path: Path) -> None:
    with patch.object(accesses, "page_accesses", known):
        page = Page(browser, at_point("4000"), tmp_path, 1280, others("40"))
    page.wait_until("document.querySelector('#accesses').dataset.ready")
    assert page.page.is_visible("#accesses-data-rows")
    assert page.page.inner_text("#accesses-none") == ""
    page.page.select_option("#point", "size_kib=40")
    assert page.page.inner_text("#accesses-none") == (
        "The page holds what is accessed at size_kib=4000."
    )
    assert page.page.is_hidden("#accesses-shown")
    page.page.select_option("#point", "size_kib=4000")
    page.wait_until("document.querySelector('#accesses-data-rows').checkVisibility()")
    assert "1 of 1 rows" in page.page.inner_text("#accesses-status")
    page.close()


@pytest.mark.parametrize("is_known", [True, False])
def test_a_page_of_parts_has_that_of_its_own_part(
    browser: Any, tmp_path: Path, is_known: bool
) -> None:
    found = PartsFindings.of(Parts.open(Path(joint(tmp_path / "S").folder)), None)
    with patch.object(
        accesses, "page_accesses", known if is_known else lambda _: accesses._NOTHING
    ):
        page = Page(browser, found, tmp_path, 1280)
    own = page.page.input_value("#point")
    points = page.page.eval_on_selector_all("#point option", "all => all.map(one => one.value)")
    other = next(one for one in points if one.partition(",")[0] != own.partition(",")[0])
    if is_known:
        page.wait_until("document.querySelector('#accesses').dataset.ready")
        assert page.page.is_visible("#accesses-data-rows")
    else:
        assert page.page.is_hidden("#accesses")
    page.page.select_option("#point", other)
    assert page.page.is_visible("#accesses") is is_known
    assert page.page.is_hidden("#accesses-data-rows")
    assert (own in page.page.inner_text("#accesses-none")) is is_known
    page.close()

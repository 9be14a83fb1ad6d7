"""The bill of materials is what CycloneDX's own schema allows, and has all that others made."""

import importlib.resources
import json
import re
import subprocess
import sys
from typing import Any

import jsonschema
import pytest
from built import built
from referencing import Registry, Resource
from support import ROOT

pytestmark = pytest.mark.build

SCHEMAS = ("bom-1.6", "spdx", "jsf-0.82")


@pytest.fixture(scope="module")
def bill() -> dict[str, Any]:
    command = [sys.executable, ROOT / "scripts/sbom", built()]
    printed = subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout
    # Two runs of one commit print the same.
    assert subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout == printed
    return json.loads(printed)


def test_it_is_valid(bill: dict[str, Any]) -> None:
    folder = importlib.resources.files("cyclonedx.schema") / "_res"
    texts = [(folder / f"{name}.SNAPSHOT.schema.json").read_text() for name in SCHEMAS]
    schemas = [json.loads(text) for text in texts]
    known = Registry().with_resources(
        [(one["$id"], Resource.from_contents(one)) for one in schemas]
    )
    validator = jsonschema.Draft7Validator(schemas[0], registry=known)
    validator.validate(bill)
    with pytest.raises(jsonschema.ValidationError):
        validator.validate({**bill, "components": [{"type": "library"}]})


def test_it_has_every_crate_of_the_notices(bill: dict[str, Any]) -> None:
    noticed = re.findall(r"(?m)^(\S+) (\d\S*): .* \(", (ROOT / "NOTICES").read_text())
    listed = [one["purl"] for one in bill["components"] if "hashes" in one]
    assert len(noticed) > 30
    assert {f"pkg:cargo/{name}@{version}" for name, version in noticed} <= set(listed)
    assert all(
        len(one["hashes"][0]["content"]) == 64 for one in bill["components"] if "hashes" in one
    )


def test_it_has_every_package_that_profdiff_needs_and_none_that_builds_it(
    bill: dict[str, Any],
) -> None:
    packages = {one["name"] for one in bill["components"] if one["purl"].startswith("pkg:pypi/")}
    assert {"click", "matplotlib", "msgspec", "numpy", "pillow", "scipy"} <= packages
    assert not packages & {"setuptools", "setuptools-rust", "semantic-version", "pytest"}


def test_what_depends_on_what_is_listed(bill: dict[str, Any]) -> None:
    listed = {one["bom-ref"] for one in bill["components"]}
    needs = {one["ref"]: one["dependsOn"] for one in bill["dependencies"]}
    assert listed == {name for wanted in needs.values() for name in wanted}

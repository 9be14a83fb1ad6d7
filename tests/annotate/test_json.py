"""``profdiff.annotation/1``: the schema that comes with the package."""

import json

import jsonschema
import pytest
from goldens import check_schema
from support import ROOT
from synthetic_annotation import On, annotation, row

from profdiff.reports.documents import encode
from profdiff.views.annotation.records import SCHEMA, Annotation
from profdiff.views.record import schema_of

FILE = ROOT / "profdiff/annotation.schema.json"


def test_the_schema_is_that_of_the_records() -> None:
    check_schema(FILE, schema_of(Annotation, SCHEMA), "annotate")


def test_an_annotation_is_valid_and_a_wrong_one_is_not() -> None:
    schema = json.loads(FILE.read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    both = {"a": On(1, "nop", 3, 1, taken=1), "b": On(2, "nop", 4, 1)}
    made = annotation(["a", "b"], [row("same", both), row("only", {"b": On(6, "\u202eret", 1)})])
    encoded = encode(made)
    assert encoded.isascii()
    data = json.loads(encoded)
    jsonschema.validate(data, schema)
    for label in ("a", "b"):
        assert sum(one["count"].get(label, 0) for one in data["rows"]) == data["self"][label]
    data["rows"][0]["count"]["a"] = 1.5
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(data, schema)


def test_its_fields_are_documented() -> None:
    text = (ROOT / "docs/annotate.md").read_text()
    for record in schema_of(Annotation, SCHEMA)["$defs"].values():
        for field in record["properties"]:
            assert f"`{field}" in text, field

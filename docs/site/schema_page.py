"""A JSON schema of profdiff's as a document: a table of fields for each type."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

Type = Mapping[str, Any]


def schema_page(schema: Type) -> str:
    """Markdown. A type that others mention is a section, to which they lead."""
    types = schema["$defs"]
    first = schema["$ref"].rpartition("/")[2]
    lines = [
        f"# `{schema['title']}`",
        "",
        f"The JSON document is a [{first}](#{anchor(first)}).",
        "",
    ]
    for name in [first, *(name for name in types if name != first)]:
        lines += [f"## {name}", "", *described(types[name]), ""]
    return "\n".join(lines)


def anchor(name: str) -> str:
    """Of a type's section."""
    return name.lower()


def described(kind: Type) -> Iterator[str]:
    """What one type is."""
    if "description" in kind:
        yield prose(kind["description"])
        yield ""
    if "properties" not in kind:
        yield shown(kind)
        return
    yield "| field | type |"
    yield "|---|---|"
    optional = set(kind["properties"]) - set(kind.get("required", ()))
    for name, field in kind["properties"].items():
        absent = ", or absent" if name in optional else ""
        yield f"| `{name}` | {shown(field)}{absent} |"


def shown(kind: Type) -> str:
    """A type in words."""
    match kind:
        case {"$ref": reference}:
            name = reference.rpartition("/")[2]
            return f"[{name}](#{anchor(name)})"
        case {"anyOf": kinds}:
            return " or ".join(map(shown, kinds))
        case {"enum": values}:
            return " or ".join(f"`{json.dumps(value)}`" for value in values)
        case {"const": value}:
            return f"`{json.dumps(value)}`"
        case {"type": "array", "prefixItems": kinds}:
            return f"[{', '.join(map(shown, kinds))}]"
        case {"type": "array"}:
            return f"list of {shown(kind.get('items', {}))}"
        case {"type": "object", "additionalProperties": Mapping() as values}:
            return f"object of {shown(values)} by name"
        case {"type": name}:
            return str(name)
    return "any"


def prose(text: str) -> str:
    """A docstring on one line, in Markdown."""
    return " ".join(text.replace("``", "`").replace("<", r"\<").split())

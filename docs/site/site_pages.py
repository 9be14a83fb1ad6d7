"""What documents are made of beside Markdown: JSON schemas and manual pages, each a page of its
own to which documents link as to the file; and how text that a terminal shows is drawn."""

import json
import re
import subprocess
from html import escape

from docutils import nodes
from myst_parser.sphinx_ import Parser as Markdown
from schema_page import schema_page
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.writers.html5 import HTML5Translator


class Schema(Markdown):
    """A JSON schema as tables of fields."""

    supported = ("schema",)

    def parse(self, inputstring: str, document: nodes.document) -> None:
        """Its types are sections, and lead to each other."""
        super().parse(schema_page(json.loads(inputstring)), document)


class ManualPage(Markdown):
    """A manual page as mandoc(1) draws it."""

    supported = ("manual",)

    def parse(self, inputstring: str, document: nodes.document) -> None:
        """Names of other pages lead to them."""
        command = ["mandoc", "-T", "html", "-O", "fragment"]
        made = subprocess.run(
            command, input=inputstring, capture_output=True, text=True, check=True
        )
        text = made.stdout[made.stdout.index('<div class="manual-text">') :]
        text = text[: text.rindex('<table class="foot">')]
        text = re.sub(r"<(/?)h1\b", r"<\1h2", text)
        # An entry of COMMANDS has a link to itself, in which no other can be.
        pages = r"<b>(profdiff[a-z-]*)</b>\(1\)"
        text = re.sub(rf'<a class="permalink"[^>]*>({pages})</a>', r"\1", text)
        text = re.sub(pages, r'<a href="\1.html">\1(1)</a>', text)
        name = re.findall(r"^\.TH (\S+)", inputstring, re.M)[0].replace("\\-", "-").lower()
        fence = "`" * 8
        super().parse(f"# {escape(name)}(1)\n\n{fence}{{raw}} html\n{text}\n{fence}\n", document)


class Typed(SphinxPostTransform):
    """Text with a prompt is what a terminal shows."""

    default_priority = 100

    def run(self, **_: object) -> None:
        """Before it is highlighted."""
        for block in self.document.findall(nodes.literal_block):
            if block.get("language") == "text" and re.match(r"\$ ", block.astext()):
                block["language"] = "terminal"


class Translator(HTML5Translator):
    """Tables scroll in themselves; what is typed at a prompt stands out."""

    def visit_table(self, node: nodes.table) -> None:
        self.body.append('<div class="table">')
        super().visit_table(node)

    def depart_table(self, node: nodes.table) -> None:
        super().depart_table(node)
        self.body.append("</div>\n")

    def visit_literal_block(self, node: nodes.literal_block) -> None:
        if node.get("language") != "terminal":
            super().visit_literal_block(node)
        typed = False
        lines: list[str] = []
        for line in node.astext().splitlines():
            prompt = line.startswith("$ ")
            typed = prompt or (typed and lines[-1].endswith("\\</span>"))
            shown = escape(line.removeprefix("$ ") if prompt else line)
            lines.append(
                ('<span class="gp">$ </span>' if prompt else "")
                + (f'<span class="typed">{shown}</span>' if typed else shown)
            )
        self.body.append("<pre>" + "\n".join(lines) + "\n</pre>\n")
        raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, bool]:
    """Sphinx calls it."""
    app.add_source_suffix(".schema.json", "schema")
    app.add_source_suffix(".1", "manual")
    app.add_source_parser(Schema)
    app.add_source_parser(ManualPage)
    app.add_post_transform(Typed)
    app.set_translator("html", Translator)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

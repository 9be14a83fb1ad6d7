"""How Sphinx makes the site of the documents: scripts/site starts it."""

import sys
from pathlib import Path

from profdiff import __version__

_HERE = Path(__file__).parent
sys.path.insert(0, str(_HERE))

project = "profdiff"
release = __version__
extensions = ["myst_parser", "site_pages"]
root_doc = "README"
html_theme = "theme"
html_theme_path = [str(_HERE)]
# The reports' own type and colours.
html_static_path = [str(_HERE.parent.parent / "templates/page/scheme.css")]
html_copy_source = False
html_show_sourcelink = False
# site.js shows excerpts where they can be fetched.
html_show_search_summary = False
html_use_index = False
highlight_language = "text"
# As a repository's view makes them of headings.
myst_heading_anchors = 6
# A sentence of ours is no definition, and "(c)" no sign.
smartquotes = False

"""The site of these pages: Markdown as it reads on GitHub, and the docstrings of public names."""

import re

project = "swin_mm"
html_title = "swin_mm"
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
source_suffix = {".md": "markdown"}
exclude_patterns = ["_build"]
html_theme = "furo"
html_show_copyright = False

# GitHub's anchors, so that `page.md#some-heading` works there and here.
myst_heading_anchors = 3
napoleon_google_docstring = True
napoleon_use_rtype = False
napoleon_preprocess_types = False
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
# Docstrings write code as reStructuredText does, in two backticks; one backtick is code as well.
default_role = "code"

nitpick_ignore_regex = [
    ("py:.*", r"(?!swin_mm\.).*"),  # other libraries: their sites are not asked
    ("py:.*", r"swin_mm\.\w+\.\w+\..+"),  # types inside, which signatures name and no page lists
]


def leave_the_site(app, docname, source):
    """Turn links to files outside of these pages into plain words: the site has only the pages."""
    source[0] = re.sub(r"(?<!!)\[([^\]]+)\]\(\.\./[^)]+\)", r"\1", source[0])


def setup(app):
    app.connect("source-read", leave_the_site)

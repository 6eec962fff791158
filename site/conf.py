"""What Sphinx is told of the site. The sources are generated: `make site`."""

from __future__ import annotations

import sys
from pathlib import Path

from docutils import nodes
from latex2mathml.converter import convert

sys.path.insert(0, str(Path(__file__).parent))
from pages import LANGUAGES, link_to_language  # noqa: E402

project = "Triton Workbook"
extensions = ["myst_nb"]
nb_execution_mode = "off"
myst_enable_extensions = ["dollarmath", "html_image"]
myst_heading_anchors = 4
html_theme = "furo"
html_title = project
html_math_renderer = "mathml"
html_copy_source = html_show_sourcelink = False
html_use_index = False
templates_path = ["templates"]
html_static_path = ["static"]
html_css_files = ["site.css"]
html_js_files = ["site.js"]
html_theme_options = {"top_of_page_buttons": []}


def math(visitor, node: nodes.Element) -> None:
    """A formula as MathML, which browsers draw by themselves: no script, no font to fetch."""
    display = "block" if isinstance(node, nodes.math_block) else "inline"
    formula = convert(node.astext(), display=display)
    visitor.body.append(f'<div class="math">{formula}</div>' if display == "block" else formula)
    raise nodes.SkipNode


def languages(app, pagename: str, templatename: str, context: dict, doctree) -> None:
    """For the template: the address of this page in each language of the site."""
    here = app.config.language if app.config.language == "en" else "zh"
    there = [path.name for path in Path(app.srcdir).parent.iterdir()]
    context["languages"] = [
        (code, name, link_to_language(pagename, here, code), code == here)
        for code, name in LANGUAGES.items()
        if code in there and len(there) > 1
    ]
    # myst-nb gives all folds one name, which hides what stands on them from whoever listens.
    body = context.get("body", "")
    context["body"] = body.replace(' aria-label="Toggle hidden content"', "")


def setup(app) -> None:
    app.add_html_math_renderer("mathml", (math, None), (math, None))
    app.connect("html-page-context", languages)

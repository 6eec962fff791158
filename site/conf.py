"""What Sphinx is told of the site. The sources are generated: `make site`."""

from __future__ import annotations

import re
import sys
from pathlib import Path

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.locale import _ as of_sphinx
from sphinx.search import SearchLanguage
from sphinx.search import languages as search_languages

sys.path.insert(0, str(Path(__file__).parent))
from pages import LANGUAGES, link_to_language  # noqa: E402

from tritonbook.words import later, say, speaking  # noqa: E402

project = "Triton Workbook"
extensions = ["myst_nb"]
nb_execution_mode = "off"
myst_enable_extensions = ["dollarmath", "html_image"]
myst_heading_anchors = 4
html_theme = "furo"
html_title = project
html_math_renderer = "mathml"
html_copy_source = html_show_sourcelink = False
html_use_index = html_show_copyright = False
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


OF_THE_THEME = (later("On this page"), later("Back to top"), later("Skip to content"))


def finished(app, pagename: str, templatename: str, context: dict, doctree) -> None:
    """For the template: the address of this page in each language; names for whoever listens; the
    words that Sphinx has in no other language."""
    here = app.config.language if app.config.language == "en" else "zh"
    with speaking(here):
        ours = {text: say(text) for text in OF_THE_THEME}
    context["_"] = context["gettext"] = lambda text: ours.get(text) or of_sphinx(text)
    there = [path.name for path in Path(app.srcdir).parent.iterdir()]
    context["languages"] = [
        (code, name, link_to_language(pagename, here, code), code == here)
        for code, name in LANGUAGES.items()
        if code in there and len(there) > 1
    ]
    # myst-nb gives all folds one name, which hides what stands on them; the theme's headings have
    # no level.
    body = context.get("body", "")
    tree = context.get("furo_navigation_tree", "")
    context["furo_navigation_tree"] = tree.replace('"heading"', '"heading" aria-level="2"')
    body = re.sub(r'<th(?: scope="col")?([^>]*)>(?:<p></p>)?</th>', r"<td\1></td>", body)
    context["body"] = body.replace(' aria-label="Toggle hidden content"', "")


class Chinese(SearchLanguage):
    """Words, and each two Chinese characters side by side. Sphinx's own search in Chinese asks for
    a dictionary, and in 9.0 its script names a stemmer that is not there."""

    lang, language_name = "zh", "Chinese"
    js_splitter_code = r"""
var splitQuery = (query) => (query.match(/[\u4e00-\u9fff]+|\w+/g) || []).flatMap((word) =>
  word < "\u4e00" || word.length < 3
    ? [word]
    : Array.from({ length: word.length - 1 }, (_, at) => word.slice(at, at + 2)));
"""

    def split(self, text: str) -> list[str]:
        words = re.findall(r"[\u4e00-\u9fff]+|[^\W\u4e00-\u9fff]+", text)
        return [part for word in words for part in self._parts(word)]

    def _parts(self, word: str) -> list[str]:
        if word < "\u4e00" or len(word) < 3:
            return [word]
        return [word[at : at + 2] for at in range(len(word) - 1)]


search_languages["zh"] = Chinese


def setup(app) -> None:
    app.add_html_math_renderer("mathml", (math, None), (math, None))
    app.connect("html-page-context", finished, priority=900)  # after the theme


pygments_style = "a11y-high-contrast-light"  # the theme's, which other extensions replace
pygments_dark_style = "a11y-high-contrast-dark"

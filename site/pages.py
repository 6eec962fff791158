"""A page of the course as a page of the site: what the learner gets, and what it gave on a GPU.

The learner's notebook gives text and gaps, in each language; the solved one, which was run on a
GPU, the answers and outputs. Folded is what a learner finds out by doing: the answer, and each
output that comes of it.
"""

from __future__ import annotations

import ast
import base64
import functools
import html
import json
import re
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from tritonbook import style
from tritonbook.build.outputs import defined
from tritonbook.checking import card
from tritonbook.checking.report import Report
from tritonbook.seeing.traffic import HEAD
from tritonbook.timing import stored
from tritonbook.timing.clock import said_of
from tritonbook.timing.plots import Plot, chinese_font
from tritonbook.timing.result import METRICS
from tritonbook.words import language, say, speaking

LANGUAGES = {"en": "English", "zh": "中文"}


def link_to_language(page: str, here: str, there: str) -> str:
    """From a page of the site to the same one in another language."""
    up = "../" * (page.count("/") + (here != "en"))
    return f"{up}{'' if there == 'en' else there + '/'}{page}.html"


def learners(root: Path, slug: str) -> str:
    """The learner's notebook in the language spoken, English where there is no other: its path."""
    path = f"notebooks/{language()}/{slug}.ipynb"
    return path if (root / path).is_file() else f"notebooks/{slug}.ipynb"


def notebook(root: Path, slug: str) -> NotebookNode:
    """The page as myst-nb reads it, in the language spoken. The cells of the learner's notebook and
    of the solved one have the same ids."""
    paths = (learners(root, slug), f"solutions/{slug}.ipynb")
    learner, solved = (nbformat.read(root / path, as_version=4) for path in paths)
    done = {cell.id: cell for cell in solved.cells}
    run = solved.metadata.workbook.get("executed", {}).get("gpu", "GPU")
    own = of_your_code(solved)
    found = []
    for cell in learner.cells:
        if cell.cell_type == "markdown":
            text = heading(cell.source)
            if cell.id == "title":
                text = with_doors(text, slug)
            elif cell.id.startswith("hint-"):  # a place that has one name in all languages
                text = f"(hints-{cell.id.removeprefix('hint-')})=\n{text}"
            found.append(nbformat.v4.new_markdown_cell(text))
            continue
        role = next(iter(cell.metadata.get("tags", [])), "")
        # Who has guessed nothing yet, and how far one machine has come, says nothing to a reader.
        nobody = role == "predict" or cell.source.strip() == "progress()"
        made = code(cell.source, [] if nobody else done[cell.id].outputs)
        if role == "setup":
            # A link for its source, or a search for one of its names would find all pages. Its
            # words are the title of the page that it leads to.
            found.append(nbformat.v4.new_markdown_cell("[](/names.md)"))
            made.source = ""
        elif made.outputs and cell.id in own:
            fold(made, "hide-output", say("What it gave on one {gpu}", gpu=run))
        found.append(made)
        if role == "answer":
            answer = code(done[cell.id].source, [])
            fold(answer, "hide-input", say("The answer"))
            found.append(answer)
    book = nbformat.v4.new_notebook(cells=found)
    book.metadata["language_info"] = {"name": "python"}
    return book


def of_your_code(solved: NotebookNode) -> set[str]:
    """The ids of the cells whose outputs come of an answer, directly or by what they read."""
    names, found = {"mine"}, set()
    for cell in solved.cells:
        if cell.cell_type != "code":
            continue
        tree = ast.parse(cell.source)
        used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
        roles = cell.metadata.get("tags", [])
        if "answer" in roles or used & names:
            names |= defined(tree)
            found.add(cell.id)
        elif "check" in roles:
            found.add(cell.id)
    return found


def code(source: str, outputs: list[NotebookNode]) -> NotebookNode:
    return nbformat.v4.new_code_cell(source, outputs=[o for o in map(shown, outputs) if o])


def shown(output: NotebookNode) -> NotebookNode | None:
    """An output, which was run in English, as the site has it: a card or table as HTML, a picture
    with its description."""
    if output.output_type == "stream":
        return output if output.name == "stdout" and output.text.strip() else None
    data = output.get("data", {})
    text = str(data.get("text/plain", ""))
    if card.MIME in data:
        kept = {"text/html": card.as_html(Report.from_dict(data[card.MIME]))}
    elif "text/html" in data:
        kept = {"text/html": said_again(data["text/html"])}
    elif "image/svg+xml" in data:
        svg = said_again(data["image/svg+xml"]).encode()
        kept = {"text/html": style.image(svg, "image/svg+xml", described(text))}
    elif "image/png" in data:
        picture, below = data["image/png"].replace("\n", ""), ""
        alt = described(text)
        if plot := drawn_again(text):
            picture, alt = base64.b64encode(plot.png()).decode(), plot.alt
        elif language() != "en":
            below = f"<small>{say('The words in this picture are English.')}</small>"
        image = f'<img alt="{html.escape(alt, quote=True)}" src="data:image/png;base64,{picture}">'
        kept = {"text/html": image + below}
    else:
        told = re.sub(r"(?m)( *)(\S+(?: \S+)*)", column_said, text)
        kept = {"text/plain": re.sub(r"(?m) +$", "", told)}
    return nbformat.v4.new_output("display_data", data=kept)


def drawn_again(alt: str) -> Plot | None:
    """The plot whose text this is, in the language spoken: where its figures are kept, to the last
    digit, and a font has the signs."""
    if language() == "en" or not chinese_font():
        return None
    for name, title in titles().items():
        if f": {title}. " in alt and (result := stored.load(name)):
            for each in (result, *getattr(result, "results", ())):
                each.elsewhere = False  # as where it was measured
            metrics = [each for each, axis in METRICS.items() if f". {axis} over " in alt]
            with speaking("en"):
                same = result.plot(*metrics).alt == alt
            if same:
                return result.plot(*metrics)
    return None


@functools.cache
def titles() -> dict[str, str]:
    """The titles of the kept tables and sweeps, by name."""
    kept = {path.stem: json.loads(path.read_text()) for path in stored.DIRECTORY.glob("*.json")}
    return {name: found["title"] for name, found in sorted(kept.items()) if "title" in found}


def described(alt: str) -> str:
    """What a picture shows, said again but for lists of what each program touches, whose parts are
    not told apart in a text."""
    return alt if re.search(r"\b(loads|stores|updates): ", alt) else say(alt)


def said_again(markup: str) -> str:
    """A table or picture in the language spoken, text by text."""
    heads = dict(zip(HEAD.split(" | "), say(HEAD).split(" | "), strict=True))
    figures = "text-align:right" in markup

    def said(found: re.Match) -> str:
        tag, text = found[1], html.unescape(found[2])
        name = figures and 'scope="row"' in tag and " " not in text and text != "all"
        if name or re.match("<(style|code)|.*monospace", tag):
            return found[0]
        told = heads.get(text) if 'scope="col"' in tag else None
        if row := re.fullmatch("vs (.+)", text):
            told = say("vs {row}", row=row[1])
        if not told and (told := say(text)) == text.strip():
            told = "".join(map(say, re.split("(  ·  |; )", text)))
        return tag + html.escape(told, quote=False)

    if language() == "en":
        return markup
    return re.sub(r"(<[^/][^>]*>)([^<>]*\w[^<>]*)", said, markup)


def column_said(found: re.Match) -> str:
    """A cell of a table of text, in as many columns; what stands at the left is filled up there."""
    gap, text = found.groups()
    name = text.removesuffix(" ms")
    told = said_of(name) + text[len(name) :] if " " in name else text
    blank = " " * max(len(gap + text) - style.columns_of(told), 2 if gap else 0)
    return told + blank if not gap else blank + told


def fold(cell: NotebookNode, tag: str, summary: str) -> None:
    cell.metadata["tags"] = [tag]
    cell.metadata["mystnb"] = {"code_prompt_show": summary, "code_prompt_hide": summary}


def heading(text: str) -> str:
    """Hints stand one level below their task: a page has no gap between its headings."""
    return re.sub(r"^####(?= )", "###", text, flags=re.MULTILINE)


def with_doors(title: str, slug: str) -> str:
    """The title cell, its badges replaced by links that fetch no picture, with more doors."""
    badge = r"\[!\[(\w+)\]\([^)]*\)\]\(([^)]*)\)"
    links = [
        f'<a href="{html.escape(address)}">{say("Open in {place}", place=place)}</a>'
        for place, address in re.findall(badge, title)
    ]
    files = {"ipynb": say("Download the notebook"), "py": say("Download as a Python file")}
    for suffix, words in files.items():
        links.append(f'<a href="../files/{slug}.{suffix}" download>{words}</a>')
    show, hide = say("Show answers and outputs"), say("Hide answers and outputs")
    links.append(f'<button class="unfold" data-other="{hide}" hidden>{show}</button>')
    doors = f'<p class="doors">{" ".join(links)}</p>'
    return re.sub(r"^\[!\[.*$", lambda _: doors, title, count=1, flags=re.MULTILINE)

"""Cards, boxes, maps and pictures on pages like those of VS Code, Colab, GitHub and JupyterLab.

Only JupyterLab runs here for real (test_learner). Of the others each page has what our outputs
depend on, and no more:

- VS Code shows outputs in a webview: classes vscode-light or vscode-dark on the body, colours as
  --vscode-* variables, its own rules for tables (right-aligned, every second row shaded).
- Colab shows each output in an iframe with html[theme=dark]. Its --colab-* variables are no stable
  interface, so one page leaves them out: then the output must live with the page's own colours.
- GitHub's rendering of a notebook keeps elements, and of their attributes those of a short list.
  Style elements, scripts, classes, ids and style attributes are stripped (nbviewer issue 450, and
  the list of allowed attributes in github/markup). Whether images with a data: address survive is
  not documented, so their alternative text must say what they show.
"""

from __future__ import annotations

import re
from typing import Any

import pytest
import torch
from bs4 import BeautifulSoup

from tritonbook.checking.card import as_html
from tritonbook.course.exercises import get, load
from tritonbook.course.mutants import wrong_answers
from tritonbook.course.page_checks import run_page_check
from tritonbook.course.progress import progress
from tritonbook.seeing.pictures_attention import draw_tile_walk
from tritonbook.seeing.pictures_norms import draw_schemes
from tritonbook.seeing.prediction import Measured, predict, time_of
from tritonbook.seeing.tiles import show_tiles, traffic
from tritonbook.timing import stored

from .driving import pale_words, shot

NARROW = 600
# GitHub strips what lets a table scroll, and pads its cells: a table of eight columns, of short
# calls with times of the device, wants this much there.
NARROW_ON_GITHUB = 660
FONT = "font:14px/1.4 system-ui,sans-serif"
TABLES_OF_VSCODE = """
table, thead, tr, th, td, tbody {border:none; border-spacing:0; border-collapse:collapse}
table, th, tr {vertical-align:middle; text-align:right}
thead {font-weight:bold; background-color:rgba(130,130,130,.16)}
th, td {padding:4px 8px}
tr:nth-child(even) {background-color:rgba(130,130,130,.08)}
"""
TABLES_OF_JUPYTERLAB = """
table {border-collapse:collapse; border-spacing:0; font-size:12px; table-layout:fixed; margin:auto}
td, th, tr {text-align:right; vertical-align:middle; padding:.5em; max-width:none}
tbody tr:nth-child(odd) {background:var(--jp-layout-color0)}
tbody tr:nth-child(even) {background:var(--jp-rendermime-table-row-background)}
"""


def _page(head: str, html: str = "", body: str = "") -> str:
    return (
        f'<!doctype html><html lang="en" {html}><head><meta charset="utf-8"><title>outputs</title>'
        f"<style>{head}</style></head><body {body}>%s</body></html>"
    )


def _vscode(kind: str, back: str, text: str) -> str:
    variables = f"--vscode-editor-background:{back};--vscode-editor-foreground:{text}"
    head = f"body{{margin:8px;background:{back};color:{text};{FONT}}}{TABLES_OF_VSCODE}"
    return _page(head, f'style="{variables}"', f'class="vscode-{kind}"')


def _colab(theme: str, back: str, text: str, variables: bool = True) -> str:
    names = f"--colab-primary-surface-color:{back};--colab-primary-text-color:{text};"
    head = f"html{{{names if variables else ''}background:{back};color:{text}}}body{{{FONT}}}"
    return _page(head, f"theme={theme}")


def _jupyterlab(back: str, text: str, row: str) -> str:
    names = f"--jp-layout-color0:{back};--jp-layout-color1:{back};--jp-content-font-color1:{text};"
    names += f"--jp-rendermime-table-row-background:{row}"
    head = f"body{{{names};background:{back};color:{text};{FONT}}}{TABLES_OF_JUPYTERLAB}"
    return _page(head)


def _github(back: str, text: str, link: str) -> str:
    rules = f"td,th{{padding:6px 13px}}a{{color:{link}}}img{{max-width:100%%;height:auto}}"
    return _page(f"body{{background:{back};color:{text};{FONT}}}{rules}")


HOSTS = {
    "vscode_dark": _vscode("dark", "#1f1f1f", "#cccccc"),
    "vscode_light": _vscode("light", "#ffffff", "#3b3b3b"),
    "colab_dark": _colab("dark", "#383838", "#d5d5d5"),
    "colab_light": _colab("light", "#ffffff", "#212121"),
    "colab_dark_bare": _colab("dark", "#383838", "#d5d5d5", variables=False),
    "jupyterlab_dark": _jupyterlab("#111111", "rgba(255,255,255,1)", "#212121"),
    "jupyterlab_light": _jupyterlab("#ffffff", "rgba(0,0,0,.87)", "#f5f5f5"),
    "github_light": _github("#ffffff", "#1f2328", "#0969da"),
    "github_dark": _github("#0d1117", "#f0f6fc", "#4493f8"),
}


# What GitHub takes out of an output, and the attributes that it leaves on the rest.
DROPPED = ["style", "script", "iframe", "object", "link", "meta", "svg"]
KEPT = {"href", "src", "alt", "title", "open", "colspan", "rowspan", "width", "height"}


def sanitised(html: str) -> str:
    page = BeautifulSoup(html, "html.parser")
    for element in page(DROPPED):
        element.decompose()
    for element in page(True):
        element.attrs = {name: text for name, text in element.attrs.items() if name in KEPT}
    return str(page)


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: Any) -> dict[str, str]:
    """What a learner's cells display, made by the same code, as HTML."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TRITONBOOK_HOME", str(tmp_path_factory.mktemp("home")))
        patch.delenv("TRITONBOOK_PROGRESS", raising=False)
        exercise = get("01_vector_add")
        wrong = wrong_answers(exercise)
        mutant = next(m for m in wrong.mutants["add"] if m.name == "mask-one-too-far")
        cards = []
        for module in (load(exercise), load(exercise, {"add": wrong.text("add", mutant)})):
            report = run_page_check(module, "add", hidden=False)
            cards.append(as_html(report, "def add(x, y): ..."))
        add, x = load(exercise).add, torch.randn(2500)
        table = stored.load("vector_add")
        box = predict(
            {
                "bytes that add moves for 2,500 float32 elements": 30_000,
                "ms that add takes for 16,777,216 float32 elements": 0.1,
                "times as long: torch over add": 20,
                "ms of a kernel that was timed in the interpreter": 5,
                "bytes that add_tiled moves": None,
                "bytes, written with a unit": "3 MB",
            },
            measured=[
                lambda: traffic(add, x, x + 1),
                time_of(table, "add"),
                time_of(table, "torch", over="add"),
                Measured(None, "ms"),
                1,
                1,
            ],
            hints=["Two loads and one store for each element."] * 6,
        )
        pictures = (show_tiles(add, x, x + 1), draw_schemes(), draw_tile_walk(48, 48, 16, 16))
        return {
            "passed": cards[0],
            "wrong": cards[1],
            "prediction": box._repr_html_(),
            "progress": progress()._repr_html_(),
            "bench": table._repr_html_(),
            "traffic": traffic(add, x, x + 1)._repr_html_(),
            "pictures": "".join(p._repr_mimebundle_()["text/html"] for p in pictures),
            "plot": table.plot()._repr_mimebundle_()[0]["text/html"],
        }


@pytest.mark.parametrize("host", HOSTS)
def test_outputs_are_readable_in_every_host(
    page: Any, outputs: dict[str, str], tmp_path: Any, host: str
) -> None:
    """Kills: words too pale in one host's theme; outputs wider than a narrow window; a picture
    that says nothing to who cannot see it; anything fetched or run by an output."""
    clean = sanitised if host.startswith("github") else str
    body = "".join(
        f'<div class="out" id="{name}" style="margin:8px 0">{clean(html)}</div>'
        for name, html in outputs.items()
    )
    (tmp_path / "page.html").write_text(HOSTS[host] % body, encoding="utf-8")
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url.split(":")[0]))
    width = NARROW_ON_GITHUB if host.startswith("github") else NARROW
    page.set_viewport_size({"width": width, "height": 900})
    page.goto((tmp_path / "page.html").as_uri())
    assert set(asked) <= {"file", "data"} and asked.count("file") == 1
    page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
    in_words = outputs.keys() - {"pictures", "plot"}
    pale = {name: pale_words(page.locator(f"#{name}")) for name in in_words}
    wide = page.evaluate(
        """limit => [...document.querySelectorAll('.out, .out *')]
        .filter(e => e.tagName !== 'PRE' && !e.closest('pre') && !e.closest('[data-scrolls]'))
        .filter(e => e.getBoundingClientRect().right > limit)
        .map(e => `${e.closest('.out').id} ${e.tagName}`)""",
        width,
    )
    images = page.locator("img").all()
    alts = [image.get_attribute("alt") or "" for image in images]
    loaded = [image.evaluate("i => i.complete && i.naturalWidth > 200") for image in images]
    shot(page, f"host_{host}", page.locator("body"))
    assert {name: words for name, words in pale.items() if words} == {}
    assert wide == []
    assert len(images) == 4 and all(len(alt) > 40 for alt in alts) and all(loaded)


def test_what_github_leaves_still_says_everything(outputs: dict[str, str]) -> None:
    """Kills: a verdict that only a colour, a class or a hover text carries."""
    left = {name: sanitised(html) for name, html in outputs.items()}
    for html in left.values():
        assert "style" not in html and "class=" not in html and "<script" not in html
    words = ("✓ right", "✗ off", "≈ close", "○ your turn", "– not compared", "! no number")
    assert all(word in left["prediction"] for word in words)
    assert "✗ wrong" in left["wrong"] and "✓ passed" in left["passed"]
    assert re.search(r"○ add</span> <span[^>]*>○ add_tiled", left["progress"])

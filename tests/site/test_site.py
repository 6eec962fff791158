"""The site, built of three pages: what `make site` makes of the course, in little."""

from __future__ import annotations

import html
import importlib.util
import json
import re
import sys

import pytest
from site_sample import ROOT, SLUGS, built

from tritonbook.build.release import read_release
from tritonbook.course import gaps
from tritonbook.course.exercises import get
from tritonbook.course.mutants import wrong_answers
from tritonbook.style import digits
from tritonbook.timing import stored
from tritonbook.timing.plots import chinese_font
from tritonbook.words import speaking

pytest.importorskip("sphinx", reason="Sphinx 9 needs Python 3.11")


def module(name):
    spec = importlib.util.spec_from_file_location(f"site_{name}", ROOT / "site" / f"{name}.py")
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


def index(site):
    """Sphinx's search index: words, and the pages that have them."""
    text = (site / "searchindex.js").read_text()
    found = json.loads(text[len("Search.setIndex(") : -1])
    names = found["docnames"]
    numbers = {
        word: each if isinstance(each, list) else [each] for word, each in found["terms"].items()
    }
    found["terms"] = {word: {names[number] for number in each} for word, each in numbers.items()}
    return found


@pytest.fixture(scope="session")
def site(tmp_path_factory):
    return built(tmp_path_factory.mktemp("site"))


@pytest.fixture(scope="session")
def pages(site):
    return {slug: (site / "notebooks" / f"{slug}.html").read_text() for slug in SLUGS}


pytestmark = pytest.mark.slow


def test_a_page_has_its_doors(site, pages):
    release = read_release(ROOT)
    for slug, page in pages.items():
        notebook = f"notebooks/{slug}.ipynb"
        for door in (release.colab, release.kaggle, release.modelscope, release.cnb):
            assert f'href="{door(notebook)}"' in page
        assert (site / "files" / f"{slug}.ipynb").read_bytes() == (ROOT / notebook).read_bytes()
        assert "### BEGIN SOLUTION" not in (site / "files" / f"{slug}.py").read_text()
        assert f"<strong>{get(slug).header.minutes} minutes</strong>" in page


def test_what_comes_of_a_learners_code_is_folded(pages):
    """Kills: an answer, or the figures that a page asks to predict, in front of its question."""
    page = pages["41_flash_attention"]
    folds = re.findall(r'(?s)<details class="[^"]*hide.*?</details>', page)
    folded = "".join(folds)
    for shown in ('aria-label="flash_fwd: passed', "alpha", "TFLOP/s"):
        assert shown in folded
    outside = page
    for fold in folds:
        outside = outside.replace(fold, "")
    assert 'aria-label="flash_fwd: passed' not in outside
    assert outside.count("<img") == 3  # the worked cells' pictures
    assert "The answer" in folded and "NVIDIA H200" in folded


def test_pictures_say_what_they_show(site):
    for path in site.rglob("*.html"):
        for picture in re.findall(r"<img[^>]*>", path.read_text()):
            assert re.search(r'alt="[^"]{10,}"', picture), (path, picture[:200])


def test_search_finds_names(site):
    """Kills: a search that finds a name on every page, since each has a set-up cell."""
    found = index(site)
    assert "notebooks/01_vector_add" in found["terms"]["program_id"]
    assert "notebooks/41_flash_attention" in found["terms"]["exp2"]
    assert "notebooks/00_start_here" not in found["terms"]["traffic"]
    names = {each[-1] for each in found["objects"]["tritonbook"]}
    assert {"check", "show_tiles", "traffic", "bench"} <= names


def test_each_sentence_of_a_page_is_in_the_index_of_causes(site):
    page = (site / "causes" / "4.html").read_text()
    plain = " ".join(re.sub(r"<[^>]*>", "", page).split())
    for key, mutants in wrong_answers("41_flash_attention").mutants.items():
        assert f"../notebooks/41_flash_attention.html#hints-{key.replace('_', '-')}" in page
        for mutant in mutants:
            if mutant.says and not set(mutant.says) & set("`*<>&'\"_-"):
                assert " ".join(mutant.says.split()) in plain


def test_no_line_of_a_solution_is_among_the_causes(site):
    pages = html.unescape("".join(path.read_text() for path in (site / "causes").glob("*.html")))
    for exercise in map(get, SLUGS):
        for cell in exercise.answers().values():
            asked = exercise.cut(cell, gaps.learner_text)
            lines = set(exercise.cut(cell, gaps.solved_text).splitlines()) - set(asked.splitlines())
            for line in (line.strip() for line in lines):
                assert len(line) < 20 or line not in pages


def test_errors_are_words():
    """Kills: a pattern with its backslashes, in front of whoever pastes the error."""
    sys.path.insert(0, str(ROOT / "site"))
    try:
        guides = module("guides")
    finally:
        sys.path.remove(str(ROOT / "site"))
    assert guides.readable(r"'(?:Script)?[Ff]unction' is not \d+ of (\w+)|^at (a|b) now$") == [
        "'ScriptFunction' is not … of",
        "at … now",
    ]
    for pattern, _ in guides.plain_words.ERRORS:
        assert "\\" not in "".join(guides.readable(pattern)), pattern


def test_the_map_leads_to_each_page(site):
    landing = (site / "index.html").read_text()
    for slug in SLUGS:
        assert f'<a href="notebooks/{slug}.html" data-page="{slug}">' in landing
    assert 'data-from="00_start_here" data-to="01_vector_add"' in landing


def test_a_language_has_its_own_pages_and_a_switch(site):
    """Kills: a switch that leads to another page, or a page without its language."""
    ours = (site / "notebooks" / "01_vector_add.html").read_text()
    theirs = (site / "zh" / "notebooks" / "01_vector_add.html").read_text()
    assert 'href="../zh/notebooks/01_vector_add.html" lang="zh"' in ours
    assert 'href="../../notebooks/01_vector_add.html" lang="en"' in theirs
    start = (site / "zh" / "notebooks" / "00_start_here.html").read_text()
    assert "/notebooks/zh/01_vector_add.ipynb" in theirs
    assert "/notebooks/00_start_here.ipynb" in start and "/zh/00_start_here.ipynb" not in start
    assert "向量加法" in theirs and "向量加法" not in ours
    assert '<html class="no-js" lang="zh' in theirs
    assert "notebooks/01_vector_add" in index(site / "zh")["terms"]["元素"]


def test_all_that_has_chinese_is_chinese(site):
    """Kills: a landing page, guide, map, cause or plain file in English beside Chinese pages; the
    README's own link to its other language beside the switch."""
    there = {
        "index.html": "0 第一批 kernel",
        "autograde/README.html": "成绩簿",
        "causes.html": "第 … 列及其后各列都没有写入。",
        "causes/0.html": "结果卡会说什么：第一批 kernel",
        "files/01_vector_add.py": 'lang="zh"',
    }
    for path, words in there.items():
        assert words in (site / "zh" / path).read_text(), path
        if path.endswith("html"):
            assert (site / path).read_text().count("中文") == 2, path  # the switch, and its name


@pytest.mark.skipif(not chinese_font(), reason="no Chinese font")
def test_a_plot_is_drawn_again_from_the_same_figures():
    """Kills: Chinese pages with English plots; a plot of other figures than the page's."""
    drawn_again, kept = module("pages").drawn_again, stored.load("softmax_ways")
    kept.elsewhere = False
    alt = kept.plot().alt
    with speaking("zh"):
        assert "的 softmax" in drawn_again(alt).alt
        assert drawn_again(alt.replace(f"{digits(kept.rows[0].ms)} ", "0.1 ")) is None
    assert drawn_again(alt) is None


def test_the_check_of_links_sees_what_is_wrong(tmp_path):
    """Kills: a check that lets a dead link, a place that is gone or a tracker pass."""
    (tmp_path / "a.html").write_text(
        '<h2 id="here"></h2><a href="b.html">gone</a><a href="#there">gone</a>'
        '<a href="#here">ok</a>'
        '<script src="https://example.org/x.js"></script><a href="https://example.org">ok</a>'
    )
    said = module("links").problems(tmp_path)
    assert [line.split()[1] for line in said] == ["#there", "b.html", "https://example.org/x.js"]

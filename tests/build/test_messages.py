"""A page in another language: its text message by message, the same cells and code."""

import ast
import json
import re
import shutil
from pathlib import Path

import nbformat
import pytest

from tritonbook.build import catalogues, translation_rules
from tritonbook.course import messages
from tritonbook.course.exercises import Exercise, directory, exercises
from tritonbook.course.source import SourceError

ROOT = directory().parent
TEXT = """\
## Two words

A paragraph of `code`
in two lines.

- an item
  that goes on
- `only_code`

| a | row |
|---|---|
| `x` | 12 |

<details><summary>More</summary>

```python
x = 1  # a remark
```

</details>
"""
CODE = '''\
def f(x):
    """y = x + 1.

    One program = one row,
    or two.
    Assumes nothing.
    """
    # TODO: add one
    # (1 line)
    ### BEGIN SOLUTION
    y = x + 1  # more
    ### BROKEN
    # y = x - one of them
    ### END SOLUTION
    return y  # [M, N]'''


def test_messages_of_text():
    found = []
    assert messages.markdown(TEXT, found.append).count(messages.BEHIND) == len(found)
    assert found == [
        "Two words",
        "A paragraph of `code` in two lines.",
        "an item that goes on",
        "| a | row |",
        "More",
        "a remark",
    ]


def test_translated_text_keeps_its_form():
    said = messages.markdown(TEXT, lambda message: f"<{message}>" if message[0] != "|" else message)
    assert said.startswith("## <Two words>\n\n<A paragraph of `code` in two lines.>\n\n- <an item")
    assert "\n- `only_code`\n\n| a | row |\n|---|---|\n| `x` | 12 |\n" in said
    assert "<summary><More></summary>\n\n```python\nx = 1  # <a remark>\n```" in said


def test_a_piece_that_is_no_whole_python_has_its_comments_translated():
    piece = "```python\nfor i in ...:  # each row\n    # load it\n```"
    said = messages.markdown(piece, lambda message: f"<{message}>")
    assert said == piece.replace("each row", "<each row>").replace("load it", "<load it>")
    opened = "```python\nx = f(  # a remark\n```"
    assert messages.markdown(opened, lambda message: f"<{message}>") == opened


def test_messages_of_code():
    found = []
    messages.code(CODE, found.append)
    assert found == [
        "One program = one row, or two.",
        "Assumes nothing.",
        "add one (1 line)",
        "more",
    ]


def test_each_comment_of_a_sketch_is_a_message():
    """Also where a body lacks, so that it is no Python."""
    found = []
    sketch = "```python\nfor ... in x:\n    # load both\n    # the product\n```"
    assert messages.markdown(sketch, found.append).count(messages.BEHIND) == 2
    assert found == ["load both", "the product"]


def test_translated_code_is_the_same_code():
    said = messages.code(CODE, lambda message: "中文" * 40)
    assert messages.same_code(CODE, said)
    assert "    # y = x - one of them\n" in said and '    """y = x + 1.\n' in said
    alone = [line for line in said.splitlines() if "x + 1  #" not in line]
    assert max(map(messages._columns, alone)) <= 100


@pytest.mark.parametrize("changed", ["x + 1", "BEGIN SOLUTION", "def f(x)"])
def test_other_code_is_noticed(changed):
    assert not messages.same_code(CODE, CODE.replace(changed, changed.lower().replace("x", "z")))


def test_translation_that_ends_a_docstring_is_refused(monkeypatch):
    page = exercises()[0]
    with pytest.raises((SourceError, SyntaxError)):
        messages.rewrite(page, lambda message: 'a """; exit(); """')


def test_chinese_notebook_has_the_same_cells():
    """Cells, ids, code and nbgrader's metadata, but for checksums of what is translated. That the
    notebooks are those of today's pages is `tests/exercises/test_course.py`'s to say."""
    paths = sorted((ROOT / "notebooks" / "zh").glob("*.ipynb"))
    assert len(paths) == len(messages.translations(exercises()))
    for path in paths:
        english, chinese = (
            nbformat.from_dict(json.loads(each.read_text()))
            for each in (ROOT / "notebooks" / path.name, path)
        )
        for one, other in zip(english.cells, chinese.cells, strict=True):
            metas = [dict(cell.metadata) for cell in (one, other)]
            for meta in metas:
                if "nbgrader" in meta:
                    meta["nbgrader"] = {
                        k: v for k, v in meta["nbgrader"].items() if k != "checksum"
                    }
            assert one.id == other.id and metas[0] == metas[1]
            if one.cell_type == "code" and one.id != "setup":
                assert messages.same_code(*("".join(cell.source) for cell in (one, other)))


def test_links_lead_one_folder_deeper():
    page = messages.Translated(directory() / "00_start_here" / "page.py")
    text = "[a](00_start_here.ipynb) [b](99_none.ipynb#x) [c](../README.md) [d](https://e.org/f.md)"
    said = messages.relinked(text, page)
    assert "(00_start_here.ipynb)" in said and "(../99_none.ipynb#x)" in said
    assert "(../../README.md)" in said and "(https://e.org/f.md)" in said


def test_catalogue_follows_its_page(tmp_path):
    """Changed: what it had, as fuzzy; new: empty, or from elsewhere; gone: gone."""
    path = tmp_path / "zh_CN.po"
    assert catalogues.merge(path, {"A sentence of words.": "text"}, {}, "zh") == (0, 1)
    text = path.read_text().replace('words."\nmsgstr ""', 'words."\nmsgstr "一句话。"')
    path.write_text(text)
    assert catalogues.merge(path, {"A sentence of words.": "text"}, {}, "zh") == (1, 0)
    assert path.read_text() == text
    wanted = {"A sentence of two words.": "text", "Recap": "text"}
    assert catalogues.merge(path, wanted, {"Recap": "小结"}, "zh") == (1, 1)
    assert '#, fuzzy\nmsgid "A sentence of two words."\nmsgstr "一句话。"' in path.read_text()
    assert 'msgstr "小结"' in path.read_text() and "of words" not in path.read_text()


def test_a_page_that_is_behind_shows_english_and_is_named(tmp_path):
    page = Exercise(directory() / "00_start_here" / "page.py")
    title = messages.rewrite(page, {"Recap": "小结"}.get)
    assert title.header.title == f"Start here{messages.BEHIND}"
    assert "## 小结\n" in title.cells[-2].source


TERM = translation_rules.Term("mask", "掩码（mask）", ("掩码",), ("掩膜",))


@pytest.mark.parametrize(
    "english, chinese, said",
    [
        ("Use `x`.", "使用 `y`。", "'`y`' is new"),
        ("See [a](b.ipynb).", "见 [甲](c.ipynb)。", "the link"),
        ("It takes 12 ms.", "需要 13 ms。", "the number '12'"),
        ("It takes 16.8 million.", "需要 1,680 万。", ""),
        ("A million, 2 billion.", "100 万，20 亿。", ""),
        ("It takes 16.8 million.", "需要 168 万。", "the number '16800000'"),
        ("It is $x$.", "它是 $y$。", "the formula"),
        ("BLOCK_M rows", "BLOCK_N 行", "the name"),
        ("One, two.", "一,二。", "half-width"),
        ("One.", "一.", "half-width"),
        ("A GPU runs.", "GPU运行。", "no space"),
        ("A **bold (b)** word.", "**粗（b）**字。", "the stars show"),
        ("A mask.", "掩膜。", "掩膜 is not used"),
        ("A mask.", "遮挡。", "'mask' has another name"),
        ("A `mask`, doubled, (a, b).", "`mask` 乘以 2（a, b）。", ""),
        ("Two **masks** for `x`: one, two.", "`x` 有两个**掩码**：一、二。", ""),
    ],
)
def test_rules_of_a_translation(english, chinese, said):
    found = [problem for problem, _ in translation_rules.slips(english, chinese, [TERM])]
    assert bool(found) == bool(said) and said in " ".join(found)


@pytest.mark.parametrize(
    "texts, said",
    [
        (["掩码（mask）是。", "掩码。"], ""),
        (["掩码", "掩码（mask）是。"], ""),  # a heading before it
        (["掩码。", "掩码（mask）是。"], "not said at its first use"),
        (["掩码（mask）是。", "掩码（mask）是。"], "more than once"),
    ],
)
def test_first_use_of_a_term(texts, said):
    known = {str(number): text for number, text in enumerate(texts)}
    told = dict.fromkeys(known, "markdown")
    found = [problem for problem, _ in translation_rules.first_uses(known, told, [TERM])]
    assert bool(found) == bool(said) and said in " ".join(found)


def test_messages_of_the_package():
    text = (
        'from .words import say\n"""Not this one."""\nsay("a {b}", b=1)\n'
        "f(f\"{x.what} of {len(rows)}{' more' if x else ''}. {rest}\")\n"
        "raise ValueError('not this')"
    )
    assert catalogues.said(text) == ["a {b}"]
    assert catalogues.said(text, all_of_it=True) == ["a {b}", "{what} of {rows}{x}.", "more"]


def test_messages_of_judges():
    """Sentences, fields, reasons and what is marked; no names, data or docstrings."""
    text = (
        'from tritonbook.words import later\n"""Not this one."""\nCASES = [case("not this")]\n'
        'AGAINST = {"not this": "no lane left x."}\nassert x, f"{asked}. A row of {len(x)}."\n'
        'Tolerance(1, because="it is rounded")\nbecause = "a long sum"\nname = later("the mean")\n'
        'raise ValueError("Not this.")'
    )
    found = ["no lane left x.", "A row of {x}.", "it is rounded", "a long sum", "the mean"]
    assert catalogues.judged(text) == found


def test_messages_of_commands_and_errors():
    """Whole sentences, what is raised, what a command says of itself; no names, data, docstrings.
    Kills: an error that reaches people, and needs no translation for `make check`."""
    text = (
        'from tritonbook.words import later\n"""Not this one."""\nLEVEL = "not this"\n'
        'raise Odd("no sheet", f"of {count} tasks")\nraise ValueError("not this")\n'
        'raise KeyError(later(f"no row {name}"))\nfound.append(f"{who} handed nothing in.")\n'
        'Option(help="how many")\n@command()\ndef run():\n    """Run\n    all."""\n'
        'def f():\n    """Not this one."""'
    )
    found = ["no sheet", "of {count} tasks", "no row {name}", "{who} handed nothing in."]
    assert catalogues.sentences(text) == [*found, "how many", "Run all."]


def test_what_is_printed_is_said():
    """Kills: a line of a command that stays English, for nobody asked for its translation."""
    found = []
    paths = {*ROOT.glob("tritonbook/**/*.py"), *ROOT.glob("autograde/[cjw]*/*.py")}
    for path in paths - {path for pattern in catalogues.UNTOLD for path in ROOT.glob(pattern)}:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("print"):
                texts = map(catalogues._template, node.args)
                none = r"^ +(nbgrader|tritonbook) .*|\{\w+\}|\[/?\w*\]"  # commands, fields, looks
                words = [re.sub(none, "", text) for text in texts]
                found += [f"{path}: {text}" for text in words if messages.has_words(text)]
    assert found == []


def test_a_sentence_of_the_package_without_its_chinese_is_named(tmp_path):
    """Kills: a new sentence of shared judges that stays English, and `make check` says nothing."""
    judges = tmp_path / "exercises" / "shared" / "judges.py"
    judges.parent.mkdir(parents=True)
    judges.write_text('assert x, "No row was read."')
    (error,) = translation_rules.problems([], tmp_path)
    assert "exercises.po" in str(error) and "No row was read." in str(error)


def test_released_pages_are_whole_and_catalogues_up_to_date():
    assert not translation_rules.problems(exercises(), ROOT)


def test_translate_changes_nothing_of_a_clean_tree(tmp_path):
    """Kills: entries moved by hand, which the next one who runs it finds among his changes."""
    course = exercises(ROOT / "exercises")
    told = {messages.catalogue(page, "zh"): catalogues.of_page(page) for page in course}
    moved = []
    for path, wanted in (told | catalogues.of_package(ROOT)).items():
        copy = Path(shutil.copy(path, tmp_path / "zh_CN.po"))
        catalogues.merge(copy, wanted, {}, "zh")
        if copy.read_bytes() != path.read_bytes():
            moved.append(str(path.relative_to(ROOT)))
    assert moved == [], "run make translate"

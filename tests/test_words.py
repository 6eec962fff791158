"""What is said in another language: found by the English that travels, whole or not at all."""

import io
import re

import pytest
import torch
from babel.messages.pofile import read_po

from tritonbook import words
from tritonbook.build import catalogues
from tritonbook.checking import run_check
from tritonbook.checking.card import as_html, as_text
from tritonbook.checking.places import where
from tritonbook.checking.report import CaseResult, Finding, Report
from tritonbook.course.exercises import directory, get, load
from tritonbook.course.mutants import wrong_answers
from tritonbook.course.page_checks import checks, run_page_check

PO = r"""
msgid ""
msgstr ""
"Content-Type: text/plain; charset=UTF-8\n"

msgid "one \"line\""
msgstr "一\n行"

# several lines, as other programs write them
#, fuzzy
msgid ""
"not "
"finished"
msgstr "未完成"

msgid ""
"two "
"lines"
msgstr ""
"两"
"行"

msgid "empty"
msgstr ""

#~ msgid "gone"
#~ msgstr "没有了"
"""


@pytest.fixture
def chinese():
    with words.speaking("zh"):
        yield


def test_reader_takes_what_babel_takes(tmp_path):
    path = tmp_path / "zh_CN.po"
    path.write_text(PO, encoding="utf-8")
    theirs = read_po(io.BytesIO(PO.encode()))
    finished = {m.id: m.string for m in theirs if m.id and m.string and not m.fuzzy}
    assert words.read(path) == finished == {'one "line"': "一\n行", "two lines": "两行"}


def test_reader_takes_every_catalogue_of_the_course():
    paths = [*words.PACKAGE.rglob("*.po"), *words.PACKAGE.parents[1].glob("exercises/*/*.po")]
    assert len(paths) > 5
    for path in paths:
        with path.open("rb") as file:
            theirs = read_po(file)
        finished = {m.id: m.string for m in theirs if m.id and m.string and not m.fuzzy}
        assert words.read(path) == finished, path


@pytest.mark.parametrize(
    "named, spoken",
    [
        ({"LANG": "zh_CN.UTF-8"}, "zh"),
        ({"LANG": "zh_CN.UTF-8", "LC_ALL": "C.UTF-8"}, "en"),
        ({"LANG": "de_DE.UTF-8"}, "en"),
        ({"LANG": "en_GB.UTF-8", "TRITONBOOK_LANG": "zh"}, "zh"),
        ({}, "en"),
    ],
)
def test_environment_names_the_language(monkeypatch, named, spoken):
    for name in ("TRITONBOOK_LANG", "LC_ALL", "LC_MESSAGES", "LANG"):
        monkeypatch.delenv(name, raising=False)
    for name, value in named.items():
        monkeypatch.setenv(name, value)
    with words.speaking("en"):
        words.choose(None)
        assert words.language() == spoken


def test_a_language_that_is_not_there_is_refused():
    with pytest.raises(ValueError, match="'xx'"):
        words.choose("xx")


@pytest.mark.parametrize(
    "english, said",
    [
        # fields, and what stands in them
        ("The values are wrong everywhere.", "所有位置的值有误。"),
        # several messages, one after the other, and fields behind fields
        (
            "Program 3 of `f` writes outside `out` (up to 2 elements past its end) with 2 lanes at "
            "`tl.store(p, x)`. Those lanes need a mask.",
            "`f` 的 program 3 在 `out` 之外写入了内存（最多超出末尾 2 个元素），涉及 2 个 lane，"
            "位于 `tl.store(p, x)`。这些 lane 需要掩码。",
        ),
        # a field that begins with a comma or a colon, and one that is empty
        ("The gap in `f` is still open.", "`f` 的填空还空着。"),
        (
            "The gap in `f` is still open: its line `pass` is still there.",
            "`f` 的填空还空着，其中那行 `pass` 还在。",
        ),
        # a value and a call keep their commas, a list does not
        (
            "Expected [(1, 2), (3, 4)], got f(1, 2), 3 and 4.",
            "应为 [(1, 2), (3, 4)]，得到的是 f(1, 2)、3 和 4。",
        ),
        (
            "first at [3, 124]: never written, expected 1",
            "首个错误在 [3, 124]：从未写入，应为 1",
        ),
        # one that has no end of its own ends as the text does
        ("The walk over the tiles.", "逐个走过 tile。"),
        # braces in a formula are no field
        (
            "`(e^{2u} - 1) / (e^{2u} + 1)`: NaN for large x, and no test with small numbers "
            "shows it.",
            "`(e^{2u} - 1) / (e^{2u} + 1)`：x 很大时得到 NaN，而用小的数测试是看不出来的。",
        ),
        # what has no message stays as it is, and does not take the rest along
        ("Nobody says this. Those lanes need a mask.", "Nobody says this. 这些 lane 需要掩码。"),
        ("up to nobody, programs and rows", "up to nobody, programs and rows"),
        # no field takes in the end of a sentence, also before a small letter or a number
        (
            "Line chart: Three products, float16. ms over size 1 to 2: a from 1 to 2; b from 3 to "
            "4. at.",
            "折线图：三个乘积，float16。ms，随 size 从 1 到 2：a 从 1 到 2、b 从 3 到 4。at。",
        ),
        (
            "one program per row: 8 programs, 8 of 132 SMs have work. 16 pieces per row: 128 "
            "programs, 128 of 132 SMs have work.",
            "每行一个 program：8 个 program，132 个 SM 中 8 个有活干。每行 16 段：128 个 program，"
            "132 个 SM 中 128 个有活干。",
        ),
        ("", ""),
    ],
)
def test_sentences_are_found_with_their_fields(chinese, english, said):
    assert words.say(english) == said


@pytest.mark.parametrize(
    ("shape", "bad", "said"),
    [
        ((37,), [5], "37 个元素中的 1 个：元素 5（共 37）"),
        (
            (2, 8),
            [slice(1, 2), slice(0, 4)],
            "16 个元素中的 4 个：行 1（共 2）、列 0 到 3（前一半）（共 8）",
        ),
        (
            (9, 9),
            [slice(0, None, 2), [0, 3]],
            "81 个元素中的 10 个：行 0、2、…（共 9）、列 0、3（共 9）",
        ),
        (
            (2, 3, 5),
            [0, slice(1, 3), 4],
            "30 个元素中的 2 个：维度 0 上的 0（共 2）、维度 1 上的 1、2（共 3）、"
            "维度 2 上的 4（共 5）",
        ),
        (
            (1, 4, 3, 9),
            [0, slice(1, 4), 2, slice(1, 9)],
            "108 个元素中的 24 个：头 1 到 3（共 4）、行 2（共 3）、列 1 到 8（共 9）",
        ),
    ],
)
def test_a_place_is_chinese_whatever_it_is(chinese, shape, bad, said):
    """Kills: a place of several parts of which one takes the others for its field."""
    wrong = torch.zeros(shape, dtype=torch.bool)
    wrong[tuple(bad)] = True
    assert words.say(f"The values are wrong {where(wrong)}.") == f"{said}的值有误。"


def test_a_name_is_no_word(chinese):
    """Kills: a card or a picture of `add` that is headed 相加; a call's arguments with words in."""
    assert words.say("{key}: {state}", key="add", state="passed").startswith("add：")
    assert words.titled("add", words.say("launch")) == "add：启动"
    tile = "tile={'BLOCK_M': 16, 'BLOCK_N': 32, 'BLOCK_K': 64}"
    assert words.say("{case} ({arguments})", case="half precision", arguments=tile).endswith(
        f"（{tile}）"
    )


def test_english_stays_to_the_letter():
    with words.speaking("en"):
        assert words.say("  The values  are {wrong}.") == "  The values  are {wrong}."
        assert words.say("{key}: {state}", key="f", state="passed") == "f: passed"
        assert words.titled("f", "passed") == "f: passed"


def test_report_is_the_same_data_in_both_languages():
    finding = Finding("wrong-values", "The values are wrong everywhere.")
    rows = [CaseResult("half precision", "x 4", "wrong", float("inf"), 1.0, finding=finding)]
    report = Report("f", "wrong", finding, rows, ["k"], {"values": "failed"}, {"gpu": "H100"}, 1.0)
    english, data = as_text(report), report.to_dict()
    with words.speaking("zh"):
        assert report.to_dict() == data
        assert "有错，0/1 个用例正确" in as_text(report) and "半精度" in as_html(report)
        older = {**data, "speed": None, "cases": [{**c, "seconds": 1} for c in data["cases"]]}
        assert as_text(Report.from_dict(data)) == as_text(report)
        assert as_text(Report.from_dict(older)) == as_text(report)
    assert as_text(report) == english


def test_verdict_knows_no_language():
    exercise = get("00_start_here")
    wrong, asked = wrong_answers(exercise), checks(exercise)["tile_ranges"]
    for mutant in wrong.mutants["tile_ranges"][:4]:
        answer = load(exercise, {"tile_ranges": wrong.text("tile_ranges", mutant)}).tile_ranges
        english = run_check(answer, asked, "tile_ranges")
        with words.speaking("zh"):
            chinese = run_check(answer, asked, "tile_ranges")
            assert words.say(chinese.finding.sentence) != chinese.finding.sentence
        assert chinese.finding == english.finding and chinese.state == english.state


def in_english(said):
    """Four English words in a row, outside code."""
    return re.search(r"(?:\b[a-z]+\b[ ,]+){3}[a-z]+", re.sub(r"`[^`]*`", "", said))


def test_each_sentence_of_a_judge_is_chinese_where_it_is_said(chinese):
    """Kills: one that has no translation, or whose fields hide it once they are filled in."""
    paths = [*directory().glob("*/cases.py"), *directory().glob("shared/[!s]*.py")]
    told = [m for path in sorted(paths) for m in catalogues.judged(path.read_text())]
    assert len(told) > 400
    filled = {re.sub(r"\{\w+\}", "7", message) for message in told}
    assert [text for text in filled if words.say(text) == text or in_english(words.say(text))] == []


@pytest.mark.parametrize(
    ("slug", "key", "name"),
    [
        ("02_measure", "find_sync", "innermost"),
        ("13_layernorm", "welford_combine", "large-squares"),
        ("21_matmul_grouped", "swizzle", "a-quotient-cut"),
        ("22_autotune", "scale_inplace_tuned", "key-of-the-stride"),
        ("24_mlp_one_kernel", "traffic_ledger", "floats"),
        ("30_register_op", "register_triton", "wrapped-and-torch-computes"),
        ("41_flash_attention", "attention_tiled_torch", "all-scores-at-once"),
        ("70_all_reduce", "all_reduce", "raised-at-home"),
        ("70_all_reduce", "all_reduce", "not-put-back"),
        ("90_debug", "standardise", "mended-and-wrongly-named"),
    ],
)
def test_a_card_of_a_judge_is_chinese(slug, key, name):
    """And the verdict the same. Kills: a finding that is put together from pieces."""
    page = get(slug)
    wrong = wrong_answers(page)
    (mutant,) = (each for each in wrong.mutants[key] if each.name == name)
    module = load(page, {key: wrong.text(key, mutant)})
    english = run_page_check(module, key, hidden=False)
    with words.speaking("zh"):
        chinese = run_page_check(module, key, hidden=False)
        card = as_text(chinese)
    assert chinese.finding == english.finding and chinese.state == english.state == "wrong"
    assert not in_english(card), card

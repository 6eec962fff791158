"""What a text says was measured stands in the outputs of its page, to the text's own digits."""

import html
import itertools
import re
from pathlib import Path

import nbformat
import pytest

from tritonbook.timing.result import BenchResult, Sweep
from tritonbook.timing.stored import DIRECTORY, load

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted((ROOT / "solutions").glob("*.ipynb"))
_NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?")
_FIGURE = re.compile(r"(?<![\w.`])(\d[\d,]*(?:\.\d+)?)\s(?:ms|µs|us|GB/s|TFLOP/s|%|times)(?!\w)")
_MEASURED = re.compile(r"\bH[12]00\b|\bthe table\b")
_GIVEN = re.compile(
    r"data sheet|\b[Aa]t (an H[12]00's )?\d|\b[Ww]ith the H[12]00's \d|\*\*Predict"
    r"|beside this page|another run"
)


def figures(markdown: str) -> list[str]:
    """The numbers, with a unit of time, speed or ratio, of the sentences about a measurement of
    the page. What is computed from given numbers says so: "at 2,967 GB/s"."""
    prose = re.sub(r"```.*?```", " ", markdown, flags=re.DOTALL).replace("\n", " ")
    sentences = re.split(r"(?<=[.!?:;])\s+(?=[A-Z(*-])", prose)
    measured = [each for each in sentences if _MEASURED.search(each) and not _GIVEN.search(each)]
    return [found for each in measured for found in _FIGURE.findall(each)]


def numbers(notebook: nbformat.NotebookNode) -> set[float]:
    """All numbers that the outputs of a notebook show, and how many times each is its neighbour,
    or the first number of a table's row that of another row."""
    found: set[float] = set()
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            data = output.get("data", {})
            markup = html.unescape(re.sub(r"<[^>]+>", " ", data.get("text/html", "")))
            shown = " ".join([output.get("text", ""), data.get("text/plain", ""), markup])
            inline = [float(each.replace(",", "")) for each in _NUMBER.findall(shown)]
            found |= {*inline, *(a / b for a, b in itertools.pairwise(inline) if b)}
            rows = re.findall(r"<tr.*?</tr>", data.get("text/html", ""), flags=re.DOTALL)
            cells = [re.search(r"<td[^>]*>(\d[\d,]*\.\d+)</td>", row) for row in rows]
            times = [float(each[1].replace(",", "")) for each in cells if each]
            found |= {a / b for a, b in itertools.permutations(times, 2) if b}
    return found


def stands_in(figure: str, shown: set[float]) -> bool:
    """Whether one of the numbers is the figure, to one in its last digit (zeros before the point
    are none) or to 1 %: in milliseconds or microseconds, as a part or in percent."""
    value = float(figure.replace(",", ""))
    digits = figure.replace(",", "")
    unit = 10.0 ** -len(digits.partition(".")[2])
    if "." not in digits:
        unit = 10.0 ** (len(digits) - len(digits.rstrip("0")))
    scaled = (number * scale for number in shown for scale in (1, 1e3, 1e-3, 100))
    return any(abs(number - value) <= max(unit, 0.01 * value) for number in scaled)


def stored(notebook: nbformat.NotebookNode) -> dict[str, list[BenchResult]]:
    """The results kept with the workbook that the notebook names and does not define."""
    code = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "code")
    named = set(re.findall(r'"(\w+)"', code)) - set(re.findall(r"\b(\w+)\(", code))
    found = {name: load(name) for name in named if (DIRECTORY / f"{name}.json").exists()}
    return {
        name: each.results if isinstance(each, Sweep) else [each]
        for name, each in found.items()
        if isinstance(each, Sweep | BenchResult)
    }


@pytest.mark.parametrize("path", PAGES, ids=lambda p: p.stem)
def test_without_a_gpu_a_page_shows_the_tables_of_its_outputs(path: Path) -> None:
    notebook = nbformat.read(path, as_version=4)
    shown = numbers(notebook)
    other = [
        f"{name}: {row.name}, {row.ms:.3g} ms"
        for name, results in stored(notebook).items()
        for result in results
        for row in result.rows
        if not any(abs(number - row.ms) <= 0.006 * row.ms for number in shown)
    ]
    assert not other, f"stored, and in no output of the page: {other}. Store what it shows."


@pytest.mark.parametrize("path", PAGES, ids=lambda p: p.stem)
def test_what_a_text_says_was_measured_is_in_an_output(path: Path) -> None:
    notebook = nbformat.read(path, as_version=4)
    shown = numbers(notebook)
    said = [
        figure
        for cell in notebook.cells
        if cell.cell_type == "markdown"
        for figure in figures(cell.source)
    ]
    stale = [figure for figure in said if not stands_in(figure, shown)]
    assert not stale, f"in no output of the page: {stale}. Take the numbers from the new ones."


def test_a_figure_that_no_output_has_is_found() -> None:
    text = "On an H100 it takes 0.41 ms. In the table: 3,000 GB/s.\n```\nH100 9.9 ms\n```\n"
    assert figures(text) == ["0.41", "3,000"]
    assert stands_in("0.41", {0.4132}) and stands_in("0.41", {411.0}) and stands_in("3,000", {2967})
    assert not stands_in("0.41", {0.46}) and not stands_in("2,966", {2900.0})

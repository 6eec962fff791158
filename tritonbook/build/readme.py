"""The generated parts of README.md and CONTRIBUTING.md: the tables, and the address.

A generated part stands between `<!-- NAME: generated -->` and `<!-- end of NAME -->`; everything
else in the file is written by hand, and there the repository's address follows pyproject.toml.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

from ..course.exercises import Exercise, exercises
from .release import Release, read_release
from .versions import VERSIONS
from .views import NEEDS


def generated(root: Path) -> dict[Path, bytes]:
    """Both files, their generated parts up to date. Raises ValueError: no marker."""
    path = root / "README.md"
    if not path.is_file():
        return {}
    release = read_release(root)
    text = addressed(path.read_text(encoding="utf-8"), release)
    text = fill(text, "notebooks", notebook_table(exercises(root / "exercises"), release))
    files = {path: text.encode()}
    if (root / VERSIONS).is_file():
        path = root / "CONTRIBUTING.md"
        table = version_table(json.loads((root / VERSIONS).read_text()))
        files[path] = fill(path.read_text(encoding="utf-8"), "versions", table).encode()
    return files


def addressed(text: str, release: Release) -> str:
    """The text with every link to Colab and to the site, and what `git clone` fetches, at the
    release's address."""
    link = r"https://colab\.research\.google\.com/github/[^/\s]+/[^/\s]+/blob/[^/\s]+/([^)\s]+)"
    text = re.sub(link, lambda found: release.colab(found[1]), text)
    text = re.sub(r"https://[^/\s]+\.github\.io/[^/\s]+/", lambda _: release.site, text)
    clone = f"git clone {release.repository} && cd {release.repository.rsplit('/', 1)[1]}"
    return re.sub(r"git clone \S+ && cd \S+", lambda _: clone, text)


def fill(text: str, name: str, body: str) -> str:
    """Put `body` between the markers of `name`."""
    opening, closing = f"<!-- {name}: generated -->", f"<!-- end of {name} -->"
    if text.count(opening) != 1 or text.count(closing) != 1:
        raise ValueError(f"the file must have the lines {opening!r} and {closing!r} once each")
    pattern = re.compile(f"{re.escape(opening)}.*?{re.escape(closing)}", re.DOTALL)
    return pattern.sub(lambda _: f"{opening}\n{body}\n{closing}", text)


def notebook_table(course: list[Exercise], release: Release) -> str:
    """One row a notebook: title with link, what is built, minutes, Colab; the sum of the hours."""
    rows = ["| | notebook | you build | minutes | |", "|---|---|---|---|---|"]
    for exercise in course:
        link, header = f"notebooks/{exercise.slug}.ipynb", exercise.header
        needs = "" if header.needs == "interpreter" else f" ({NEEDS[header.needs]})"
        rows.append(
            f"| {exercise.number:02} | [{header.title}]({link}){needs} | {_builds(exercise)} "
            f"| {header.minutes} | [Colab]({release.colab(link)}) |"
        )
    hours = sum(exercise.header.minutes for exercise in course) / 60
    rows += ["", f"{len(course)} notebooks, {hours:.0f} hours without the stretch tasks."]
    return "\n".join(rows)


def _builds(exercise: Exercise) -> str:
    """Names of the graded functions; a star marks a stretch task."""
    checks = exercise.checks().items()
    return ", ".join(f"`{key}`" + ("\\*" if "stretch" in cell.tags else "") for key, cell in checks)


def version_table(results: dict) -> str:
    """What ran on which pair of torch and Triton, with the date of the run."""
    rows = [
        "| torch | Triton | numpy | Python | solutions right | wrong answers refused |",
        "|---|---|---|---|---|---|",
    ]
    for run in results["runs"]:
        rows.append(
            f"| {run['torch']} | {run['triton']} | {run['numpy']} | {run['python']} "
            f"| {run['solutions_passed']} of {run['solutions']} "
            f"| {run['mutants_refused']} of {run['mutants']} |"
        )
    note = (
        f"Run on a CPU on {results['date']}: values in Triton's interpreter, and compiled for an "
        "A100."
    )
    return "\n".join([*rows, "", note])

"""The generated parts of the READMEs and of CONTRIBUTING.md: the tables, and the address.

A generated part stands between `<!-- NAME: generated -->` and `<!-- end of NAME -->`; everything
else in the file is written by hand, and there the repository's address follows pyproject.toml.
A document's Chinese, `NAME.zh-CN.md` beside `NAME.md`, holds a mark of the text that it is of.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from pathlib import Path

from ..course import messages
from ..course.exercises import Exercise, exercises
from ..course.source import SourceError
from ..words import language, listed, say, speaking
from .release import Release, read_release
from .versions import VERSIONS
from .views import NEEDS

READMES = {"en": "README.md", "zh": "README.zh-CN.md"}
# A translated document, and the folders in which there may be some.
CHINESE = ("*.zh-CN.md", "autograde/*.zh-CN.md", "singularity/*.zh-CN.md")


def generated(
    root: Path, translated: Sequence[messages.Translated] | None = None
) -> dict[Path, bytes]:
    """These files, their generated parts up to date. translated: the pages in other languages, if
    they were read already. Raises ValueError: no marker."""
    release = read_release(root)
    course = exercises(root / "exercises")
    translated = messages.translations(course) if translated is None else translated
    files = {}
    for lang, name in READMES.items():
        path = root / name
        if path.is_file():
            text = addressed(path.read_text(encoding="utf-8"), release)
            with speaking(lang):
                text = fill(text, "notebooks", notebook_table(course, translated, release))
            files[path] = text.encode()
    if files and (root / VERSIONS).is_file():
        path = root / "CONTRIBUTING.md"
        table = version_table(json.loads((root / VERSIONS).read_text()))
        files[path] = fill(path.read_text(encoding="utf-8"), "versions", table).encode()
    return files


def addressed(text: str, release: Release) -> str:
    """The text with every link to Colab, ModelScope, CNB and the site, and what `git clone`
    fetches, at the release's address."""
    blob = r"/[^/\s]+/[^/\s]+/(?:-/)?blob/[^/\s]+/([^)\s]+)"
    doors = {
        r"colab\.research\.google\.com/github": release.colab,
        r"modelscope\.cn/notebook/share/github": release.modelscope,
        r"cnb\.cool": release.cnb,
    }
    for door, address in doors.items():
        text = re.sub(rf"https://{door}{blob}", lambda found, to=address: to(found[1]), text)
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


def notebook_table(
    course: list[Exercise], translated: Sequence[messages.Translated], release: Release
) -> str:
    """One row a notebook: title with link, what is built, minutes, where to open it; the sum of
    the hours. In Chinese a page that has none yet keeps its English title and link."""
    lang = language()
    pages = {page.slug: page for page in translated if page.lang == lang}
    rows = [say("| | notebook | you build | minutes | |"), "|---|---|---|---|---|"]
    for exercise in course:
        folder = f"notebooks/{lang}" if exercise.slug in pages else "notebooks"
        link, header = f"{folder}/{exercise.slug}.ipynb", pages.get(exercise.slug, exercise).header
        needs = "" if header.needs == "interpreter" else f" ({say(NEEDS[header.needs])})"
        needs = needs if lang == "en" else needs.replace(" (", "（").replace(")", "）")
        doors = f"[Colab]({release.colab(link)})"
        if lang == "zh":  # what Chinese learners reach comes first
            doors = f"[ModelScope]({release.modelscope(link)}) {doors}"
        rows.append(
            f"| {exercise.number:02} | [{header.title}]({link}){needs} | {_builds(exercise)} "
            f"| {header.minutes} | {doors} |"
        )
    hours = sum(exercise.header.minutes for exercise in course) / 60
    count = say(
        "{pages} notebooks, {hours} hours without the stretch tasks.",
        pages=len(course),
        hours=f"{hours:.0f}",
    )
    if lang != "en" and len(pages) < len(course):
        count += say("Pages with an English title are not translated yet.")
    return "\n".join([*rows, "", count])


def _builds(exercise: Exercise) -> str:
    """Names of the graded functions; a star marks a stretch task."""
    checks = exercise.checks().items()
    names = (f"`{key}`" + ("\\*" if "stretch" in cell.tags else "") for key, cell in checks)
    return listed(names)


def version_table(results: dict) -> str:
    """What ran on which pair of torch and Triton, with the date of the run."""
    rows = [
        "| torch | Triton | numpy | Python | solutions right | mutants refused |",
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


def mark(text: str) -> str:
    """What tells one text of a document from another: of its words by hand, whatever the release
    and the course's pages are."""
    by_hand = re.sub(r"(?s)<!-- (\w+): generated -->.*?<!-- end of \1 -->|https://\S+", "", text)
    return hashlib.sha256(by_hand.encode()).hexdigest()[:12]


def behind(root: Path) -> list[SourceError]:
    """Chinese documents that are of another text than the English one has now."""
    found = []
    for path in sorted(path for pattern in CHINESE for path in root.glob(pattern)):
        english = path.with_name(path.name.replace(".zh-CN", ""))
        now = f"<!-- of: {mark(english.read_text(encoding='utf-8'))} -->"
        if now not in path.read_text(encoding="utf-8").splitlines():
            problem = f"{english.name} has changed since it was translated"
            mend = f"translate what changed, then write the line {now}"
            found.append(SourceError(path, 1, problem, mend))
    return found

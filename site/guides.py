"""The pages of the site besides the course's: the README as its landing page, guides, indexes."""

from __future__ import annotations

import inspect
import itertools
import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

from course_map import drawn

import tritonbook  # before Triton
from benchmarks import report, results
from benchmarks.op import all_ops
from tritonbook import checking
from tritonbook.build.catalogues import documented, judged, said
from tritonbook.build.release import Release
from tritonbook.course.exercises import Exercise
from tritonbook.course.mutants import wrong_answers
from tritonbook.port import plain_words
from tritonbook.words import language, say

# Where a guide stands in the repository it stands on the site; the README is index.md there.
GUIDES = (
    "README.md",
    "autograde/README.md",
    "singularity/README.md",
    "benchmarks/README.md",
    "benchmarks/results/nvidia_h100_80gb_hbm3.md",
    "benchmarks/architectures.md",
    "CONTRIBUTING.md",
    "docs/house.md",
    "CHANGELOG.md",
)
PICTURES = (
    "docs/card.png",
    "docs/card.zh.png",
    "benchmarks/results/nvidia_h100_80gb_hbm3_ratios.png",
)


def in_language(root: Path, path: str) -> str:
    """The file of a guide in the language spoken; English where there is no other."""
    chinese = path.removesuffix(".md") + ".zh-CN.md"
    return chinese if language() == "zh" and (root / chinese).is_file() else path


def text_of(root: Path, path: str) -> str:
    """A guide in the language spoken; a report is made anew from its figures."""
    figures = root / path.removesuffix(".md")
    if figures.parent.name == "results":
        data = results.read(figures.with_suffix(".json"))
        return report.page(data, all_ops(), figures.name)
    text = (root / in_language(root, path)).read_text(encoding="utf-8")
    note = "" if is_spoken(root, path) else f"\n*{say('This page is in English.')}*\n"
    return re.sub(r"(?m)^# .*\n", rf"\g<0>{note}", text, count=1)


def is_spoken(root: Path, path: str) -> bool:
    """Whether a guide is there in the language spoken."""
    made = PurePosixPath(path).parent.name == "results"
    return language() == "en" or made or in_language(root, path) != path


def place(path: str) -> str:
    """Where a file of the repository, in either language, stands on the site, if it does."""
    path = re.sub(r"^(?:solutions|notebooks(?:/zh)?)/", "notebooks/", path.replace(".zh-CN", ""))
    return "index.md" if path == "README.md" else path


class Links:
    """Links of the repository's texts, as the site has them: to a page of the site where there is
    one, else to the repository."""

    def __init__(self, root: Path, release: Release, slugs: Sequence[str]):
        self.root, self.release = root, release
        files = [*GUIDES, *PICTURES, *(f"notebooks/{slug}.ipynb" for slug in slugs)]
        self.here = {"names.md", *map(place, files)}

    def on(self, text: str, path: str) -> str:
        """The text of a file of the repository with its links changed, without a line that leads
        to its other language."""
        folder, here = PurePosixPath(path).parent, PurePosixPath(place(path)).parent
        outside = r"(?s)(```.*?```|(?<!\])`[^`\n]*`)|(\]\(|src=\")([^)\s\"#]+)"

        def changed(found: re.Match) -> str:
            if found[1] or found[3].startswith(("http", "data:", "/")):
                return found[0]
            target = os.path.normpath(folder / found[3])
            if place(target) in self.here:
                return found[2] + os.path.relpath(place(target), here)
            kind = "tree" if (self.root / target).is_dir() else "blob"
            return f"{found[2]}{self.release.repository}/{kind}/{self.release.tag}/{target}"

        other = r"(?m)^\[(?:English|中文)\]\(README[\w.-]*\)\n\n"
        return re.sub(outside, changed, re.sub(other, "", text, count=1))


def part_names(readme: str, course: Sequence[Exercise]) -> dict[int, str]:
    """The parts of the course as the README names them: "0 first kernels, 1 rows, ...". Raises
    ValueError where one is missing."""
    (line,) = re.findall(r"(?s)[:：] ?(0 [^.。]*[,，] ?1 [^.。]*)[.。]", readme)
    found = re.findall(r"(\d) (.*?)(?=[,，] ?\d |$)", " ".join(line.split()))
    parts = {int(ten): name for ten, name in found}
    if missing := {ten for ten, _ in _by_part(course)} - set(parts):
        raise ValueError(f"README.md names no part {min(missing)}: add it to `Tens are parts`")
    return parts


def landing(
    root: Path, readme: str, course: Sequence[Exercise], parts: dict[int, str], release: Release
) -> str:
    """The README with the course before the set-up and the map above its table, and without the
    sentence that leads here; then the site's tree."""
    mark = "<!-- notebooks: generated -->"
    readme = re.sub(rf"[^.。]*\]\({re.escape(release.site)}\)[^.。]*[.。]", "", readme, count=1)
    top, *sections = re.split(r"(?m)^(?=## )", readme)
    sections.sort(key=lambda section: mark not in section)
    text = (top + "".join(sections)).replace(mark, f"{drawn(course, parts)}\n\n{mark}")
    trees = [
        _tree(f"{ten} {parts[ten]}", [f"notebooks/{page.slug}" for page in pages])
        for ten, pages in _by_part(course)
    ]
    trees.append(_tree(say("Look up"), ["causes", "names"]))
    for caption, spoken in ((say("Guides"), True), (say("In English"), False)):
        found = [guide for guide in GUIDES[1:] if is_spoken(root, guide) == spoken]
        if found:
            trees.append(_tree(caption, [guide.removesuffix(".md") for guide in found]))
    return "\n".join([text, *trees])


def _tree(caption: str, pages: Sequence[str]) -> str:
    named = f":caption: {caption}\n" if caption else ""
    return "\n```{toctree}\n:hidden:\n" + named + "\n" + "\n".join(pages) + "\n```\n"


def names() -> str:
    """The names that a set-up cell imports, each with what its docstring says: arguments, and what
    they are without being given, less their types."""
    lines = [f"# {say('The names of `tritonbook`')}\n"]
    for name in sorted(tritonbook.__all__, key=str.lower):
        value, kind = getattr(tritonbook, name), "data"
        words = "\n\n".join(map(say, documented(name)))
        if callable(value):
            found = inspect.signature(value)
            bare = [each.replace(annotation=each.empty) for each in found.parameters.values()]
            name += str(found.replace(parameters=bare, return_annotation=found.empty))
            kind = "function"
        lines.append(f"````{{py:{kind}}} {name}\n:module: tritonbook\n\n{words}\n````\n")
    return "\n".join(lines)


def causes(course: Sequence[Exercise], parts: dict[int, str]) -> dict[str, str]:
    """Every sentence that a card can say: those of any page and those for Triton's errors on one
    page of the site, the course's own on one for each part. By path."""
    lines = [f"# {say('What a card can say')}", f"\n## {say('On any page')}\n"]
    lines += [_point(each) for each in _sentences(*_of_any_page(course))]
    lines.append(f"\n## {say('Errors of Triton')}\n")
    for pattern, sentence in plain_words.ERRORS:
        forms = " / ".join(f"`` {form} ``" for form in readable(pattern))
        said = re.sub(r"\{part\d\}", "…", say(plain_words.as_message(sentence)))
        lines.append(f"- {forms}: {said}")
    found = {}
    for ten, pages in _by_part(course):
        told = [f"# {say('What a card can say: {part}', part=parts[ten])}\n"]
        for page in pages:
            told.append(f"\n## {page.number:02} {say(page.header.title)}\n")
            told += [_point(each) for each in _sentences(_judges(page.path.parent / "cases.py"))]
            for key, mutants in wrong_answers(page).mutants.items():
                if says := sorted({mutant.says for mutant in mutants if mutant.says}):
                    told.append(f"\n### [{key}](#hints-{key})\n")
                    told += map(_point, says)
        found[f"causes/{ten}.md"] = "\n".join(told)
    lines.append(_tree("", [f"{ten} {parts[ten]} <causes/{ten}>" for ten, _ in _by_part(course)]))
    return {"causes.md": "\n".join(lines)} | found


def _by_part(course: Sequence[Exercise]) -> Iterator[tuple[int, Iterator[Exercise]]]:
    return itertools.groupby(course, key=lambda page: page.number // 10)


def _of_any_page(course: Sequence[Exercise]) -> Iterator[list[str]]:
    """What the findings of every check say, and what judges say that pages share."""
    for path in Path(checking.__file__).parent.glob("*.py"):
        if path.stem not in ("card", "codes"):
            yield said(path.read_text(encoding="utf-8"), all_of_it=True)
    yield from map(_judges, (course[0].path.parents[1] / "shared").glob("*.py"))


def _judges(path: Path) -> list[str]:
    return judged(path.read_text(encoding="utf-8"))


def _sentences(*texts: list[str]) -> list[str]:
    """The whole sentences among messages."""
    found = {each for text in texts for each in text}
    return sorted(each for each in found if re.match(r"[`{A-Z].* .*[.?]$", each))


def _point(message: str) -> str:
    """A message as a line of a list, with dots for its fields."""
    return "- " + re.sub(r"{\w+}", "…", say(message))


def readable(pattern: str) -> list[str]:
    """A pattern of an error as words, for each form that it may have: dots for what may be
    anything, the first of several words that stand in one place."""
    forms = re._parser.parse(pattern)
    branch = len(forms) == 1 and forms[0][0] is re._constants.BRANCH
    return [
        re.sub("…+", "…", _words_of(form)).strip("… ")
        for form in (forms[0][1][1] if branch else [forms])
    ]


def _words_of(form: Any) -> str:
    found = ""
    for kind, what in form:
        match str(kind):
            case "LITERAL":
                found += chr(what)
            case "IN" if len(what) == 2 and str(what[0][0]) == "LITERAL":  # [Kk]
                found += chr(what[0][1])
            case "SUBPATTERN" if not what[0]:
                found += _words_of(what[3])
            case "MAX_REPEAT" if str(what[2][0][0]) not in ("IN", "ANY"):
                found += _words_of(what[2])
            case "BRANCH":
                found += _words_of(what[1][0])
            case "AT" | "ASSERT_NOT":
                pass
            case _:
                found += "…"
    return found

"""python site/build.py: the course as a static site in site/_build/html.

Everything is generated from what the repository has: pages, solved notebooks, guides, the README.
Exit codes: 0 all is well, 1 a warning, or a link that leads nowhere.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

import nbformat
from sphinx.cmd.build import build_main

SITE = Path(__file__).resolve().parent
ROOT = SITE.parent
sys.path[:0] = [str(SITE), str(ROOT)]
import guides  # noqa: E402
import links  # noqa: E402
import pages  # noqa: E402

from tritonbook import words  # noqa: E402
from tritonbook.build.release import read_release  # noqa: E402
from tritonbook.course import plain  # noqa: E402
from tritonbook.course.exercises import Exercise, chosen  # noqa: E402
from tritonbook.course.messages import Translated  # noqa: E402


def languages(root: Path) -> list[str]:
    """English, then each language that has notebooks."""
    return ["en", *(lang for lang in words.LOCALES if (root / "notebooks" / lang).is_dir())]


def write(root: Path, course: Sequence[Exercise], target: Path) -> None:
    """Sphinx's sources of the site in the language spoken."""
    release = read_release(root)
    found = guides.Links(root, release, [page.slug for page in course])
    texts = {}
    for guide in guides.GUIDES:
        path = guides.in_language(root, guide)
        texts[path] = guides.text_of(root, guide)
    readme = guides.in_language(root, "README.md")
    parts = guides.part_names(texts[readme], course)
    texts[readme] = guides.landing(root, texts[readme], course, parts, release)
    texts = {guides.place(path): found.on(text, path) for path, text in texts.items()}
    texts |= guides.causes(course, parts) | {"names.md": guides.names()}
    for page in course:
        book = pages.notebook(root, page.slug)
        for cell in book.cells:
            if cell.cell_type == "markdown":
                cell.source = found.on(cell.source, pages.learners(root, page.slug))
        texts[f"notebooks/{page.slug}.ipynb"] = nbformat.writes(book)
    for path, text in texts.items():
        (target / path).parent.mkdir(parents=True, exist_ok=True)
        (target / path).write_text(text, encoding="utf-8")
    for path in guides.PICTURES:
        shutil.copy(root / path, target / path)


def downloads(root: Path, course: Sequence[Exercise], target: Path) -> None:
    """The learner's notebooks and plain files in the language spoken, beside the site's pages."""
    target.mkdir(parents=True)
    for page in course:
        notebook = root / pages.learners(root, page.slug)
        shutil.copy(notebook, target)
        spoken = page if notebook.parent.name == "notebooks" else Translated(page.path)
        (target / f"{page.slug}.py").write_text(plain.text_of(spoken), encoding="utf-8")


def build(root: Path, course: Sequence[Exercise], target: Path) -> list[str]:
    """Build the site into target/html anew. Returns what is wrong with it."""
    shutil.rmtree(target, ignore_errors=True)
    for language in languages(root):
        with words.speaking(language):
            write(root, course, target / "sources" / language)
    for language in languages(root):
        html = target / "html" / ("" if language == "en" else language)
        source, kept = target / "sources" / language, target / "kept" / language
        locale = words.LOCALES.get(language, language)
        options = ["-q", "-W", "--keep-going", "-j", "2", "-D", f"language={locale}"]
        if build_main([*options, "-c", str(SITE), "-d", str(kept), str(source), str(html)]):
            return [f"Sphinx has a complaint about {source}; it stands above"]
        with words.speaking(language):
            downloads(root, course, html / "files")
    (target / "html" / ".nojekyll").touch()
    return links.problems(target / "html")


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("slugs", nargs="*", help="pages of the course (default: all)")
    parser.add_argument("--root", type=Path, default=ROOT, help="the checkout (default: this one)")
    parser.add_argument("--target", type=Path, default=SITE / "_build")
    options = parser.parse_args(arguments)
    course = sorted(chosen(options.slugs, options.root / "exercises"), key=lambda page: page.number)
    wrong = build(options.root, course, options.target.resolve())
    for line in wrong:
        print(line, file=sys.stderr)
    print(f"{options.target / 'html' / 'index.html'}: {len(wrong)} problems")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

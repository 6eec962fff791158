"""python -m tritonbook.build: what an author asks of the course, a verb each.

Exit codes: 0 all is well; 1 something differs, or a mutant survives; 2 an exercise file is
broken or the command cannot run.
"""

from __future__ import annotations

import argparse
import itertools
import os
import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from ..checking.codes import CODES
from ..command import BAD_INPUT, Parser, sentence
from ..course import messages
from ..course.exercises import Exercise, chosen, exercises, get
from ..course.mutants import wrong_answers
from ..course.source import SourceError
from . import (
    architectures,
    budget,
    catalogues,
    contract,
    matrix,
    mutate,
    readme,
    stubs,
    sync,
    template,
    translation_rules,
    versions,
)
from .release import read_release


def main(arguments: Sequence[str] | None = None) -> int:
    parser = Parser(prog="python -m tritonbook.build", description=__doc__)
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parents[2])
    verbs = parser.add_subparsers(dest="verb", required=True)

    def verb(
        name: str, run: Callable[..., int], says: str, slugs: bool = False
    ) -> argparse.ArgumentParser:
        added = verbs.add_parser(name, help=says)
        added.set_defaults(run=run)
        if slugs:
            added.add_argument("slugs", nargs="*", help="exercises (default: all)")
        return added

    verb("sync", _sync, "write notebooks/, solutions/ and autograde/source/")
    verb("translate", _translate, "bring Chinese catalogues up to date, or begin them", slugs=True)
    verb("check", _check, "compare them with what exercises/ gives, and check every rule")
    added = verb("execute", _execute, "run solutions and keep their outputs", slugs=True)
    added.add_argument("--allow-interpreter", action="store_true", help="run without a GPU")
    verb("pages", _pages, "how much of everything stands on each page")
    verb("codes", _codes, "what the findings of a check mean, by their codes")
    verb("new", _new, "write a template exercise").add_argument("slug", help="NN_name")
    added = verb("kill-matrix", _kill_matrix, "run every mutant and honest variant")
    added.add_argument("--exercise", help="slug, name or number (default: all)")
    added.add_argument("--short", action="store_true", help="as `make test`, with what it kept")
    added = verb("page", _page, "all that an author asks of one page")
    added.add_argument("slug")
    added.add_argument("--only", metavar="STEP", help='one step of it, such as "kill matrix"')
    verb("mutate", _mutate, "change answers by machine, and see who notices", slugs=True)
    verb("compile-check", _compile_check, "compile every solution for five GPUs", slugs=True)
    added = verb("matrix", _matrix, "run the course on other pairs of torch and Triton", slugs=True)
    known = [pair.triton for pair in versions.PAIRS]
    added.add_argument("--triton", action="append", choices=known, help="the pair of this alone")
    added.add_argument("--solutions", action="store_true", help="no mutants")
    added.add_argument(
        "--installed-torch", action="store_true", help="only Triton changes: much less to fetch"
    )
    options = parser.parse_args(arguments)
    try:
        if options.verb != "new" and not (options.root / "pyproject.toml").is_file():
            raise LookupError(f"{options.root} is no checkout of the workbook; mend --root")
        return options.run(options)
    except (SourceError, LookupError, OSError, RuntimeError, ValueError) as error:
        print(sentence(error), file=sys.stderr)
        return BAD_INPUT


def _chosen(options: argparse.Namespace) -> list[Exercise]:
    return chosen(options.slugs, options.root / "exercises")


def _sync(options: argparse.Namespace, built: sync.Built | None = None) -> int:
    built = built or sync.build(options.root)
    for error in built.broken:
        print(error, file=sys.stderr)
    for path in sync.write(built):
        print(f"{'wrote' if path.exists() else 'removed'} {path.relative_to(options.root)}")
    for path, cells in built.dropped.items():
        name = path.relative_to(options.root)
        print(f"{name}: outputs of {len(cells)} cells were older than their source; run execute")
    for page in built.translated:
        if behind := catalogues.behind(page):
            name = f"notebooks/{page.lang}/{page.slug}.ipynb"
            print(f"{name}: {len(behind)} messages still English; run translate")
    return BAD_INPUT if built.broken else 0


def _translate(options: argparse.Namespace) -> int:
    """With slugs, catalogues are begun; without, those that are there follow their pages."""
    pages = _chosen(options) if options.slugs else exercises(options.root / "exercises")
    for page in pages:
        path = messages.catalogue(page, "zh")
        if options.slugs or path.is_file():
            done, waiting = catalogues.update(page, "zh")
            name = path.relative_to(options.root)
            print(f"{name}: {done} messages translated, {waiting} to do")
    for path, told in catalogues.of_package(options.root).items() if not options.slugs else ():
        done, waiting = catalogues.merge(path, told, {}, "zh")
        print(f"{path.relative_to(options.root)}: {done} messages translated, {waiting} to do")
    return 0


def _check(options: argparse.Namespace, built: sync.Built | None = None) -> int:
    built = built or sync.build(options.root)
    release = read_release(options.root)
    course = exercises(options.root / "exercises")
    unread = {error.path for error in built.broken}
    sound = [exercise for exercise in course if exercise.path not in unread]
    errors = [*built.broken]
    for exercise in sound:
        errors += contract.problems(exercise, release)
    if not unread:
        errors += contract.course_problems(sound)
    broken = {error.path for error in errors}
    errors += stubs.problems([exercise for exercise in sound if exercise.path not in broken])
    if not unread:
        errors += translation_rules.problems(course, options.root)
    errors += readme.behind(options.root)
    for error in errors:
        print(error, file=sys.stderr)
    differing = built.differing()
    for path in differing:
        print(f"{path.relative_to(options.root)} differs from its source; run make sync")
    for path in built.left_over():
        print(f"{path.relative_to(options.root)} comes from no exercise; run make sync")
        differing.append(path)
    if errors:
        return BAD_INPUT
    if not differing:
        print(f"{len(course)} exercises: rules kept, {len(built.files)} files up to date")
    return 1 if differing else 0


def _pages(options: argparse.Namespace) -> int:
    print(budget.table(exercises(options.root / "exercises"), read_release(options.root)))
    return 0


def _codes(options: argparse.Namespace) -> int:
    for subject, rows in itertools.groupby(CODES.items(), key=lambda row: row[1].about):
        print(subject)
        for name, code in rows:
            says = "place" if code.place else "cause"
            where = "" if code.seen == "everywhere" else f" ({code.seen} alone)"
            print(f"  {name:21} {says}: {code.sentence}{where}")
    return 0


def _execute(options: argparse.Namespace) -> int:
    from ..port.device import INTERPRET
    from .execute import ExecutionError, execute

    if INTERPRET and not options.allow_interpreter:
        print("There is no GPU here: add --allow-interpreter, or run this on one.", file=sys.stderr)
        return BAD_INPUT
    release = read_release(options.root)
    status = 0
    for exercise in _chosen(options):
        try:
            path = execute(exercise, release, options.root)
            print(f"executed {path.relative_to(options.root)}", flush=True)
        except ExecutionError as error:
            print(error, file=sys.stderr)
            status = 1
    return status


def _new(options: argparse.Namespace) -> int:
    if not re.fullmatch(r"\d\d_[a-z][a-z0-9_]*", options.slug):
        raise ValueError(f"{options.slug!r} is no exercise name; write it as in 17_scan")
    for path in template.write_new(options.root / "exercises", options.slug):
        print(f"wrote {path.relative_to(options.root)}")
    return 0


def _kill_matrix(options: argparse.Namespace) -> int:
    from rich.console import Console
    from rich.progress import track

    from ..port.device import INTERPRET

    course = exercises(options.root / "exercises")
    picked = chosen([options.exercise], options.root / "exercises") if options.exercise else course
    known = options.root / matrix.KNOWN
    wanted = [
        attempt
        for exercise in picked
        for key in exercise.answers()
        for attempt in (
            matrix.shortened(exercise, key, known)
            if options.short
            else matrix.attempts(exercise, key)
        )
    ]
    errors = Console(stderr=True)
    kept = options.root / matrix.KEPT if options.short else None
    rows = matrix.run(wanted, kept=kept)
    done = list(
        track(rows, total=len(wanted), description="checks", console=errors, transient=True)
    )
    Console(width=None if sys.stdout.isatty() else 160).print(matrix.table(done))
    if INTERPRET:
        matrix.remember(course, done, known)
        for exercise, key in {(row.attempt.exercise, row.attempt.key) for row in done}:
            matrix.tried_whole(exercise, key, options.root / matrix.KEPT, now=True)
    for exercise in picked:
        for key, names in wrong_answers(exercise).left_out.items():
            print(f"{exercise.slug}, {key}: usual() has no room for {', '.join(names)}")
    bad = [row for row in done if not row.good]
    killed = sum(row.verdict == "killed" for row in done)
    mutants = sum(row.attempt.kind == "mutant" for row in done)
    accepted = sum(row.verdict == "accepted" for row in done)
    print(f"{killed} of {mutants} mutants killed, {accepted} right answers accepted", end="")
    print(f"; {len(bad)} not as intended" if bad else "")
    return 1 if bad else 0


def _page(options: argparse.Namespace) -> int:
    exercise = get(options.slug, options.root / "exercises")
    options.slugs, options.exercise, options.short = [exercise.slug], exercise.slug, False
    folder = str(exercise.path.parent)
    built = sync.build(options.root)
    rooms = ["tests/exercises", "tests/course", "tests/seeing/test_prediction.py"]
    tests = [*rooms, "-k", f"{exercise.slug} and not test_kill_matrix"]
    here = "not gpu and not container and not browser"

    def run(*command: str) -> int:
        sys.stdout.flush()
        return subprocess.run([sys.executable, "-m", *command], cwd=options.root).returncode

    steps: dict[str, Callable[[], int]] = {
        "sync": lambda: _sync(options, built),
        "rules": lambda: _check(options, built),
        "style": lambda: run("ruff", "check", "-q", folder),
        "format": lambda: run("ruff", "format", "-q", "--diff", folder),
    }
    last: dict[str, Callable[[], int]] = {
        "kill matrix": lambda: _kill_matrix(options),
        "mutate": lambda: _mutate(options),
        "compile-check": lambda: _compile_check(options),
        "tests": lambda: run("pytest", "-q", "--thorough", "-m", here, *tests),
        "documents": lambda: run("pytest", "-q", "tests/test_documents.py"),
    }
    if options.only:
        if options.only not in steps | last:
            raise ValueError(
                f"page has no step {options.only!r}; its steps: {', '.join(steps | last)}"
            )
        return (steps | last)[options.only]()
    unread = any(error.path.parent == exercise.path.parent for error in built.broken)
    kept = {}
    for name, step in (steps | last).items():
        if unread and name in last:  # it would say of each answer that the page cannot be read
            kept[name] = "not tried"
            continue
        try:
            kept[name] = "FAILED" if step() else "ok"
        except (SourceError, LookupError, OSError, RuntimeError, ValueError) as error:
            print(sentence(error), file=sys.stderr)
            kept[name] = "FAILED"
    print(f"{exercise.slug}: " + ", ".join(f"{name} {how}" for name, how in kept.items()))
    return 0 if {*kept.values()} == {"ok"} else 1


def _mutate(options: argparse.Namespace) -> int:
    from rich.console import Console
    from rich.progress import track

    course = _chosen(options)
    errors = Console(stderr=True)
    found = mutate.sweep(course, options.root, len(os.sched_getaffinity(0)))
    results = []
    vague = []
    for result in track(found, description="changes", console=errors, transient=True):
        results.append(result)
        code = result.hidden if result.verdict == "HIDDEN ONLY" else result.visible
        line = f"{result.verdict:14} {result.exercise} {result.key}: {result.name}  [{code}]"
        if result.verdict == "no cause":
            vague.append(line)
        elif result.verdict not in ("refused", "equivalent"):
            print(line)
    if vague:
        print("Refused, as they should; a mutant with a sentence would say why, not just where:")
        print("\n".join(vague))
    verdicts = [result.verdict for result in results]
    counts = ", ".join(f"{verdicts.count(each)} {each}" for each in sorted(set(verdicts)))
    print(f"{len(results)} changes: {counts}")
    if pasted := mutate.lines(results):
        print(pasted)
    for line in (stale := mutate.stale(course)):
        print(f"no longer a change of the answer: {line}")
    return 1 if stale or any(verdict.isupper() for verdict in verdicts) else 0


def _compile_check(options: argparse.Namespace) -> int:
    return 0 if architectures.report(_chosen(options), whole=not options.slugs) else 1


def _matrix(options: argparse.Namespace) -> int:
    slugs = [get(slug, options.root / "exercises").slug for slug in options.slugs]
    wanted = options.triton or [pair.triton for pair in versions.PAIRS]
    pairs = [pair for pair in versions.PAIRS if pair.triton in wanted]
    good = versions.report(pairs, slugs, options.solutions, options.installed_torch)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())

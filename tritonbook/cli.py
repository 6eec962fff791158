"""The `tritonbook` command: the notebook's tools in a terminal.

Exit codes: 0 all well, 1 not passed (or this machine needs mending), 2 bad input, said in one
sentence on standard error.
"""

from __future__ import annotations

import argparse
import io
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from . import NOT_READY
from .command import BAD_INPUT, BadInput, Parser, leave, refused
from .port.present import NotReady
from .seeing.occupancy import LIMITS
from .words import later, say

SOMEBODY = "somebody"


def _doctor(options: argparse.Namespace) -> int:
    from .health.doctor import doctor

    found = doctor()
    print(found)
    return int(found.problems > 0)


def _progress(options: argparse.Namespace) -> int:
    from .course import records
    from .course.progress import progress

    if options.reset is not None:
        key = None if options.reset == "all" else options.reset
        forgotten = records.reset(key)
        if not forgotten and key:
            raise BadInput(
                f"There is no record of {key!r}: `tritonbook progress` lists the checks."
            )
        print(say("Forgot 1 check." if forgotten == 1 else f"Forgot {forgotten} checks."))
        return 0
    print(progress().text(all_pages=options.all))
    return 0


def _start(options: argparse.Namespace) -> int:
    from .course import desk

    path = desk.start(options.page)
    print(say(f"{path}: open it in your editor, and leave this running in a terminal:"))
    print(f"  tritonbook check {path} --watch")
    return 0


def _lab(options: argparse.Namespace) -> int:
    from .course.desk import lay_out
    from .lab import run

    new = len({path.name for path in lay_out(options.folder)})  # in English and in Chinese
    print(say(f"New pages in {options.folder}/: {new}; what you changed stays as it is."))
    return run(options.folder, [each for each in options.more if each != "--"])


def _reset(options: argparse.Namespace) -> int:
    from .course.desk import reset

    path, kept = reset(options.page, options.key)
    what = later(f"the gap of {options.key} is open" if options.key else "as it was at first")
    print(say(f"{path}: {what} again; your text of before is kept in {kept}."))
    if path.suffix == ".ipynb":
        print(say("Is it open in JupyterLab? Take File > Reload Notebook from Disk."))
    return 0


def _hint(options: argparse.Namespace) -> int:
    from .course.hints import hint

    print_text = Console(highlight=False, width=min(100, Console().width)).print
    for part in hint(options.key):
        print_text(part)
    return 0


def _next(options: argparse.Namespace) -> int:
    from .course.desk import own_file
    from .course.progress import progress

    step = progress().next_task
    if step is None:
        print(
            say(
                "Every check of the course is passed. `tritonbook redo` begins what is longest ago."
            )
        )
        return 0
    row, mark = step
    where = later("{key}, on page {slug} ({title})")
    print(say(where, key=mark.key, slug=row.slug[:2], title=row.title))
    path = own_file(row.slug)
    print(
        "  " + say(f"your file: {path}" if path else f"begin it: tritonbook start {row.slug[:2]}")
    )
    print("  " + say(f"check it: tritonbook check {row.slug[:2]} --only {mark.key} --watch"))
    print("  " + say(f"stuck: tritonbook hint {mark.key}"))
    return 0


def _redo(options: argparse.Namespace) -> int:
    from .course.redo import redo

    path = redo(options.key, options.notebook)
    print(say(f"{path}: a blank page. Check it with `tritonbook check {path} --watch`."))
    return 0


def _report(done: Any) -> None:
    signs = {"passed": "[green]✓[/]", "not attempted": "○"}
    table = Table(title=Path(done.notebook).name, title_justify="left", show_header=False, box=None)
    for check in done.checks:
        name = say("{key} (stretch)", key=check.key) if check.stretch else check.key
        sign = signs.get(check.state, "[red]✗[/]")
        table.add_row(sign, name, say(check.state), escape(say(check.reason)))
    # Wide enough for one check a line where the output is no terminal.
    console = Console(width=None if sys.stdout.isatty() else 160, highlight=False)
    console.print()
    for line in done.broken:  # first: it may be what the checks fail on
        console.print(f"[red]✗[/] {escape(say(line))}")
    console.print(table)
    for check in done.checks:
        if check.state not in ("passed", "not attempted"):
            console.print(say(f"Stuck? `tritonbook hint {check.key}` gives one hint at a time."))
            break
    passed = sum(check.state == "passed" for check in done.checks)
    console.print(say(f"{passed} of {len(done.checks)} checks passed"))


def _check(options: argparse.Namespace) -> int:
    from .course.desk import find, is_shared
    from .course.terminal import Apart, read_cells
    from .course.watch import watch
    from .port.device import ready

    ready()
    path = find(options.notebook)
    keys = [cell.key for cell in read_cells(path) if cell.check]
    if not keys:
        raise BadInput(f"{path} has no cells that check: begin a page with `tritonbook start`.")
    if options.only and options.only not in keys:
        raise BadInput(f"{path.name} has no check {options.only!r}; it has {', '.join(keys)}.")
    print(say(f"Checking {path}"), flush=True)
    if is_shared(path):
        print(
            say(
                "This file is the workbook's: `git pull` may write over what you do in it. "
                "`make lab` and `tritonbook start` give you a file of your own."
            ),
            flush=True,
        )
    if options.watch:
        return int(not watch(path, options.only, _report))
    with Apart() as apart:
        done = apart.run(path, [options.only] if options.only else None)
    _report(done)
    return int(not done.passed)


def _certify(options: argparse.Namespace) -> int:
    from .course import certify

    try:
        data = certify.write(options.file, options.name, options.exam)
    except OSError as error:
        raise BadInput(f"{options.file} cannot be written: {error.strerror}.") from None
    passes, checks = len(data["passes"]), data["checks_in_course"]
    print(
        say(
            f"{options.file} says: {options.name} passed {passes} of the {checks} checks of the "
            "course, stretch tasks among them."
        )
    )
    if options.name == SOMEBODY:
        print(say("`--name` says whose it is."))
    return 0


def _graded_calls(name: str) -> list[Any]:
    """The check calls meant by a graded function's name, or by a notebook's number or slug."""
    from .course.desk import page
    from .course.page_checks import NotAsked, find_check
    from .course.page_checks import call as call_of

    try:
        found = [call_of(find_check(name)[0], name)]
    except NotAsked:
        exercise = page(name)
        found = [call_of(exercise, key) for key in exercise.checks()]
    kernels = [call for call in found if call.check.triton and call.check.usable()]
    if not kernels:
        raise BadInput(f"{name} launches no kernel, so there is nothing to compile: name another.")
    return kernels


def _facts(options: argparse.Namespace) -> int:
    """Of yours once it passed, else of the workbook's."""
    from .checking.cases import arguments, elements
    from .course.progress import kept_pass, mine
    from .seeing.compiled import CompileError, facts

    problems = 0
    for call in _graded_calls(options.kernel):
        whose, function = "workbook", call.function
        case = max(call.check.usable(), key=elements)
        if kept_pass(function.__name__):
            whose, function = "yours", mine(function.__name__, quiet=True)
        try:
            found = facts(function, *arguments(case), arch=options.arch, **case.options)
        except CompileError as error:
            raise BadInput(str(error)) from None
        problems += bool(found.problem)
        print(f"{call.key} ({whose}), {case.describe()}\n{found}\n")
    return int(problems > 0)


def _parser() -> argparse.ArgumentParser:
    parser = Parser(
        prog="tritonbook", description=say("GPU kernels in Triton, learnt by filling gaps.")
    )
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB")

    def verb(name: str, run: Any, says: str) -> argparse.ArgumentParser:
        sub = verbs.add_parser(name, help=say(says), description=say(says))
        sub.set_defaults(run=run, error=sub.error)
        return sub

    verb("doctor", _doctor, later("Say what this machine is fit for and what would mend it."))
    progress = verb("progress", _progress, later("Show the course map with your marks."))
    progress.add_argument(
        "--reset", metavar="KEY", help=say("forget one check, or all of them with 'all'")
    )
    progress.add_argument("--all", action="store_true", help=say("each page, not only your part"))
    start = verb("start", _start, later("Write a page as a plain .py file into this folder."))
    start.add_argument("page", help=say("a number (01) or a slug"))
    check = verb(
        "check", _check, later("Run the checks of a notebook or plain file, without a browser.")
    )
    check.add_argument("notebook", help=say("a number (01), a slug, or an .ipynb or .py file"))
    check.add_argument("--only", metavar="KEY", help=say("run this check alone"))
    check.add_argument(
        "--watch", action="store_true", help=say("check again whenever the file is saved")
    )
    reset = verb("reset", _reset, later("Put a page, or one gap of it, back as it was at first."))
    reset.add_argument("page", help=say("a number (01) or a slug"))
    reset.add_argument("key", nargs="?", help=say("the function whose gap is opened again"))
    hint = verb("hint", _hint, later("Give the next hint for a task."))
    hint.add_argument("key", help=say("the function that is asked for (add)"))
    verb("next", _next, later("Say which task is next, and where your file of it lies."))
    redo = verb("redo", _redo, later("Write a blank page for a kernel that you passed before."))
    redo.add_argument("key", nargs="?", help=say("its function; without: what is longest ago"))
    redo.add_argument(
        "--notebook", action="store_true", help=say("an .ipynb file in place of a .py")
    )
    lab = verb("lab", _lab, later("Open JupyterLab on your own copy of the notebooks."))
    lab.add_argument("--folder", type=Path, default=Path("work"), help=say("where they lie: work"))
    lab.epilog = say("Other options go to JupyterLab, such as --no-browser or --port 8889.")
    certify = verb("certify", _certify, later("Write a certificate: which checks you passed."))
    certify.add_argument("file", nargs="?", type=Path, default=Path("certificate.html"))
    certify.add_argument(
        "--name", default=os.environ.get("USER", SOMEBODY), help=say("whose it is")
    )
    certify.add_argument(
        "--exam",
        type=Path,
        action="append",
        default=[],
        help=say("a statement of your instructor's"),
    )
    says = later("Say what the compiler makes of a kernel, for a GPU that need not be here.")
    facts = verb("facts", _facts, says)
    facts.add_argument("kernel", help=say("a graded function (softmax), or a notebook (04)"))
    facts.add_argument("--arch", type=int, default=80, choices=LIMITS, help=say("capability"))
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Entry point of the `tritonbook` command; returns the exit code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal that knows no ✓
    parser = _parser()
    if not (sys.argv[1:] if arguments is None else arguments):
        parser.print_help(sys.stderr)
        return BAD_INPUT
    options, options.more = parser.parse_known_args(arguments)
    if options.more and options.run is not _lab:  # JupyterLab knows its own
        options.error(f"unrecognized arguments: {' '.join(options.more)}")
    if NOT_READY and options.run is not _doctor:
        print(NOT_READY.told(), file=sys.stderr)
        return BAD_INPUT
    try:
        return options.run(options)
    except BadInput as error:
        print(say(str(error)), file=sys.stderr)
        return BAD_INPUT
    except NotReady as error:
        print(error.told(), file=sys.stderr)
        return BAD_INPUT
    except OSError as error:
        if not error.filename:  # not of a file that somebody named
            raise
        print(refused(error), file=sys.stderr)
        return BAD_INPUT
    except KeyboardInterrupt:
        return 130


def command() -> None:
    """The `tritonbook` command itself."""
    try:
        code = main()
    except BrokenPipeError:  # whoever read it has seen enough, as in `| head`
        code = 0
    leave(code)


if __name__ == "__main__":
    command()

"""`python -m benchmarks [name...]`: verify, time, write the GPU's results, print a table.

`python -m benchmarks sweep` times shapes that are drawn: see its --help."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence

import tritonbook  # noqa: F401  (must come before Triton)
from tritonbook.child import Ended
from tritonbook.command import BAD_INPUT, Parser
from tritonbook.port.device import INTERPRET, describe, versions

from . import results, sweep
from .op import all_ops
from .runner import run_alone


def main(arguments: Sequence[str] | None = None) -> int:
    arguments = sys.argv[1:] if arguments is None else arguments
    if arguments[:1] == ["sweep"]:
        return sweep.main(arguments[1:])
    parser = Parser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", help="operations, or parts of their names")
    parser.add_argument("--list", action="store_true", help="print the operations and stop")
    parser.add_argument(
        "--check",
        action="store_true",
        help="compare with the stored ratios: exit with 1 when one fell, write no file",
    )
    parser.add_argument(
        "--resume",
        action="store_true",
        help="go on with a run that was cut off: what was measured today with these versions stays",
    )
    options = parser.parse_args(arguments)
    ops = all_ops()
    unknown = [name for name in options.names if not any(name in known for known in ops)]
    if unknown:
        parser.error(f"no operation like {unknown[0]!r}; there are: {', '.join(ops)}")
    chosen = {name: op for name, op in ops.items() if _wanted(name, options.names, ops)}
    if options.list:
        for name, op in chosen.items():
            print(f"{name:<24}{op.notebook:<24}{', '.join(p.label for p in op.problems)}")
        return 0
    if INTERPRET:
        print(
            "The benchmarks need a CUDA GPU: the interpreter's times say nothing about a kernel.",
            file=sys.stderr,
        )
        return BAD_INPUT
    print(describe())
    here = versions()
    gpu = here["gpu"]
    path = results.path_for(gpu)
    old, failed = results.read(path), []
    entries = results.of_today(old, chosen, here) if options.resume else {}
    if options.check and not old:
        print(f"There are no stored ratios of {gpu}: {path} is missing.", file=sys.stderr)
        return BAD_INPUT
    for name in chosen:
        if name in entries:
            print(f"{name}: measured earlier today")
            continue
        try:
            entries[name] = run_alone(name)
        except Ended as reason:
            failed.append(f"{name}: {reason}")  # the others are still measured
            continue
        if not options.check:
            results.write(path, gpu, entries)  # an interrupted run keeps what it has
    print(f"\n{results.table(entries)}")
    end = "no file written" if options.check else f"written to {path}"
    print(f"{gpu}; * = the workbook's solution; {end}")
    fallen, refused = results.slower(old, entries), results.refused(entries)
    for word, lines in {"SLOWER": fallen, "REFUSED": refused, "FAILED": failed}.items():
        for line in lines:
            print(word, line)
    return 1 if refused or failed or (options.check and fallen) else 0


def _wanted(name: str, asked: list[str], known: Iterable[str]) -> bool:
    """Whole names stand for themselves, parts of names for every operation that holds them."""
    return not asked or any(name == part if part in known else part in name for part in asked)


if __name__ == "__main__":
    raise SystemExit(main())

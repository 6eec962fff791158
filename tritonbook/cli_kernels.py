"""`tritonbook facts` and `bench`: your kernels, or the workbook's, on the shapes of their check."""

from __future__ import annotations

import argparse
import json
import re
from collections import Counter
from typing import Any

from .command import sentence

# Instructions that say how a kernel moves data and multiplies.
TELLING = re.compile(
    r"^\s*(?:@%?\w+\s+)?((?:ld|st)\.(?:global|shared)|cp\.async|mma|wgmma|atom|red|bar|ex2)[\w.:]*"
)


class UnknownKernel(Exception):
    """What was typed names no graded kernel: one sentence."""


def graded_calls(name: str) -> list[Any]:
    """The check calls meant by a graded function's name, or by a notebook's number or slug."""
    from .course.cases import call as call_of
    from .course.exercises import exercises, get

    for exercise in exercises():
        if name in exercise.checks():
            found = [call_of(exercise, name)]
            break
    else:
        try:
            exercise = get(name)
        except LookupError as error:
            raise UnknownKernel(sentence(error)) from None
        found = [call_of(exercise, key) for key in exercise.checks()]
    kernels = [call for call in found if call.check.triton and call.check.usable()]
    if not kernels:
        raise UnknownKernel(f"{name} launches no kernel; there is nothing to compile or time.")
    return kernels


def _function(call: Any, solution: bool) -> tuple[str, Any]:
    """(whose, function): yours once it passed, unless the solution is asked for."""
    from .course.progress import kept_pass, mine

    if solution or not kept_pass(call.function.__name__):
        return "workbook", call.function
    return "yours", mine(call.function.__name__, quiet=True)


def facts(options: argparse.Namespace) -> int:
    """Registers, spills, shared memory and instructions, for a GPU that need not be here."""
    from .checking.cases import arguments
    from .seeing.compiled import CompileError
    from .seeing.compiled import facts as compile_facts

    data, problems = [], 0
    for call in graded_calls(options.kernel):
        whose, function = _function(call, options.solution)
        case = call.largest()
        try:
            found = compile_facts(function, *arguments(case), arch=options.arch, **case.options)
        except CompileError as error:
            raise UnknownKernel(str(error)) from None
        problems += bool(found.problem)
        if options.json:
            kernels = [kernel.to_dict() for kernel in found]
            data.append({"key": call.key, "whose": whose, "case": case.describe()})
            data[-1] |= {"kernels": kernels, "problem": found.problem}
            continue
        print(f"{call.key} ({whose}), {case.describe()}\n{found}")
        for kernel in found if options.ptx else []:
            print(f"\nPTX of {kernel.name}:\n{ptx_highlights(kernel.ptx)}")
        print()
    if options.json:
        print(json.dumps(data, indent=1))
    return int(problems > 0)


def ptx_highlights(ptx: str) -> str:
    """The telling instructions of a PTX text, with how often each stands there."""
    lines = map(TELLING.match, ptx.splitlines())
    counted = Counter(line[0].split()[-1] for line in lines if line)
    return "\n".join(f"  {count:4} x {name}" for name, count in counted.most_common()) or "  none"


def bench(options: argparse.Namespace) -> int:
    """Time your kernel and the workbook's on the check's timed case, else its largest."""
    from .checking.cases import arguments
    from .port.device import DEVICE
    from .timing.bench import bench as time_them

    data = []
    for call in graded_calls(options.kernel):
        speed = call.check.speed
        case = speed.case if speed else call.largest()
        whose, function = _function(call, solution=False)
        named = {"workbook": call.function}
        if whose == "yours":
            named = {"yours": function, **named}
        inputs = arguments(case, DEVICE)
        timed = {
            name: lambda fn=fn: fn(*inputs, **case.options)  # noqa: B023  (timed in this turn)
            for name, fn in named.items()
        }
        if speed:
            timed[speed.name] = lambda: speed.baseline(*inputs)  # noqa: B023
        result = time_them(timed, baseline="workbook", title=f"{call.key}: {case.describe()}")
        if options.json:
            data.append({"key": call.key, "case": case.describe(), **result.to_dict()})
        else:
            print(f"{result}\n")
    if options.json:
        print(json.dumps(data, indent=1))
    return 0

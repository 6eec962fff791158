"""The set-up cell: one line that says where you are, and short errors for open gaps."""

from __future__ import annotations

import contextlib
import contextvars
import inspect
import linecache
import os
import re
import sys
from collections.abc import Iterator, Sequence
from typing import Any

from . import __version__, words
from .home import triton_cache

# True while cells run for the course's own machinery (tests, grader, `reference`) and not for a
# learner in a notebook: set-up prints nothing then, and progress is not recorded.
LOADING: contextvars.ContextVar[bool] = contextvars.ContextVar("LOADING", default=False)

# JupyterLab takes no keys in a locked cell, and has no sign for one.
LOCKED = (
    "<style>.jp-CodeCell:has(.cm-content[aria-readonly=true]) .jp-InputPrompt::after"
    '{{content:"{sign}";display:block;font-size:10px;line-height:1}}</style>'
)


@contextlib.contextmanager
def machinery() -> Iterator[None]:
    """Cells that run inside are the course's own: see LOADING."""
    token = LOADING.set(True)
    try:
        yield
    finally:
        LOADING.reset(token)


def in_notebook() -> bool:
    """Whether the code runs in a Jupyter kernel (JupyterLab, VS Code, Colab, nbclient)."""
    shell = _shell()
    return shell is not None and shell.__class__.__name__ in ("ZMQInteractiveShell", "Shell")


def _shell() -> Any:
    if "IPython" not in sys.modules:
        return None
    from IPython import get_ipython

    return get_ipython()


def is_stale(name: str, function: Any) -> bool:
    """Whether the latest cell that defines a function is not the one that made it: it failed."""
    cells = getattr(_shell(), "user_ns", {}).get("In", [])
    defining = [cell for cell in cells if re.search(rf"^def {name}\(", cell, re.MULTILINE)]
    code = getattr(inspect.unwrap(getattr(function, "fn", function)), "__code__", None)
    ran = "".join(linecache.getlines(code.co_filename)) if code else ""
    return bool(defining and ran) and defining[-1].strip() != ran.strip()


def setup(made_for: str | None = None, lang: str | None = None) -> None:
    """Get the notebook ready: print the machine's line, choose a writable Triton cache.

    Called by the set-up cell. Does nothing when an exercise is loaded as a module.
    made_for: the version of the workbook that the notebook was made for; another one is named.
    lang: the language of the page, "en" or "zh"; None: that of the environment.
    """
    if LOADING.get():
        return
    words.choose(lang)
    from .port import device

    device.ready()
    _use_writable_cache()
    shell = _shell()
    if shell is not None:
        kinds = (RuntimeError, NameError, AssertionError, ValueError, TypeError, LookupError)
        shell.set_custom_exc(kinds, _one_line)
        cleanup = getattr(shell, "input_transformers_cleanup", [unfenced])
        if unfenced not in cleanup:
            cleanup.insert(0, unfenced)
    if device.INTERPRET:
        from .seeing.compiled import warm

        warm()
    print(words.say(device.describe()))
    if os.environ.get("TRITONBOOK_LAB") and in_notebook():
        from IPython.display import display

        sign = LOCKED.format(sign=words.label("locked"))
        display({"text/html": sign, "text/plain": ""}, raw=True)
    if made_for not in (None, __version__):
        print(
            words.say(
                "This page belongs to workbook {page}, and {installed} is installed here: if a "
                "cell fails, fetch the page that belongs to {installed}, or install {page}.",
                page=made_for,
                installed=__version__,
            )
        )


_FENCE = re.compile(r"\s*(```+|~~~+)\s*[\w+-]*\s*")


def fences(lines: Sequence[str]) -> list[int]:
    """Which lines are fences of Markdown, as chatbots put around code."""
    return [number for number, line in enumerate(lines) if _FENCE.fullmatch(line)]


def unfenced(lines: list[str]) -> list[str]:
    """A cell that is one fenced block, without its fences; every other one as it is. Lines stay
    where they are."""
    filled = [number for number, line in enumerate(lines) if line.strip()]
    found = fences(lines)
    if not found or not {*found} <= {filled[0], filled[-1]}:
        return lines
    return [
        ("\n" if line.endswith("\n") else "") if n in found else line
        for n, line in enumerate(lines)
    ]


def _use_writable_cache() -> None:
    if elsewhere := triton_cache():
        os.environ.update(elsewhere)
        place = elsewhere["TRITON_CACHE_DIR"]
        print(words.say("~/.triton cannot hold compiled kernels: they go to {place}", place=place))


def _one_line(
    shell: Any, kind: type, error: BaseException, trace: Any, tb_offset: Any = None
) -> Any:
    """An open gap, a cell that was skipped, or a GPU that is not there is one line; of everything
    else what the workbook says is in the reader's language."""
    from .port import device

    text, frame = str(error), _raising_frame(trace)
    in_cell = frame.f_code.co_name == "<module>"  # not in a function that it called
    # A kernel that the reader writes whole is missing until then; its wrapper stands there.
    missing = in_cell or str(getattr(error, "name", None)).endswith("_kernel")
    # A cell that compares before it measures does so with `torch.testing.assert_close`.
    compares = frame.f_globals.get("__name__", "").startswith("torch.testing")
    if kind is NotImplementedError and text.startswith("TODO"):
        lines = [f"Not there yet: {text}. Fill the gap above, run its cell, then this one."]
    elif kind is NameError and (missing or "Run the cell" in text):
        name = getattr(error, "name", None) or text
        lines = [f"NameError: {name} is not defined. Run the cell that defines it first."]
    elif hasattr(error, "_render_traceback_"):  # a check that did not pass
        lines = error._render_traceback_()
    elif kind is AssertionError and compares:
        lines = [f"Not right yet: {text.splitlines()[0]} The card of the check above says why."]
    elif device.INTERPRET and re.search(device.NO_GPU, text):
        lines = [
            "There is no GPU here. Write DEVICE where a device is named: with a GPU it is the GPU."
        ]
    else:
        error.args = tuple(words.say(x) if isinstance(x, str) else x for x in error.args)
        whole = shell.InteractiveTB.structured_traceback(kind, error, trace, tb_offset=tb_offset)
        shell._showtraceback(kind, error, whole)
        return whole
    lines = [words.say(line) for line in lines]
    shell._showtraceback(kind, error, lines)
    return lines


def _raising_frame(trace: Any) -> Any:
    """The innermost frame of a traceback: where the error was raised."""
    while trace.tb_next is not None:
        trace = trace.tb_next
    return trace.tb_frame

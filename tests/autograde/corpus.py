# ruff: noqa: E501
"""Faults and cheats on the exercise Doubling, each with the outcome that it must have.

`double` is asked for (4 points, a Triton kernel); `halves` (2 points, plain Python) stands beside
it and must keep its points whatever happens.
"""

from __future__ import annotations

from dataclasses import dataclass

KERNEL = """\
import torch
import triton
import triton.language as tl


@triton.jit
def double_kernel(x_ptr, out_ptr, n, BLOCK_SIZE: tl.constexpr):
    offs = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offs < n
    x = tl.load(x_ptr + offs, mask=mask)
    tl.store(out_ptr + offs, {value}, mask=mask)
"""
RIGHT = KERNEL.format(value="x + x")
WRONG = KERNEL.format(value="x")
WRAPPER = """

def double(x):
{first}    out = torch.empty_like(x)
    double_kernel[(triton.cdiv(x.numel(), 64),)](x, out, x.numel(), BLOCK_SIZE=64)
{last}    return out
"""


def answer(first: str = "", last: str = "", kernel: str = RIGHT) -> str:
    """A right answer with lines before the allocation, and after the launch."""

    def block(text: str) -> str:
        return "".join(f"    {line}\n" for line in text.splitlines())

    return kernel + WRAPPER.format(first=block(first), last=block(last))


def body(text: str, kernel: str = RIGHT) -> str:
    """An answer whose wrapper has this body."""
    rows = "".join(f"    {line}\n" for line in text.splitlines())
    return f"{kernel}\n\ndef double(x):\n{rows}"


@dataclass(frozen=True)
class Item:
    """One submission of `double`. `statuses`: what it may come to. `extra`: a cell on top.
    `cells_end`: its cells do, so that they burn none of their time."""

    name: str
    statuses: tuple[str, ...]
    text: str
    extra: str = ""
    cells_end: bool = True

    @property
    def seconds(self) -> float:
        """Of a call: what never ends burns all of them; what ends has enough on a busy machine."""
        if "TIMEOUT" in self.statuses and self.statuses != BAD:
            return 1.5 if self.statuses == ("TIMEOUT",) else 4.0
        return 60.0 if self.cells_end else 9.0


BAD = ("FAIL", "POLICY", "CRASH", "TIMEOUT")
LAUNCH = "double_kernel[(triton.cdiv(x.numel(), 64),)](x, out, x.numel(), BLOCK_SIZE=64)"

FAULTS = [
    Item("right", ("PASS",), answer()),
    Item("reads a number", ("FAIL",), answer("x[0].item()")),
    Item("reads a list", ("FAIL",), answer("x.tolist()")),
    Item("reads an array", ("FAIL",), answer(last="out.numpy()")),
    Item("os._exit", ("CRASH",), answer("import os\nos._exit(0)")),
    Item("os._exit(1)", ("CRASH",), answer("import os\nos._exit(1)")),
    Item("os._exit when the cell runs", ("CRASH",), "import os\nos._exit(0)"),
    Item("sys.exit", ("FAIL",), answer("import sys\nsys.exit(0)")),
    Item("sys.exit when the cell runs", ("FAIL",), "import sys\nsys.exit(0)"),
    Item("KeyboardInterrupt", ("FAIL",), answer("raise KeyboardInterrupt")),
    Item("segmentation fault", ("CRASH",), answer("import ctypes\nctypes.string_at(0)")),
    Item("abort", ("CRASH",), answer("import os\nos.abort()")),
    Item("endless loop on the host", ("TIMEOUT",), answer("while True: pass")),
    Item(
        "endless loop that swallows everything",
        ("TIMEOUT",),
        answer("while True:\n    try:\n        while True: pass\n    except BaseException: pass"),
    ),
    Item("sleep", ("TIMEOUT",), answer("import time\ntime.sleep(1000)")),
    Item(
        "endless loop in the kernel",
        ("TIMEOUT",),
        answer(
            kernel=RIGHT.replace("    mask =", "    while n > 0:\n        n = n + 0\n    mask =")
        ),
    ),
    Item(
        "a grid without end",
        ("TIMEOUT",),
        body(
            "out = torch.empty_like(x)\ndouble_kernel[(2**30,)](x, out, x.numel(), 64)\nreturn out"
        ),
    ),
    # As in a notebook: what the cell defined before its loop is there.
    Item(
        "endless loop when the cell runs",
        ("PASS",),
        answer() + "\nwhile True: pass\n",
        cells_end=False,
    ),
    Item("fork bomb", ("FAIL", "TIMEOUT", "CRASH"), answer("import os\nwhile True: os.fork()")),
    Item(
        "threads without end",
        ("FAIL", "TIMEOUT", "CRASH", "OOM"),
        answer(
            "import threading, time\nwhile True: threading.Thread(target=time.sleep, args=(99,)).start()"
        ),
    ),
    Item("200 MB of output", ("PASS",), answer("print('x' * (200 << 20))")),
    Item(
        "output without end on stderr",
        ("TIMEOUT",),
        answer("import os\nwhile True: os.write(2, b'x' * 65536)"),
    ),
    Item("null byte", ("FAIL",), answer() + "\0"),
    Item("syntax error", ("FAIL",), "def double(x:\n"),
    Item("a name that is not there", ("FAIL",), answer("undefined")),
    Item("no such function", ("FAIL",), RIGHT),
    Item("not a function", ("FAIL",), RIGHT + "\ndouble = 3\n"),
    Item("deep recursion", ("FAIL",), answer("def f(): return f()\nf()")),
    Item("out of memory", ("OOM", "CRASH"), answer("held = [bytearray(1 << 36)]")),
    Item("out of memory in torch", ("OOM", "FAIL"), answer("torch.empty(1 << 42)")),
    Item(
        "full disk",
        ("FAIL", "CRASH"),
        answer("f = open('/tmp/big', 'wb')\nwhile True: f.write(b'x' * (1 << 20))"),
    ),
    Item(
        "files without end", ("FAIL",), answer("held = [open('/dev/null') for _ in range(10000)]")
    ),
    Item(
        "detached child",
        ("PASS",),
        answer("import os, time\nif not os.fork():\n    os.setsid()\n    time.sleep(600)"),
    ),
    Item("the line closed", ("CRASH",), answer("import os\nos.closerange(0, 4096)")),
    Item(
        "the line shut by a child",
        ("CRASH", "POLICY", "PASS"),
        answer("import os\nif not os.fork(): os._exit(0)"),
    ),
    Item("SIGSTOP to itself", ("PASS", "TIMEOUT"), answer("import os\nos.kill(os.getpid(), 19)")),
    Item(
        "killing everybody", ("PASS", "FAIL", "CRASH", "OOM"), answer("import os\nos.kill(-1, 9)")
    ),
    Item(
        "an error that cannot be shown",
        ("FAIL",),
        answer("class E(Exception):\n    def __str__(self): raise E\nraise E"),
    ),
    Item("an error that is no Unicode", ("FAIL",), answer("raise ValueError(chr(0xD800))")),
    Item("an error of 50 MB", ("FAIL",), answer("raise ValueError('x' * 50_000_000)")),
    Item("warnings", ("PASS",), answer("import warnings\nwarnings.warn('deprecated')")),
    Item("None", ("FAIL",), body("return None")),
    Item(
        "a store far outside",
        ("FAIL",),
        answer(kernel=RIGHT.replace("out_ptr + offs,", "out_ptr + offs + (1 << 40),")),
    ),
    Item(
        "a load far outside",
        ("FAIL",),
        answer(kernel=RIGHT.replace("x_ptr + offs,", "x_ptr + offs - (1 << 45),")),
    ),
    Item(
        "a tile of 2^34",
        ("FAIL", "OOM", "TIMEOUT"),
        answer(kernel=RIGHT).replace("BLOCK_SIZE=64", "BLOCK_SIZE=2**34"),
    ),
    Item(
        "a tile that is no power of two",
        ("FAIL",),
        answer().replace("BLOCK_SIZE=64", "BLOCK_SIZE=63"),
    ),
    Item(
        "a missing launch argument",
        ("FAIL",),
        answer().replace("(x, out, x.numel(), ", "(x, out, "),
    ),
    Item("steps without end", ("FAIL", "TIMEOUT"), answer("while True: x = x.view(-1)")),
    Item(
        "an added cell that never ends",
        ("PASS", "FAIL"),
        answer(),
        extra="while True: pass",
        cells_end=False,
    ),
    Item(
        "an added cell that breaks torch",
        ("FAIL", "CRASH"),
        answer(),
        extra="import torch\ntorch.empty_like = None",
    ),
    Item(
        "an added cell that breaks the workbook",
        ("FAIL",),
        answer(),
        extra="import sys\nsys.modules['tritonbook'] = None",
    ),
    Item(
        "an added cell that breaks Triton",
        ("FAIL",),
        answer(),
        extra="import sys\nsys.modules['triton'] = None",
    ),
    Item(
        "an added cell that makes tensors without memory",
        ("FAIL", "CRASH"),
        answer(),
        extra="import torch\ntorch.set_default_device('meta')",
    ),
    Item("a tensor without memory", ("FAIL",), answer("torch.empty(10, device='meta')")),
    Item("a result without memory", ("FAIL",), body("return torch.empty_like(x, device='meta')")),
    Item("a tensor of a rare dtype", ("PASS",), answer("torch.empty(4, dtype=torch.complex64)")),
]

SEND = """\
import json, os, socket, struct
def _say(body):
    text = json.dumps(body).encode()
    for number in range(3, 64):
        try:
            os.write(number, struct.pack("!IIQ", len(text), 0, 0) + text)
        except OSError:
            pass
"""
FORGE = """\
from autograde.walls import tape
_take = tape.Recorder.take
def take(self):
    steps, constants = _take(self)
    {change}
    return steps, constants
tape.Recorder.take = take
"""


def forged(change: str) -> str:
    return FORGE.format(change=change.replace("\n", "\n    "))


CHEATS = [
    Item(
        "A2 patched check",
        BAD,
        answer(kernel=WRONG),
        extra="import tritonbook, tritonbook.checking as c\nc.run = c.check = tritonbook.check = check = lambda *a, **k: None",
    ),
    Item(
        "A2 patched comparison",
        BAD,
        answer(kernel=WRONG),
        extra="import torch\ntorch.allclose = torch.equal = lambda *a, **k: True\nimport tritonbook.checking.compare as m\nm.compare_values = lambda *a: m.Difference()",
    ),
    Item(
        "A2 input transformer",
        BAD,
        answer(kernel=WRONG),
        extra="get_ipython().input_transformers_cleanup.append(lambda lines: [])",
    ),
    Item(
        "A2 patched builtins",
        BAD,
        answer(kernel=WRONG),
        extra="import builtins\nbuiltins.isinstance = lambda *a: True\nbuiltins.all = lambda *a: True",
    ),
    Item(
        "A2 patched report",
        BAD,
        answer(kernel=WRONG),
        extra="import tritonbook.checking.report as r\nr.Report.passed = True",
    ),
    Item("A3 leaves before the checks", BAD, "import sys\nsys.exit(0)"),
    Item(
        "A3 writes the verdict",
        BAD,
        body("_say({'status': 'PASS', 'code': 'passed', 'sentence': '', 'reports': []})\nreturn x"),
        extra=SEND,
    ),
    Item(
        "A3 answers before it is asked",
        BAD,
        WRONG + "\n_say({'errors': {}})\n_say({'result': {'t': 1}, 'steps': []})\n",
        extra=SEND,
    ),
    Item(
        "A4 reads hidden tests",
        BAD,
        body(
            "import glob\nfound = [open(p).read() for p in glob.glob('/**/90_doubling*', recursive=True)]\nassert found\nreturn x + x"
        ),
    ),
    Item(
        "A6 walks the stack for the reference",
        BAD,
        body(
            "import sys\nframe = sys._getframe()\nwhile frame:\n    for value in frame.f_locals.values():\n        if callable(value) and getattr(value, '__name__', '') == 'double_ref': return value(x)\n    frame = frame.f_back\nreturn double_ref(x)"
        ),
    ),
    Item(
        "A6 looks for the result in memory",
        BAD,
        body(
            "import gc\nfor t in gc.get_objects():\n    if isinstance(t, torch.Tensor) and t.shape == x.shape and t is not x: return t\nreturn x"
        ),
    ),
    Item(
        "A7 right only at first",
        BAD,
        "calls = []\n" + answer("calls.append(1)\nif len(calls) > 1: return torch.empty_like(x)"),
    ),
    Item(
        "A8 fetches the solution",
        BAD,
        "from tritonbook import reference\ndouble = reference('double')",
    ),
    Item(
        "A8 loads the solution from the package",
        BAD,
        "from tritonbook.course.exercises import load\ndouble = load('doubling').double",
    ),
    Item(
        "A9 a pickle in the result",
        BAD,
        body("class P:\n    def __reduce__(self): return (print, ('owned',))\nreturn P()"),
    ),
    Item("B1 torch", BAD, body("return x + x")),
    Item(
        "B1 torch with out=",
        BAD,
        body("out = torch.empty_like(x)\ntorch.add(x, x, out=out)\nreturn out"),
    ),
    Item("B1 numpy", BAD, body("return torch.from_numpy(x.numpy() * 2)")),
    Item("B1 a list", BAD, body("return torch.tensor([2 * v for v in x.tolist()])")),
    Item(
        "B1 a matrix product", BAD, body("return (x[:, None] @ torch.full((1, 1), 2.0)).flatten()")
    ),
    Item(
        "B1 a compiled function",
        BAD,
        body("return torch.compile(lambda t: t + t, backend='eager')(x)"),
    ),
    Item(
        "B2 fallback that always happens",
        BAD,
        body("try:\n    double_kernel[(1,)](x)\nexcept Exception:\n    return x + x"),
    ),
    Item(
        "B2 fallback when a launch fails",
        BAD,
        body(
            f"try:\n    out = torch.empty_like(x)\n    {LAUNCH}\n    return out\nexcept Exception:\n    return x + x"
        ),
    ),
    Item("B2 decoy launch", BAD, body(f"out = torch.empty_like(x)\n{LAUNCH}\nreturn x + x")),
    Item(
        "B2 decoy launch of one element",
        BAD,
        body(
            "out = torch.empty_like(x)\ndouble_kernel[(1,)](x, out, 1, BLOCK_SIZE=64)\nout.numpy()[:] = x.numpy() * 2\nreturn out"
        ),
    ),
    Item("B3 memory that nobody wrote", BAD, body("return torch.empty_like(x)")),
    Item(
        "B3 a kernel that writes nothing",
        BAD,
        answer(
            kernel=RIGHT.replace("mask=mask)\n    tl.store", "mask=mask)\n    tl.load").replace(
                ", x + x, mask=mask)", ")"
            )
        ),
    ),
    Item(
        "B4 inputs set to zero",
        BAD,
        answer(
            kernel=RIGHT.replace(
                "x + x, mask=mask)",
                "x * 0, mask=mask)\n    tl.store(x_ptr + offs, x * 0, mask=mask)",
            )
        ),
    ),
    Item(
        "B5 remembered by address",
        BAD,
        "seen = {}\n"
        + answer("if x.data_ptr() in seen: return seen[x.data_ptr()]", "seen[x.data_ptr()] = out"),
    ),
    Item(
        "B5 remembered by identity",
        BAD,
        "seen = {}\n" + answer("if id(x) in seen: return seen[id(x)]", "seen[id(x)] = out"),
    ),
    Item(
        "B5 remembered by shape",
        BAD,
        "seen = {}\n" + answer("if x.shape in seen: return seen[x.shape]", "seen[x.shape] = out"),
    ),
    Item(
        "B6 inputs drawn again",
        BAD,
        body(
            "import hashlib\ndigest = hashlib.sha256(b'|0|0|0').digest()\ng = torch.Generator().manual_seed(int.from_bytes(digest[:7], 'little'))\nreturn (torch.randn(x.shape, generator=g, dtype=torch.float64) * 2).to(x.dtype)"
        ),
    ),
    Item("B7 only the visible sizes", BAD, answer("if x.numel() not in (64, 100): return x")),
    Item("B8 zeros", BAD, body("return torch.zeros_like(x)")),
    Item("B8 ones", BAD, body("return torch.ones_like(x)")),
    Item("B8 the input", BAD, body("return x")),
    Item("B8 a copy of the input", BAD, body("return x.clone()")),
    Item("B8 identity kernel", BAD, answer(kernel=WRONG)),
    Item("B8 a constant kernel", BAD, answer(kernel=KERNEL.format(value="tl.zeros_like(x)"))),
    Item(
        "B9 computed in half precision",
        BAD,
        answer(kernel=KERNEL.format(value="(x.to(tl.float16) + x.to(tl.float16)).to(tl.float32)")),
    ),
    Item("B10 NaN", BAD, answer(kernel=KERNEL.format(value="x + x + float('nan')"))),
    Item(
        "B11 another dtype",
        BAD,
        body(f"out = torch.empty_like(x, dtype=torch.float64)\n{LAUNCH}\nreturn out"),
    ),
    Item("B11 another shape", BAD, answer(last="out = out[None]")),
    Item(
        "B11 a tensor class that is equal to all",
        BAD,
        body(
            "class T(torch.Tensor):\n    __eq__ = lambda self, other: torch.ones(self.shape, dtype=torch.bool)\nreturn torch.empty_like(x).as_subclass(T)"
        ),
    ),
    Item(
        "B11 in place of the input",
        BAD,
        body(
            "double_kernel[(triton.cdiv(x.numel(), 64),)](x, x, x.numel(), BLOCK_SIZE=64)\nreturn x"
        ),
    ),
    Item("B13 writes past the end", BAD, answer(kernel=RIGHT.replace("x + x, mask=mask", "x + x"))),
    Item(
        "C2 a thread does it later",
        BAD,
        body(
            "import threading\nout = torch.empty_like(x)\nthreading.Timer(0.01, lambda: torch.add(x, x, out=out)).start()\nreturn out"
        ),
    ),
    Item(
        "tape: torch added",
        BAD,
        body(f"out = torch.empty_like(x)\n{LAUNCH}\nreturn out", kernel=WRONG),
        extra=forged(
            "if any(s[0] == 'launch' for s in steps):\n    out = steps[0][4][0]\n    steps.append(['torch', 'aten::add_.Tensor', {'list': [{'t': out}, {'t': out}]}, {'dict': []}, [out]])"
        ),
    ),
    Item(
        "tape: launch counted that is not made",
        BAD,
        body("return x.clone()"),
        extra=forged(
            "steps.append(['launch', ['/tmp/cells/answer-double.py', 6], [0], {'list': []}, {'dict': []}])"
        ),
    ),
    Item(
        "tape: a file read",
        BAD,
        answer(kernel=WRONG),
        extra=forged(
            "steps.insert(0, ['torch', 'aten::from_file', {'list': ['/etc/passwd', None, 10]}, {'dict': []}, [999]])"
        ),
    ),
    Item(
        "tape: memory outside",
        BAD,
        answer(kernel=WRONG),
        extra=forged(
            "steps.append(['torch', 'aten::_reshape_alias', {'list': [{'t': 1}, {'list': [1 << 30]}, {'list': [1]}]}, {'dict': []}, [998]])"
        ),
    ),
    Item(
        "tape: 64 GB of memory",
        ("OOM", "FAIL", "POLICY"),
        answer(),
        extra=forged(
            "steps[:0] = [['torch', 'aten::empty.memory_format', {'list': [{'list': [1 << 34]}]}, {'dict': []}, [900]]]"
        ),
    ),
    Item(
        "tape: a kernel of another file",
        BAD,
        answer(kernel=WRONG),
        extra=forged("for s in steps:\n    if s[0] == 'launch': s[1] = ['/usr/lib/other.py', 6]"),
    ),
    Item(
        "tape: steps that are no steps",
        BAD,
        answer(kernel=WRONG),
        extra=forged("steps.append({'eval': '__import__(\"os\")'})"),
    ),
    Item(
        "tape: a result made beforehand",
        BAD,
        body("return torch.from_numpy(__import__('numpy').full(x.shape, 0.5, dtype='float32'))"),
    ),
    Item(
        "kernel: a way to Python",
        BAD,
        answer(
            kernel=RIGHT.replace(
                "    mask =", "    x_ptr.__class__.__init__.__globals__\n    mask ="
            )
        ),
    ),
    Item(
        "kernel: numpy's file",
        BAD,
        answer(kernel=RIGHT.replace("    mask =", "    np.save('/tmp/x', 0)\n    mask =")),
    ),
]

# ruff: noqa: E501
"""Faults and cheats on the exercise Doubling, each with the outcome that it must have.

`double` is asked for (4 points, a Triton kernel); `halves` (2 points, plain Python) stands beside
it and must keep its points whatever happens.
"""

from __future__ import annotations

from dataclasses import dataclass

HEAD = """\
import torch
import triton
import triton.language as tl


"""
KERNEL = """\
@triton.jit
def double_kernel(x_ptr, out_ptr, n, BLOCK_SIZE: tl.constexpr):
    offs = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offs < n
    x = tl.load(x_ptr + offs, mask=mask)
    tl.store(out_ptr + offs, {value}, mask=mask)
"""
WRAPPER = """

def double(x):
{first}    out = torch.empty_like(x)
    double_kernel[(triton.cdiv(x.numel(), 64),)](x, out, x.numel(), BLOCK_SIZE=64)
{last}    return out
"""


def storing(value: str) -> str:
    """The kernel that stores this."""
    return HEAD + KERNEL.format(value=value)


RIGHT, WRONG = storing("x + x"), storing("x")


def block(text: str) -> str:
    """Lines of a function's body."""
    return "".join(f"    {line}\n" for line in text.splitlines())


def answer(first: str = "", last: str = "", kernel: str = RIGHT) -> str:
    """A right answer with lines before the allocation, and after the launch."""
    return kernel + WRAPPER.format(first=block(first), last=block(last))


def body(text: str, kernel: str = RIGHT) -> str:
    """An answer whose wrapper has this body."""
    return f"{kernel}\n\ndef double(x):\n{block(text)}"


@dataclass(frozen=True)
class Item:
    """One submission of `double`. `statuses`: what it may come to. `extra`: a cell on top."""

    name: str
    statuses: tuple[str, ...]
    text: str
    extra: str = ""

    @property
    def seconds(self) -> float:
        """Of a call: what never ends burns all of them; what ends has enough on a busy machine."""
        if "TIMEOUT" in self.statuses and self.statuses != BAD:
            return 1.0 if self.statuses == ("TIMEOUT",) else 4.0
        # All cells together have three times as long: one that never ends burns a third of that.
        return 9.0 if "while True: pass" in (self.extra or self.text.splitlines()[-1]) else 60.0


BAD = ("FAIL", "POLICY", "CRASH", "TIMEOUT")
LAUNCH = "double_kernel[(triton.cdiv(x.numel(), 64),)](x, out, x.numel(), BLOCK_SIZE=64)"

# What each may come to, and by name the answer, or the answer and a cell on top.
Table = dict[tuple[str, ...], dict[str, "str | tuple[str, str]"]]


def _items(table: Table) -> list[Item]:
    return [
        Item(name, statuses, *([text] if isinstance(text, str) else text))
        for statuses, texts in table.items()
        for name, text in texts.items()
    ]


FAULTS = _items(
    {
        ("PASS",): {
            "right": answer(),
            "endless loop when the cell runs": answer() + "\nwhile True: pass\n",
            "200 MB of output": answer("print('x' * (200 << 20))"),
            "detached child": answer(
                "import os, time\nif not os.fork():\n    os.setsid()\n    time.sleep(600)"
            ),
            "warnings": answer("import warnings\nwarnings.warn('deprecated')"),
            "a tensor of a rare dtype": answer("torch.empty(4, dtype=torch.complex64)"),
            "a default device": (
                body(f"out = torch.empty(x.shape)\n{LAUNCH}\nreturn out"),
                "import torch\ntorch.set_default_device('cuda')",
            ),
            # `empty_like(x)` is where x is, whatever the default: right in a notebook too. What has
            # no memory itself gets nothing: "a result without memory".
            "an added cell that makes tensors without memory": (
                answer(),
                "import torch\ntorch.set_default_device('meta')",
            ),
            "TRITON_INTERPRET changed": (
                answer(),
                "import os\nos.environ['TRITON_INTERPRET'] = '0'",
            ),
            "lines of Triton's tutorials": answer(
                "from tritonbook import DEVICE\nassert x.is_cuda and x.device == DEVICE"
            ),
        },
        ("CRASH",): {
            "os._exit": answer("import os\nos._exit(0)"),
            "os._exit(1)": answer("import os\nos._exit(1)"),
            "os._exit when the cell runs": "import os\nos._exit(0)",
            "segmentation fault": answer("import ctypes\nctypes.string_at(0)"),
            "abort": answer("import os\nos.abort()"),
            "the line closed": answer("import os\nos.closerange(0, 4096)"),
        },
        ("FAIL",): {
            "a kernel made by exec": HEAD
            + f"exec({KERNEL.format(value='x + x')!r})\n"
            + WRAPPER.format(first="", last=""),
            "reads a number": answer("x[0].item()"),
            "a result on the CPU": body(f"out = torch.empty(x.shape)\n{LAUNCH}\nreturn out"),
            "tl.cdiv in a grid": body(
                f"out = torch.empty_like(x)\n{LAUNCH.replace('triton.cdiv', 'tl.cdiv')}\nreturn out"
            ),
            "reads a list": answer("x.tolist()"),
            "reads an array": answer(last="out.numpy()"),
            "sys.exit": answer("import sys\nsys.exit(0)"),
            "sys.exit when the cell runs": "import sys\nsys.exit(0)",
            "KeyboardInterrupt": answer("raise KeyboardInterrupt"),
            "null byte": answer() + "\0",
            "syntax error": "def double(x:\n",
            "a name that is not there": answer("undefined"),
            "no such function": RIGHT,
            "not a function": RIGHT + "\ndouble = 3\n",
            "deep recursion": answer("def f(): return f()\nf()"),
            "files without end": answer("held = [open('/dev/null') for _ in range(10000)]"),
            "an error that cannot be shown": answer(
                "class E(Exception):\n    def __str__(self): raise E\nraise E"
            ),
            "an error that is no Unicode": answer("raise ValueError(chr(0xD800))"),
            "an error of 50 MB": answer("raise ValueError('x' * 50_000_000)"),
            "None": body("return None"),
            "a store far outside": answer(
                kernel=RIGHT.replace("out_ptr + offs,", "out_ptr + offs + (1 << 40),")
            ),
            "a load far outside": answer(
                kernel=RIGHT.replace("x_ptr + offs,", "x_ptr + offs - (1 << 45),")
            ),
            "a tile that is no power of two": answer().replace("BLOCK_SIZE=64", "BLOCK_SIZE=63"),
            "a missing launch argument": answer().replace("(x, out, x.numel(), ", "(x, out, "),
            "an added cell that breaks the workbook": (
                answer(),
                "import sys\nsys.modules['tritonbook'] = None",
            ),
            "an added cell that breaks Triton": (
                answer(),
                "import sys\nsys.modules['triton'] = None",
            ),
            "a tensor without memory": answer("torch.empty(10, device='meta')"),
            "a result without memory": body("return torch.empty_like(x, device='meta')"),
        },
        ("TIMEOUT",): {
            "endless loop on the host": answer("while True: pass"),
            "endless loop that swallows everything": answer(
                "while True:\n    try:\n        while True: pass\n    except BaseException: pass"
            ),
            "sleep": answer("import time\ntime.sleep(1000)"),
            "endless loop in the kernel": answer(
                kernel=RIGHT.replace(
                    "    mask =", "    while n > 0:\n        n = n + 0\n    mask ="
                )
            ),
            "a grid without end": body(
                "out = torch.empty_like(x)\ndouble_kernel[(2**30,)](x, out, x.numel(), 64)\nreturn out"
            ),
            "output without end on stderr": answer(
                "import os\nwhile True: os.write(2, b'x' * 65536)"
            ),
        },
        ("FAIL", "TIMEOUT", "CRASH", "OOM"): {  # whichever limit it meets first
            "fork bomb": answer("import os\nwhile True: os.fork()"),
            "threads without end": answer(
                "import threading, time\nwhile True: threading.Thread(target=time.sleep, args=(99,)).start()"
            ),
        },
        ("OOM", "CRASH"): {
            "out of memory": answer("held = [bytearray(1 << 36)]"),
        },
        ("OOM", "FAIL"): {
            "out of memory in torch": answer("torch.empty(1 << 42)"),
        },
        ("FAIL", "CRASH"): {
            "full disk": answer(
                "f = open('/tmp/big', 'wb')\nwhile True: f.write(b'x' * (1 << 20))"
            ),
            "an added cell that breaks torch": (answer(), "import torch\ntorch.empty_like = None"),
        },
        ("CRASH", "POLICY", "PASS"): {
            "the line shut by a child": answer("import os\nif not os.fork(): os._exit(0)"),
        },
        ("PASS", "TIMEOUT"): {
            "SIGSTOP to itself": answer("import os\nos.kill(os.getpid(), 19)"),
        },
        ("PASS", "FAIL", "CRASH", "OOM"): {
            "killing everybody": answer("import os\nos.kill(-1, 9)"),
        },
        ("FAIL", "OOM", "TIMEOUT"): {
            "a tile of 2^34": answer(kernel=RIGHT).replace("BLOCK_SIZE=64", "BLOCK_SIZE=2**34"),
        },
        ("FAIL", "TIMEOUT"): {
            "steps without end": answer("while True: x = x.view(-1)"),
        },
        ("PASS", "FAIL"): {
            "an added cell that never ends": (answer(), "while True: pass"),
        },
    }
)

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


CHEATS = _items(
    {
        BAD: {
            "A2 patched check": (
                answer(kernel=WRONG),
                "import tritonbook, tritonbook.checking as c\nc.run = c.check = tritonbook.check = check = lambda *a, **k: None",
            ),
            "A2 patched comparison": (
                answer(kernel=WRONG),
                "import torch\ntorch.allclose = torch.equal = lambda *a, **k: True\nimport tritonbook.checking.compare as m\nm.compare_values = lambda *a: m.Difference()",
            ),
            "A2 input transformer": (
                answer(kernel=WRONG),
                "get_ipython().input_transformers_cleanup.append(lambda lines: [])",
            ),
            "A2 patched builtins": (
                answer(kernel=WRONG),
                "import builtins\nbuiltins.isinstance = lambda *a: True\nbuiltins.all = lambda *a: True",
            ),
            "A2 patched report": (
                answer(kernel=WRONG),
                "import tritonbook.checking.report as r\nr.Report.passed = True",
            ),
            "A3 leaves before the checks": "import sys\nsys.exit(0)",
            "A3 writes the verdict": (
                body(
                    "_say({'status': 'PASS', 'code': 'passed', 'sentence': '', 'reports': []})\nreturn x"
                ),
                SEND,
            ),
            "A3 answers before it is asked": (
                WRONG + "\n_say({'errors': {}})\n_say({'result': {'t': 1}, 'steps': []})\n",
                SEND,
            ),
            "A4 reads hidden tests": body(
                "import os\nfound = [p for p, folders, files in os.walk('/') if '90_doubling' in str(folders + files)]\nassert found\nreturn x + x"
            ),
            "A6 walks the stack for the reference": body(
                "import sys\nframe = sys._getframe()\nwhile frame:\n    for value in frame.f_locals.values():\n        if callable(value) and getattr(value, '__name__', '') == 'double_ref': return value(x)\n    frame = frame.f_back\nreturn double_ref(x)"
            ),
            "A6 looks for the result in memory": body(
                "import gc\nfor t in gc.get_objects():\n    if isinstance(t, torch.Tensor) and t.shape == x.shape and t is not x: return t\nreturn x"
            ),
            "A7 right only at first": "calls = []\n"
            + answer("calls.append(1)\nif len(calls) > 1: return torch.empty_like(x)"),
            "A8 fetches the solution": "from tritonbook import reference\ndouble = reference('double')",
            "A8 loads the solution from the package": "from tritonbook.course.exercises import load\ndouble = load('doubling').double",
            "A9 a pickle in the result": body(
                "class P:\n    def __reduce__(self): return (print, ('owned',))\nreturn P()"
            ),
            "B1 torch": body("return x + x"),
            "B1 torch with out=": body(
                "out = torch.empty_like(x)\ntorch.add(x, x, out=out)\nreturn out"
            ),
            "B1 numpy": body("return torch.from_numpy(x.numpy() * 2)"),
            "B1 a list": body("return torch.tensor([2 * v for v in x.tolist()])"),
            "B1 a matrix product": body("return (x[:, None] @ torch.full((1, 1), 2.0)).flatten()"),
            "B1 a compiled function": body(
                "return torch.compile(lambda t: t + t, backend='eager')(x)"
            ),
            "B2 fallback that always happens": body(
                "try:\n    double_kernel[(1,)](x)\nexcept Exception:\n    return x + x"
            ),
            "B2 fallback when a launch fails": body(
                f"try:\n    out = torch.empty_like(x)\n    {LAUNCH}\n    return out\nexcept Exception:\n    return x + x"
            ),
            "B2 decoy launch": body(f"out = torch.empty_like(x)\n{LAUNCH}\nreturn x + x"),
            "B2 decoy launch of one element": body(
                "out = torch.empty_like(x)\ndouble_kernel[(1,)](x, out, 1, BLOCK_SIZE=64)\nout.numpy()[:] = x.numpy() * 2\nreturn out"
            ),
            "B3 memory that nobody wrote": body("return torch.empty_like(x)"),
            "B3 a kernel that writes nothing": answer(
                kernel=RIGHT.replace("mask=mask)\n    tl.store", "mask=mask)\n    tl.load").replace(
                    ", x + x, mask=mask)", ")"
                )
            ),
            "B4 inputs set to zero": answer(
                kernel=RIGHT.replace(
                    "x + x, mask=mask)",
                    "x * 0, mask=mask)\n    tl.store(x_ptr + offs, x * 0, mask=mask)",
                )
            ),
            "B5 remembered by address": "seen = {}\n"
            + answer(
                "if x.data_ptr() in seen: return seen[x.data_ptr()]", "seen[x.data_ptr()] = out"
            ),
            "B5 remembered by identity": "seen = {}\n"
            + answer("if id(x) in seen: return seen[id(x)]", "seen[id(x)] = out"),
            "B5 remembered by shape": "seen = {}\n"
            + answer("if x.shape in seen: return seen[x.shape]", "seen[x.shape] = out"),
            "B6 inputs drawn again": body(
                "import hashlib\ndigest = hashlib.sha256(b'|0|0|0').digest()\ng = torch.Generator().manual_seed(int.from_bytes(digest[:7], 'little'))\nreturn (torch.randn(x.shape, generator=g, dtype=torch.float64) * 2).to(x.dtype)"
            ),
            "B7 only the visible sizes": answer("if x.numel() not in (64, 100): return x"),
            "B8 zeros": body("return torch.zeros_like(x)"),
            "B8 ones": body("return torch.ones_like(x)"),
            "B8 the input": body("return x"),
            "B8 a copy of the input": body("return x.clone()"),
            "B8 identity kernel": answer(kernel=WRONG),
            "B8 a constant kernel": answer(kernel=storing("tl.zeros_like(x)")),
            "B9 computed in half precision": answer(
                kernel=storing("(x.to(tl.float16) + x.to(tl.float16)).to(tl.float32)")
            ),
            "B10 NaN": answer(kernel=storing("x + x + float('nan')")),
            "B11 another dtype": body(
                f"out = torch.empty_like(x, dtype=torch.float64)\n{LAUNCH}\nreturn out"
            ),
            "B11 another shape": answer(last="out = out[None]"),
            "B11 a tensor class that is equal to all": body(
                "class T(torch.Tensor):\n    __eq__ = lambda self, other: torch.ones(self.shape, dtype=torch.bool)\nreturn torch.empty_like(x).as_subclass(T)"
            ),
            "B11 in place of the input": body(
                "double_kernel[(triton.cdiv(x.numel(), 64),)](x, x, x.numel(), BLOCK_SIZE=64)\nreturn x"
            ),
            "B13 writes past the end": answer(kernel=RIGHT.replace("x + x, mask=mask", "x + x")),
            "C2 a thread does it later": body(
                "import threading\nout = torch.empty_like(x)\nthreading.Timer(0.01, lambda: torch.add(x, x, out=out)).start()\nreturn out"
            ),
            "tape: torch added": (
                body(f"out = torch.empty_like(x)\n{LAUNCH}\nreturn out", kernel=WRONG),
                forged(
                    "if any(s[0] == 'launch' for s in steps):\n    out = steps[0][4][0]\n    steps.append(['torch', 'aten::add_.Tensor', {'list': [{'t': out}, {'t': out}]}, {'dict': []}, [out]])"
                ),
            ),
            "tape: launch counted that is not made": (
                body("return x.clone()"),
                forged(
                    "steps.append(['launch', ['/tmp/cells/answer-double.py', 6], [0], {'list': []}, {'dict': []}])"
                ),
            ),
            "tape: a file read": (
                answer(kernel=WRONG),
                forged(
                    "steps.insert(0, ['torch', 'aten::from_file', {'list': ['/etc/passwd', None, 10]}, {'dict': []}, [999]])"
                ),
            ),
            "tape: memory outside": (
                answer(kernel=WRONG),
                forged(
                    "steps.append(['torch', 'aten::_reshape_alias', {'list': [{'t': 1}, {'list': [1 << 30]}, {'list': [1]}]}, {'dict': []}, [998]])"
                ),
            ),
            "tape: an argument made larger": (
                answer(kernel=WRONG),
                forged(
                    "steps.insert(0, ['torch', 'aten::full.out', {'list': [{'list': [1000000]}, 1.0]}, {'dict': [['out', {'t': -1}]]}, [-1]])"
                ),
            ),
            "tape: a kernel of another file": (
                answer(kernel=WRONG),
                forged("for s in steps:\n    if s[0] == 'launch': s[1] = ['/usr/lib/other.py', 6]"),
            ),
            "tape: steps that are no steps": (
                answer(kernel=WRONG),
                forged("steps.append({'eval': '__import__(\"os\")'})"),
            ),
            "tape: a result made beforehand": body(
                "return torch.from_numpy(__import__('numpy').full(x.shape, 0.5, dtype='float32'))"
            ),
            "kernel: a way to Python": answer(
                kernel=RIGHT.replace(
                    "    mask =", "    x_ptr.__class__.__init__.__globals__\n    mask ="
                )
            ),
            "kernel: numpy's file": answer(
                kernel=RIGHT.replace("    mask =", "    np.save('/tmp/x', 0)\n    mask =")
            ),
        },
        ("OOM", "FAIL", "POLICY"): {
            "tape: 64 GB of memory": (
                answer(),
                forged(
                    "steps[:0] = [['torch', 'aten::empty.memory_format', {'list': [{'list': [1 << 34]}]}, {'dict': []}, [900]]]"
                ),
            ),
        },
    }
)

"""What an H100 gives at the edges of arithmetic (Triton 3.6), and kernels that ask for it.

A line of `PAIRS`: what is computed, the dtype of a and b, and of the result where it is another; a,
b and what comes out, lane by lane. One of `REDUCED`: a tile, and what comes out.
"""

import torch
import triton
import triton.language as tl

from tritonbook import DEVICE

nan, inf = float("nan"), float("inf")
TINY = 1e-40  # a number below 2**-126


@triton.jit
def pair_kernel(a_ptr, b_ptr, out_ptr, OP: tl.constexpr, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    a = tl.load(a_ptr + offs)
    b = tl.load(b_ptr + offs)
    if OP == "minimum":
        out = tl.minimum(a, b)
    elif OP == "maximum":
        out = tl.maximum(a, b)
    elif OP == "clamp":
        out = tl.clamp(a, b, b + 1)
    elif OP == "minmax":
        out = min(max(a, b), b + 1)
    elif OP == "minimum_all":
        out = tl.minimum(a, b, propagate_nan=tl.PropagateNan.ALL)
    elif OP == "maximum_all":
        out = tl.maximum(a, b, propagate_nan=tl.PropagateNan.ALL)
    elif OP == "clamp_all":
        out = tl.clamp(a, b, b + 1, propagate_nan=tl.PropagateNan.ALL)
    elif OP == "//":
        out = a // b
    elif OP == "%":
        out = a % b
    elif OP == "<<":
        out = a << b
    elif OP == ">>":
        out = a >> b
    elif OP == "*":
        out = a * b
    elif OP == "/":
        out = a / b
    elif OP == "div_rn":
        out = tl.div_rn(a, b)
    elif OP == "fma":
        out = tl.fma(a, b, -1.0)
    elif OP == "floor":
        out = tl.floor(a)
    elif OP == "ceil":
        out = tl.ceil(a)
    elif OP == "sqrt":
        out = tl.sqrt(a)
    elif OP == "sqrt_rn":
        out = tl.sqrt_rn(a)
    elif OP == "rsqrt":
        out = tl.rsqrt(a)
    elif OP == "exp":
        out = tl.exp(a)
    elif OP == "exp2":
        out = tl.exp2(a)
    elif OP == "log":
        out = tl.log(a)
    elif OP == "erf":
        out = tl.erf(a)
    elif OP == "sin":
        out = tl.sin(a)
    elif OP == "abs":
        out = tl.abs(a)
    else:
        out = a.to(out_ptr.dtype.element_ty)
    tl.store(out_ptr + offs, out)


@triton.jit
def reduce_kernel(x_ptr, out_ptr, OP: tl.constexpr, BLOCK: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, BLOCK))
    if OP == "min":
        tl.store(out_ptr, tl.min(x, axis=0))
    elif OP == "max":
        tl.store(out_ptr, tl.max(x, axis=0))
    elif OP == "argmin":
        tl.store(out_ptr, tl.argmin(x, axis=0))
    else:
        tl.store(out_ptr, tl.argmax(x, axis=0))


@triton.jit
def atomic_kernel(x_ptr, out_ptr, old_ptr, OP: tl.constexpr, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs)
    if OP == "add":
        old = tl.atomic_add(out_ptr + offs % 2, x, mask=offs < 3)
    else:
        old = tl.atomic_xchg(out_ptr + offs, x, mask=offs < 3)
    tl.store(old_ptr + offs, old, mask=offs < 3)


FLOATS = ("float32", "float16", "bfloat16")
ODD = [nan, 1.0, nan, -0.0, 0.0, 2.0, 1.0, -3.0]
BESIDE = [1.0, nan, nan, 0.0, -0.0, 1.0, 1.0, -1.0]
OUTSIDE = [nan, inf, -inf, -1.0, 300.5, -200.5, 60000.0, -40000.0]
FAR = [3e9, -3e9, 1e20, -1e20, 70000.0, 5e9, 2.0**31, 2.0**63]
LOWEST = -(2**63)
TOP8, TOP16, TOP32, TOP64 = 2**8 - 1, 2**16 - 1, 2**32 - 1, 2**64 - 1

PAIRS = [
    *(("maximum", dtype, ODD, BESIDE, [1, 1, nan, 0.0, 0.0, 2, 1, -1]) for dtype in FLOATS),
    *(("minimum", dtype, ODD, BESIDE, [1, 1, nan, -0.0, -0.0, 1, 1, -3]) for dtype in FLOATS),
    *(("clamp", dtype, ODD, BESIDE, [1, 1, nan, 0.0, 0.0, 2, 1, -1]) for dtype in FLOATS),
    *(("minmax", dtype, ODD, BESIDE, [1, 1, nan, 0.0, 0.0, 2, 1, -1]) for dtype in FLOATS),
    *(("maximum_all", dtype, ODD, BESIDE, [nan] * 3 + [0.0, 0.0, 2, 1, -1]) for dtype in FLOATS),
    *(("minimum_all", dtype, ODD, BESIDE, [nan] * 3 + [-0.0, -0.0, 1, 1, -3]) for dtype in FLOATS),
    *(("clamp_all", dtype, ODD, BESIDE, [nan] * 3 + [0.0, 0.0, 2, 1, -1]) for dtype in FLOATS),
    *(("//", f"int{n}", [1, -1, 0, -7], [0] * 4, [-1] * 4) for n in (8, 16, 32)),
    *(("%", f"int{n}", [1, -1, 0, -7], [0] * 4, [-1] * 4) for n in (8, 16, 32)),
    *((op, "int64", [1, -1, 0, -7], [0] * 4, [TOP32, -1, TOP32, -1]) for op in ("//", "%")),
    *((op, "uint8", [1, 0], [0, 0], [TOP8, TOP8]) for op in ("//", "%")),
    *((op, "uint16", [1, 0], [0, 0], [TOP16, TOP16]) for op in ("//", "%")),
    *((op, "uint32", [1, 0], [0, 0], [TOP32, TOP32]) for op in ("//", "%")),
    *((op, "uint64", [1, 0], [0, 0], [TOP32, TOP32]) for op in ("//", "%")),
    ("//", "int32", [7, -7, 7, -7, 5, -(2**31), 9, 1], [2, 2, -2, -2, 0, -1, 3, 0],
     [3, -3, -3, 3, -1, -(2**31), 3, -1]),
    ("%", "int32", [7, -7, 7, -7, 5, -(2**31), 9, 1], [2, 2, -2, -2, 0, -1, 3, 0],
     [1, -1, 1, -1, -1, 0, 0, -1]),
    ("%", "float32", [-7.5, 1e10, 7.0, 7.0], [2.0, 3.0, 0.0, inf], [-1.5, 256.0, nan, 7.0]),
    ("<<", "int8", [1, 3, 5, 1], [7, 8, 40, 70], [-128, 0, 0, 0]),
    *(("<<", f"int{n}", [1, 3, 5, 1], [7, 8, 40, 70], [128, 768, 0, 0]) for n in (16, 32)),
    ("<<", "int64", [1, 3, 5, 1], [7, 8, 40, 70], [128, 768, 5 << 40, 0]),
    *((">>", f"int{n}", [-8, 100, -1, 64], [7, 8, 40, 70], [-1, 0, -1, 0])
      for n in (8, 16, 32, 64)),
    *(("to", f"{a} int8", OUTSIDE, None, [0, -1, 0, -1, 44, 56, -1, 0])
      for a in ("float32", "float16", "float64")),
    ("to", "bfloat16 int8", OUTSIDE, None, [0, -1, 0, -1, 44, 56, -1, 0]),
    ("to", "float32 int16", OUTSIDE, None, [0, 32767, -32768, -1, 300, -200, 32767, -32768]),
    ("to", "float32 int32", OUTSIDE, None,
     [0, 2**31 - 1, -(2**31), -1, 300, -200, 60000, -40000]),
    ("to", "float32 int64", OUTSIDE, None,
     [LOWEST, 2**63 - 1, LOWEST, -1, 300, -200, 60000, -40000]),
    *(("to", f"{a} uint8", OUTSIDE, None, [0, 255, 0, 0, 44, 0, 96, 0])
      for a in ("float32", "float16", "float64")),
    ("to", "float32 uint16", OUTSIDE, None, [0, TOP16, 0, 0, 300, 0, 60000, 0]),
    ("to", "float32 uint32", OUTSIDE, None, [0, TOP32, 0, 0, 300, 0, 60000, 0]),
    ("to", "float32 uint64", OUTSIDE, None, [2**63, TOP64, 0, 0, 300, 0, 60000, 0]),
    ("to", "float16 int64", OUTSIDE, None,
     [LOWEST, 2**63 - 1, LOWEST, -1, 300, -200, 60000, -40000]),
    ("to", "float64 int16", OUTSIDE, None,
     [-32768, 32767, -32768, -1, 300, -200, 32767, -32768]),
    ("to", "float64 int32", OUTSIDE, None,
     [-(2**31), 2**31 - 1, -(2**31), -1, 300, -200, 60000, -40000]),
    ("to", "float64 uint32", OUTSIDE, None, [2**31, TOP32, 0, 0, 300, 0, 60000, 0]),
    ("to", "float32 int8", FAR, None, [-1, 0, -1, 0, -1, -1, -1, -1]),
    ("to", "float32 int32", FAR, None,
     [2**31 - 1, -(2**31), 2**31 - 1, -(2**31), 70000, 2**31 - 1, 2**31 - 1, 2**31 - 1]),
    ("to", "float32 int64", FAR, None,
     [3 * 10**9, -3 * 10**9, 2**63 - 1, LOWEST, 70000, 5 * 10**9, 2**31, 2**63 - 1]),
    ("to", "float32 uint32", FAR, None, [3 * 10**9, 0, TOP32, 0, 70000, TOP32, 2**31, TOP32]),
    ("to", "float32 uint64", FAR, None,
     [3 * 10**9, 0, TOP64, 0, 70000, 5 * 10**9, 2**31, 2**63]),
    ("to", "float32 float16", [1e-7, 65520.0, -1e6, 6e-8], None, [2**-23, inf, -inf, 2**-24]),
    ("to", "float32 bfloat16", [TINY, -TINY, 3.4e38, 1e-45], None,
     [9.183549615799121e-41, -9.183549615799121e-41, inf, 0.0]),
    ("to", "bfloat16 float32", [TINY, -TINY], None,
     [9.183549615799121e-41, -9.183549615799121e-41]),
    *((op, "float32", [TINY, -TINY, -1.0, -0.0], None, [0.0, -0.0, -1.0, -0.0])
      for op in ("floor", "ceil")),
    ("floor", "float64", [1e-310, -1e-310, -1050.0, 4.0], None, [0.0, -1.0, -1050.0, 4.0]),
    ("ceil", "float64", [1e-310, -1e-310, -1050.0, 4.0], None, [1.0, -0.0, -1050.0, 4.0]),
    ("sqrt", "float32", [TINY, -TINY, -1.0, -0.0], None, [0.0, -0.0, nan, -0.0]),
    ("sqrt", "float32", [inf, -inf, nan, 4.0], None, [inf, nan, nan, 2.0]),
    ("sqrt", "float64", [1e-310, -1e-310, -1050.0, 4.0], None, [1e-155, nan, nan, 2.0]),
    ("sqrt_rn", "float32", [TINY, -TINY, -1.0, -0.0], None, [1e-20, nan, nan, -0.0]),
    ("rsqrt", "float32", [TINY, -TINY, -1.0, -0.0], None, [inf, -inf, nan, -inf]),
    ("exp2", "float32", [-126.5, -149.0, 3.0, 128.0], None, [0.0, 0.0, 8.0, inf]),
    ("exp2", "float64", [-1050.0, 4.0], None, [8.289046e-317, 16.0]),
    ("exp", "float32", [-88.0, -100.0, -104.0, 89.0], None, [6.0546e-39, 3.7835e-44, 0.0, inf]),
    ("log", "float32", [TINY, -TINY, -1.0, -0.0], None, [-92.10340881, nan, nan, -inf]),
    ("erf", "float32", [TINY, -TINY, -1.0, -0.0], None, [0.0, -0.0, -0.84270078, -0.0]),
    ("sin", "float32", [TINY, -TINY, -1.0, -0.0], None, [0.0, -0.0, -0.84147101, -0.0]),
    ("abs", "float32", [TINY, -TINY, -1.0, -0.0], None, [TINY, TINY, 1.0, 0.0]),
    ("*", "float32", [1e-30, TINY, 1e38, 1.0], [1e-10, 2.0, 1e-2, 3e38],
     [TINY, 2 * TINY, 1e36, 3e38]),
    *((op, "float32", [1e-30, TINY, 1e38, 1.0], [1e-10, 2.0, 1e-2, 3e38],
       [1e-20, TINY / 2, inf, 3.333333e-39]) for op in ("/", "div_rn")),
    ("fma", "float32", [1 + 2**-12, 1.0], [1 - 2**-12, 1.0], [-(2**-24), 0.0]),
]  # fmt: skip

MANY = [0.0] * 30 + [nan] + [0.0] * 33
REDUCED = [
    ("argmax", [1.0, nan, 3.0, 2.0], 2),
    ("argmax", [nan] * 4, 3),
    ("argmax", [3.0, nan, 1.0, 2.0], 0),
    ("argmax", [nan, 3.0, 1.0, 2.0], 1),
    ("argmax", [1.0, 2.0, 3.0, nan], 3),
    ("argmax", [0.0, -0.0, 0.0, -0.0], 0),
    ("argmax", MANY, 1),
    ("argmax", [5.0] + [nan] * 63, 63),
    ("argmin", [1.0, nan, 3.0, 2.0], 0),
    ("argmin", [nan] * 4, 3),
    ("argmin", [3.0, nan, 1.0, 2.0], 2),
    ("argmin", [1.0, 2.0, nan, 3.0], 1),
    ("argmin", [-0.0, 0.0, -0.0, 0.0], 0),
    ("argmin", MANY, 1),
    ("max", [1.0, nan, 3.0, 2.0], 3.0),
    ("max", [nan] * 4, nan),
    ("max", [-0.0, 0.0, -0.0, 0.0], 0.0),
    ("max", [5.0] + [nan] * 63, 5.0),
    ("min", [1.0, nan, 3.0, 2.0], 1.0),
    ("min", [0.0, -0.0, 0.0, -0.0], -0.0),
]  # fmt: skip


def _tensor(values, dtype):
    # Whole numbers of 64 bits pass as they are; numpy knows unsigned ones.
    made = torch.tensor(values, dtype=torch.float64 if "float" in dtype else None)
    return made.to(getattr(torch, dtype)).to(DEVICE)


def computed(op, dtypes, a, b):
    """The lanes of `op` of a and b, as Python's numbers."""
    dtype, _, other = dtypes.partition(" ")
    x, y = _tensor(a, dtype), _tensor(a if b is None else b, dtype)
    out = torch.zeros(len(a), dtype=getattr(torch, other or dtype), device=DEVICE)
    pair_kernel[(1,)](x, y, out, op, len(a))
    return out.tolist()


def reduced(op, values):
    """One number: `op` of a tile of these."""
    out = torch.zeros(1, device=DEVICE)
    reduce_kernel[(1,)](torch.tensor(values, device=DEVICE), out, op, len(values))
    return out.item()


def atomically(op, dtype):
    """Where lanes that meet left their sums, or what they exchanged; and what was there before."""
    x = torch.tensor([1.0, 2.0, 3.0, 4.0], dtype=dtype, device=DEVICE)
    out, old = torch.full_like(x, 8.0), torch.zeros_like(x)
    atomic_kernel[(1,)](x, out, old, op, 4)
    return out.tolist(), old.tolist()


def alike(found, wanted):
    """The same number, NaN and the sign of a zero included; to rounding."""
    if found != found or wanted != wanted:
        return found != found and wanted != wanted
    if isinstance(found, int) or found == 0 or wanted == 0:
        return str(float(found)) == str(float(wanted)) and found == wanted
    return found == wanted or abs(found - wanted) <= 1e-4 * abs(wanted)

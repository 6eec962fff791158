"""What the checks of 62_attention_records try."""

import functools

import torch
import triton
import triton.language as tl

from tritonbook import DEVICE, INTERPRET, triton_version
from tritonbook.checking import SAME_BITS, Check, case, tensor
from tritonbook.checking.asks import exact_float32, launches
from tritonbook.checking.cases import arguments
from tritonbook.seeing.compiled import compile_gate
from tritonbook.words import later

from ..shared import attention as shared
from ..shared.attention import DEEP, attention, attention_ref, growing, hill
from ..shared.looking import for_a_kernel, names_beside, standing_in
from .page import which_tile_ref

# --- which_tile


def order_case(note, tiles, heads, at_once, *pids):
    return [
        case(f"{note}: program {pid}", pid=pid, tiles=tiles, heads=heads, at_once=at_once)
        for pid in pids
    ]


ORDERS = [
    *order_case("4 tiles, 5 heads, 2 at once", 4, 5, 2, 0, 1, 2, 7, 8, 13, 16, 17, 19),
    *order_case("3 tiles, 7 heads, 3 at once", 3, 7, 3, 4, 8, 10, 17, 20),
    *order_case("4 tiles, 5 heads, 3 at once", 4, 5, 3, 11, 12, 13, 15, 18),
    *order_case("3 tiles, 5 heads, 3 at once", 3, 5, 3, 9, 14),
    *order_case("all heads at once", 5, 4, 4, 0, 3, 6, 19),
    *order_case("one head at a time", 6, 3, 1, 0, 5, 7, 17),
    *order_case("more at once than there are", 3, 2, 16, 0, 3, 5),
]
HIDDEN_ORDERS = [
    *order_case("7 tiles, 11 heads, 4 at once", 7, 11, 4, 0, 27, 30, 56, 58, 76),
    *order_case("3 tiles, 8 heads, 5 at once", 3, 8, 5, 14, 15, 16, 20, 23),
    *order_case("one tile", 1, 9, 2, 0, 3, 8),
    *order_case("one head", 8, 1, 1, 0, 7),
]


def write_order(out_ptr, tiles, heads, at_once):
    """out[0, pid], out[1, pid] = order(pid, tiles, heads, at_once)."""
    pid, programs = tl.program_id(0), tl.num_programs(0)
    tile, head = order(pid, tiles, heads, at_once)  # noqa: F821  (set where it is launched)
    tl.store(out_ptr + pid, tile)
    tl.store(out_ptr + programs + pid, head)


def works_in_a_kernel(fn):
    """What is right in Python need not be right in a kernel: no list comprehension, no divmod, and
    `//` and `%` of a negative number round towards 0."""
    says = "As a part of a kernel, where task 3 needs it, this does not work. "
    fn = for_a_kernel(fn, says)
    if fn is None:
        return
    tiles, heads, at_once = 3, 5, 3
    found = torch.full((2, tiles * heads), -1, dtype=torch.int32, device=DEVICE)
    globals()["order"] = triton.jit(fn)
    try:
        triton.jit(write_order)[(tiles * heads,)](found, tiles, heads, at_once)
    except Exception as error:
        raise AssertionError(f"{says}{error}") from None
    for pid, got in enumerate(found.T.tolist()):
        want = which_tile_ref(pid, tiles, heads, at_once)
        assert tuple(got) == want, (
            f"Right in Python. In a kernel, of {tiles} tiles and {heads} heads, {at_once} at once, "
            f"program {pid} gets {tuple(got)}, not {want}: there `//` and `%` of a negative number "
            "round towards 0. Let nothing below 0 be divided."
        )


# --- take_columns


def columns_ref(x, first, width):
    """Columns first to first + width - 1 of x, zeros past its last one."""
    return torch.nn.functional.pad(x, (0, max(0, first + width - x.shape[-1])))[
        ..., first : first + width
    ]


def columns_case(note, B, H, L, D, first, width, **more):
    x = tensor(
        B, H, L, D, layout=more.pop("layout", "contiguous"), planted={(0, 0, 0, first): -0.0}
    )
    return case(note, x=x, first=first, width=width, **more)


COLUMNS = [
    columns_case("by addresses: float32, three tiles", 2, 3, 70, 32, 0, 32),
    columns_case("described: half precision", 2, 3, 70, 32, 0, 32, dtype="float16"),
    columns_case("columns from 32, 8 of them there", 1, 2, 40, 40, 32, 16),
    columns_case("described, 8 columns there", 1, 2, 40, 40, 32, 16, dtype="bfloat16"),
    columns_case("heads of 96: the last 32", 1, 2, 33, 96, 64, 32, dtype="float16"),
    columns_case("rows with gaps", 1, 2, 40, 24, 0, 32, layout="strided"),
    columns_case("columns first in memory", 2, 2, 35, 40, 16, 32, layout="transposed"),
]
HIDDEN_COLUMNS = [
    columns_case("heads of 72", 1, 3, 65, 72, 64, 16, dtype="float16"),
    columns_case("one row", 3, 1, 1, 16, 0, 16),
    columns_case(
        "rows with gaps, half precision", 1, 2, 20, 80, 64, 16, layout="strided", dtype="float16"
    ),
]


FOR_AN_H100 = later("For an H100 it does not compile:")


def compiles_as_a_descriptor(fn):
    """An assertion: only an H100's compiler sees the descriptor."""
    of = COLUMNS[4]
    found = compile_gate(fn, arguments(of), of.options, arch=90)
    mend = later("Does the second way stand under `else:`?")
    assert found.ok is not False, f"{FOR_AN_H100} {found.message} {mend}"


# --- flash_gqa_record


half = functools.partial(attention, dtype="float16")
LATER = growing(1000.0)
LARGE_VALUES = {"keys": {"scale": 0.01}, "values": {"mean": 100.0}}
OF_96 = half("heads of 96: 64 and 32 columns", 2, 2, 2, 70, 300, 96)
CASES = [
    attention("10 queries at the end of 75 keys", 1, 2, 2, 10, 75, 32),
    attention("scores that grow", 1, 1, 1, 40, 100, 40, False, keys=growing(90.0)),
    attention("causal, float32", 1, 2, 2, 40, 75, 48),
    attention("scores of -2^30 that grow", 1, 1, 1, 20, 50, 16, **DEEP),
    half("half precision: described", 2, 2, 2, 70, 300, 32),
    OF_96,
    attention("heads of 40, float32", 1, 2, 1, 20, 70, 40),
    attention("heads of 80, bfloat16", 1, 4, 2, 40, 280, 80, False, dtype="bfloat16"),
    half("a short text, half precision", 1, 4, 2, 20, 100, 80),
    half("scores that grow, half precision", 1, 2, 1, 40, 300, 72, False, keys=growing(20.0)),
    attention(
        "large scores, the largest in the middle", 1, 2, 1, 40, 60, 48, False, keys=hill(120.0)
    ),
    attention("far larger keys come later", 1, 1, 1, 40, 40, 40, keys=LATER),
    half("large values, a long sum", 1, 1, 1, 16, 1000, 72, False, **LARGE_VALUES),
    attention("more queries than keys", 1, 2, 1, 20, 9, 24),
    attention("memory with gaps", 1, 4, 2, 20, 33, 40, layouts="strided"),
    half("k and v by columns, half precision", 1, 4, 2, 12, 150, 96, layouts="transposed"),
    attention("a scale of its own", 1, 2, 1, 5, 20, 96, scale=0.6),
    attention("three heads, two at once", 1, 3, 3, 70, 70, 16, options={"at_once": 2}),
    half("heads of 192", 1, 2, 1, 40, 260, 192),
    attention("heads that do not share evenly", 1, 3, 2, 16, 16, 16, raises=ValueError),
    attention("a negative scale", 1, 1, 1, 16, 16, 16, scale=-1.0, raises=ValueError),
    attention("no queries", 1, 2, 1, 0, 9, 16),
    attention("other orders", 2, 2, 1, 9, 33, 40, layouts="transposed strided expanded"),
]
HIDDEN_CASES = [
    attention("groups of five", 1, 5, 1, 17, 20, 16),
    attention("heads of 256", 1, 2, 1, 33, 290, 256, dtype="bfloat16"),
    half("heads of 112", 2, 4, 2, 65, 270, 112),
    half("heads of 144", 2, 2, 2, 65, 270, 144, False),
    half("one token of a text", 1, 8, 2, 1, 200, 80),
    attention("large scores, bfloat16", 1, 2, 1, 70, 200, 96, dtype="bfloat16", keys=hill(30.0)),
]

# --- what is asked besides


def compiles_for_an_h100(fn):
    """An assertion: arguments that only an H100 gets as descriptors, and two branches."""
    found = compile_gate(fn, arguments(OF_96), OF_96.options, arch=90)
    assert found.ok is not False, f"{FOR_AN_H100} {found.message}"


def full_tiles_have_no_mask(fn):
    """All tiles are called full: who masks them all the same sees less than all keys.

    Values cannot tell otherwise: a full tile that is masked is right, and slower.
    """
    names = names_beside(fn)
    if not INTERPRET or "bounds" not in names:
        return
    q, k, v = torch.randn(3, 1, 1, 64, 16).unbind(0)
    with standing_in(names, bounds=lambda first, last, Lq, Lk, causal, BLOCK_N: (Lk, Lk)):
        o = fn(q, k, v, True)[0]
    assert torch.allclose(o, attention_ref(q, k, v)[0], rtol=1e-3, atol=1e-4), (
        "Full tiles are masked too. All rows see all of their keys: the mask belongs under `if "
        "MASKED:`."
    )


def every_second_column(fn):
    """q whose columns are two apart: o is new, and has strides of its own."""
    q = torch.randn(1, 2, 9, 96, device=DEVICE)[..., ::2]
    k, v = torch.randn(2, 1, 1, 20, 48, device=DEVICE).unbind(0)
    assert shared.is_right_for(fn, q, k, v), (
        "Wrong for q = x[..., ::2]: columns of o are stride_od apart, not stride_qd."
    )


CHECKS = {
    "which_tile": Check(
        which_tile_ref, ORDERS, HIDDEN_ORDERS, triton=False, asks=[works_in_a_kernel]
    ),
    "take_columns": Check(
        columns_ref,
        COLUMNS,
        HIDDEN_COLUMNS,
        asks=[launches(1), *([compiles_as_a_descriptor] * (triton_version() >= (3, 6)))],
        tolerance=SAME_BITS,
    ),
    "flash_gqa_record": Check(
        attention_ref,
        CASES,
        HIDDEN_CASES,
        asks=[
            launches(1),
            exact_float32(),
            *(
                [full_tiles_have_no_mask, every_second_column]
                + [compiles_for_an_h100] * (triton_version() >= (3, 6))
            ),
        ],
        tolerance=shared.close_enough,
        nan=(
            "Does an exponential overflow? No exponent is above 0: p subtracts m_new, and "
            "alpha is exp2(m_i - m_new)."
        ),
    ),
}

"""The Gluon kernel of notebook 64: machine code here, values on an H100."""

import pytest
import torch
from machine_code import seen_after

from tritonbook import warp_jobs
from tritonbook.checking import Tolerance, case, run, tensor
from tritonbook.course.exercises import get, load
from tritonbook.port import compat
from tritonbook.seeing.compiled import compile_gate

knows_gluon = pytest.mark.skipif(
    not warp_jobs.triton_has_gluon(), reason="this Triton's Gluon has other words"
)
no_h100 = pytest.mark.skipif(not warp_jobs.can_run_gluon(), reason="needs an H100 and Triton 3.6")


@pytest.fixture(scope="module")
def page():
    return load(get("64_gluon_matmul"))


def _empty(rows, columns, dtype=torch.bfloat16, by_columns=False):
    made = torch.empty(columns, rows, dtype=dtype, device="meta").T
    return made if by_columns else torch.empty(rows, columns, dtype=dtype, device="meta")


@knows_gluon
@pytest.mark.parametrize("by_columns", [False, True])
def test_twelve_warps_use_the_tensor_cores_of_an_h100_without_spills(page, by_columns):
    """Kills: a learner's function that cannot be compiled, a ring that does not fit."""
    weights = [_empty(512, 1024, by_columns=by_columns) for _ in range(2)]
    down = _empty(1024, 4096, by_columns=by_columns)
    found = compile_gate(page.mlp_gluon, (_empty(4096, 512), *weights, down), {}, 90, timeout=120)
    assert found.ok, found.message
    assert [kernel.constants["GATED"] for kernel in found.kernels] == [True, False]
    for kernel in found.kernels:
        assert (kernel.name, kernel.warps, kernel.spills) == ("matmul_gluon_kernel", 12, 0)
        assert kernel.wgmma and kernel.shared_bytes <= compat.SHARED_MEMORY_LIMIT[90]


@knows_gluon
@pytest.mark.parametrize("by_columns", [False, True])
def test_where_each_program_has_one_tile_all_warps_are_alike(page, by_columns):
    """Kills: a result that does not find its place where the ring was."""
    a, b = _empty(2048, 2048), _empty(2048, 2048, by_columns=by_columns)
    found = compile_gate(page.matmul_gluon, (a, b), {}, 90, timeout=120)
    assert found.ok, found.message
    (kernel,) = found.kernels
    assert (kernel.name, kernel.warps, kernel.spills) == ("matmul_ring_kernel", 8, 0)
    assert kernel.wgmma and kernel.shared_bytes <= compat.SHARED_MEMORY_LIMIT[90]


CALLS = """
square, tall, wide = (
    torch.empty(shape, dtype=torch.float16) for shape in [(512, 512), (4096, 64), (64, 2048)]
)
page.matmul_gluon(square, square)
page.matmul_gluon(square, square)
page.matmul_gluon(tall, wide)
"""
LOOK = """
for kernel in found:
    products = [line for line in kernel.asm["sass"].splitlines() if "HGMMA" in line]
    print(kernel.name, len(products), sum("gsb0" in line for line in products))
"""


@pytest.mark.slow
@knows_gluon
def test_products_follow_each_other_without_a_wait():
    """Kills: branches around the first orders. After them the compiler waits for each of the four
    products of a step: 34 us instead of 29 on an H100 for 2048 x 2048 x 2048. And a launch of the
    kernel that was kept which nobody sees."""
    ring, many = "matmul_ring_kernel 4 1", "matmul_gluon_kernel 8 2"
    assert seen_after("64_gluon_matmul", CALLS, LOOK).splitlines() == [ring, ring, many]


@pytest.mark.parametrize(
    ("arch", "made"),
    [
        (80, {}),
        (90, {"dtype": torch.float32}),
        (90, {"columns": 60}),  # rows that do not begin at multiples of 16 bytes
    ],
)
def test_what_it_is_not_made_for_gets_the_plain_kernel(page, arch, made):
    b = _empty(64, **{"columns": 64, **made})
    a = _empty(64, 64, made.get("dtype", torch.bfloat16))
    found = compile_gate(page.matmul_gluon, (a, b), {}, arch, timeout=120)
    assert found.ok, found.message
    assert found.kernels[0].name != "matmul_gluon_kernel"


@pytest.mark.parametrize(
    ("name", "shapes"),
    [
        ("matmul_gluon", [(4, 8), (9, 4)]),
        ("mlp_gluon", [(4, 8), (8, 16), (8, 15), (16, 8)]),
        ("mlp_gluon", [(4, 8), (9, 16), (9, 16), (16, 8)]),
        ("mlp_gluon", [(4, 8), (8, 16), (8, 16), (15, 8)]),
    ],
)
def test_sizes_that_do_not_fit_are_refused(page, name, shapes):
    with pytest.raises(ValueError):
        getattr(page, name)(*(torch.randn(shape) for shape in shapes))


def test_matrices_of_two_dtypes_are_not_read_as_one(page):
    """Kills: bits of float16 taken for bfloat16. Triton's own product says so."""
    a, b = _empty(64, 64, torch.bfloat16), _empty(64, 64, torch.float16)
    found = compile_gate(page.matmul_gluon, (a, b), {}, 90, timeout=120)
    assert found.ok is False and "of one dtype" in found.message


def half(dtype):
    eps = torch.finfo(dtype).eps
    return Tolerance(2 * eps, 4 * eps, 1e-6, "two roundings, float32 sums")


@pytest.mark.parametrize("layout", ["contiguous", "transposed"])
@pytest.mark.parametrize("programs", [1, 3, 132])
@pytest.mark.gpu
@no_h100
def test_it_is_a_product(page, layout, programs, monkeypatch):
    """Kills: tiles left out or taken twice, a ring out of step after a tile, a released slot that
    is still read, a store over the edge, gate and up swapped, a half of B in the wrong place."""
    # with 132 programs there is a tile for each: then a product is the ring kernel's
    monkeypatch.setitem(page.launch_gluon.__globals__, "multiprocessors", lambda: programs)
    sizes = [(128, 256, 64), (64, 8, 8), (1000, 776, 328), (8, 1024, 1000), (513, 520, 64)]
    for dtype in ("float16", "bfloat16"):
        cases = [
            case(f"{M} x {N} x {K}", a=tensor(M, K), b=tensor(K, N, layout=layout), dtype=dtype)
            for M, N, K in sizes
        ]
        report = run(page.matmul_gluon, lambda a, b: a @ b, cases, launches=1, tolerance=half)
        assert report.passed, report.finding
        cases = [
            case(
                f"{M} x {N} x {K}",
                x=tensor(M, K),
                w_gate=tensor(K, N, layout=layout, scale=K**-0.5),
                w_up=tensor(K, N, layout=layout, scale=K**-0.5),
                w_down=tensor(N, K, layout=layout, scale=N**-0.5),
                dtype=dtype,
            )
            for M, N, K in sizes
        ]
        report = run(
            page.mlp_gluon,
            load(get("23_fused_mlp")).mlp_swiglu_ref,
            cases,
            launches=2,
            tolerance=half,
        )
        assert report.passed, report.finding


@pytest.mark.gpu
@no_h100
def test_two_hundred_calls_agree_to_the_bit(page):
    """Kills: a slot that is overwritten before both groups have read it, now and then."""
    for size in (2048, 4096):  # a tile for each program, and several
        a, b = torch.randn(2, size, size, device="cuda", dtype=torch.float16)
        first = page.matmul_gluon(a, b)
        for _ in range(200):
            assert torch.equal(page.matmul_gluon(a, b), first)

"""The Gluon kernels of page 64: machine code here, values on an H100."""

import os

import needs
import pytest
import torch
from machine_code import compiled

from tests.checking.answers import run
from tritonbook.checking import Tolerance, case, tensor
from tritonbook.checking.asks import launches
from tritonbook.course.exercises import get, load
from tritonbook.course.page_checks import run_page_check
from tritonbook.kernels import gluon
from tritonbook.port import compat
from tritonbook.seeing.compiled import compile_gate

PAGE = "64_gluon_matmul"

pytestmark = pytest.mark.skipif(
    not gluon.triton_has_gluon(), reason="this Triton's Gluon has other words"
)
KERNELS = {"matmul_ring": 8, "matmul_jobs": 12, "matmul_groups": 12}  # with their warps


def _empty(rows, columns, dtype=torch.bfloat16, by_columns=False):
    made = torch.empty(columns, rows, dtype=dtype, device="meta").T
    return made if by_columns else torch.empty(rows, columns, dtype=dtype, device="meta")


@pytest.mark.page(PAGE)
@pytest.mark.parametrize("name", KERNELS)
def test_it_uses_the_tensor_cores_of_an_h100_without_spills(page, name):
    """Kills: a ring that does not fit, more registers than a group has, a thread that loads."""
    (kernel,) = compiled(getattr(page, name), (_empty(2048, 512), _empty(512, 2048)))
    assert (kernel.name, kernel.warps, kernel.spills) == (f"{name}_kernel", KERNELS[name], 0)
    assert kernel.wgmma and not kernel.loads
    assert kernel.shared_bytes <= compat.SHARED_MEMORY_LIMIT[90]


SLIPS = {
    "A ring of tiles or barriers is no list": (
        "arrived = full.index(slot)",
        "arrived = full[slot]",
    ),
    "`deps` is a list": ("(1, deps=[acc])", "(1, deps=acc)"),
    "The bytes of a descriptor's tile": ("a_desc.block_type.nbytes", "a_desc.nbytes"),
    "A plain number stands where a barrier": ("expect(arrived, ", "expect(1, "),
}


@needs.interpreter
@pytest.mark.parametrize("said", SLIPS)
def test_slips_of_a_pytorch_hand_have_sentences(said):
    """Kills: the simulator's or Triton's raw words on the card."""
    exercise, (right, slip) = get("64_gluon_matmul"), SLIPS[said]
    answer = exercise.answers()["matmul_ring"].source
    assert answer.count(right) == 1
    page = load(exercise, {"matmul_ring": answer.replace(right, slip)})
    assert said in run_page_check(page, "matmul_ring", hidden=False).finding.sentence


MACHINE_CODE = """
import tritonbook.port.device
tritonbook.port.device.DEVICE = "cpu"
import torch
from tritonbook.port.compat import fake_gpu, hook_launch
from tritonbook.course.exercises import get, load

found = []

def around(call, fn, grid, args, kwargs):
    found.append(call())
    return found[-1]

page = load(get("64_gluon_matmul"))
square, tall, wide = (
    torch.empty(shape, dtype=torch.float16) for shape in [(512, 512), (4096, 64), (64, 2048)]
)
with fake_gpu(90), hook_launch(around):
    page.matmul_gluon(square, square)
    page.matmul_gluon(tall, wide)
    page.matmul_jobs(tall, wide)
for kernel in found:
    products = [line for line in kernel.asm["sass"].splitlines() if "HGMMA" in line]
    print(kernel.name, len(products), sum("gsb0" in line for line in products))
"""


@pytest.mark.page(PAGE)
@pytest.mark.slow
def test_products_follow_each_other_without_a_wait(python):
    """Kills: branches between the products. With them the compiler waits for each of the four
    products of a step: 34 us instead of 29 on an H100 for 2048 x 2048 x 2048. And the wrong kernel
    where each program has one tile, or several."""
    done = python.run("-c", MACHINE_CODE, env={**os.environ, "TRITON_INTERPRET": "0"})
    assert done.returncode == 0, done.stderr
    seen = done.stdout.splitlines()
    assert seen == ["matmul_ring_kernel 4 1", "matmul_groups_kernel 8 2", "matmul_jobs_kernel 4 1"]


@pytest.mark.parametrize(
    ("arch", "made"),
    [
        (80, {}),
        (90, {"dtype": torch.float32}),
        (90, {"columns": 60}),  # rows that do not begin at multiples of 16 bytes
        (90, {"by_columns": True}),
    ],
)
def test_what_it_is_not_made_for_gets_the_plain_kernel(page, arch, made):
    b = _empty(64, **{"columns": 64, **made})
    a = _empty(64, 64, made.get("dtype", torch.bfloat16))
    kernel, *_ = compiled(page.matmul_gluon, (a, b), arch)
    assert kernel.name not in {f"{name}_kernel" for name in KERNELS}


@pytest.mark.parametrize("name", KERNELS)
def test_another_gpu_is_told_what_to_do(page, name):
    """Kills: a wall of compiler text on an A100."""
    found = compile_gate(getattr(page, name), (_empty(64, 64), _empty(64, 64)), {}, 80)
    assert not found.kernels and "TRITON_INTERPRET=1" in found.message


def test_matrices_of_two_dtypes_are_not_read_as_one(page):
    """Kills: bits of float16 taken for bfloat16. Triton's own product says so."""
    a, b = _empty(64, 64, torch.bfloat16), _empty(64, 64, torch.float16)
    found = compile_gate(page.matmul_gluon, (a, b), {}, 90)
    assert found.ok is False and "of one dtype" in found.message


def half(dtype):
    eps = torch.finfo(dtype).eps
    return Tolerance(2 * eps, 4 * eps, 1e-6, "two roundings, float32 sums")


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("programs", [1, 3, 132])
@pytest.mark.gpu
@needs.gluon
def test_it_is_a_product(page, name, programs):
    """Kills: tiles left out or taken twice, a ring out of step after a tile, a released slot that
    is still read, a store over the edge."""
    options = {} if name == "matmul_ring" else {"programs": programs}
    for dtype in ("float16", "bfloat16"):
        cases = [
            case(f"{M} x {N} x {K}", a=tensor(M, K), b=tensor(K, N), dtype=dtype, options=options)
            for M, N, K in [(128, 256, 64), (64, 8, 8), (1000, 776, 328), (8, 1024, 1000)]
        ]
        fn = getattr(page, name)
        report = run(fn, lambda a, b: a @ b, cases, asks=[launches(1)], tolerance=half)
        assert report.passed, report.finding


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.gpu
@needs.gluon
def test_two_hundred_calls_agree_to_the_bit(page, name):
    """Kills: a slot that is overwritten before both groups have read it, now and then."""
    for size in (2048, 4096):  # a tile for each program, and several
        a, b = torch.randn(2, size, size, device="cuda", dtype=torch.float16)
        first = getattr(page, name)(a, b)
        for _ in range(200):
            assert torch.equal(getattr(page, name)(a, b), first)

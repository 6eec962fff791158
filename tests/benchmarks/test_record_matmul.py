"""The record of the matrix product: the kernel whose programs stay, and when it is taken."""

import pytest
import torch

from benchmarks.records import matmul as record
from tritonbook import descriptors, traffic
from tritonbook.port import compat
from tritonbook.port.compat import hook_launch, triton_version
from tritonbook.port.device import INTERPRET
from tritonbook.seeing.compiled import compile_gate

TILE_M, TILE_N = 128, 256
in_the_interpreter = pytest.mark.skipif(not INTERPRET, reason="asks the interpreter")
with_descriptors = pytest.mark.skipif(
    triton_version() < (3, 6), reason="tensor descriptors want Triton 3.6"
)
with_a_copy_engine = pytest.mark.skipif(
    INTERPRET or not descriptors.can_describe(), reason="needs an H100 and Triton 3.6"
)


def set_programs(monkeypatch, count):
    monkeypatch.setattr(record, "multiprocessors", lambda: count)


def assert_product(got, a, b):
    """Each element has one rounding to its dtype, and a float32 sum of K exact products behind it:
    half an ulp of the value, and K ulps of float32 of the sum of the products' magnitudes."""
    assert got.dtype == a.dtype
    a, b = a.double(), b.double()
    want, magnitude = a @ b, a.abs() @ b.abs()
    rounding = torch.finfo(got.dtype).eps / 2 * want.abs() + torch.finfo(got.dtype).tiny
    error = (got.double() - want).abs()
    assert bool((error <= 1.01 * rounding + a.shape[1] * 2.0**-24 * magnitude).all()), error.max()


SIZES = [
    (128, 256, 64),  # one tile, one step
    (1, 8, 8),  # a tile that is nearly all edge
    (300, 520, 200),  # no size is a multiple of the tile's
    (1200, 264, 16),  # two groups of tile rows, the second not full
]


@in_the_interpreter
@with_descriptors
@pytest.mark.parametrize("programs", [1, 3, 132])
@pytest.mark.parametrize(("M", "N", "K"), SIZES)
def test_programs_that_stay_give_the_product(M, N, K, programs, monkeypatch):
    """Kills: a step along K left out, tiles left out where a group of rows is not full, tiles of a
    or b of another row or column, a store to another tile, sums that go on in the next tile."""
    set_programs(monkeypatch, programs)
    for dtype in (torch.float16, torch.bfloat16):
        a, b = torch.randn(M, K).to(dtype), torch.randn(K, N).to(dtype)
        assert_product(record.matmul_persistent(a, b), a, b)


@in_the_interpreter
@with_descriptors
def test_a_long_sum_of_one_sign_is_a_float32_sum():
    """Kills: acc in float16 or bfloat16."""
    for dtype in (torch.float16, torch.bfloat16):
        a, b = (torch.rand(5000, 8) + 0.5).to(dtype).T.contiguous(), torch.rand(5000, 16).to(dtype)
        assert_product(record.matmul_persistent(a, b), a, b)


@in_the_interpreter
@with_descriptors
def test_rows_with_gaps_are_products_too(monkeypatch):
    """Kills: a descriptor that takes a row's length for its stride."""
    set_programs(monkeypatch, 2)
    a, b = torch.randn(200, 104).half()[:, :72], torch.randn(72, 400).half()[:, 8:280]
    assert_product(record.matmul_persistent(a, b), a, b)


@in_the_interpreter
@with_descriptors
@pytest.mark.parametrize(("programs", "launched"), [(3, 3), (8, 8), (9, 9), (132, 9)])
def test_each_program_stays_for_its_own_tiles(programs, launched, monkeypatch):
    """Nine tiles. Kills: a program for each tile, programs without a tile, a tile of two programs,
    a program that begins with the first tile or takes every one."""
    set_programs(monkeypatch, programs)
    a, b = torch.randn(300, 64).half(), torch.randn(64, 520).half()
    grids = []

    def note(call, fn, grid, args, kwargs):
        grids.append(grid)
        return call()

    with hook_launch(note):
        seen = traffic(record.matmul_persistent, a, b)
    assert grids == [(launched,)]
    assert seen.shared_stores == 0
    assert seen.flops == 9 * 2 * TILE_M * TILE_N * 64


@pytest.fixture
def large_gpu(monkeypatch):
    """Set-up as on an H100 of two multiprocessors, so that four tiles are many."""
    monkeypatch.setattr(descriptors, "INTERPRET", False)
    monkeypatch.setattr(descriptors, "target_arch", lambda: 90)
    monkeypatch.setattr(descriptors, "triton_version", lambda: (3, 7))
    monkeypatch.setattr(record, "shared_memory_limit", lambda: compat.SHARED_MEMORY_LIMIT[90])
    monkeypatch.setattr(record, "multiprocessors", lambda: 2)


def matrix(rows, columns, dtype=torch.float16, stride=None, offset=0):
    """A matrix whose rows begin `stride` elements apart, the first at `offset` elements of memory
    that lies at a multiple of 64 bytes."""
    stride = stride or columns
    memory = torch.zeros(rows * stride + offset + 64, dtype=dtype)
    return memory.as_strided((rows, columns), (stride, 1), offset)


def by_columns(x):
    return x.T.contiguous().T


A, B = matrix(256, 64), matrix(64, 512)  # two tiles high, two wide
PAYS = {
    "float16": (A, B),
    "bfloat16": (A.bfloat16(), B.bfloat16()),
    "ragged edges": (matrix(300, 72), matrix(72, 520)),
    "rows with gaps of 16 bytes": (matrix(256, 64, stride=72), matrix(64, 512, stride=520)),
    "an address of 16 bytes": (matrix(256, 64, offset=8), matrix(64, 512, offset=8)),
}
PAYS_NOT = {
    "float32": (A.float(), B.float()),
    "integers of two bytes": (A.short(), B.short()),
    "two dtypes": (A, B.bfloat16()),
    "columns of a": (by_columns(A), B),
    "columns of b": (A, by_columns(B)),
    "every second column of a": (matrix(256, 128)[:, ::2], B),
    "every second column of b": (A, matrix(64, 1024)[:, ::2]),
    "rows of a begin at 8 bytes": (matrix(256, 64, stride=68), B),
    "rows of b begin at 8 bytes": (A, matrix(64, 512, stride=516)),
    "rows of c begin at 8 bytes": (A, matrix(64, 516, stride=520)),
    "a begins at 8 bytes": (matrix(256, 64, offset=4), B),
    "b begins at 8 bytes": (A, matrix(64, 512, offset=4)),
    "one row for all": (A[:1].expand(256, 64), B),
    "nothing to add": (matrix(256, 0, stride=64), matrix(0, 512)),
    "not two tiles high": (matrix(255, 64), B),
    "not two tiles wide": (A, matrix(64, 504)),
    "many tiles of few rows": (matrix(120, 64), matrix(64, 2048)),
    "many tiles of few columns": (matrix(1024, 64), matrix(64, 248)),
    "empty": (matrix(0, 64), B),
}


@pytest.mark.parametrize("what", PAYS)
def test_it_pays_for_large_products(what, large_gpu):
    """Kills: a condition that is stricter than it says."""
    assert record.staying_pays(*PAYS[what]) is True


@pytest.mark.parametrize("what", PAYS_NOT)
def test_each_condition_is_asked_for(what, large_gpu):
    """Kills: staying_pays without one of its conditions. Each of these breaks a single one."""
    assert record.staying_pays(*PAYS_NOT[what]) is False


@pytest.mark.parametrize(
    ("where", "name", "value"),
    [
        (descriptors, "target_arch", 89),
        (descriptors, "triton_version", (3, 2)),
        (record, "shared_memory_limit", compat.SHARED_MEMORY_LIMIT[89]),  # as sm_120
        (record, "multiprocessors", 3),
    ],
)
def test_the_gpu_and_triton_are_asked_too(where, name, value, large_gpu, monkeypatch):
    """Kills: no question for the arch (an A100 has no copy engine), for Triton's version (3.2 has
    no descriptors), for shared memory (three stages and a tile are 208 KiB), for multiprocessors.
    """
    monkeypatch.setattr(where, name, lambda: value)
    assert record.staying_pays(A, B) is False


@in_the_interpreter
@with_descriptors
def test_large_products_take_the_kernel_that_stays(large_gpu):
    """Kills: matmul_tuned without the branch, or whose branch launches and returns something else.
    Small products take the tuned kernel: kills the branch without its question."""
    launched = []

    def note(call, fn, grid, args, kwargs):
        launched.append(fn.__name__)
        return call()

    for (M, N, K), name in {
        (300, 520, 72): "matmul_persistent_kernel",
        (300, 504, 72): "matmul_tiles_kernel",
    }.items():
        a, b = torch.randn(M, K).half(), torch.randn(K, N).half()
        launched.clear()
        with hook_launch(note):
            got = record.matmul_tuned(a, b)
        assert set(launched) == {name}  # to choose, Triton launches more than once
        assert_product(got, a, b)


def test_sizes_that_do_not_fit_are_refused_first(large_gpu):
    """Kills: the branch before the check. Descriptors would fill the missing rows with zeros."""
    with pytest.raises(ValueError, match="cannot multiply"):
        record.matmul_tuned(A, matrix(72, 512))


def empty(rows, columns, dtype=torch.float16):
    return torch.empty(rows, columns, dtype=dtype, device="meta")


def compiled(M, N, K, dtype=torch.float16, arch=90):
    a, b = empty(M, K, dtype), empty(K, N, dtype)
    found = compile_gate(record.matmul_tuned, (a, b), {}, arch, timeout=120, ptx=True)
    assert found.ok, found.message
    return found.kernels


@with_descriptors
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize(("M", "N", "K"), [(8192, 8192, 8192), (4099, 4104, 1000)])
def test_an_h100_gets_tiles_from_its_copy_engine(M, N, K, dtype):
    """Kills: loads through pointers, products without tensor cores, spills, tiles that are too
    large for shared memory."""
    (kernel,) = compiled(M, N, K, dtype)
    assert (kernel.name, kernel.spills) == ("matmul_persistent_kernel", 0)
    assert (kernel.loads, kernel.stores, kernel.async_copies) == (0, 0, 0)
    assert kernel.wgmma and "wgmma.mma_async" in kernel.ptx
    assert "cp.async.bulk.tensor.2d.shared" in kernel.ptx  # from memory
    assert "cp.async.bulk.tensor.2d.global.shared" in kernel.ptx  # and to memory
    assert kernel.shared_bytes <= compat.SHARED_MEMORY_LIMIT[90]


@with_descriptors
def test_two_loops_have_become_one():
    """So that loads do not begin anew with each tile. Kills: a loop without `flatten=True`."""
    (kernel,) = compiled(8192, 8192, 8192)
    ptx = kernel.ptx
    assert "Loop Header: Depth=1" in ptx and "Depth=2" not in ptx


@with_descriptors
@pytest.mark.parametrize(
    ("size", "dtype", "arch"),
    [(2048, torch.float16, 90), (8192, torch.float32, 90), (8192, torch.float16, 80)],
)
def test_everything_else_gets_the_tuned_kernel(size, dtype, arch):
    """Kills: descriptors for small products, float32 or an A100."""
    kernels = compiled(size, size, size, dtype, arch)
    assert {kernel.name for kernel in kernels} == {"matmul_tiles_kernel"}
    assert not any(kernel.spills for kernel in kernels)  # whichever of them wins


@pytest.mark.gpu
@with_a_copy_engine
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize(
    ("M", "N", "K"), [(4096, 4096, 4096), (4099, 4104, 1000), (2100, 9000, 72), (9001, 2056, 8)]
)
def test_values_on_a_gpu(M, N, K, dtype):
    """Kills: what the interpreter cannot show, a stage that is overwritten before it is read, or a
    finished tile before it is stored."""
    a, b = (torch.randn(shape, device="cuda").to(dtype) for shape in [(M, K), (K, N)])
    assert record.staying_pays(a, b)
    first = record.matmul_tuned(a, b)
    assert_product(first, a, b)
    for _ in range(20):
        assert torch.equal(record.matmul_tuned(a, b), first)


@pytest.mark.gpu
@with_a_copy_engine
def test_rows_with_gaps_on_a_gpu():
    """Kills: strides that only the interpreter reads rightly."""
    a = torch.randn(4100, 1040, device="cuda").half()[:, 8:1000]
    b = torch.randn(992, 5000, device="cuda").half()[:, 16:4104]
    assert record.staying_pays(a, b)
    assert_product(record.matmul_tuned(a, b), a, b)

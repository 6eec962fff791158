"""The record of the matrix product: how matrices are read, what is compiled, values on a GPU."""

import pytest
import torch
from needs import copy_engine, descriptors, interpreter

from tritonbook.course.exercises import get, load
from tritonbook.port import compat
from tritonbook.seeing.compiled import compile_gate


@pytest.fixture(scope="module")
def page():
    return load(get("61_matmul_records"))


def matrix(rows, columns, dtype=torch.float16, stride=None, offset=0):
    """A matrix whose rows begin `stride` elements apart, the first at `offset` elements of memory
    that lies at a multiple of 64 bytes."""
    stride = stride or columns
    memory = torch.zeros(rows * stride + offset + 64, dtype=dtype)
    return memory.as_strided((rows, columns), (stride, 1), offset)


A = matrix(256, 64)
READ = {
    "float16": (A, "rows"),
    "bfloat16": (A.bfloat16(), "rows"),
    "float32": (A.float(), "rows"),
    "rows with gaps of 16 bytes": (matrix(256, 64, stride=72), "rows"),
    "an address of 16 bytes": (matrix(256, 64, offset=8), "rows"),
    "rows of four floats": (matrix(5, 4, torch.float32), "rows"),
    "transposed": (A.T, "columns"),
    "transposed, with gaps": (matrix(256, 64, stride=72).T, "columns"),
    "rows begin at 8 bytes": (matrix(256, 64, stride=68), "pointers"),
    "columns begin at 8 bytes": (matrix(256, 64, stride=68).T, "pointers"),
    "it begins at 8 bytes": (matrix(256, 64, offset=4), "pointers"),
    "every second column": (matrix(256, 128)[:, ::2], "pointers"),
    "one row for all": (A[:1].expand(256, 64), "pointers"),
    "no columns": (matrix(256, 0, stride=64), "pointers"),
    "no rows": (matrix(0, 64), "pointers"),
}


@interpreter
@descriptors
@pytest.mark.parametrize("what", READ)
def test_a_descriptor_is_made_where_the_engine_takes_it(what, page):
    """Kills: a condition that is missing, or stricter than the engine's."""
    x, how = READ[what]
    read, found = page.how_to_read(x, 32, 16)
    assert found == how
    if how != "pointers":
        turned = how == "columns"
        assert read.block_shape == ([16, 32] if turned else [32, 16])
        assert list(read.shape) == list(x.T.shape if turned else x.shape)


@interpreter
@descriptors
def test_only_what_cannot_be_described_is_copied(page):
    """Kills: copies of everything, of transposed matrices, of none; a copy without gaps."""
    for what, (x, how) in READ.items():
        readable = page.readable(x)
        copied = readable.data_ptr() != x.data_ptr()
        assert copied == (how == "pointers" and x.numel() > 0), what
        if x.numel():
            assert page.how_to_read(readable, 32, 16)[1] != "pointers", what


@pytest.mark.parametrize("element_size", [2, 4])
@pytest.mark.parametrize("arch", [80, 86, 89, 90])
def test_every_gpu_has_a_tile_that_fits(arch, element_size, page):
    """Kills: a table without a tile for an A10, which has 99 KiB."""
    limit, programs = compat.SHARED_MEMORY_LIMIT[arch], compat.MULTIPROCESSORS[arch]
    for size in (64, 700, 3072, 8192):
        tile, parts = page.plan(size, size, size, element_size, programs, limit)
        pair = (tile["BLOCK_M"] + tile["BLOCK_N"]) * tile["BLOCK_K"] * tile["num_stages"]
        assert pair * element_size <= limit
        tiles = -(-size // tile["BLOCK_M"]) * -(-size // tile["BLOCK_N"])
        assert parts == 1 or tiles % programs * parts <= programs


def test_large_products_get_large_tiles_and_small_ones_parts(page):
    """Kills: the largest estimate for the least, parts that are never chosen."""
    assert page.plan(8192, 8192, 8192, 2, 132, 232448)[0]["BLOCK_N"] == 256
    assert page.plan(64, 64, 8192, 2, 132, 232448)[1] > 4


def empty(rows, columns, dtype=torch.float16, turned=False):
    if turned:
        return torch.empty(columns, rows, dtype=dtype, device="meta").T
    return torch.empty(rows, columns, dtype=dtype, device="meta")


def compiled(page, M, N, K, dtype=torch.float16, arch=90, turned=False):
    a, b = empty(M, K, dtype, turned), empty(K, N, dtype, turned)
    found = compile_gate(page.matmul_record, (a, b), {}, arch, timeout=120, ptx=True)
    assert found.ok, found.message
    return {kernel.name: kernel for kernel in found.kernels}


@descriptors
@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
@pytest.mark.parametrize(("M", "N", "K"), [(8192, 8192, 8192), (3072, 3072, 3072), (100, 60, 8192)])
def test_an_h100_gets_tiles_from_its_copy_engine(M, N, K, dtype, turned, page):
    """Kills: loads through pointers, products without tensor cores, spills, tiles that are too
    large for shared memory."""
    kernels = compiled(page, M, N, K, dtype, turned=turned)
    for name in kernels.keys() - {"sum_kernel"}:
        kernel = kernels[name]
        assert kernel.spills == 0 and kernel.loads == kernel.async_copies == 0
        assert kernel.wgmma and "cp.async.bulk.tensor.2d.shared" in kernel.ptx
        assert kernel.shared_bytes <= compat.SHARED_MEMORY_LIMIT[90]


@descriptors
def test_float32_is_three_products_on_tensor_cores(page):
    """Kills: TF32, which cuts to three digits and needs no subtraction."""
    (kernel,) = compiled(page, 4224, 4096, 512, torch.float32).values()
    assert "wgmma.mma_async" in kernel.ptx and "sub" in kernel.ptx


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32])
@pytest.mark.parametrize("arch", [80, 86])
def test_older_gpus_get_pointers(arch, dtype, page):
    """Kills: descriptors where there is no copy engine, a tile that does not fit an A10."""
    for kernel in compiled(page, 1000, 1000, 1000, dtype, arch).values():
        assert "bulk.tensor" not in kernel.ptx
        assert kernel.shared_bytes <= compat.SHARED_MEMORY_LIMIT[arch]


def assert_product(got, a, b):
    """Each element has one rounding to its dtype, and a float32 sum of K exact products behind it:
    half an ulp of the value, and K ulps of float32 of the sum of the products' magnitudes."""
    assert got.dtype == a.dtype
    a, b = a.double(), b.double()
    want, magnitude = a @ b, a.abs() @ b.abs()
    rounding = torch.finfo(got.dtype).eps / 2 * want.abs() + torch.finfo(got.dtype).tiny
    error = (got.double() - want).abs()
    assert bool((error <= 1.01 * rounding + a.shape[1] * 2.0**-24 * magnitude).all()), error.max()


@pytest.mark.gpu
@copy_engine
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
@pytest.mark.parametrize(
    ("M", "N", "K"), [(4096, 4096, 4096), (4099, 4104, 1000), (2101, 9000, 73), (64, 72, 8000)]
)
def test_values_on_a_gpu(M, N, K, dtype, page):
    """Kills: what the interpreter cannot show, a stage that is overwritten before it is read, or
    parts that are added before they are there."""
    a, b = (torch.randn(shape, device="cuda").to(dtype) for shape in [(M, K), (K, N)])
    first = page.matmul_record(a, b)
    assert_product(first, a, b)
    assert_product(page.matmul_record(a.T.contiguous().T, b.T.contiguous().T), a, b)
    for _ in range(20):
        assert torch.equal(page.matmul_record(a, b), first)

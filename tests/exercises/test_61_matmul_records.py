"""The record of the matrix product: how matrices are read, what is compiled, values on a GPU."""

import pytest
import torch
from machine_code import compiled
from needs import copy_engine, descriptors, interpreter

from tritonbook.port import compat

PAGE = "61_matmul_records"


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
    read, found = page.for_kernel(x, 32, 16)
    assert found == how
    if how != "pointers":
        turned = how == "columns"
        assert read.block_shape == ([16, 32] if turned else [32, 16])
        assert list(read.shape) == list(x.T.shape if turned else x.shape)


@interpreter
@descriptors
def test_a_copy_with_gaps_can_be_described(page):
    """Kills: a copy without gaps, one in the other order, other values."""
    for what, (x, how) in READ.items():
        assert page.is_odd(x) == (how == "pointers" and x.numel() > 0), what
        copied = page.with_gaps(x.random_(0, 9) if x.stride(0) else x)
        assert torch.equal(copied, x), what
        if x.numel():
            assert page.how_to_read(copied) != "pointers", what
    turned = matrix(256, 67).T
    assert page.with_gaps(turned).stride(0) == 1


@pytest.fixture
def plan_for(page, monkeypatch):
    """`plan` for another GPU: (arch) -> the function; it keeps no result."""

    def plan(arch):
        monkeypatch.setattr(page, "multiprocessors", lambda: compat.MULTIPROCESSORS[arch])
        monkeypatch.setattr(page, "shared_memory_limit", lambda: compat.SHARED_MEMORY_LIMIT[arch])
        return page.plan.__wrapped__

    return plan


@pytest.mark.parametrize(("element_size", "odd"), [(2, False), (2, True), (4, False), (4, True)])
@pytest.mark.parametrize("arch", [75, 80, 86, 89, 90])
def test_every_gpu_has_a_tile_that_fits(arch, element_size, odd, plan_for):
    """Kills: a table without a tile for an A10, which has 99 KiB, or a T4, which has 64."""
    limit, sms = compat.SHARED_MEMORY_LIMIT[arch], compat.MULTIPROCESSORS[arch]
    plan = plan_for(arch)
    for size in (64, 700, 3072, 8192):
        _, parts, tile, programs = plan(size, size, size, element_size, odd)
        together, bytes_of_one = programs // sms, sum(tile[:2]) * tile[2] * tile[4] * element_size
        assert together * bytes_of_one <= limit and programs == together * sms
        tiles = -(-size // tile[0]) * -(-size // tile[1])
        assert parts == 1 or tiles % programs * parts <= programs


def test_large_products_get_large_tiles_small_ones_parts_and_many_share(plan_for):
    """Kills: the largest estimate for the least, parts that are never chosen, programs of the waves
    that are not those of the launch."""
    assert plan_for(90)(8192, 8192, 8192, 2)[2][1] == 256
    assert plan_for(90)(64, 64, 8192, 2)[1] > 4
    assert plan_for(90)(1012, 5760, 17, 2, odd=True)[2:] == ((64, 64, 32, 4, 4), 4 * 132)
    assert plan_for(90)(52, 128, 105, 4, odd=True)[3] == 132


@interpreter
@descriptors
def test_odd_rows_are_copied_where_that_is_estimated_to_pay(page, monkeypatch):
    """Kills: copies always, or never."""
    copied = []
    monkeypatch.setattr(page, "with_gaps", lambda x: copied.append(x) or x)
    monkeypatch.setattr(page, "matmul_split", lambda a, b, parts, tile, programs: None)
    page.matmul_record(matrix(393, 393), matrix(393, 185))
    assert not copied
    page.matmul_record(matrix(3001, 3001), matrix(3001, 3001))
    assert len(copied) == 2
    page.matmul_record(matrix(3000, 3000), matrix(3000, 3001))
    assert len(copied) == 3


def empty(rows, columns, dtype=torch.float16, turned=False):
    if turned:
        return torch.empty(columns, rows, dtype=dtype, device="meta").T
    return torch.empty(rows, columns, dtype=dtype, device="meta")


def product(page, M, N, K, dtype=torch.float16, arch=90, turned=False):
    a, b = empty(M, K, dtype, turned), empty(K, N, dtype, turned)
    found = compiled(page.matmul_record, (a, b), arch, ptx=True)
    return {kernel.name: kernel for kernel in found}


@pytest.mark.page(PAGE)
@descriptors
@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
@pytest.mark.parametrize(("M", "N", "K"), [(8192, 8192, 8192), (3072, 3072, 3072), (104, 64, 8192)])
def test_an_h100_gets_tiles_from_its_copy_engine(M, N, K, dtype, turned, page):
    """Kills: loads through pointers, products without tensor cores, spills, tiles that are too
    large for shared memory."""
    kernels = product(page, M, N, K, dtype, turned=turned)
    for name in kernels.keys() - {"sum_kernel"}:
        kernel = kernels[name]
        assert kernel.spills == 0 and kernel.loads == kernel.async_copies == 0
        assert kernel.tensor_cores and "cp.async.bulk.tensor.2d.shared" in kernel.ptx
        assert kernel.shared_bytes <= compat.SHARED_MEMORY_LIMIT[90]


@pytest.mark.page(PAGE)
@descriptors
def test_float32_is_three_products_on_tensor_cores(page):
    """Kills: TF32, which cuts to three digits and needs no subtraction."""
    kernel = product(page, 4224, 4096, 512, torch.float32)["matmul_staying_kernel"]
    assert "wgmma.mma_async" in kernel.ptx and "sub" in kernel.ptx


@pytest.mark.page(PAGE)
@pytest.mark.parametrize("dtype", [torch.float16, torch.float32])
@pytest.mark.parametrize("arch", [80, 86])
def test_older_gpus_get_pointers(arch, dtype, page):
    """Kills: descriptors where there is no copy engine, a tile that does not fit an A10."""
    for kernel in product(page, 1000, 1000, 1000, dtype, arch).values():
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

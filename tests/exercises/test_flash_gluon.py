"""The Gluon kernel of notebook 65: machine code here, values on an H100."""

import pytest
import torch

from tritonbook import DEVICE, warp_jobs
from tritonbook.checking import case, run, tensor
from tritonbook.course.cases import load_cases
from tritonbook.course.exercises import get, load
from tritonbook.port import compat
from tritonbook.seeing.compiled import compile_gate


@pytest.fixture(scope="module")
def page():
    return load(get("65_gluon_attention"))


def _empty(B, H, L, D, dtype):
    return torch.empty(B, H, L, D, dtype=dtype, device="meta")


@pytest.mark.skipif(not warp_jobs.triton_has_gluon(), reason="this Triton's Gluon has other words")
@pytest.mark.parametrize(
    ("D", "HK", "dtype"),
    [(128, 8, torch.float16), (64, 8, torch.bfloat16), (128, 2, torch.float16)],
)
@pytest.mark.parametrize("causal", [True, False])
def test_twelve_warps_use_the_tensor_cores_of_an_h100_without_spills(page, D, HK, dtype, causal):
    """Kills: a learner's function that cannot be compiled, more registers than a group has, more
    shared memory than fits."""
    q, k = _empty(2, 8, 1000, D, dtype), _empty(2, HK, 1000, D, dtype)
    found = compile_gate(page.flash_gluon, (q, k, k, causal), {}, 90, timeout=120)
    assert found.ok, found.message
    (kernel,) = found.kernels
    assert (kernel.name, kernel.warps, kernel.spills) == ("flash_gluon_kernel", 12, 0)
    assert kernel.wgmma and kernel.shared_bytes <= compat.SHARED_MEMORY_LIMIT[90]


HALF = torch.float16


@pytest.mark.parametrize(
    ("arch", "q", "k"),
    [
        (80, _empty(1, 2, 256, 64, HALF), _empty(1, 2, 256, 64, HALF)),
        (90, _empty(1, 2, 256, 64, torch.float32), _empty(1, 2, 256, 64, torch.float32)),
        (90, _empty(1, 2, 256, 40, HALF), _empty(1, 2, 256, 40, HALF)),
        (90, _empty(1, 2, 100, 64, HALF), _empty(1, 2, 256, 64, HALF)),  # fewer queries than keys
        (90, _empty(1, 2, 256, 128, HALF)[..., ::2], _empty(1, 2, 256, 64, HALF)),
        (90, _empty(1, 2, 256, 68, HALF)[..., :64], _empty(1, 2, 256, 64, HALF)),  # rows of 136 B
        (90, _empty(1, 2, 256, 64, HALF), _empty(1, 1, 256, 64, HALF).expand(1, 2, 256, 64)),
    ],
)
def test_what_it_is_not_made_for_gets_the_plain_kernel(page, arch, q, k):
    found = compile_gate(page.flash_gluon, (q, k, k, True), {}, arch, timeout=120)
    assert found.ok, found.message
    assert found.kernels[0].name == "flash_gqa_kernel"


@pytest.mark.parametrize("shape", [(1, 3, 128, 64), (2, 2, 128, 64), (1, 2, 128, 40)])
def test_shapes_that_do_not_fit_are_refused(page, shape):
    """Kills: heads that do not share evenly, batches or widths that differ, read as they come."""
    with pytest.raises(ValueError):
        page.flash_gluon(torch.randn(1, 2, 128, 64), torch.randn(shape), torch.randn(shape))
    q, k = _empty(1, 2, 128, 64, HALF), _empty(*shape, HALF)
    found = compile_gate(page.flash_gluon, (q, k, k, True), {}, 90, timeout=120)
    assert not found.kernels and "ValueError" in found.message


@pytest.mark.gpu
@pytest.mark.skipif(not warp_jobs.can_run_gluon(), reason="needs an H100 and Triton 3.6")
@pytest.mark.parametrize(("programs", "at_once"), [(1, 2), (3, 1), (7, 5), (132, 1), (132, None)])
def test_it_is_attention(page, programs, at_once, monkeypatch):
    """Kills: tiles left out or taken twice, keys of another head, a diagonal off by one, an acc
    that is not rescaled, a ring out of step after a turn, a result that the next one overwrites,
    keys beyond the edge, a store over the edge, a group of heads that is not full."""
    monkeypatch.setitem(page.flash_gluon.__globals__, "multiprocessors", lambda: programs)
    if at_once:
        monkeypatch.setitem(page.flash_gluon.__globals__, "heads_at_once", lambda *_: at_once)
    attention = load_cases("42_flash_gqa")
    growing = {"values": attention.growing(3.0)}
    shapes = [
        (1, 1, 1, 128, 128),
        (2, 3, 3, 384, 64),
        (1, 5, 5, 640, 128),
        (1, 8, 2, 200, 128),
        (2, 6, 2, 129, 64),
        (3, 4, 1, 1, 128),
    ]
    cases = [
        case(
            f"{B} x {H} heads to {HK}, L {L}, D {D}, {dtype}{', causal' if causal else ''}",
            q=tensor(B, H, L, D, layout=layout),
            k=tensor(B, HK, L, D, **growing),
            v=tensor(B, HK, L, D, layout=layout),
            causal=causal,
            dtype=dtype,
        )
        for B, H, HK, L, D in shapes
        for dtype, layout in (("float16", "contiguous"), ("bfloat16", "strided"))
        for causal in (True, False)
    ]
    report = run(
        page.flash_gluon,
        attention.attention_ref,
        cases,
        launches=1,
        tolerance=attention.close_enough,
    )
    assert report.passed, report.finding


def test_a_scale_of_ones_own(page):
    """Kills: a scale that the plain kernel does not get, one that only the plain one refuses."""
    q, k, v = torch.randn(3, 1, 2, 20, 64).unbind(0)
    attention_ref = load_cases("42_flash_gqa").attention_ref
    wanted = attention_ref(q.double(), k.double(), v.double(), True, 0.4)[0]
    got = page.flash_gluon(q, k, v, True, 0.4)[0]
    torch.testing.assert_close(got.double(), wanted, rtol=1e-4, atol=1e-4)
    half = _empty(1, 2, 128, 64, HALF)
    found = compile_gate(page.flash_gluon, (half, half, half, True, -1.0), {}, 90, timeout=120)
    assert not found.kernels and "ValueError" in found.message


@pytest.mark.parametrize(
    ("B", "H", "HK", "causal", "at_once"),
    [(2, 32, 8, True, 64), (4, 32, 8, True, 1), (2, 32, 8, False, 1)],
)
def test_what_the_kernel_is_told(page, monkeypatch, B, H, HK, causal, at_once):
    """Kills: heads of one batch counted for those of all; a fixed scale; tiles that do not cover
    a ragged end."""
    told = []

    class Kernel:
        def __getitem__(self, grid):
            return lambda *sizes, **options: told.append((grid, sizes[5:], options["SHARE"]))

    names = page.flash_gluon.__globals__
    stand_ins = {
        "gluon_takes": lambda q, k, v: True,
        "layout_of": lambda D, dtype: None,
        "TensorDescriptor": lambda *parts: parts,
        "multiprocessors": lambda: 132,
        "flash_gluon_kernel": Kernel(),
    }
    for name, value in stand_ins.items():
        monkeypatch.setitem(names, name, value)
    q, k = torch.empty(B, H, 1000, 64, dtype=HALF), torch.empty(B, HK, 1000, 64, dtype=HALF)
    page.flash_gluon(q, k, k, causal, 0.3)
    page.flash_gluon(q, k, k, causal)
    sizes = H, 1000, 8, B * H * 8, at_once
    assert told == [((132,), (*sizes, 0.3), H // HK), ((132,), (*sizes, 0.125), H // HK)]


@pytest.mark.parametrize(
    ("heads", "kv_heads", "causal", "want"),
    [(8, 8, True, 8), (64, 16, True, 64), (24, 24, True, 24), (32, 32, True, 1), (8, 8, False, 1)],
)
def test_few_heads_are_shared_out_all_at_once(page, heads, kv_heads, causal, want):
    """Kills: query heads counted for those that must stay in L2; tiles of one length put in the
    order that is for long and short ones."""
    assert page.heads_at_once(heads, kv_heads, causal) == want


@pytest.mark.gpu
@pytest.mark.skipif(not warp_jobs.can_run_gluon(), reason="needs an H100 and Triton 3.6")
@pytest.mark.parametrize(("B", "H", "HK", "L"), [(2, 32, 8, 1000), (1, 4, 4, 257)])
def test_it_takes_what_a_product_leaves(page, B, H, HK, L):
    """Kills: strides that are not looked at, a head of k and v for each head of q; the plain
    kernel in its place."""
    parts = torch.randn(B, L, H + 2 * HK, 128, device="cuda", dtype=torch.bfloat16)
    q, k, v = parts.transpose(1, 2).split((H, HK, HK), dim=1)
    names = []

    def seen(launch, kernel, *_):
        names.append(kernel.__name__)
        return launch()

    with compat.hook_launch(seen):
        o, lse = page.flash_gluon(q, k, v, True)
    assert names == ["flash_gluon_kernel"]
    attention = load_cases("42_flash_gqa")
    wanted, wanted_lse = attention.attention_ref(q.double(), k.double(), v.double(), True)
    assert (o - wanted).norm() < 0.005 * wanted.norm()
    assert torch.allclose(lse.double(), wanted_lse.double(), atol=1e-3)


@pytest.mark.gpu
@pytest.mark.skipif(not warp_jobs.can_run_gluon(), reason="needs an H100 and Triton 3.6")
def test_two_hundred_calls_agree_to_the_bit(page):
    """Kills: a slot that is overwritten before both groups have read it, now and then."""
    q, k, v = torch.randn(3, 2, 16, 2048, 128, device="cuda", dtype=torch.float16).unbind(0)
    first = page.flash_gluon(q, k, v, True)
    for _ in range(200):
        for got, want in zip(page.flash_gluon(q, k, v, True), first, strict=True):
            assert torch.equal(got, want)


class PlainBlock(torch.nn.Module):
    """A module of page 44's layer: the weights by name, and how to run them."""

    NAMES = ("norm_attn", "w_qkv", "w_o", "norm_mlp", "w_gate", "w_up", "w_down")

    def __init__(self, weights, heads, kv_heads, eps):
        super().__init__()
        self.heads, self.kv_heads, self.eps = heads, kv_heads, eps
        for name in self.NAMES:
            self.register_parameter(name, torch.nn.Parameter(weights[name]))

    def forward(self, x, cos, sin):
        weights = [getattr(self, name) for name in self.NAMES]
        run = load(get("44_llama_block")).llama_block
        if torch.is_grad_enabled():  # page 44's kernels have no backward pass of their own
            run = load_cases("44_llama_block").block_ref
        return run(x, *weights, cos, sin, self.heads, self.kv_heads, self.eps)


class TestTheLayer:
    """`llama_gluon`: in the interpreter with the plain kernels, on an H100 with those in Gluon."""

    def test_it_is_the_layer_of_notebook_44(self, page):
        """Kills: norms swapped, a residual of the wrong tensor, gate and up swapped."""
        llama = load_cases("44_llama_block")
        cases = [
            case("two batches", **llama.block_arguments(2, 6)),
            case("an odd length, wide tables", **llama.block_arguments(1, 5, positions=9)),
        ]
        report = run(
            page.llama_gluon,
            llama.block_ref,
            cases,
            allow=llama.PRODUCTS,
            tolerance=llama.close_enough,
            mistakes=llama.SUSPECTS,
        )
        assert report.passed, report.finding

    def test_a_block_around_notebook_44s_runs_on_it(self, page, monkeypatch):
        """Kills: the plain layer in its place, a lost eps, weights of its own, no gradients."""
        calls = []
        specs = load_cases("44_llama_block").block_arguments(2, 6)
        values = case("", **specs).sample()
        weights = {name: values[name].to(DEVICE) for name in PlainBlock.NAMES}
        x, cos, sin = (values[name].to(DEVICE) for name in ("x", "cos", "sin"))
        plain = PlainBlock(weights, specs["heads"], specs["kv_heads"], eps=0.3)
        block, run_layer = page.GluonLlamaBlock(plain), page.llama_gluon

        def noted(*arguments):
            calls.append("llama_gluon")
            return run_layer(*arguments)

        monkeypatch.setitem(page.GluonLlamaBlock.forward.__globals__, "llama_gluon", noted)
        with torch.no_grad():
            torch.testing.assert_close(block(x, cos, sin), plain(x, cos, sin))
        assert calls == ["llama_gluon"]
        block(x, cos, sin).square().sum().backward()
        assert calls == ["llama_gluon"]  # which has no backward pass
        assert all(weight.grad.abs().sum() > 0 for weight in plain.parameters())
        assert {id(weight) for weight in block.parameters()} == set(map(id, plain.parameters()))

    @pytest.mark.gpu
    @pytest.mark.skipif(not warp_jobs.can_run_gluon(), reason="needs an H100 and Triton 3.6")
    @pytest.mark.parametrize(("B", "L"), [(1, 640), (3, 129)])
    def test_both_kernels_work_in_it(self, page, B, L):
        """Kills: the plain kernels in their place, by strides or a layout of weights."""
        llama = load_cases("44_llama_block")
        specs = llama.block_arguments(B, L, D=512, F=768, heads=8, kv_heads=2, size=128)
        values = case("", **specs).sample()
        arguments = [
            values[name].to("cuda", torch.bfloat16) if name in values else value
            for name, value in specs.items()
        ]
        for place in (2, 3, 5, 6, 7):  # as nn.Linear keeps them
            arguments[place] = arguments[place].t().contiguous().t()
        names = []

        def seen(launch, kernel, *_):
            names.append(kernel.__name__)
            return launch()

        with compat.hook_launch(seen):
            got = page.llama_gluon(*arguments)
        assert {"flash_gluon_kernel", "matmul_gluon_kernel"} <= set(names)
        exact = [x.double() if isinstance(x, torch.Tensor) else x for x in arguments]
        wanted = llama.block_ref(*exact)
        assert (got - wanted).norm() < 0.01 * wanted.norm()

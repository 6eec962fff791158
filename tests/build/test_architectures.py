"""Solutions compiled for GPUs that are not here, and the limits that they must keep."""

import re

import pytest

from tritonbook.build import architectures
from tritonbook.build.architectures import Compiled
from tritonbook.checking import Check, case, tensor
from tritonbook.course.exercises import get
from tritonbook.course.page_checks import Call

KERNEL = {
    "name": "add_kernel",
    "registers": 32,
    "spills": 0,
    "shared_bytes": 2048,
    "mma": 8,
    "wgmma": 0,
}


def compiled(arch=80, ok=True, message="", **changes):
    kernels = ({**KERNEL, **changes},) if ok else ()
    return Compiled("01_vector_add", "add", "x 10", arch, ok, message, kernels)


def test_the_first_notebook_fits_an_a100_and_a_t4():
    found = architectures.compile_course([get(1)], [75, 80])
    assert {(one.key, one.arch) for one in found} >= {("add", 75), ("add", 80)}
    declared = {"01_vector_add": get("01_vector_add").header.limits}
    assert {"sm_75", "sm_80"} <= set(declared["01_vector_add"])
    assert architectures.problems(found, declared) == []
    assert all(one.kernels[0]["registers"] > 0 for one in found)


# A reduction over a tile that no warp can hold, and a product whose tiles no A100 can.
SPILLS = """
@triton.jit
def twice_kernel(x_ptr, out_ptr, n_elements, BLOCK_SIZE: tl.constexpr):
    offs = tl.arange(0, 16384)
    x = tl.load(x_ptr + offs, mask=offs < n_elements, other=0.0)
    tl.store(out_ptr + offs, x / tl.sum(x * x, axis=0), mask=offs < n_elements)


def twice(x):
    out = torch.empty_like(x)
    twice_kernel[(1,)](x, out, x.numel(), BLOCK_SIZE=1024, num_warps=1)
    return out
"""
TOO_LARGE = """
@triton.jit
def twice_kernel(x_ptr, out_ptr, n_elements, BLOCK_SIZE: tl.constexpr):
    offs_m, offs_k = tl.arange(0, 128), tl.arange(0, BLOCK_SIZE)
    a = tl.load(x_ptr + offs_m[:, None] * BLOCK_SIZE + offs_k[None, :])
    b = tl.load(x_ptr + offs_k[:, None] * 128 + offs_m[None, :])
    tl.store(out_ptr + offs_m[:, None] * 128 + offs_m[None, :], tl.dot(a, b))


def twice(x):
    out = torch.empty_like(x)
    twice_kernel[(1,)](x, out, x.numel(), BLOCK_SIZE=512, num_warps=8)
    return out
"""


def test_the_benchmarks_problems_are_compiled_in_their_own_size():
    """Kills: only checks, whose sizes are a few dozen; kernels behind autograd left out."""
    found = architectures._benchmarks("14_layernorm_split", [80])
    rows = {(one.key, one.case): one for one in found}
    assert [kernel["name"] for kernel in rows["layernorm_split", "8x262144 bf16"].kernels] == [
        "piece_stats_kernel",
        "layernorm_merge_kernel",
        "layernorm_scale_kernel",
    ]
    found = architectures._benchmarks("13_layernorm", [80])
    rows = {(one.key, one.case): one for one in found}
    assert ("layernorm_welford", "1024x131072 bf16") in rows
    assert ("layernorm", "1024x131072 bf16") not in rows  # it does not take that row
    found = architectures._benchmarks("15_norm_backward", [80])
    (both,) = [one for one in found if one.key == "layernorm"]
    assert {"layernorm_kernel", "layernorm_backward_kernel"} < {k["name"] for k in both.kernels}
    assert architectures._benchmarks("01_vector_add", [80]) == []


@pytest.mark.parametrize(
    ("answer", "words"), [(SPILLS, r"spills"), (TOO_LARGE, r"shared memory.*(163|166,?912)")]
)
def test_a_planted_kernel_breaks_its_exercises_limit(course, answer, words):
    """Kills: a limit in the header that nobody enforces; shared memory that is read off and never
    compared with the GPU's."""
    text = course.path.read_text()
    start = text.index('key="twice"\n', text.index('tags=["answer"]')) + len('key="twice"\n')
    course.path.write_text(text[:start] + answer + text[text.index("\n# %% [markdown] tags=") :])
    found = architectures.compile_course([course.exercise], [80])
    declared = {"17_twice": course.exercise.header.limits}
    sentences = architectures.problems(found, declared)
    assert sentences
    for sentence in sentences:  # one for each case that is compiled
        assert sentence.startswith("17_twice, twice on sm_80 (") and re.search(words, sentence)


@pytest.mark.parametrize(
    ("found", "limit", "words"),
    [
        (compiled(), "no spills", None),
        (compiled(spills=8), "no spills", "spills 8 bytes"),
        (compiled(spills=8), "spills 8", None),
        (compiled(spills=16), "spills 8", "spills 16 bytes per thread; its limit is 'spills 8'"),
        (compiled(ok=False, message="too much shared"), "no spills", "too much shared"),
        (compiled(ok=False, message="too much shared"), "fits", "too much shared"),
        (compiled(ok=None, message="no answer"), "fits", "was not compiled: no answer"),
        (Compiled("01_vector_add", "add", "x", 80, True, "", ()), "fits", "no kernel was launched"),
        (None, "fits", "01_vector_add: has limits, and no kernel of it was compiled"),
    ],
)
def test_every_broken_limit_is_named(found, limit, words):
    """Kills: a spill that nobody hears of; 'not compiled' counted as compiled; a limit in bytes
    that is read as no limit at all; kernels behind operators that silently drop out."""
    rows = [found] if found else []
    sentences = architectures.problems(rows, {"01_vector_add": {"sm_80": limit}})
    assert len(sentences) == (words is not None) and all(words in each for each in sentences)


def test_nothing_is_demanded_where_nothing_is_promised():
    """A T4 that spills, an H100 that no header names: both are shown, neither is a fault. The table
    has a row a kernel and a column a GPU."""
    found = [compiled(75, spills=8), compiled(80), compiled(90, ok=False)]
    limits = {"01_vector_add": {"sm_75": "fits", "sm_80": "no spills"}}
    assert architectures.problems(found, limits) == []
    text = architectures.markdown(found, "2026-01-01", {"triton": "3.7.1"})
    row = next(line for line in text.splitlines() if "add_kernel" in line)
    assert row.count("|") == 9 and "32 r, 2 KiB, t 8" in row
    assert "spills 8" in row and "does not fit" in text


@pytest.mark.parametrize(
    "slug, keys",
    [
        ("30", {"register_library", "register_custom", "register_triton"}),
        ("31", {"kernel_source", "softmax_backward"}),
    ],
)
def test_kernels_behind_operators_are_compiled_too(slug, keys):
    """Their checks count as plain Python, since operators launch them.

    Kills: an operator that is registered for a GPU and gets the CPU tensors that stand for it.
    """
    found = architectures.compile_course([get(slug)], [80])
    assert {one.key for one in found} == keys and all(one.ok for one in found), found


def test_every_configuration_is_compiled_once_at_its_largest():
    """Kills: float16 alone, where float32 has other tiles; one activation of three."""
    cases = [
        case("small", x=tensor(10), act="none"),
        case("large", x=tensor(20), act="none"),
        case("other branch", x=tensor(5), act="relu"),
        case("half", dtype="float16", x=tensor(9), act="relu"),
        case("refused", x=tensor(90), act="none", raises=ValueError),
    ]
    asked = Call("key", len, Check(len, cases))
    names = {case.note for case in architectures.configurations(asked)}
    assert names == {"large", "other branch", "half"}


def test_sizes_are_rounded_up_together():
    """Kills: rounding one of two sizes that must agree; touching an argument that is no tensor."""
    ragged = case("c", a=tensor(3, 300), b=tensor(300, 1), n=70)
    rounded = architectures.aligned(ragged)
    assert rounded.arguments["a"].shape == (16, 304) and rounded.arguments["b"].shape == (304, 1)
    assert rounded.arguments["n"] == 70 and ragged.arguments["a"].shape == (3, 300)
    of_ranks = architectures.aligned(ragged, ranks=True).arguments["a"]
    assert of_ranks.shape == (3, 304)

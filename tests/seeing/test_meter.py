"""The meter sees every lane: bytes, strays, races; and stays silent about honest kernels."""

from __future__ import annotations

import pytest
import torch
from triton.runtime.errors import InterpreterError

from tritonbook.seeing.meter import meter
from tritonbook.seeing.regions import Region

from . import kernels as k


def inner_view(n: int) -> torch.Tensor:
    """A view with room on both sides, as the check hands it out."""
    return torch.zeros(n + 512)[256 : 256 + n]


HONEST = {
    "add": lambda: k.add(torch.ones(100), torch.ones(100)),
    "relu": lambda: k.unmasked(torch.ones(100)),
    "atomic sum": lambda: k.total(torch.ones(200)),
    "norm": lambda: k.norm(torch.ones(3, 50), torch.ones(50)),
    "norm of strided rows": lambda: k.norm(torch.ones(3, 64)[:, :50], torch.ones(50)),
    "norm in pieces": lambda: k.norm_loop(torch.ones(3, 300), torch.ones(300)),
    "matmul": lambda: k.matmul(torch.ones(40, 33), torch.ones(33, 50)),
    "copy by descriptors": lambda: k.described(torch.ones(10, 16)),
}


@pytest.mark.parametrize("name", HONEST)
def test_honest_kernels_give_no_alarm(name):
    # Kills: counting masked lanes, atomics or a program's own second store.
    with meter() as seen:
        HONEST[name]()
    assert seen.findings() == []
    assert seen.accesses


def test_stray_load_is_found_although_the_value_is_right():
    # Kills: looking at storages instead of views (the neighbours here are ordinary memory).
    x = inner_view(100)
    with meter({"x": x}, record_only=True) as seen:
        result = k.unmasked(x, load=True)
    assert torch.equal(result, x)
    ((code, sentence),) = seen.findings()
    assert code == "reads-outside"
    assert "`x`" in sentence and "28 elements past its end" in sentence and "Program 1" in sentence
    assert "tl.load(x_ptr + offs)" in sentence and "It has no mask." in sentence


def test_lanes_before_the_start_are_told_apart():
    """Kills: "test each index with `<`" where the index is below 0."""
    x = inner_view(100)
    with meter({"x": x}, record_only=True) as seen:
        k.delayed(x, 8)
    found = seen.findings(masking_helps=lambda: True)
    assert "Let the mask ask for `>= 0` as well." in dict(found)["reads-outside"]


def test_stray_lane_raises_before_it_is_carried_out():
    # Kills: checking after the access only.
    x = torch.ones(100)
    with pytest.raises(InterpreterError, match="28 elements past its end"), meter({"x": x}):
        k.unmasked(x, load=True)


def test_a_descriptor_of_too_many_rows_is_found():
    # Kills: descriptors that the meter does not see; it once ended on them with a TypeError.
    x = inner_view(160).view(10, 16)
    with meter({"x": x}, record_only=True) as seen:
        result = k.described(x, rows=12)
    assert torch.equal(result, x)
    assert {code for code, _ in seen.findings()} == {"reads-outside", "out-of-bounds-store"}


def test_far_address_does_not_crash_while_recording():
    import triton
    import triton.language as tl

    @triton.jit
    def far_kernel(x_ptr, out_ptr):
        tl.store(out_ptr, tl.load(x_ptr + (1 << 40)))

    x, out = torch.ones(4), torch.ones(4)
    with meter({"x": x, "out": out}, record_only=True) as seen:
        far_kernel[(1,)](x, out)
    assert [code for code, _ in seen.findings()] == ["reads-outside"]
    assert out[0] == 0


def test_a_loop_may_take_a_step_too_many():
    """Kills: "those lanes need a mask" alone, where no step before the last one needs any."""
    with meter({"x": inner_view(64)}, record_only=True) as seen:
        k.steps(next(iter(seen.regions)).tensor, steps=3)
    ((code, sentence),) = seen.findings(lambda: True)
    assert code == "reads-outside"
    assert sentence.endswith(
        "Those lanes need a mask, or the loop takes a step too many, or too long a one."
    )


def test_a_mask_may_stand_still_while_a_loop_moves():
    """Kills: "test each index against its own size" where it is, at each step the same."""
    with meter({"x": inner_view(64)}, record_only=True) as seen:
        k.steps(next(iter(seen.regions)).tensor, steps=3, masked=True)
    ((code, sentence),) = seen.findings(lambda: True)
    assert code == "reads-outside"
    assert sentence.endswith("test the index that moves, as far as it has moved by then?")


@pytest.mark.parametrize(
    ("how", "helps", "ends"),
    [
        ("none", True, "Those lanes need a mask."),
        ("none", False, "tensors in another order at the launch."),
        ("<=", True, "Its mask lets one lane too many through. Is it `<=` where `<` is meant?"),
        ("other size", True, "test each index against its own size, with `<`."),
        ("other size", False, "tensors in another order at the launch."),
        ("every lane", False, "tensors in another order at the launch."),
    ],
)
def test_what_is_said_of_a_mask(how, helps, ends):
    """Kills: a mask asked for that is there, and `<=` blamed for a mask of another size."""
    limit = {"none": None, "<=": 101, "other size": 120, "every lane": 128}[how]
    with meter({"x": inner_view(100)}, record_only=True) as seen:
        k.read_up_to(next(iter(seen.regions)).tensor, limit)
    ((_, sentence),) = seen.findings(lambda: helps)
    assert sentence.endswith(ends), sentence
    assert ("It has no mask." in sentence) == (how == "none" and not helps)
    assert ("need a mask" in sentence) == (how == "none" and helps)
    assert ("Its mask lets them through" in sentence) == (how in ("other size", "every lane"))


def test_one_number_needs_no_mask():
    """Kills: "those lanes need a mask" said of a row's length that is read at another address."""
    with meter({"x": inner_view(8)}, record_only=True) as seen:
        k.one_of(next(iter(seen.regions)).tensor, place=9)
    ((_, sentence),) = seen.findings(lambda: True)
    assert sentence.endswith("too small, or are there more programs than elements?")


def test_stray_store_comes_first():
    with meter(record_only=True) as seen:
        k.unmasked(torch.ones(100), load=True, store=True)
    assert [code for code, _ in seen.findings()] == ["out-of-bounds-store", "reads-outside"]


def test_race_is_found_although_the_sum_is_right():
    # Kills: trusting values; the interpreter runs programs one after another.
    x = torch.ones(200)
    with meter({"x": x}) as seen:
        assert k.total(x, atomic=False) == 200
    ((code, sentence),) = seen.findings()
    assert code == "race" and "`out`" in sentence and "A store replaces" in sentence


def test_reading_what_another_program_writes_is_a_race():
    with meter() as seen:
        k.reverse_in_place(torch.arange(32.0))
    ((code, sentence),) = seen.findings()
    assert code == "race" and "another program" in sentence


class Guarded:
    def __init__(self, view):
        self.view = view


def products(*dtypes, cast=True, **more):
    """What a check says of a product of two tiles; `more`: inputs that take no part."""
    a, b = (torch.ones(16, 16, dtype=dtype) for dtype in dtypes)
    with meter(record_only=True) as seen:
        c = k.product(a, b, cast)
    inputs = {"a": a, "b": b} | more
    guarded = {name: Guarded(tensor) for name, tensor in inputs.items()}
    return seen.findings_of_call(guarded, [Guarded(c)])


@pytest.mark.parametrize("half", [torch.float16, torch.bfloat16])
def test_halves_multiplied_as_float32_are_named(half):
    # Kills: a product that no tensor core takes, passed because its values are right.
    ((code, sentence),) = products(half, half)
    assert code == "float32-product"
    assert "`product_kernel`" in sentence and "c = tl.dot(a, b" in sentence


@pytest.mark.parametrize(
    ("found", "why"),
    [
        (lambda: products(torch.float16, torch.float16, cast=False), "half tiles"),
        (lambda: products(torch.float32, torch.float32), "float32 inputs"),
        (
            lambda: products(torch.float16, torch.float16, lse=torch.ones(4)),
            "an input in float32 may be what is multiplied",
        ),
    ],
)
def test_products_that_are_as_their_inputs_are_not_named(found, why):
    # Kills: the dtype of one operand, or of one input, taken for that of all.
    assert found() == [], why


def test_integers_among_the_inputs_say_nothing_about_the_product():
    (finding,) = products(torch.float16, torch.float16, places=torch.arange(4))
    assert finding[0] == "float32-product"


def test_late_registration_names_and_bounds_an_output():
    # Kills: late tensors ignored, so that bounds stay those of the whole storage.
    buffer = torch.zeros(300)
    view = buffer[100:200]
    with meter(record_only=True) as seen:
        k.unmasked_kernel[(2,)](torch.ones(128), view, 100, LOAD=False, STORE=True, B=64)
    assert seen.findings() == []  # inside the buffer, as far as anyone knows
    seen.register("mine", view)
    ((code, sentence),) = seen.findings()
    assert code == "out-of-bounds-store" and "`mine`" in sentence


def test_a_call_is_judged_when_outputs_are_known():
    x, made = inner_view(100), []

    def call():
        out = inner_view(100)
        made.append(Guarded(out))
        k.unmasked_kernel[(2,)](x, out, 100, LOAD=True, STORE=True, B=64)

    with meter(record_only=True) as seen:
        call()
    codes = dict(seen.findings_of_call({"x": Guarded(x)}, made, masking_helps=lambda: True))
    assert set(codes) == {"out-of-bounds-store", "reads-outside"}
    assert "`out`" in codes["out-of-bounds-store"] and not seen.left_all_memory
    assert codes["out-of-bounds-store"].endswith("Those lanes need a mask.")


def test_builder_is_restored():
    from triton.runtime.interpreter import InterpreterBuilder as Builder

    before = dict(vars(Builder))
    with pytest.raises(ZeroDivisionError), meter():
        raise ZeroDivisionError
    assert dict(vars(Builder)) == before


@pytest.mark.parametrize(
    "tensor",
    [
        torch.zeros(5, 7),
        torch.zeros(5, 10)[:, :7],
        torch.zeros(7, 5).t(),
        torch.zeros(2, 3, 4).transpose(0, 1),
        torch.zeros(1, 7).expand(3, 7),
        torch.zeros(12).unfold(0, 4, 1),
        torch.zeros(()),
        torch.zeros(20)[::2],
    ],
    ids=["plain", "padded", "transposed", "permuted", "expanded", "windows", "scalar", "stepped"],
)
def test_region_finds_its_elements_and_no_others(tensor):
    region = Region("t", tensor)
    index = torch.arange(tensor.untyped_storage().nbytes() // 4)
    view = index.as_strided(tensor.shape, tensor.stride(), tensor.storage_offset())
    mine = set(view.reshape(-1).tolist())
    addresses = region.start + index.numpy() * 4
    found = region.elements(addresses)
    assert {int(i) for i in index[torch.from_numpy(found) >= 0]} == mine
    for place, element in zip(index.tolist(), found.tolist(), strict=True):
        if element >= 0:
            assert view.reshape(-1)[element] == place
    assert (region.elements(addresses + 1) < 0).all()

"""The meter sees every lane: bytes, strays, races; and stays silent about honest kernels."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
import torch
import triton.language as tl

from tritonbook.seeing.findings import find
from tritonbook.seeing.meter import meter
from tritonbook.seeing.regions import Region

from . import kernels as k

needs_block_pointers = pytest.mark.skipif(
    not hasattr(tl, "make_block_ptr"), reason="block pointers are gone"
)


def inner_view(n: int) -> torch.Tensor:
    """A view with room on both sides, as the check hands it out."""
    return torch.zeros(n + 512)[256 : 256 + n]


def test_stray_load_is_found_although_the_value_is_right():
    # Kills: looking at storages instead of views (the neighbours here are ordinary memory).
    x = inner_view(100)
    with meter({"x": x}) as seen:
        result = k.unmasked(x, load=True)
    assert torch.equal(result, x)
    ((code, sentence),) = find(seen)
    assert code == "reads-outside"
    assert "`x`" in sentence and "28 elements past its end" in sentence and "Program 1" in sentence
    assert "tl.load(x_ptr + from_)" in sentence and "It has no mask." in sentence


@pytest.mark.parametrize(
    ("rows", "codes"), [(10, set()), (12, {"reads-outside", "out-of-bounds-store"})]
)
def test_a_descriptor_of_too_many_rows_is_found(rows, codes):
    # Kills: descriptors that the meter does not see; it once ended on them with a TypeError. And
    # counting lanes that a descriptor masks.
    x = inner_view(160).view(10, 16)
    with meter({"x": x}) as seen:
        result = k.described(x, rows)
    assert torch.equal(result, x)
    assert {code for code, _ in find(seen)} == codes


def test_far_address_does_not_crash_while_recording():
    x = torch.ones(4)
    with meter({"x": x}) as seen:
        out = k.one_of(x, 1 << 40)
    assert [code for code, _ in find(seen)] == ["reads-outside"]
    assert out[0] == 0


@pytest.mark.parametrize(
    ("call", "helps", "said"),
    [
        (lambda x: k.read_up_to(x, None), True, "Those lanes need a mask."),
        (lambda x: k.read_up_to(x, None), False, "It has no mask. Either it needs one,"),
        (lambda x: k.read_up_to(x, 101), True, "Is it `<=` where `<` is meant?"),
        (lambda x: k.read_up_to(x, 120), True, "test each index against its own size, with `<`."),
        (lambda x: k.read_up_to(x, 120), False, "Either it is not the mask of these elements,"),
        (lambda x: k.read_up_to(x, 128), False, "Either it is not the mask of these elements,"),
        (lambda x: k.read_up_to(x, 300, 128), True, "Either it is not the mask of these elements,"),
        (lambda x: k.unmasked(x, later=8), True, "Let the mask ask for `>= 0` as well."),
        (lambda x: k.steps(x, 4), True, "or the loop takes a step too many, or too long a one."),
        (lambda x: k.steps(x, 5, masked=True), True, "does it test the index that moves,"),
        (lambda x: k.early_mask_kernel[(1,)](x, torch.empty(1), 100, 4), True, "before the loop"),
        (lambda x: k.one_of(x, 101), True, "or are there more programs than elements?"),
        (lambda x: k.one_of(x, -3), True, "An index below 0 is an address too: is a number that"),
    ],
)
def test_what_is_said_of_lanes_outside(call, helps, said):
    """Kills: a mask asked for that is there, or where one number is read; `<=` blamed for a mask
    of another size; `<` asked for below 0; a mask alone blamed where a loop moves, or where all
    lanes of a program are outside."""
    x = inner_view(100)
    with meter({"x": x}) as seen:
        call(x)
    ((code, sentence),) = find(seen, lambda: helps)
    assert code == "reads-outside" and said in sentence, sentence


def test_a_far_store_is_told_of_the_tensor_that_its_line_writes():
    """Kills: the tensor that lies nearest to the address, which the kernel never wrote to."""
    x, out = inner_view(64), inner_view(64)
    far = (x.data_ptr() - out.data_ptr()) // 4 + 80  # behind the last element of x
    with meter({"x": x, "out": out}) as seen:
        k.far_store_kernel[(2,)](out, far, BLOCK=16)
    ((code, sentence),) = find(seen)
    assert code == "out-of-bounds-store" and "writes outside `out`" in sentence, sentence


@needs_block_pointers
@pytest.mark.parametrize(
    ("check", "rows", "helps", "said"),
    [
        ((), 10, True, "need `boundary_check=`, with the axes along which a block may end"),
        ((), 10, False, "Either an axis is missing in its `boundary_check=`, or a size"),
        ((1,), 10, True, "Either an axis is missing in its `boundary_check=`, or a size"),
        ((0, 1), 12, False, "Either an axis is missing in its `boundary_check=`, or a size"),
    ],
)
def test_what_is_said_of_a_block_that_ends_outside(check, rows, helps, said):
    """Kills: "those lanes need a mask" said of a block pointer, which takes none."""
    x = inner_view(100).view(10, 10)
    with meter({"x": x}) as seen:
        k.blocks(x, check, rows)
    code, sentence = find(seen, lambda: helps)[0]
    assert code == "reads-outside" and said in sentence and "mask" not in sentence, sentence


def test_a_descriptor_of_another_size_is_not_told_of_a_mask():
    x = inner_view(160).view(10, 16)
    with meter({"x": x}) as seen:
        k.described(x, 12)
    assert all("sizes and strides that it was made with" in said for _, said in find(seen))


def test_stray_store_comes_first():
    with meter() as seen:
        k.unmasked(torch.ones(100), load=True, store=True)
    assert [code for code, _ in find(seen)] == ["out-of-bounds-store", "reads-outside"]


def test_race_is_found_although_the_sum_is_right():
    # Kills: trusting values; the interpreter runs programs one after another.
    x = torch.ones(200)
    with meter({"x": x}) as seen:
        assert k.total(x, atomic=False) == 200
    ((code, sentence),) = find(seen)
    assert code == "race" and "`out`" in sentence and "A store replaces" in sentence


def test_reading_what_another_program_writes_is_a_race():
    with meter() as seen:
        k.reverse_in_place(torch.arange(32.0))
    ((code, sentence),) = find(seen)
    assert code == "race" and "another program" in sentence


def guarded(**views):
    return {name: SimpleNamespace(view=view) for name, view in views.items()}


@pytest.mark.parametrize(
    ("dtype", "how", "more", "named"),
    [
        (torch.float16, {}, {}, True),
        (torch.bfloat16, {}, {}, True),
        (torch.float16, {}, {"places": torch.arange(4)}, True),
        (torch.float16, {"cast": False}, {}, False),
        (torch.float32, {}, {}, False),
        (torch.float16, {}, {"lse": torch.ones(4)}, False),  # it may be what is multiplied
    ],
)
def test_halves_multiplied_as_float32_are_named(dtype, how, more, named):
    """Kills: a product that no tensor core takes, passed because its values are right; the dtype of
    one operand, or of one input, taken for that of all."""
    a, b = torch.ones(2, 16, 16, dtype=dtype)
    with meter() as seen:
        c = k.product(a, b, **how)
    found = seen.findings_of_call(guarded(a=a, b=b, **more), [SimpleNamespace(view=c)])
    assert [code for code, _ in found] == ["float32-product"] * named
    assert all("`product_kernel`" in said and "c = tl.dot(a, b" in said for _, said in found)


def test_late_registration_names_and_bounds_an_output():
    # Kills: late tensors ignored, so that bounds stay those of the whole storage.
    buffer = torch.zeros(300)
    view = buffer[100:200]
    with meter() as seen:
        k.unmasked(torch.ones(128), store=True, out=view)
    assert find(seen) == []  # inside the buffer, as far as anyone knows
    seen.register("mine", view)
    ((code, sentence),) = find(seen)
    assert code == "out-of-bounds-store" and "`mine`" in sentence


def test_a_call_is_judged_when_outputs_are_known():
    x, out = inner_view(100), inner_view(100)
    with meter() as seen:
        k.unmasked(x, load=True, store=True, out=out)
    outputs = [SimpleNamespace(view=out)]
    codes = dict(seen.findings_of_call(guarded(x=x), outputs, masking_helps=lambda: True))
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

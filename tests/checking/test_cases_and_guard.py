"""Inputs: values, layouts, margins, poison."""

import math

import pytest
import torch

from tritonbook.checking import case, dtype_override, seed_secret, tensor
from tritonbook.checking.cases import LAYOUTS
from tritonbook.checking.guard import Guarded, guard_output, is_poison, poison_


def test_values_depend_on_seed_draw_and_secret_alone():
    one = case("a", x=tensor(50), seed=3)
    again = case("b", x=tensor(50, layout="strided"), seed=3)
    assert torch.equal(one.sample()["x"], again.sample()["x"])
    assert not torch.equal(one.sample(0)["x"], one.sample(1)["x"])
    public = one.sample()["x"]
    token = seed_secret.set("only the instructor knows")
    try:
        assert not torch.equal(public, one.sample()["x"])
    finally:
        seed_secret.reset(token)


def test_another_dtype_is_asked_only_of_values_that_it_holds():
    """Kills: a case made for float32's range, or about two dtypes, that a right answer fails."""
    token = dtype_override.set("float16")
    try:
        assert case("plain", x=tensor(4)).sample()["x"].dtype == torch.float16
        for special in ({"scale": 1e5}, {"mean": 100.0}, {"planted": {0: 1e6}}):
            assert case("made for it", x=tensor(4, **special)).sample()["x"].dtype == torch.float32
        two = case("full x, half w", x=tensor(4), w=tensor(4, dtype="float16")).sample()
        assert [two[name].dtype for name in "xw"] == [torch.float32, torch.float16]
    finally:
        dtype_override.reset(token)


def test_two_arguments_never_hold_the_same_values():
    drawn = case("a", x=tensor(50), y=tensor(50)).sample()
    assert not torch.equal(drawn["x"], drawn["y"])


@pytest.mark.parametrize("bad", [{"layout": "diagonal"}, {"values": "nice"}, {"dtype": "float8"}])
def test_a_misspelt_description_is_refused(bad):
    with pytest.raises(ValueError, match="is none of"):
        tensor(4, **bad)
    with pytest.raises(ValueError, match="a tensor of 3x4 has no 7 to plant at"):
        tensor(3, 4, planted={(2, 3): 1.0, 7: 1.0})


@pytest.mark.parametrize("fill", ["nan", "large", "small", "zero", "least"])
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16, torch.int32])
def test_a_guarded_view_holds_its_values_and_knows_its_margins(fill, layout, dtype):
    for shape in [(0,), (1,), (9,), (0, 5), (5, 0), (1, 9), (9, 1), (5, 7), (2, 0, 3), (4, 1, 9)]:
        values = torch.arange(math.prod(shape)).reshape(shape).to(dtype)
        if layout == "expanded" and values.numel():
            values = values[:1].expand(shape).contiguous()
        guarded = Guarded.place("x", values, layout, "cpu", fill)
        assert torch.equal(guarded.view, values), shape
        assert guarded.margin_written() is None and not guarded.interior_changed(), shape


def test_a_spaced_tensor_takes_every_second_element():
    """Kills: the last stride of one tensor that passes for another's, 1 like it."""
    assert Guarded.place("x", torch.ones(5, 7), "spaced", "cpu", "nan").view.stride() == (14, 2)


@pytest.mark.parametrize(
    ("layout", "place", "distance"),
    [("contiguous", 1, 1), ("contiguous", 7, 7), ("strided", 1, 1), ("transposed", 2, 2)],
)
def test_a_write_past_the_end_is_measured(layout, place, distance):
    guarded = Guarded.place("x", torch.randn(5, 7), layout, "cpu", "nan")
    last = max(
        guarded.view.storage_offset() + m * guarded.view.stride(0) + n * guarded.view.stride(1)
        for m in range(5)
        for n in range(7)
    )
    guarded.buffer[last + place] = 1.0
    assert guarded.margin_written() == distance


def test_a_write_between_rows_and_before_the_start_is_seen():
    guarded = Guarded.place("x", torch.randn(5, 7), "strided", "cpu", "large")
    start = guarded.view.storage_offset()
    guarded.buffer[start + 8] = 1.0
    assert guarded.margin_written() == 0
    guarded.rewrite(torch.randn(5, 7), "large")
    guarded.buffer[start - 3] = 1.0
    assert guarded.margin_written() == -3


def test_a_change_of_a_nan_into_another_nan_is_a_change():
    guarded = Guarded.place("x", torch.full((4,), torch.nan), "contiguous", "cpu", "nan")
    guarded.view.view(torch.int32)[2] += 1
    assert guarded.interior_changed()


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16, torch.bfloat16])
def test_poison_is_told_apart_from_any_other_nan(dtype):
    held = poison_(torch.empty(4, dtype=dtype))
    assert bool(is_poison(held).all()) and bool(held.isnan().all())
    held[1] = torch.nan
    held[2] = torch.tensor(0.0, dtype=dtype) / 0
    assert is_poison(held).tolist() == [True, False, False, True]


def test_an_output_twin_keeps_strides_and_contents_where_asked():
    made = torch.arange(6.0).reshape(2, 3).t()
    kept, blank = guard_output(made, keep=True), guard_output(made, keep=False)
    assert kept.view.stride() == made.stride() and torch.equal(kept.view, made)
    assert bool(is_poison(blank.view).all())


@pytest.mark.parametrize("dtype", [torch.float8_e4m3fn, torch.complex64, torch.uint32, torch.bool])
def test_an_output_of_a_rare_dtype_can_hold_large_numbers(dtype):
    """Kills: a second trial that raises where the first one ran."""
    twin = guard_output(torch.empty(4, dtype=dtype), keep=False, large=True)
    assert not (twin.view.to(torch.complex64) == 0).any()


def test_what_is_planted_in_an_expanded_tensor_is_in_all_of_it():
    """Kills: a reference that sees a planted value which the kernel's tensor cannot hold."""
    spec = tensor(3, 4, layout="expanded", planted={(0, 1): 9.0})
    values = case("c", x=spec).sample()["x"]
    placed = Guarded.place("x", values, "expanded", "cpu", "nan").view
    assert values[:, 1].tolist() == [9.0] * 3 and torch.equal(placed, values)
    with pytest.raises(ValueError, match="one row in memory"):
        tensor(3, 4, layout="expanded", planted={(2, 1): 9.0})


@pytest.mark.parametrize(("values", "drawn"), [("ones", 2.5), ("zeros", -0.5)])
def test_values_that_are_all_alike_are_scaled_and_moved_too(values, drawn):
    made = case("a", x=tensor(3, values=values, scale=3.0, mean=-0.5)).sample()["x"]
    assert made.tolist() == [drawn] * 3

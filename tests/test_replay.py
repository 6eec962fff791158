"""What a recording repeats, what it refuses to, and that nobody who watches launches misses one."""

from __future__ import annotations

import gc
import weakref

import pytest
import torch

from tritonbook import DEVICE, hook_launch, reference
from tritonbook.kernels.descriptors import can_describe
from tritonbook.port.device import INTERPRET
from tritonbook.replay import lasting, record

# after tritonbook, which decides between GPU and interpreter
import triton  # isort: skip
import triton.language as tl  # isort: skip

HALF = torch.float16


@triton.jit
def scale_kernel(x_ptr, y_ptr, n, factor, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    tl.store(y_ptr + offs, tl.load(x_ptr + offs, mask=offs < n) * factor, mask=offs < n)


def scaled(x, factor, out=None):
    y = torch.empty_like(x) if out is None else out
    scale_kernel[(1,)](x, y, x.numel(), factor, BLOCK=64)
    return y


def numbers(*shape, dtype=torch.float32):
    return torch.randn(*shape, device=DEVICE, dtype=dtype)


def repeated(recording, *tensors):
    everything = [*tensors, *(new.make() for new in recording.new)]
    for step in recording.steps:
        step(everything)
    return recording.result(everything)


RECORDS = {
    "softmax": [(7, 33)],
    "rmsnorm": [(7, 40), (40,)],
    "layernorm": [(7, 40), (40,), (40,)],
    "matmul": [(48, 64), (64, 80)],
    "rope": [(1, 2, 5, 8), (1, 1, 5, 8), (5, 4), (5, 4)],
    "rmsnorm of few long rows": [(2, 17_000), (17_000,)],  # in pieces, by counters that stay
}


@pytest.mark.parametrize("name", RECORDS)
def test_records_of_the_course_are_repeated_with_other_tensors(name):
    """The last tensor is another one of the same kind: descriptors, grids, results fit it."""
    record_of_it = reference(name.partition(" ")[0], record=True)
    first, second = ([numbers(*shape, dtype=HALF) for shape in RECORDS[name]] for _ in range(2))
    result, recording = record(record_of_it, *first)
    again = repeated(recording, *second)
    for fn, given, found in ((record_of_it, first, result), (record_of_it, second, again)):
        torch.testing.assert_close(found, fn(*given), rtol=0, atol=0)


def test_a_product_of_odd_rows_is_copied_again():
    """Kills: copies left out, or taken from the first call's matrices."""
    matmul = reference("matmul", record=True)
    shapes = (512, 1001), (1001, 384)  # large enough for copies to pay, where there is an engine
    first, second = ([numbers(*shape, dtype=HALF) for shape in shapes] for _ in range(2))
    _, recording = record(matmul, *first)
    torch.testing.assert_close(repeated(recording, *second), matmul(*second), rtol=0, atol=0)


def test_parts_of_new_memory_are_found_again():
    """Kills: the beginning taken for the part; a result that is the whole, or lies elsewhere."""

    def both(x):
        y = torch.empty(3, x.numel(), device=x.device)
        scaled(x, 2, out=y[1])
        scaled(y[1], 3, out=y[2])
        return y[1:, ::2]

    x = numbers(5)
    _, recording = record(both, numbers(5))
    torch.testing.assert_close(repeated(recording, x), torch.stack([x * 2, x * 6])[:, ::2])


def test_what_lasts_is_asked_for_anew():
    """Kills: the tensor of the first call kept; its making taken for what cannot be repeated."""
    calls = []

    def counters():
        calls.append(torch.full((4,), len(calls) + 1.0, device=DEVICE))
        return calls[-1]

    _, recording = record(lambda x: scaled(lasting(counters), 2), numbers(4))
    assert repeated(recording, numbers(4)).tolist() == [4.0] * 4
    assert scaled(lasting(counters), 1).tolist() == [3.0] * 4


def test_results_that_are_arguments_and_several_results():
    def both(x, y):
        return x, (scaled(y, 2), None), scaled(x, 3, out=y)

    _, recording = record(both, numbers(5), numbers(5))
    x, y = numbers(5), numbers(5)
    want = y * 2
    found, (two, nothing), out = repeated(recording, x, y)
    assert found is x and out is y and nothing is None
    torch.testing.assert_close(two, want)
    torch.testing.assert_close(y, x * 3)


def test_what_is_empty_has_no_address():
    """Kills: a new result taken for the argument, since both begin at address 0."""
    x = numbers(0, 4)
    assert record(torch.empty_like, x)[1] is None
    _, recording = record(lambda x: x, x)
    other = numbers(0, 4)
    assert repeated(recording, other) is other


def test_a_recording_keeps_nobodys_memory():
    x = numbers(40)
    seen = weakref.ref(x)
    result, recording = record(scaled, x, 2)
    assert len(recording.steps) == 1
    made = weakref.ref(result)
    del x, result
    gc.collect()
    assert seen() is None and made() is None


OLDER = torch.ones(64, device=DEVICE)
NOT_AGAIN = {
    "an operator of torch": lambda x: scaled(x + 1, 2),
    "a value on the host": lambda x: scaled(x, float(x[0])),
    "filled memory": lambda x: scaled(x, 2, out=torch.zeros_like(x)),
    "a tensor that is no argument": lambda x: scaled(OLDER[: x.numel()], 2),
    "a part of an argument": lambda x: scaled(x[1:], 2),
    "a result of torch's": lambda x: scaled(x, 2).sum(),
    "a result that is no tensor": lambda x: (scaled(x, 2), 7),
    "memory of a copy": lambda x: scaled(x.clone(), 2),
}


@pytest.mark.parametrize("why", NOT_AGAIN)
def test_what_cannot_be_repeated_is_not_recorded(why):
    """Kills: a second call that computes with the first one's values."""
    x = numbers(8)
    result, recording = record(NOT_AGAIN[why], x)
    assert recording is None
    want = NOT_AGAIN[why](x)
    torch.testing.assert_close(result, want)


@triton.jit
def pair_kernel(pair, n, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    tl.store(pair[1] + offs, tl.load(pair[0] + offs, mask=offs < n), mask=offs < n)


def test_tensors_in_a_tuple_are_not_recorded():
    """Kills: a kernel that goes on writing into the first call's result."""

    def copied(x):
        y = torch.empty_like(x)
        pair_kernel[(1,)]((x, y), x.numel(), BLOCK=16)
        return y

    try:
        copied(numbers(8))
    except Exception:  # noqa: BLE001
        pytest.skip("this Triton takes no tuples")
    assert record(copied, numbers(8))[1] is None


def test_an_error_comes_out():
    with pytest.raises(ValueError, match="no"):
        record(reference("matmul", record=True), numbers(3, 4), numbers(5, 6))


def test_whoever_watches_sees_launches_that_are_repeated():
    """Kills: a check that takes a replayed function for one that launched nothing."""
    _, recording = record(scaled, numbers(8), 2)
    seen = []

    def around(call, fn, grid, args, kwargs):
        seen.append((fn.__name__, tuple(grid)))
        return call()

    x = numbers(8)
    with hook_launch(around):
        found = repeated(recording, x)
    assert seen == [("scale_kernel", (1, 1, 1))]
    torch.testing.assert_close(found, x * 2)


@pytest.mark.gpu
@pytest.mark.parametrize("name", ["matmul", "flash_gqa", "softmax", "rmsnorm"])
def test_repeated_without_questions_on_a_gpu(name):
    """On the stream of the caller, and with memory that moves: the quick way, seen by nobody."""
    assert not INTERPRET
    made = {
        "matmul": lambda: [numbers(96, 128, dtype=HALF), numbers(128, 64, dtype=HALF)],
        "flash_gqa": lambda: list(numbers(3, 1, 4, 300, 64, dtype=HALF).unbind(0)),
        "softmax": lambda: [numbers(50, 1000, dtype=HALF)],
        "rmsnorm": lambda: [numbers(3, 40_000, dtype=HALF), numbers(40_000, dtype=HALF)],
    }[name]
    fn = reference(name, record=True)
    first = made()
    _, recording = record(fn, *first)
    kept = []
    for _ in range(3):
        given = made()
        with torch.cuda.stream(torch.cuda.Stream()):
            torch.cuda.current_stream().wait_stream(torch.cuda.default_stream())
            kept.append((fn(*given), repeated(recording, *given)))
            torch.cuda.current_stream().synchronize()
    for want, found in kept:
        torch.testing.assert_close(found, want, rtol=0, atol=0)
    assert can_describe() == (torch.cuda.get_device_capability()[0] >= 9)

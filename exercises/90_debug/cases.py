"""What the checks of 90_debug try, and what speaks against each wrong cause."""

import torch

from tritonbook import DEVICE, backwards
from tritonbook.checking import Tolerance, case, rounded_once, tensor
from tritonbook.words import later

from ..shared.clinic import RIGHT, drawn, listed, patient

# --- standardise


def standardise_ref(x, eps=1e-5):
    centred = x - x.mean(dim=-1, keepdim=True)
    return centred * torch.rsqrt(centred.pow(2).mean(dim=-1, keepdim=True) + eps)


def rows(note, *shape, eps=None, **x):
    return drawn(note, *shape, also={"eps": eps} if eps else {}, **x)


ROWS = [
    rows("64 columns", 4, 64),
    rows("60 columns around 3", 4, 60, mean=3.0),
    rows("33 columns: nearly half of the lanes are masked", 3, 33, mean=-2.0),
    rows("one column more than a power of two, around 200", 3, 65, mean=200.0),
    rows("0 among the numbers", 2, 40, mean=2.0, planted={(0, 0): 0, (0, 5): 0, (1, 7): 0}),
    rows("small numbers, a large eps", 2, 40, scale=0.1, eps=0.5),
    rows("half precision", 3, 100, mean=1.0, dtype="float16"),
    rows("a matrix with gaps between its rows", 3, 20, layout="strided", raises=ValueError),
]

HIDDEN_ROWS = [
    rows("1,000 columns around -5", 2, 1000, mean=-5.0),
    rows("one column", 5, 1, mean=2.0),
    rows("17 columns around 100", 6, 17, mean=100.0),
    rows("bfloat16", 2, 130, mean=1.0, dtype="bfloat16"),
    rows("no rows", 0, 40),
]

STANDARDISE_AGAINST = {
    "padding": RIGHT,
    "grid": "each row had a program and each element was written; only the values were off.",
    "guard too late": "no lane left the tensor. `traffic` reported nothing.",
    "stale buffer": "a second call gave the same values as the first one, and no buffer was kept.",
    "uninitialised": "`other=0.0` said what masked lanes hold, and nobody reads y.",
    "changed input": "x was the same after the call.",
    "narrow sum": "float32 was wrong for 60 columns, and right for 64 with more summands.",
    "overflow": "numbers around 3 were wrong, and no result was infinite.",
    "cancellation": "64 columns around 3 were right. Lost digits would not care about the 64.",
    "index": "each row had its own values, and rows were right where N is a power of two.",
    "stride": "contiguous rows were wrong, and 64 columns were right by the same addresses.",
    "race": "each program wrote to its own row alone, and every run gave the same bits.",
}


def close_to_the_mean(dtype):
    """A mean of 200 has a float32 error of 1e-5, and so has each difference to it."""
    whole = rounded_once(128)(dtype)
    because = f"{whole.because}; the mean is a float32 of up to 200"
    return Tolerance(whole.relative, whole.of_row_max, 4e-5, because)


# --- square_sum


def square_sum_ref(x):
    return x.pow(2).sum().reshape(1).to(torch.promote_types(x.dtype, torch.float32))


def numbers(note, *shape, block=16, **x):
    return drawn(note, *shape, options={"block": block}, **x)


NUMBERS = [
    numbers("one block", 16),
    numbers("45 numbers in blocks of 16", 45),
    numbers("three dimensions", 2, 3, 11),
    numbers("large numbers", 40, scale=1e4),
    numbers("half precision, squares beyond 65,504", 70, scale=400.0, dtype="float16"),
    numbers("every second number", 20, layout="strided", raises=ValueError),
]

HIDDEN_NUMBERS = [
    numbers("1,000 numbers", 1000, block=128),
    numbers("a single number", 1, mean=3.0),
    numbers("the block as it is", 1500, block=1024),
    numbers("bfloat16", 7, 9, dtype="bfloat16"),
    numbers("no numbers", 0),
]


def again(fn, say):
    """The complaint itself: one input, three calls, in whatever state the page's buffers are."""
    x = torch.full((48,), 2.0, device=DEVICE)  # whole blocks: no lane is masked
    found = [fn(x, block=16) for _ in range(3)]
    shown = list(map(listed, found))
    told = ", ".join(map(str, shown))
    what = f"Three calls with the same input give three results, {told}."
    if shown[0] == [192.0]:
        what = (
            "The complaint is still there: three calls with the same input give three results, "
            f"{told}."
        )
    assert shown == shown[:1] * 3, (
        f"{what} {later('What does the sum begin with, at each of them?')}"
    )
    with backwards():
        turned = fn(x, block=16)
    assert listed(turned) == shown[0], (
        f"If the last program runs first, the result is {turned.tolist()}, and not {shown[0]}. A "
        "GPU promises no order: nobody waits until program 0 has done something."
    )
    fn(x * torch.inf, block=16)
    after = fn(x, block=16)
    assert listed(after) == shown[0], (
        f"After a call whose sum was infinite the result is {after.tolist()}, and not {shown[0]}. "
        "Infinity times 0, or less itself, is NaN, and stays it: set the buffer to 0, or make it "
        "anew."
    )
    fn(x + 1, block=16)
    assert listed(found[0]) == shown[0], (
        "A result changes when the next call is made: it is no new tensor."
    )


SQUARE_SUM_AGAINST = {
    "stale buffer": RIGHT,
    "grid": "the first call was right: all of x had been summed.",
    "padding": "the first call was right, with the same masked lanes as the second one.",
    "guard too late": "no lane left the tensor, at no call.",
    "uninitialised": "the buffer was set to 0 when it was made, and the first call was right.",
    "changed input": "the symptom cell looked: x was the same after three calls.",
    "narrow sum": "the second result was twice the first, and not short of its last digits.",
    "overflow": "1,200 was right, and 2,400 is no large number either.",
    "cancellation": "nothing is subtracted, and the second result was twice the first.",
    "index": "the first call was right, by the same addresses.",
    "stride": "the first call was right, by the same addresses.",
    "race": "atomic additions meet without harm. Call three gave three times the sum, in each run.",
}


# --- bias_gradient


def bias_gradient_ref(dy):
    return dy.sum(0)


def gradients(note, M, N, block=16, **dy):
    return drawn(note, M, N, name="dy", options={"block": block}, **dy)


def after_a_large_row(note, M, N, first, dtype):
    """A row of `first`, then ones: a sum that stands still if it is too narrow."""
    planted = {(0, n): first for n in range(N)}
    return gradients(note, M, N, dtype=dtype, values="ones", planted=planted)


GRADIENTS = [
    gradients("float32", 20, 16),
    gradients("40 columns in blocks of 16", 9, 40),
    after_a_large_row("float16: 2,048, then 300 ones", 301, 5, 2048, "float16"),
    after_a_large_row("bfloat16: 256, then 100 ones", 101, 20, 256, "bfloat16"),
    gradients("float16 around 1", 200, 33, dtype="float16", mean=1.0),
    gradients("columns side by side in memory", 6, 8, layout="transposed", raises=ValueError),
]

HIDDEN_GRADIENTS = [
    after_a_large_row("float16: 4,096, then 200 ones", 201, 7, 4096, "float16"),
    gradients("bfloat16 around 2", 150, 18, dtype="bfloat16", mean=2.0),
    gradients("one row", 1, 70, block=64, dtype="float16"),
    gradients("one column", 90, 1, block=64, mean=-1.0),
    gradients("no rows", 0, 12, dtype="float16"),
]

BIAS_AGAINST = {
    "narrow sum": RIGHT,
    "grid": "each column had its program: in float32 all columns were right.",
    "padding": "in float32 the same masked lanes did no harm, and no sum goes across lanes.",
    "guard too late": "no lane left the tensor, in no dtype.",
    "stale buffer": "every call gave the same, and no buffer was kept.",
    "uninitialised": "the sum began at 0, and in float32 it was right.",
    "changed input": "dy was the same after the call.",
    "overflow": "the sum stood still at 2,048. float16 reaches to 65,504, and overflow gives inf.",
    "cancellation": "all summands were ones: nothing was subtracted.",
    "index": "in float32 the same addresses were right.",
    "stride": "in float32 the same addresses were right.",
    "race": "each program wrote to its own columns, and every run gave the same bits.",
}


# --- rope_rows


def turned(x, cos, sin):
    """Pairs of x turned by angles that are given for each of its tokens."""
    first, second = x.chunk(2, dim=-1)
    return torch.cat((first * cos - second * sin, second * cos + first * sin), dim=-1)


def rope_rows_ref(x, cos, sin):
    L = x.shape[1]
    return turned(x, cos[:L], sin[:L])


def prompts(note, B, L, D, P, layout="contiguous", **more):
    shape = more.pop("table", (P, D // 2))
    tables = {"cos": tensor(*shape, values="uniform"), "sin": tensor(*shape, values="uniform")}
    return case(note, x=tensor(B, L, D, layout=layout), **tables, **more)


PROMPTS = [
    prompts("two prompts", 2, 3, 8, 16),
    prompts("one prompt", 1, 5, 8, 16),
    prompts("three prompts, an odd number of pairs", 3, 5, 6, 16),
    prompts("gaps between the tokens", 2, 4, 8, 12, layout="strided"),
    prompts("half precision", 2, 3, 16, 8, dtype="float16"),
    prompts("as many positions as tokens", 2, 6, 4, 6),
    prompts("fewer positions than tokens", 1, 6, 4, 5, raises=ValueError),
    prompts("tables of another width", 1, 6, 4, 8, table=(8, 4), raises=ValueError),
]

HIDDEN_PROMPTS = [
    prompts("five prompts", 5, 2, 10, 20),
    prompts("one token each", 4, 1, 8, 9),
    prompts("bfloat16", 2, 7, 32, 16, dtype="bfloat16"),
    prompts("one pair, gaps", 3, 5, 2, 15, layout="strided"),
    prompts("no prompt", 0, 4, 8, 8),
]

ROPE_AGAINST = {
    "index": RIGHT,
    "grid": "each token had a program, and each element was written.",
    "padding": "the first prompt was right, with the same masked lanes, and nothing is summed.",
    "guard too late": "the masks were at the loads. With a long table no lane left any tensor.",
    "stale buffer": "a second call gave the same, and no buffer was kept.",
    "uninitialised": "all that was loaded had been written: x, cos and sin were given.",
    "changed input": "x was the same after the call.",
    "narrow sum": "nothing is summed, and float32 was wrong too.",
    "overflow": "the results had the right size: the pairs were turned, by a wrong angle.",
    "cancellation": "the first prompt was right, with numbers of the same size.",
    "stride": "contiguous x was wrong too, and the picture shows that x was read where it lies.",
    "race": "each program wrote to its own token, and every run gave the same bits.",
}


# --- picked_logits


def picked_logits_ref(z, targets):
    found = z.gather(1, targets.clamp_min(0)[:, None])[:, 0]
    return torch.where(targets >= 0, found, 0).to(torch.promote_types(z.dtype, torch.float32))


def tokens(note, T, V, skipped, block=4, none=-100, **more):
    words = {t: none if t in skipped else (7 * t + V - 1) % V for t in range(T)}
    targets = tensor(T, dtype="int64", values="zeros", planted=words)
    layout = more.pop("layout", "contiguous")
    return case(
        note,
        z=tensor(T, V, layout=layout, mean=more.pop("mean", 0.0)),
        targets=targets,
        options={"block": block},
        **more,
    )


TOKENS = [
    tokens("all count", 6, 20, ()),
    tokens("the first token does not count", 5, 30, (0,)),
    tokens("every second one does not", 9, 130, (0, 2, 4, 6, 8), mean=5.0),
    tokens("word 0 counts", 4, 7, (1,)),
    tokens("another negative number", 5, 12, (0, 2), none=-1),
    tokens("half precision", 7, 50, (0, 3), dtype="float16"),
    tokens("rows with gaps", 4, 9, (), layout="strided", raises=ValueError),
]

HIDDEN_TOKENS = [
    tokens("the last token does not count", 11, 40, (10,)),
    tokens("nobody counts", 3, 60, (0, 1, 2)),
    tokens("one word", 5, 1, (0,), block=2),
    tokens("bfloat16", 18, 25, (0, 1), block=16, dtype="bfloat16"),
    tokens("no tokens", 0, 10, ()),
]


def a_number_at_least(fn, say):
    """NaN among ones: not from memory, which holds ones before z and where it is fresh."""
    z = torch.ones(48, 8, device=DEVICE)[32:]
    targets = torch.full((16,), -1, device=DEVICE)
    gone = [torch.ones(16, device=DEVICE) for _ in range(8)]
    del gone
    found = fn(z, targets, block=16)
    assert not isinstance(found, torch.Tensor) or not bool(found.isnan().all()), (
        "A token that does not count gets NaN, though all numbers around are ones. Does `other=` "
        "say so? Its result is 0."
    )


PICKED_AGAINST = {
    "guard too late": RIGHT,
    "grid": "each token had a program, and all values were right.",
    "padding": "all values were right, and no lane is added to another.",
    "stale buffer": "every call gave the right values, and no buffer was kept.",
    "uninitialised": "`traffic` said that the lane was outside. Inside the tensor all was written.",
    "changed input": "the kernel stores to `out` alone.",
    "narrow sum": "all values were right, and nothing is summed.",
    "overflow": "all values were right. An overflow makes an infinity and no access.",
    "cancellation": "all values were right, and nothing is subtracted.",
    "index": "the numbers count what they should: tokens and words. -100 is allowed, and marked.",
    "stride": "rows that count were read from their places: all values were right.",
    "race": "each program wrote to its own tokens, and the lane outside was a load.",
}

CHECKS = {
    **patient(standardise_ref, ROWS, HIDDEN_ROWS, STANDARDISE_AGAINST, tolerance=close_to_the_mean),
    **patient(
        square_sum_ref,
        NUMBERS,
        HIDDEN_NUMBERS,
        SQUARE_SUM_AGAINST,
        first=[again],
        deterministic=False,
        allow=("copy_",),  # total[0] = 0
        terms=lambda x: x.numel(),
    ),
    **patient(
        bias_gradient_ref, GRADIENTS, HIDDEN_GRADIENTS, BIAS_AGAINST, tolerance=rounded_once(300)
    ),
    **patient(rope_rows_ref, PROMPTS, HIDDEN_PROMPTS, ROPE_AGAINST, tolerance=rounded_once(2)),
    **patient(picked_logits_ref, TOKENS, HIDDEN_TOKENS, PICKED_AGAINST, first=[a_number_at_least]),
}

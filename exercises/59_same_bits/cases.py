"""What the checks of 59_same_bits try: cases and references."""

import torch

from tritonbook import DEVICE, INTERPRET, hook_launch
from tritonbook.checking import Check, case, tensor
from tritonbook.checking.asks import starts
from tritonbook.checking.guard import same_bits
from tritonbook.port.order import interrupted

from ..shared.attention import DEEP, by_token, lone
from .page import CHUNK, PIECE, TILE, decode_same_ref, matmul_same_ref, splits_for


def same_tiles(names, calls):
    """names: of constants, the first one by which the launch is known that adds. calls: what each
    is, and the call. None is carried out."""
    first = {}
    for what, call in calls:
        seen = {}

        def note(_, kernel, grid, args, kwargs, seen=seen):
            if names[0] in kwargs:
                seen.update((name, kwargs[name]) for name in names if name in kwargs)

        with hook_launch(note):
            call()
        for name, value in seen.items():
            before, then = first.setdefault(name, (what, value))
            assert value == then, (
                f"Each result is right within rounding. But {name} is {then} for {before}, and "
                f"{value} for {what}. Tile and warps decide which numbers are added first, so on a "
                "GPU a row may get other bits. Take the same in any batch."
            )


def when_program_0_is_last(call, wanted, splits):
    """On a GPU programs come in any order; in the interpreter program 0 comes first otherwise."""
    if not INTERPRET:
        return
    try:
        with interrupted(0, ((0, 0, 0), 0)):
            got = call()
    except Exception:  # others wait for it
        return
    assert same_bits(got, wanted), (
        f"Each result is right within rounding. But with splits={splits} it has other bits when "
        "program 0 comes last: on a GPU programs come in any order. `tl.atomic_add` adds what "
        "comes first. Keep each sum in a place of its own, and add them in a loop."
    )


# --- matmul_same


def product(note, M, N, K, splits=None, dtype="float16", **more):
    options = {} if splits is None else {"splits": splits}
    arguments = {"a": tensor(M, K), "b": tensor(K, N)} | more
    return case(note, dtype=dtype, options=options, **arguments)


PRODUCTS = [
    product("one chunk, one program", 64, 128, 512, 1),
    product("two chunks, one program", 64, 128, 1024, 1),
    product("two chunks, two programs", 64, 128, 1024, 2),
    product("ragged everywhere", 70, 150, 700, 2),
    product("three chunks, two programs", 5, 40, 1500, 2),
    product("more programs than chunks", 3, 20, 600, 3),
    product("fewer than a step", 4, 30, 20, 1),
    product("the splits left open", 17, 60, 1100),
    product("bfloat16", 20, 33, 1030, 2, dtype="bfloat16"),
    product("inner sizes differ", 4, 8, 16, b=tensor(17, 8), raises=ValueError),
    product("b transposed", 4, 16, 16, b=tensor(16, 16, layout="transposed"), raises=ValueError),
]

HIDDEN_PRODUCTS = [
    product("one number", 1, 1, 1, 1),
    product("prime sizes", 67, 131, 1031, 3),
    product("bfloat16, one program", 31, 140, 1600, 1, dtype="bfloat16"),
    product("four chunks, the splits left open", 2, 257, 2048),
]


BATCHES = (1, 16, 33, 70, 150, 300, 1100, 4200)


def tiles_and_splits(a, b, splits=None):
    (M, K), N = a.shape, b.shape[1]
    tiles = -(-M // TILE["BLOCK_M"]) * -(-N // TILE["BLOCK_N"])
    return tiles * (splits or splits_for(tiles, -(-K // CHUNK)))


def rows_keep_their_bits(fn):
    """One row alone, in batches of several sizes and at several places, for several splits."""
    generator = torch.Generator().manual_seed(0)
    a, b = (torch.randn(*shape, generator=generator).half() for shape in ((70, 800), (800, 24)))
    a = torch.cat((a, a), dim=1).to(DEVICE)
    # sums that nearly cancel: their last bits come through the rounding of the result
    b = torch.cat((b, 0.002 * torch.randn(b.shape, generator=generator) - b)).half().to(DEVICE)
    whole = fn(a, b, splits=1)
    for splits in (2, 3, 4):
        assert same_bits(fn(a[:3], b, splits=splits), whole[:3]), (
            f"Each result is right within rounding. But with splits={splits} a row has other bits "
            "than with splits=1. Chunks are 512 long, whatever `splits` is; each is summed from "
            "zero, and their sums are added one after the other."
        )
    when_program_0_is_last(lambda: fn(a[:3], b, splits=4), whole[:3], 4)
    for first, last in ((0, 1), (1, 18), (69, 70)):
        assert same_bits(fn(a[first:last].contiguous(), b), whole[first:last]), (
            f"Each result is right within rounding. But rows {first} to {last - 1} have other "
            "bits when they are multiplied alone. What depends on the number of rows, "
            "besides the number of programs?"
        )
    batches = {f"M = {M}": torch.zeros_like(a[:1]).expand(M, -1) for M in BATCHES}
    same_tiles(
        ("BLOCK_K", "BLOCK_M", "BLOCK_N", "CHUNK"),
        [(what, lambda rows=rows: fn(rows.contiguous(), b)) for what, rows in batches.items()],
    )
    a, b = torch.zeros(1, 4 * CHUNK), torch.zeros(4 * CHUNK, 1)
    a[0, ::CHUNK], b[::CHUNK, 0] = torch.tensor(((4096, 1, 1, -4096), (4096, 1, 1, 4096)))
    got = fn(a.half().to(DEVICE), b.half().to(DEVICE), splits=1).item()
    assert got == 0, (
        "Each result is right within rounding. But the sums of the chunks are not added from first "
        f"to last: in this order 2^24 + 1 + 1 - 2^24, one of each chunk, is 0. It came out as "
        f"{got:g}."
    )


# --- decode_same


# As `DEEP`, of more tokens than a piece has: each score is 2^21 above the one before.
DEEP_PIECES = {**DEEP, "keys": {"values": by_token(lone(-(2.0**16), 2.0**7))}}


def decode(note, lengths, H, D, L, splits=None, dtype="float32", scale=1.0, **more):
    """queries, keys: how they are drawn."""
    B = len(lengths)

    def normal(generator, shape):
        return scale * torch.randn(shape, generator=generator, dtype=torch.float64)

    def cache(values=normal):
        def filled(generator, shape):
            """Slots without a token hold what is no number."""
            drawn = values(generator, shape)
            for b, length in enumerate(lengths):
                drawn[b, length:] = float("nan")
            return drawn

        return tensor(B, L, H, D, values=filled)

    return case(
        note,
        q=tensor(B, H, D, **more.get("queries", {})),
        k=cache(**more.get("keys", {})),
        v=cache(),
        lengths=tensor(B, dtype="int32", planted=dict(enumerate(lengths)), values="zeros"),
        options={} if splits is None else {"splits": splits},
        dtype=dtype,
    )


DECODES = [
    decode("one piece, one program", [256], 1, 16, 256, 1),
    decode("a piece that is not full", [100], 2, 16, 128, 1),
    decode("two pieces, one program", [512], 1, 16, 512, 1),
    decode("two pieces, two programs", [512], 1, 16, 512, 2),
    decode("three pieces, two programs", [700], 2, 16, 768, 2),
    decode("sequences of different lengths", [300, 20, 600], 2, 16, 640, 2),
    decode("more programs than pieces", [40, 520], 1, 32, 600, 4),
    decode("much room", [30], 1, 16, 1100, 1),
    decode("scores so large that exponentials overflow", [1000], 3, 16, 1000, 2, scale=500.0),
    decode("scores of -2^30 that grow", [300], 1, 16, 320, 2, **DEEP_PIECES),
    decode("half precision", [400], 2, 32, 512, 2, dtype="float16"),
    decode("the splits left open", [520, 90], 1, 16, 520),
    case(
        "a length too few",
        q=tensor(2, 1, 16),
        k=tensor(2, 8, 1, 16),
        v=tensor(2, 8, 1, 16),
        lengths=tensor(1, dtype="int32", values="ones"),
        raises=ValueError,
    ),
]

HIDDEN_DECODES = [
    decode("one token", [1], 1, 16, 1, 1),
    decode("five pieces, three programs", [1281], 1, 64, 1300, 3),
    decode("bfloat16", [257, 600], 2, 64, 601, 2, dtype="bfloat16"),
    decode("a full cache, one program", [768, 768], 1, 32, 768, 1),
]


def heads_and_splits(q, k, v, lengths, splits=None):
    programs = q.shape[0] * q.shape[1]
    return programs * (splits or splits_for(programs, -(-k.shape[1] // PIECE), each=8))


def sequences_keep_their_bits(fn):
    """A sequence alone, with others, in a larger cache, for several splits."""
    generator = torch.Generator().manual_seed(0)
    q = torch.randn(3, 2, 16, generator=generator)
    k, v = torch.randn(2, 3, 1400, 2, 16, generator=generator)
    lengths = torch.tensor([900, 1300, 60], dtype=torch.int32)
    whole = fn(*(each.to(DEVICE) for each in (q, k, v, lengths)), splits=1)
    for splits in (2, 3, 6):
        again = fn(*(each.to(DEVICE) for each in (q, k, v, lengths)), splits=splits)
        assert same_bits(again, whole), (
            f"Each result is right within rounding. But with splits={splits} it has other bits "
            "than with splits=1. Pieces have 256 tokens, whatever `splits` is; each begins a "
            "softmax of its own, and they are merged one after the other."
        )
    on_device = [each[:1].to(DEVICE) for each in (q, k, v, lengths)]
    when_program_0_is_last(lambda: fn(*on_device, splits=4), whole[:1], 4)
    for room in (900, 1400):
        one = (q[:1], k[:1, :room].contiguous(), v[:1, :room].contiguous(), lengths[:1])
        assert same_bits(fn(*(each.to(DEVICE) for each in one)), whole[:1]), (
            "Each result is right within rounding. But a sequence has other bits alone, in a cache "
            f"with room for {room} tokens. What depends on the batch or on L, besides the number "
            "of programs?"
        )

    def empty(B, L):
        caches = (torch.zeros(B, *n, 2, 16, device=DEVICE) for n in ((), (L,), (L,)))
        return fn(*caches, torch.ones(B, dtype=torch.int32, device=DEVICE))

    sizes = [(1, 300), (2, 300), (5, 300), (9, 300), (20, 300), (70, 300), (1, 3000), (1, 20_000)]
    same_tiles(
        ("BLOCK_L", "PIECE", "num_warps"),
        [(f"B = {B}, L = {L}", lambda B=B, L=L: empty(B, L)) for B, L in sizes],
    )
    merged_in_order(fn, [0] * 4, [2.0**24, 1, 1, -(2.0**24)], 0)
    merged_in_order(fn, [0, *[-16.74] * 7], [1, *[0] * 7], 1)


def merged_in_order(fn, scores, values, due):
    """One score and one value for each piece: what a sum in order loses, another one keeps."""
    k, v = (
        torch.tensor(each, dtype=torch.float32)
        .repeat_interleave(PIECE)[None, :, None, None]
        .expand(1, -1, 1, 16)
        .contiguous()
        for each in (scores, values)
    )
    q = torch.full((1, 1, 16), 0.25)  # 16 products, over the root of 16
    lengths = torch.tensor([k.shape[1]], dtype=torch.int32)
    got = fn(*(each.to(DEVICE) for each in (q, k, v, lengths)), splits=1)[0, 0, 0].item()
    assert got == due, (
        "Each result is right within rounding. But the pieces are not merged from first to last. "
        f"In this order small terms after a large one are lost, and the result is {due}. It came "
        f"out as {got:.8g}."
    )


CHECKS = {
    "matmul_same": Check(
        matmul_same_ref,
        PRODUCTS,
        HIDDEN_PRODUCTS,
        asks=[starts(tiles_and_splits), rows_keep_their_bits],
        terms=lambda a, b: a.shape[1],
    ),
    "decode_same": Check(
        decode_same_ref,
        DECODES,
        HIDDEN_DECODES,
        wide=[decode("65,536 heads", [1] * 8, 8192, 16, 1, 1)],
        asks=[starts(heads_and_splits), sequences_keep_their_bits],
        terms=lambda q, k, v, lengths: k.shape[1],
    ),
}

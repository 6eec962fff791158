"""What the checks of 22_autotune try: cases, references, and mistakes that have a name."""

import random

import torch
import triton

from tritonbook import DEVICE
from tritonbook.checking import Check, case, tensor

from .page import NAMES, accumulators, call, matmul_tuned_ref, scale_ref, shared_bytes


class AnyTable:
    """Equal to every list: there is no one right table, the rules below judge it."""

    def __eq__(self, other):
        return isinstance(other, list)

    def __repr__(self):
        return "a list of configs"


def configs_ref():
    return AnyTable()


def keeps_the_rules(fn):
    table = fn()
    assert 4 <= len(table) <= 12, f"The table has {len(table)} configs; give it 4 to 12."
    for config in table:
        assert isinstance(config, dict), f"{config!r} is no dict."
        assert set(config) == set(NAMES), f"{config} needs the names {', '.join(NAMES)}."
        assert all(type(n) is int for n in config.values()), f"{config}: all values are ints."
        for name in NAMES[:3]:
            size = config[name]
            assert 16 <= size <= 256 and size & (size - 1) == 0, (
                f"{name}={size}: a tile's size is a power of two from 16 to 256."
            )
        assert config["num_warps"] in (1, 2, 4, 8, 16), f"num_warps={config['num_warps']}?"
        assert 1 <= config["num_stages"] <= 8, f"num_stages={config['num_stages']}?"
        assert config["GROUP_M"] >= 1, f"GROUP_M={config['GROUP_M']}?"
        assert accumulators(config) <= 128, (
            f"{config}: {accumulators(config):.0f} accumulators in each thread. Registers would "
            "spill. Use more warps or a smaller tile."
        )
        assert shared_bytes(config, 2) <= 227 * 1024, (
            f"{config}: {shared_bytes(config, 2):,} bytes of shared memory fit on no GPU. Use "
            "fewer stages or a smaller tile."
        )
    different = {tuple(config[name] for name in NAMES) for config in table}
    assert len(different) == len(table), "Two configs are the same: one of them is wasted."
    assert any(c["BLOCK_M"] >= 128 and c["BLOCK_N"] >= 128 for c in table), (
        "No config is made for large matrices: one tile of at least 128 x 128."
    )
    assert any(c["BLOCK_M"] == 16 for c in table), "No config is made for few rows: BLOCK_M=16."
    assert any(accumulators(c) <= 16 and shared_bytes(c, 4) <= 65536 for c in table), (
        "No config suits float32 or a T4: at most 16 accumulators a thread, and 64 KiB of shared "
        "memory with 4-byte elements."
    )


def agrees_with_itself(fn):
    assert fn() == fn(), "Two calls of configs() give different tables."


def prune_ref(configs, named_args):
    def hopeless(c):
        rows = max(16, triton.next_power_of_2(named_args["M"]))
        columns = max(16, triton.next_power_of_2(named_args["N"]))
        return (
            shared_bytes(c, named_args["element_size"]) > named_args["shared_limit"]
            or c["BLOCK_M"] > rows
            or c["BLOCK_N"] > columns
            or (not named_args["tensor_cores"] and accumulators(c) > 16)
        )

    left = [c for c in configs if not hopeless(c)]
    return left or [min(configs, key=lambda c: c["BLOCK_M"] * c["BLOCK_N"])]


def row(block_m, block_n, block_k, num_warps, num_stages):
    return dict(
        BLOCK_M=block_m,
        BLOCK_N=block_n,
        BLOCK_K=block_k,
        GROUP_M=8,
        num_warps=num_warps,
        num_stages=num_stages,
    )


TABLE = [
    row(128, 256, 64, 8, 3),
    row(128, 256, 64, 8, 4),
    row(128, 128, 32, 8, 4),
    row(64, 64, 32, 8, 2),
    row(32, 32, 32, 4, 2),
    row(16, 64, 128, 4, 4),
    row(16, 32, 256, 4, 4),
]

PRUNE_SUSPECTS = {
    "empty": (
        lambda configs, named_args: [] if len(prune_ref(configs, named_args)) == 1 else None,
        "Nothing is left. Return the config with the smallest tile instead of an empty list.",
    ),
    "unpruned": (lambda configs, named_args: configs, "Every config was kept."),
    "shared-memory-ignored": (
        lambda configs, named_args: prune_ref(configs, {**named_args, "shared_limit": 1 << 30}),
        "A config that does not fit into shared memory was kept.",
    ),
    "bytes-per-element": (
        lambda configs, named_args: prune_ref(configs, {**named_args, "element_size": 2}),
        "Shared memory was counted with 2 bytes an element. float32 has 4.",
    ),
    "tensor-cores-ignored": (
        lambda configs, named_args: prune_ref(configs, {**named_args, "tensor_cores": True}),
        "Without tensor cores a thread has room for 16 accumulators only.",
    ),
    "rows-ignored": (
        lambda configs, named_args: prune_ref(configs, {**named_args, "M": 1 << 20}),
        "A tile far taller than the matrix was kept.",
    ),
    "columns-ignored": (
        lambda configs, named_args: prune_ref(configs, {**named_args, "N": 1 << 20}),
        "A tile far wider than the matrix was kept.",
    ),
}

PRUNE_CASES = [
    case("large float16 on an A100", configs=TABLE, named_args=call(4096, 4096, 4096)),
    case("the same on an H100", configs=TABLE, named_args=call(4096, 4096, 4096, 2, 232448)),
    case("few rows", configs=TABLE, named_args=call(5, 4096, 4096)),
    case("few columns", configs=TABLE, named_args=call(4096, 40, 4096)),
    case("float32", configs=TABLE, named_args=call(512, 512, 512, 4, 166912, False)),
    case("nothing fits", configs=TABLE[:3], named_args=call(16, 16, 64)),
]


def terms(a, b):
    return a.shape[1]


TUNED_CASES = [
    case("K is a multiple of every tile", dtype="float16", a=tensor(64, 256), b=tensor(256, 128)),
    case("only K has changed", dtype="float16", a=tensor(64, 70), b=tensor(70, 128)),
    case("only the dtype has changed", a=tensor(64, 70), b=tensor(70, 128)),
    case("several tiles", dtype="float16", a=tensor(300, 40), b=tensor(40, 520)),
    case("few rows", dtype="float16", a=tensor(3, 300), b=tensor(300, 70)),
    case("B transposed", a=tensor(40, 33), b=tensor(33, 60, layout="transposed")),
    case("inner sizes differ", a=tensor(16, 32), b=tensor(31, 16), raises=ValueError),
]


def survives_tuning(fn):
    """A length that was never seen before is tuned in this very call."""
    x = torch.ones(random.randrange(3000, 60000), device=DEVICE)
    fn(x, 2.0)
    got = x.double().cpu()
    assert not bool((got == 0).all()), (
        "The call that tunes leaves zeros: x was reset before the kernel read it. Restore it."
    )
    assert got[0] == 2, (
        f"The call that tunes scales x too often: 1 becomes {got[0]:g}, not 2. Every config that "
        "was timed has changed x. Which argument must be restored?"
    )
    assert torch.equal(got, torch.full_like(got, 2.0)), (
        "The call that tunes leaves part of x as it was. Does the grid follow the config?"
    )


SCALE_SUSPECTS = {
    "zeroed": (
        lambda x, s: x * 0,
        "x is zero: it was reset before the kernel read it. Restore it instead.",
    ),
    "unscaled": (lambda x, s: x, "x has not changed."),
}

SCALE_CASES = [
    case("a vector", x=tensor(1000), s=3.0),
    case("another length, so tuned again", x=tensor(5000), s=-2.5),
    case("half precision", dtype="float16", x=tensor(777), s=0.5),
    case("every second element", x=tensor(300, layout="strided"), s=1.7),
    case("a matrix", x=tensor(4, 4), s=2.0, raises=ValueError),
]

HIDDEN_PRUNE_CASES = [
    case("one row", configs=TABLE, named_args=call(1, 8192, 8192)),
    case("one row and one column", configs=TABLE, named_args=call(1, 1, 8192)),
    case("just over a power of two", configs=TABLE, named_args=call(65, 129, 100)),
    case("just a power of two", configs=TABLE, named_args=call(64, 128, 100)),
    case("a T4", configs=TABLE, named_args=call(1024, 1024, 1024, 2, 65536, False)),
    case("float32 on an L4", configs=TABLE, named_args=call(1024, 1024, 64, 4, 101376, False)),
    case("exactly the limit", configs=TABLE, named_args=call(512, 512, 64, 2, 147456)),
    case("one byte less", configs=TABLE, named_args=call(512, 512, 64, 2, 147455)),
    case("nothing fits, two of one size", configs=TABLE[:2], named_args=call(8, 8, 8)),
    case("reversed table", configs=TABLE[::-1], named_args=call(300, 300, 300)),
]

HIDDEN_TUNED_CASES = [
    case("one row", dtype="float16", a=tensor(1, 100), b=tensor(100, 65)),
    case("wide", dtype="float16", a=tensor(20, 64), b=tensor(64, 600)),
    case("tall", a=tensor(500, 33), b=tensor(33, 20)),
    case("K of one", a=tensor(40, 1), b=tensor(1, 30)),
    case("A transposed", dtype="float16", a=tensor(70, 90, layout="transposed"), b=tensor(90, 40)),
    case("odd addresses", a=tensor(40, 48, layout="offset"), b=tensor(48, 40, layout="offset")),
    case("bfloat16", dtype="bfloat16", a=tensor(65, 64), b=tensor(64, 70)),
    case("bfloat16, only K has changed", dtype="bfloat16", a=tensor(65, 50), b=tensor(50, 70)),
]

IN_PLACE = dict(inplace=("x",), allow=("copy_",), mistakes=SCALE_SUSPECTS)

HIDDEN_SCALE_CASES = [
    case("one element", x=tensor(1), s=-1.0),
    case("one element more than a tile", x=tensor(4097), s=1.25),
    case("a prime number of elements", dtype="float16", x=tensor(8209), s=1.5),
    case("odd address", x=tensor(2048, layout="offset"), s=0.1),
    case("bfloat16", dtype="bfloat16", x=tensor(1500), s=3.0),
    case("times zero", x=tensor(600, values="positive"), s=0.0),
]

CHECKS = {
    "configs": Check(
        configs_ref,
        [case("the table keeps every rule")],
        [case("asked again, the table is the same kind of list")],
        triton=False,
        also=[keeps_the_rules],
        hidden_also=[agrees_with_itself],
    ),
    "prune": Check(
        prune_ref,
        PRUNE_CASES,
        HIDDEN_PRUNE_CASES,
        triton=False,
        mistakes=PRUNE_SUSPECTS,
    ),
    "matmul_tuned": Check(
        matmul_tuned_ref,
        TUNED_CASES,
        HIDDEN_TUNED_CASES,
        terms=terms,
    ),
    "scale_inplace_tuned": Check(
        scale_ref,
        SCALE_CASES,
        HIDDEN_SCALE_CASES,
        also=[survives_tuning],
        **IN_PLACE,
    ),
}

"""Softmax over rows in bfloat16, from narrow rows to rows that no program can hold."""

import torch

from benchmarks.op import Op, compiled, optional, peer, rows, solution


def eager(x):
    return torch.softmax(x, dim=-1)


def _liger(module):
    return lambda x: module._softmax_forward(x)[0]


TOO_WIDE = {
    "softmax": "a row does not fit in one program",
    "liger": "takes rows of up to 65536",
}

OPS = [
    Op(
        name="softmax",
        notebook="04_softmax",
        problems=[
            rows(8192, 1024, compile_static=1.0),
            rows(8192, 4096, liger=1.0),
            rows(4096, 32768, liger=1.0),
            rows(1024, 131072, without=TOO_WIDE, torch=1.3),
        ],
        exact=eager,
        providers={
            "softmax": solution("softmax"),
            "softmax_online": solution("softmax_online"),
            "torch": peer(eager),
            "compile static": compiled(eager, dynamic=False),
            "compile dynamic": compiled(eager, dynamic=True),
            "liger": optional("liger_kernel.ops.softmax", _liger),
        },
    )
]

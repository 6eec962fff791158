"""Softmax over rows in bfloat16, from narrow rows to rows that no program can hold."""

import torch

from benchmarks.op import Op, Problem, compiled, normal, optional, peer, solution


def eager(x):
    return torch.softmax(x, dim=-1)


def _liger(module):
    return lambda x: module._softmax_forward(x)[0]


def _rows(rows, columns, without=None, **targets):
    return Problem(
        label=f"{rows}x{columns} bf16",
        make=normal(torch.bfloat16, (rows, columns)),
        bytes=4 * rows * columns,
        targets={name.replace("_", " "): least for name, least in targets.items()},
        without=without or {},
    )


TOO_WIDE = {
    "softmax": "a row does not fit in one program",
    "liger": "takes rows of up to 65536",
}

OPS = [
    Op(
        name="softmax",
        notebook="04_softmax",
        problems=[
            _rows(8192, 1024, compile_static=1.0),
            _rows(8192, 4096, liger=1.0),
            _rows(4096, 32768, liger=1.0),
            _rows(1024, 131072, without=TOO_WIDE, torch=1.3),
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

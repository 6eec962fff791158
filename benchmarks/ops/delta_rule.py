"""The gated delta rule in bfloat16: a text in chunks, and one token of many sequences."""

import torch
from torch.nn.functional import normalize

from benchmarks.op import Op, Problem, optional, peer, solution
from tritonbook.course.exercises import load


def recurrent(q, k, v, g, beta, state, *_):
    """Token after token; returns o and the last state."""
    return load("58_delta_rule").delta_rule_ref(q, k, v, g, beta, state)


def one_token(q, k, v, g, beta, state, *_):
    o, state = recurrent(*(x[:, :, None] for x in (q, k, v, g, beta)), state)
    return o[:, :, 0], state


def _ours(rule):
    """Without the copies that the peer with another order of dimensions takes."""
    return lambda q, k, v, g, beta, state, *_: rule(q, k, v, g, beta, state)


def _in_place(step):
    def call(q, k, v, g, beta, state, *_):
        o = torch.empty_like(q)
        step(q, k, v, g, beta, state, o)
        return o, state

    return call


def _tokens_first(name, own_order):
    def load(module):
        rule = getattr(module, name)

        def call(*args):
            state, q, k, v, g, beta = args[5:]
            o, last = rule(
                q, k, v, g, beta=beta, scale=1.0, initial_state=state, output_final_state=True
            )
            return own_order(o), last

        return call

    return optional("fla.ops.gated_delta_rule", load)


def problem(B, H, D, T=None, **targets):
    """A text of T tokens, or one token. flash-linear-attention takes (B, T, H, D): its copies come
    ready-made."""

    def make(device):
        tokens = (B, H, T or 1, D)
        q, k, v = torch.randn((3, *tokens), device=device)
        q, k, v = (x.to(torch.bfloat16) for x in (q, normalize(k, dim=-1), v))
        g = -0.1 * torch.rand(tokens[:3], device=device)
        beta, state = torch.rand_like(g), torch.randn((B, H, D, D), device=device)
        given = q, k, v, g, beta
        theirs = [x.transpose(1, 2).contiguous() for x in given]
        ours = given if T else [x[:, :, 0].contiguous() for x in given]
        return *ours, state, *theirs

    number = B * H * (T or 1)
    return Problem(
        label=f"B{B} H{H} D{D} " + (f"T{T} bf16" if T else "one token bf16"),
        make=make,
        bytes=8 * number * D + 8 * number + 8 * B * H * D * D,
        flops=6 * number * D * D,
        targets={name.replace("_", "-"): least for name, least in targets.items()},
    )


OPS = [
    Op(
        name="delta_rule",
        notebook="58_delta_rule",
        problems=[
            problem(4, 16, 128, 8192, flash_linear_attention=0.8),
            problem(4, 16, 128, 2048, flash_linear_attention=0.8),
            problem(1, 16, 128, 8192),
            problem(4, 32, 64, 4096, flash_linear_attention=0.8),
        ],
        exact=recurrent,
        # The float32 state comes of factors in bfloat16.
        tolerance={"float32": 1e-2},
        providers={
            "delta_rule": solution("delta_rule", _ours),
            "flash-linear-attention": _tokens_first(
                "chunk_gated_delta_rule", lambda o: o.transpose(1, 2)
            ),
        },
    ),
    Op(
        name="delta_step",
        notebook="58_delta_rule",
        problems=[
            problem(64, 32, 128, flash_linear_attention=0.95),
            problem(8, 16, 128),
        ],
        exact=one_token,
        providers={
            "delta_step": solution("delta_step", _in_place),
            "torch": peer(one_token),
            "flash-linear-attention": _tokens_first(
                "fused_recurrent_gated_delta_rule", lambda o: o[:, 0]
            ),
        },
    ),
]

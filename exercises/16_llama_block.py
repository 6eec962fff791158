# ---
# workbook:
#   title: A Llama block on your kernels
#   minutes: 75
#   needs: interpreter
#   requires: [06_rmsnorm_partition, 10_fused_mlp, 13_rope, 15_attention_backward]
#   limits: {sm_75: fits, sm_80: no spills, sm_86: fits, sm_89: fits, sm_90: spills 64}
#   you_will:
#     - put RMSNorm, RoPE, flash attention and SwiGLU together to one layer of Llama 3
#     - write the step that adds one token, with a cache of keys and values
#     - make the layer trainable, and train it on the pages of this course
#     - find out which of your kernels bought how much
# ---

# %% tags=["setup"]
from tritonbook import DEVICE, bench, case, check, facts, mine, progress, reference, setup, show_tiles, tensor, traffic

import torch
import triton
import triton.language as tl

setup()

# %% [markdown]
# ## The idea
#
# You have all the parts. A layer of Llama is two halves. Each one normalises its input, does
# something with it, and adds the result to what came in:
#
# $$h = x + \mathrm{Attention}(\mathrm{RMSNorm}(x))$$
#
# $$y = h + \mathrm{MLP}(\mathrm{RMSNorm}(h))$$
#
# The sum at the end of each half is the *residual*. It adds the input of the half as it came, not
# the normalised one.
#
# The cell below fetches your own kernels, from the notebooks in which you passed them. Where a pass
# is missing it takes the workbook's, and says so.

# %%
for name in ("rmsnorm", "rope", "flash_gqa", "silu_mul", "rope_backward", "flash_attention"):
    mine(name)

# %% [markdown]
# ## The contract
#
# | name | shape | role |
# |---|---|---|
# | `x` | (B, L, D) | the tokens that enter the layer |
# | `norm_attn`, `norm_mlp` | (D,) | weights of the two norms |
# | `w_qkv` | (D, (H + 2 HK) × d) | makes queries, keys and values in one product, in this order |
# | `w_o` | (H × d, D) | after attention |
# | `w_gate`, `w_up` | (D, F) | first two products of the MLP |
# | `w_down` | (F, D) | its last |
# | `cos`, `sin` | (P, d/2) or (P, d) | tables of RoPE, half-split |
# | `heads`, `kv_heads` | H, HK | d is `w_o.shape[0] // heads` |
# | result | (B, L, D), dtype of `x` | |
#
# Weights lie as (in, out): `x @ w`. `torch.nn.Linear` keeps them as (out, in), so its `weight.t()`
# is what you want. No copy is needed.
#
# **What torch may do here.** The plain products, by `@` or `torch.addmm`; a sum with the residual;
# views. These are the work of cuBLAS, and you measured in notebook 08 how hard that is to beat. All
# the rest has to come out of your four kernels. The check refuses any other operator.

# %% tags=["reference"]
from tritonbook.checking import Tolerance
from tritonbook import hook_launch

rmsnorm = mine("rmsnorm", quiet=True)
rope = mine("rope", quiet=True)
flash_gqa = mine("flash_gqa", quiet=True)
silu_mul = mine("silu_mul", quiet=True)
rope_backward = mine("rope_backward", quiet=True)
flash_attention = mine("flash_attention", quiet=True)

EPS = 1e-5
PRODUCTS = ("mm", "addmm", "bmm", "matmul", "linear", "add", "add_", "addmm_")


def norm_ref(x, w, eps):
    return x * torch.rsqrt(x.pow(2).mean(dim=-1, keepdim=True) + eps) * w


def turn_ref(x, cos, sin, offset=0):
    L, half = x.shape[2], x.shape[3] // 2
    c, s = (t[offset : offset + L, :half] for t in (cos, sin))
    a, b = x[..., :half], x[..., half:]
    return torch.cat((a * c - b * s, b * c + a * s), dim=-1)


def attention_ref(q, k, v, causal=True):
    group, (Lq, Lk) = q.shape[1] // k.shape[1], (q.shape[2], k.shape[2])
    k, v = (t.repeat_interleave(group, dim=1) for t in (k, v))
    s = q @ k.transpose(-1, -2) * q.shape[-1] ** -0.5
    if causal:
        row = torch.arange(Lq, device=s.device)[:, None]
        s = s.masked_fill(torch.arange(Lk, device=s.device) > row + Lk - Lq, float("-inf"))
    return torch.softmax(s, dim=-1) @ v


def block_ref(
    x, norm_attn, w_qkv, w_o, norm_mlp, w_gate, w_up, w_down, cos, sin, heads, kv_heads, eps=EPS,
    mistake="",
):  # fmt: skip
    """The layer in plain torch; `mistake` names a known one to make."""
    B, L, D = x.shape
    if mistake == "norms-swapped":
        norm_attn, norm_mlp = norm_mlp, norm_attn
    if mistake == "norm-weights-missing":
        norm_attn, norm_mlp = norm_attn * 0 + 1, norm_mlp * 0 + 1
    if mistake == "gate-and-up-swapped":
        w_gate, w_up = w_up, w_gate
    h = norm_ref(x, norm_attn, eps)
    sizes = (heads, kv_heads, kv_heads)
    q, k, v = (h @ w_qkv).view(B, L, sum(sizes), -1).transpose(1, 2).split(sizes, dim=1)
    if mistake == "keys-and-values-swapped":
        k, v = v, k
    if mistake != "rope-missing":
        q, k = turn_ref(q, cos, sin), turn_ref(k, cos, sin)
    if mistake == "rope-on-values":
        v = turn_ref(v, cos, sin)
    o = attention_ref(q, k, v, mistake != "not-causal")
    first = {"attention-residual-missing": 0 * x, "residual-of-the-norm": h}.get(mistake, x)
    h = first + o.transpose(1, 2).reshape(B, L, -1) @ w_o
    if mistake == "mlp-on-the-input":
        h_mlp = norm_ref(x, norm_mlp, eps)
    else:
        h_mlp = norm_ref(h, norm_mlp, eps) if mistake != "second-norm-missing" else h
    second = {"mlp-residual-missing": 0 * h, "residual-of-the-norm": h_mlp}.get(mistake, h)
    second = x if mistake == "mlp-residual-of-the-input" else second
    return second + (torch.nn.functional.silu(h_mlp @ w_gate) * (h_mlp @ w_up)) @ w_down


def _making(mistake):
    return lambda *arguments: block_ref(*arguments, mistake=mistake)


SENTENCES = {
    "norms-swapped": "The weights of the two norms have changed places.",
    "norm-weights-missing": "The norms are not multiplied by their weights.",
    "gate-and-up-swapped": "w_gate and w_up have changed places.",
    "keys-and-values-swapped": "Keys and values have changed places: w_qkv holds q, k, v.",
    "rope-missing": "Queries and keys are not turned by their positions.",
    "rope-on-values": "Values are turned by RoPE. Only queries and keys are.",
    "not-causal": "Tokens see those that come after them.",
    "attention-residual-missing": "The input is not added to the result of attention.",
    "mlp-residual-missing": "What went into the MLP's half is not added to its result.",
    "mlp-residual-of-the-input": "The MLP's half adds x. It has to add what attention gave.",
    "residual-of-the-norm": "The normalised values are added. Add the values as they came in.",
    "mlp-on-the-input": "The MLP reads x. It has to read what attention gave.",
    "second-norm-missing": "The MLP's half does not normalise.",
}
SUSPECTS = {code: (_making(code), sentence) for code, sentence in SENTENCES.items()}


def close_enough(dtype):
    """Five roundings to the dtype on the way, in float32 the sums of five products."""
    step = {torch.float16: 2.0**-8, torch.bfloat16: 2.0**-5}.get(dtype, 1e-4)
    return Tolerance(step, of_row_max=step, absolute=step / 100, because="roundings between parts")


def block_arguments(B, L, D=32, F=48, heads=4, kv_heads=2, size=16, positions=None):
    """Specs of all arguments; weights keep the size of what they multiply."""
    wide = (heads + 2 * kv_heads) * size
    angles = {"cos": tensor(positions or L, size // 2), "sin": tensor(positions or L, size // 2)}
    return {
        "x": tensor(B, L, D),
        "norm_attn": tensor(D, mean=1.0, scale=0.5),
        "w_qkv": tensor(D, wide, scale=D**-0.5),
        "w_o": tensor(heads * size, D, scale=(heads * size) ** -0.5),
        "norm_mlp": tensor(D, mean=1.0, scale=0.5),
        "w_gate": tensor(D, F, scale=D**-0.5),
        "w_up": tensor(D, F, scale=D**-0.5, layout="transposed"),
        "w_down": tensor(F, D, scale=F**-0.5),
        **angles,
        "heads": heads,
        "kv_heads": kv_heads,
    }


# %% [markdown]
# ## Task 1. The layer
#
# Two functions, about 8 and 4 lines. Mind five things.
#
# - One product makes queries, keys and values of all heads. A view cuts them apart:
#   `.view(B, L, H + 2 * HK, d).transpose(1, 2).split(...)`. Nothing is copied. Your kernels take
#   strides.
# - Nobody needs q and k as they were before the turn, so `rope` may write over them: `out=(q, k)`.
# - `flash_gqa` returns o and lse.
# - `torch.addmm(c, a, b)` is c + a @ b in one call: it adds the residual. To do so it copies c. The x
#   of `mlp_half` is your own tensor, so there `c.addmm_(a, b)` may add in place. On an H100 this saves
#   1 % of the block, and writing over q and k another 1 to 2 %.
# - For the MLP take `silu_mul` between products of torch. Your fused `gate_up_swiglu` of notebook
#   10 reads x once instead of twice, but its products have to keep up with cuBLAS. On an H100, with
#   this layer's sizes, they do not: with it the block took 1.17 times as long. Measure on your GPU.

# %% tags=["answer"] key="llama_block"
def attention_half(x, norm_attn, w_qkv, w_o, cos, sin, heads, kv_heads, eps=EPS):
    """x + attention(rmsnorm(x)), for x (B, L, D)."""
    B, L, D = x.shape
    # TODO: norm, one product, q, k, v as (B, heads, L, d), rope, attention, last product
    ### BEGIN SOLUTION
    h = rmsnorm(x, norm_attn, eps).view(-1, D)
    parts = (h @ w_qkv).view(B, L, heads + 2 * kv_heads, -1).transpose(1, 2)
    q, k, v = parts.split((heads, kv_heads, kv_heads), dim=1)
    q, k = rope(q, k, cos, sin, out=(q, k))
    o, _ = flash_gqa(q, k, v, True)
    o = o.transpose(1, 2).reshape(B * L, -1)
    return torch.addmm(x.reshape(-1, D), o, w_o).view(B, L, D)
    ### END SOLUTION


def mlp_half(x, norm_mlp, w_gate, w_up, w_down, eps=EPS):
    """x + mlp(rmsnorm(x)), for contiguous x (B, L, D), which may be overwritten."""
    # TODO: norm, two products, the gate, the last product with the residual
    ### BEGIN SOLUTION
    D = x.shape[-1]
    h = rmsnorm(x, norm_mlp, eps).view(-1, D)
    hidden = silu_mul(h @ w_gate, h @ w_up)
    return x.view(-1, D).addmm_(hidden, w_down).view(x.shape)
    ### END SOLUTION


def llama_block(
    x, norm_attn, w_qkv, w_o, norm_mlp, w_gate, w_up, w_down, cos, sin, heads, kv_heads, eps=EPS
):
    """One layer of Llama: (B, L, D) to (B, L, D)."""
    h = attention_half(x, norm_attn, w_qkv, w_o, cos, sin, heads, kv_heads, eps)
    return mlp_half(h, norm_mlp, w_gate, w_up, w_down, eps)

# %% [markdown] tags=["hint"] key="llama_block"
# #### Hints for llama_block
#
# <details><summary>Hint 1: a question</summary>
#
# Attention gives o as (B, heads, L, d). Which two steps make rows of H × d numbers of it, one row
# for each token?
#
# </details>
# <details><summary>Hint 2: where to look</summary>
#
# The formulas at the top, and the table of shapes. Matrix products want two dimensions:
# `.view(-1, D)` makes rows of tokens, `.view(B, L, D)` undoes it.
#
# </details>
# <details><summary>Hint 3: the shape of the code</summary>
#
# ```python
# h = rmsnorm(...).view(-1, D)
# parts = (h @ ...).view(B, L, ..., -1).transpose(1, 2)
# q, k, v = parts.split((..., ..., ...), dim=1)
# q, k = ...
# o, _ = ...
# o = o.transpose(...).reshape(B * L, -1)
# return torch.addmm(..., o, ...).view(B, L, D)
# ```
#
# </details>

# %% tags=["check"] key="llama_block" points=8
def launched_by(call):
    """Names of the kernels that `call` launches, and its result."""
    names = []

    def around(launch, fn, grid, args, kwargs):
        names.append(fn.__name__)
        return launch()

    with hook_launch(around):
        return set(names), call()


def each_part_counts(fn):
    """Every kernel that was launched is needed, and each of the four parts launched one."""
    shapes = [(32,), (32, 128), (64, 32), (32,), (32, 48), (32, 48), (48, 32)]
    weights = [torch.randn(*shape, device=DEVICE) * shape[0] ** -0.5 for shape in shapes]
    x, (cos, sin) = torch.randn(1, 5, 32, device=DEVICE), torch.randn(2, 5, 8, device=DEVICE)
    arguments = (x, *weights, cos, sin, 4, 2)
    names, right = launched_by(lambda: fn(*arguments))
    if not names:
        return  # launched in another process: its own proof stands there
    q, k = torch.randn(1, 4, 5, 16, device=DEVICE), torch.randn(1, 2, 5, 16, device=DEVICE)
    parts = {
        "rmsnorm": lambda: rmsnorm(x, weights[0], EPS),
        "rope": lambda: rope(q, k, cos, sin),
        "flash_gqa": lambda: flash_gqa(q, k, k, True),
        "silu_mul": lambda: silu_mul(x[0], x[0] + 1),
    }
    for part, call in parts.items():
        assert names & launched_by(call)[0], f"No kernel of {part} was launched."
    for name in sorted(names):
        def mute(launch, kernel, grid, args, kwargs, name=name):
            return None if kernel.__name__ == name else launch()

        with hook_launch(mute):
            assert not torch.allclose(fn(*arguments), right), f"{name} does nothing for the result."


CASES = [
    case("two batches", **block_arguments(2, 6)),
    case("an odd length, equal heads", **block_arguments(1, 19, heads=2, kv_heads=2)),
    case("one token", **block_arguments(3, 1)),
    case("half precision", dtype="float16", **block_arguments(1, 9)),
]
check(llama_block, block_ref, CASES, allow=PRODUCTS, tolerance=close_enough, suspects=SUSPECTS,
      also=[each_part_counts])
### BEGIN HIDDEN TESTS
HIDDEN_CASES = [
    case("eight heads share two", **block_arguments(1, 7, heads=8, kv_heads=2)),
    case("odd widths", **block_arguments(2, 5, D=40, F=70)),
    case("wide tables", **block_arguments(1, 4, positions=9)),
    case("more tokens", dtype="float16", **block_arguments(1, 33, heads=2, kv_heads=1)),
]
check(llama_block, block_ref, HIDDEN_CASES, allow=PRODUCTS, tolerance=close_enough,
      suspects=SUSPECTS)
### END HIDDEN TESTS

# %% [markdown]
# ## Task 2. One token more
#
# A model writes one token at a time. Each new token attends to all those before it. Their keys and
# values have not changed, so they are kept: the *KV cache*, two tensors of shape (B, HK, P, d) with
# room for P tokens.
#
# Write `attention_step`, about 10 lines. It is `attention_half` with two changes. The new tokens
# stand at `position`, `position + 1`, and so on: RoPE must know. Their keys and values go into the
# cache, and attention reads the cache up to there. The diagonal is right by itself: the last query
# sees the last key.
#
# `llama_decode` is given. It reads the first `prefill` tokens in one step, then the others one by
# one. The result must be what the whole layer gives at once.

# %% tags=["answer"] key="llama_decode"
def attention_step(
    x, norm_attn, w_qkv, w_o, cos, sin, heads, kv_heads, cache_k, cache_v, position, eps=EPS
):
    """`attention_half` for the tokens that stand at `position` and after it; fills the cache."""
    B, L, D = x.shape
    # TODO: as attention_half; rope from position on; write the cache; attend to its filled part
    ### BEGIN SOLUTION
    h = rmsnorm(x, norm_attn, eps).view(-1, D)
    parts = (h @ w_qkv).view(B, L, heads + 2 * kv_heads, -1).transpose(1, 2)
    q, k, v = parts.split((heads, kv_heads, kv_heads), dim=1)
    q, k = rope(q, k, cos, sin, pos_offset=position)
    end = position + L
    cache_k[:, :, position:end] = k
    cache_v[:, :, position:end] = v
    o, _ = flash_gqa(q, cache_k[:, :, :end], cache_v[:, :, :end], True)
    o = o.transpose(1, 2).reshape(B * L, -1)
    return torch.addmm(x.reshape(-1, D), o, w_o).view(B, L, D)
    ### END SOLUTION


def llama_decode(
    x, norm_attn, w_qkv, w_o, norm_mlp, w_gate, w_up, w_down, cos, sin, heads, kv_heads, prefill
):
    """The layer's result for all tokens of x: `prefill` of them at once, then one after another."""
    B, L, D = x.shape
    size = w_o.shape[0] // heads
    cache_k = torch.empty((B, kv_heads, L, size), dtype=x.dtype, device=x.device)
    cache_v = torch.empty_like(cache_k)
    results, position = [], 0
    for tokens in x.split([prefill] + [1] * (L - prefill), dim=1):
        h = attention_step(
            tokens, norm_attn, w_qkv, w_o, cos, sin, heads, kv_heads, cache_k, cache_v, position
        )
        results.append(mlp_half(h, norm_mlp, w_gate, w_up, w_down))
        position += tokens.shape[1]
    return torch.cat(results, dim=1)

# %% [markdown] tags=["hint"] key="llama_decode"
# #### Hints for llama_decode
#
# <details><summary>Hint 1: a question</summary>
#
# Five tokens are in the cache, and one is new. What is `position`? How many keys does the new query
# see?
#
# </details>
# <details><summary>Hint 2: where to look</summary>
#
# `rope` has an argument `pos_offset`. An assignment to a slice, `cache_k[:, :, a:b] = ...`, writes
# into the cache. Beyond what you have written, the cache holds garbage: slice before you attend.
#
# </details>
# <details><summary>Hint 3: the shape of the code</summary>
#
# ```python
# q, k = rope(q, k, cos, sin, pos_offset=...)
# end = position + ...
# cache_k[:, :, ...:...] = ...
# ...
# o, _ = flash_gqa(q, cache_k[:, :, :end], ..., ...)
# ```
#
# </details>

# %% tags=["check"] key="llama_decode" points=4
def decode_ref(*arguments):
    return block_ref(*arguments[:-1])


DECODE_SUSPECTS = {
    code: (lambda *a, wrong=wrong: wrong(*a[:-1]), sentence)
    for code, (wrong, sentence) in SUSPECTS.items()
}
COPIES = (*PRODUCTS, "copy_", "cat")
DECODE_CASES = [
    case("token by token", **block_arguments(1, 4), prefill=1),
    case("three at once, then two", **block_arguments(2, 5), prefill=3),
]
check(llama_decode, decode_ref, DECODE_CASES, allow=COPIES, tolerance=close_enough,
      suspects=DECODE_SUSPECTS)
### BEGIN HIDDEN TESTS
HIDDEN_DECODE_CASES = [
    case("all at once", **block_arguments(1, 6), prefill=6),
    case("a longer text, half precision", dtype="float16",
         **block_arguments(1, 20, heads=2, kv_heads=1), prefill=18),
]
check(llama_decode, decode_ref, HIDDEN_DECODE_CASES, allow=COPIES, tolerance=close_enough,
      suspects=DECODE_SUSPECTS)
### END HIDDEN TESTS

# %% [markdown]
# ## Task 3. Training
#
# Every part needs a gradient. Attention has one: your `flash_attention` of notebook 15. Two more
# backward passes are given below: that of RMSNorm, as in the stretch of notebook 07, and that
# of the gate of SwiGLU, element by element as in notebook 03. Read them if you like.
#
# What is left is to connect them. `RMSNorm` shows how. Write two more, about 4 and 7 lines:
#
# - `Rope`: forward is `rope`, backward is `rope_backward`. Keep the tables.
# - `SwiGLU`: forward is given. It keeps neither gate nor up, to save memory. So the backward pass
#   makes them again: two products. Then, with hidden = silu(gate) × up:
#
# $$d\,hidden = dy\, W_{down}^T \qquad dW_{down} = hidden^T dy \qquad
# dx = dgate\, W_{gate}^T + dup\, W_{up}^T$$
#
# $$dW_{gate} = x^T dgate \qquad dW_{up} = x^T dup$$
#
# `silu_mul_backward(dhidden, gate, up)` returns dgate, dup and hidden.

# %% tags=["reference"]
@triton.jit
def rmsnorm_backward_kernel(
    dy_ptr, x_ptr, w_ptr, dx_ptr, partial_ptr, M, N, eps, BLOCK_N: tl.constexpr
):
    """dx of rows pid, pid + programs, ...; their sum of dy x / rms goes to partial.

    One program = every so many rows, each in one tile.
    Assumes contiguous rows and BLOCK_N >= N.
    """
    pid, programs = tl.program_id(0), tl.num_programs(0)
    offs_n = tl.arange(0, BLOCK_N)
    mask_n = offs_n < N
    w = tl.load(w_ptr + offs_n, mask=mask_n, other=0.0).to(tl.float32)
    dw = tl.zeros([BLOCK_N], tl.float32)
    for row in range(pid, M, programs):
        at = (row + 0 * offs_n).to(tl.int64) * N + offs_n  # M * N may pass 2**31
        x = tl.load(x_ptr + at, mask=mask_n, other=0.0).to(tl.float32)
        dy = tl.load(dy_ptr + at, mask=mask_n, other=0.0).to(tl.float32)
        r = 1.0 / tl.sqrt(tl.sum(x * x, axis=0) / N + eps)
        g = dy * w
        dx = r * (g - x * (r * r * tl.sum(g * x, axis=0) / N))
        tl.store(dx_ptr + at, dx, mask=mask_n)
        dw += dy * x * r
    tl.store(partial_ptr + pid * N + offs_n, dw, mask=mask_n)


@triton.jit
def sum_rows_kernel(x_ptr, out_ptr, M, N, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    """out[n] = sum over m of x[m, n].

    One program = BLOCK_N columns.
    Assumes BLOCK_M >= M and contiguous rows.
    """
    offs_m = tl.arange(0, BLOCK_M)[:, None]
    offs_n = tl.program_id(0) * BLOCK_N + tl.arange(0, BLOCK_N)
    mask = (offs_m < M) & (offs_n[None, :] < N)
    x = tl.load(x_ptr + offs_m * N + offs_n[None, :], mask=mask, other=0.0)
    tl.store(out_ptr + offs_n, tl.sum(x, axis=0), mask=offs_n < N)


def rmsnorm_backward(dy, x, w, eps):
    """(dx, dw) of rmsnorm(x, w, eps)."""
    dy, x = dy.contiguous(), x.contiguous()
    N = x.shape[-1]
    M = x.numel() // N
    programs = min(M, 128)
    dx, dw = torch.empty_like(x), torch.empty_like(w)
    partial = torch.empty((programs, N), dtype=torch.float32, device=x.device)
    BLOCK_N = triton.next_power_of_2(N)
    warps = min(max(BLOCK_N // 512, 1), 8)
    rmsnorm_backward_kernel[(programs,)](
        dy, x, w, dx, partial, M, N, eps, BLOCK_N=BLOCK_N, num_warps=warps
    )
    sum_rows_kernel[(triton.cdiv(N, 32),)](
        partial, dw, programs, N, BLOCK_M=triton.next_power_of_2(programs), BLOCK_N=32
    )
    return dx, dw


@triton.jit
def silu_mul_backward_kernel(
    dh_ptr, gate_ptr, up_ptr, dgate_ptr, dup_ptr, hidden_ptr, n_elements,
    BLOCK_SIZE: tl.constexpr,
):
    """Gradients of hidden = silu(gate) * up, and hidden itself.

    One program = BLOCK_SIZE elements.
    Assumes contiguous memory.
    """
    offs = tl.program_id(0).to(tl.int64) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offs < n_elements
    dh = tl.load(dh_ptr + offs, mask=mask).to(tl.float32)
    gate = tl.load(gate_ptr + offs, mask=mask).to(tl.float32)
    up = tl.load(up_ptr + offs, mask=mask).to(tl.float32)
    s = tl.sigmoid(gate)
    silu = gate * s
    tl.store(dgate_ptr + offs, dh * up * (s + silu * (1 - s)), mask=mask)
    tl.store(dup_ptr + offs, dh * silu, mask=mask)
    tl.store(hidden_ptr + offs, silu * up, mask=mask)


def silu_mul_backward(dh, gate, up):
    """(dgate, dup, hidden) for hidden = silu(gate) * up and its gradient dh."""
    made = [torch.empty_like(gate) for _ in range(3)]
    n_elements = gate.numel()
    silu_mul_backward_kernel[(triton.cdiv(n_elements, 1024),)](
        dh, gate, up, *made, n_elements, BLOCK_SIZE=1024
    )
    return made


class RMSNorm(torch.autograd.Function):
    """The example: forward is your kernel, backward the one above."""

    @staticmethod
    def forward(ctx, x, w, eps):
        ctx.save_for_backward(x, w)
        ctx.eps = eps
        return rmsnorm(x, w, eps)

    @staticmethod
    def backward(ctx, dy):
        x, w = ctx.saved_tensors
        dx, dw = rmsnorm_backward(dy, x, w, ctx.eps)
        return dx, dw, None


# %% tags=["answer"] key="llama_train"
class Rope(torch.autograd.Function):
    """rope(q, k, cos, sin) with a gradient."""

    @staticmethod
    def forward(ctx, q, k, cos, sin):
        # TODO: keep the tables, turn (2 lines)
        ### BEGIN SOLUTION
        ctx.save_for_backward(cos, sin)
        return rope(q, k, cos, sin)
        ### END SOLUTION

    @staticmethod
    def backward(ctx, dq, dk):
        # TODO: turn back; the tables have no gradient (2 lines)
        ### BEGIN SOLUTION
        cos, sin = ctx.saved_tensors
        return *rope_backward(dq, dk, cos, sin), None, None
        ### END SOLUTION


class SwiGLU(torch.autograd.Function):
    """(silu(x @ w_gate) * (x @ w_up)) @ w_down with a gradient; x is (rows, D)."""

    @staticmethod
    def forward(ctx, x, w_gate, w_up, w_down):
        ctx.save_for_backward(x, w_gate, w_up, w_down)
        return silu_mul(x @ w_gate, x @ w_up) @ w_down

    @staticmethod
    def backward(ctx, dy):
        x, w_gate, w_up, w_down = ctx.saved_tensors
        # TODO: gate and up again, dhidden, the kernel, then four gradients (4 lines)
        ### BEGIN SOLUTION
        gate, up = x @ w_gate, x @ w_up
        dgate, dup, hidden = silu_mul_backward(dy @ w_down.t(), gate, up)
        dx = torch.addmm(dgate @ w_gate.t(), dup, w_up.t())
        return dx, x.t() @ dgate, x.t() @ dup, hidden.t() @ dy
        ### END SOLUTION


def llama_train(
    x, norm_attn, w_qkv, w_o, norm_mlp, w_gate, w_up, w_down, cos, sin, heads, kv_heads, eps=EPS
):
    """llama_block that autograd can differentiate."""
    B, L, D = x.shape
    h = RMSNorm.apply(x, norm_attn, eps).view(-1, D)
    parts = (h @ w_qkv).view(B, L, heads + 2 * kv_heads, -1).transpose(1, 2)
    q, k, v = parts.split((heads, kv_heads, kv_heads), dim=1)
    q, k = Rope.apply(q, k, cos, sin)
    o = flash_attention(q, k, v, True).transpose(1, 2).reshape(B * L, -1)
    h = torch.addmm(x.reshape(-1, D), o, w_o).view(B, L, D)
    normed = RMSNorm.apply(h, norm_mlp, eps).view(-1, D)
    return h + SwiGLU.apply(normed, w_gate, w_up, w_down).view(B, L, D)


def block_gradients(x, dy, *rest):
    """The layer's result, and the gradients of x and its seven weights, by autograd."""
    leaves = [t.detach().requires_grad_() for t in (x, *rest[:7])]
    y = llama_train(*leaves, *rest[7:])
    return y.detach(), *torch.autograd.grad(y, leaves, dy)


class TritonLlamaBlock(torch.nn.Module):
    """A layer of Llama on your kernels. forward(x, cos, sin): (B, L, D) to (B, L, D)."""

    NAMES = ("norm_attn", "w_qkv", "w_o", "norm_mlp", "w_gate", "w_up", "w_down")

    def __init__(self, weights, heads, kv_heads, eps=EPS):
        """weights: tensors by name, as in the contract."""
        super().__init__()
        self.heads, self.kv_heads, self.eps = heads, kv_heads, eps
        for name in self.NAMES:
            self.register_parameter(name, torch.nn.Parameter(weights[name]))

    @classmethod
    def from_hugging_face(cls, layer, config):
        """The same layer as a transformers LlamaDecoderLayer, sharing its weights but for qkv."""
        attn, mlp = layer.self_attn, layer.mlp
        joined = torch.cat([attn.q_proj.weight, attn.k_proj.weight, attn.v_proj.weight])
        weights = {
            "norm_attn": layer.input_layernorm.weight,
            "w_qkv": joined.t(),
            "w_o": attn.o_proj.weight.t(),
            "norm_mlp": layer.post_attention_layernorm.weight,
            "w_gate": mlp.gate_proj.weight.t(),
            "w_up": mlp.up_proj.weight.t(),
            "w_down": mlp.down_proj.weight.t(),
        }
        weights = {name: weight.detach() for name, weight in weights.items()}
        heads = config.num_attention_heads, config.num_key_value_heads
        return cls(weights, *heads, config.rms_norm_eps)

    def forward(self, x, cos, sin):
        run = llama_train if torch.is_grad_enabled() else llama_block
        weights = [getattr(self, name) for name in self.NAMES]
        return run(x, *weights, cos, sin, self.heads, self.kv_heads, self.eps)

# %% [markdown] tags=["hint"] key="llama_train"
# #### Hints for llama_train
#
# <details><summary>Hint 1: a question</summary>
#
# For y = a @ b, the gradient of a is dy times the transpose of b. Which product gives the gradient
# of b? Check the shapes: they allow only one.
#
# </details>
# <details><summary>Hint 2: where to look</summary>
#
# `RMSNorm` above has the form. `backward` returns one value for each argument of `forward`, in
# their order; None for a table. `rope_backward` returns two tensors: `return *rope_backward(...),
# None, ...`.
#
# </details>
# <details><summary>Hint 3: the shape of the code</summary>
#
# ```python
# gate, up = x @ ..., ...
# dgate, dup, hidden = silu_mul_backward(dy @ ..., gate, up)
# dx = torch.addmm(dgate @ ..., dup, ...)
# return dx, x.t() @ ..., ..., hidden.t() @ ...
# ```
#
# </details>

# %% tags=["check"] key="llama_train" points=6
def gradients_ref(x, dy, *rest):
    with torch.enable_grad():
        leaves = [t.detach().requires_grad_() for t in (x, *rest[:7])]
        y = block_ref(*leaves, *rest[7:])
        return y.detach(), *torch.autograd.grad(y, leaves, dy)


def gradients_close(dtype):
    usual = close_enough(dtype)
    return Tolerance(4 * usual.relative, 4 * usual.of_row_max, usual.relative, usual.because)


def training_case(note, B, L, dtype="float32", **sizes):
    arguments = block_arguments(B, L, **sizes)
    x = arguments.pop("x")
    return case(note, dtype=dtype, x=x, dy=tensor(B, L, x.shape[2]), **arguments)


TRAINING = (*PRODUCTS, "t", "cat", "copy_", "slice_backward", "split_with_sizes_backward")
TRAINING_CASES = [
    training_case("two batches", 2, 5),
    training_case("an odd length", 1, 18, heads=2, kv_heads=1),
]
check(block_gradients, gradients_ref, TRAINING_CASES, key="llama_train", allow=TRAINING,
      tolerance=gradients_close)
### BEGIN HIDDEN TESTS
HIDDEN_TRAINING_CASES = [
    training_case("one token", 2, 1),
    training_case("odd widths, eight heads share two", 1, 6, D=40, F=70, heads=8),
]
check(block_gradients, gradients_ref, HIDDEN_TRAINING_CASES, key="llama_train", allow=TRAINING,
      tolerance=gradients_close)
### END HIDDEN TESTS

# %% [markdown]
# ## Train it
#
# A tiny language model: bytes in, one block, bytes out. It reads the pages of this very course and
# learns to guess the next byte. The same model with the block in plain torch starts from the same
# weights and sees the same text. The two curves should lie on each other.

# %%
from matplotlib import pyplot

from tritonbook.course.exercises import exercises

pages = "".join(c.source for e in exercises() for c in e.cells if c.kind == "markdown")
text = torch.tensor(list(pages.encode()), device=DEVICE)
D, F, H, HK, d = (128, 384, 4, 2, 32) if DEVICE == "cuda" else (32, 48, 2, 1, 16)
L, batch, steps = (128, 16, 300) if DEVICE == "cuda" else (16, 2, 6)
angle = torch.arange(L)[:, None] * 10_000.0 ** (-torch.arange(0, d, 2) / d)
cos, sin = angle.cos().to(DEVICE), angle.sin().to(DEVICE)


def new_model():
    """Embedding, block and output layer, always with the same weights."""
    torch.manual_seed(0)
    shapes = {"w_qkv": (D, (H + 2 * HK) * d), "w_o": (H * d, D), "w_gate": (D, F), "w_up": (D, F),
              "w_down": (F, D)}
    weights = {n: torch.randn(*s, device=DEVICE) * s[0] ** -0.5 for n, s in shapes.items()}
    weights |= {name: torch.ones(D, device=DEVICE) for name in ("norm_attn", "norm_mlp")}
    ends = torch.nn.Embedding(256, D), torch.nn.Linear(D, 256)
    return TritonLlamaBlock(weights, H, HK), *(end.to(DEVICE) for end in ends)


def train(run):
    """Losses of `steps` steps; run(block, x) is the block's forward pass."""
    block, table, out = new_model()
    parameters = [p for part in (block, table, out) for p in part.parameters()]
    optimiser = torch.optim.AdamW(parameters, lr=3e-3)
    losses = []
    for _ in range(steps):
        starts = torch.randint(len(text) - L - 1, (batch, 1), device=DEVICE)
        window = text[starts + torch.arange(L + 1, device=DEVICE)]
        logits = out(run(block, table(window[:, :-1])))
        loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), window[:, 1:].flatten())
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        losses.append(loss.item())
    return losses


def eager(block, x):
    weights = [getattr(block, name) for name in block.NAMES]
    return block_ref(x, *weights, cos, sin, H, HK)


ours, torchs = train(lambda block, x: block(x, cos, sin)), train(eager)
figure, axes = pyplot.subplots(figsize=(6, 3.2))
axes.plot(torchs, "-", linewidth=4, alpha=0.4, label="torch")
axes.plot(ours, "--", label="your kernels")
axes.set(xlabel="step", ylabel="loss", title="Guessing the next byte of this course")
axes.legend()
pyplot.show()
print(f"after {steps} steps: your kernels {ours[-1]:.3f}, torch {torchs[-1]:.3f}")

# %% [markdown]
# ## Who bought how much?
#
# `ablate` swaps one part at a time back to PyTorch and times the block. It puts another function
# into the notebook under the same name. Your block looks names up when it runs, so it finds the new
# one.
#
# Guess before you run it: which part, taken back, costs most?

# %%
from torch.nn.functional import rms_norm, scaled_dot_product_attention, silu

IN_TORCH = {
    "rmsnorm": lambda x, w, eps: rms_norm(x, w.shape, w, eps),
    "rope": lambda q, k, cos, sin, out: (turn_ref(q, cos, sin), turn_ref(k, cos, sin)),
    "flash_gqa": lambda q, k, v, causal: (
        scaled_dot_product_attention(q, k, v, is_causal=causal, enable_gqa=True), None
    ),
    "silu_mul": lambda gate, up: silu(gate) * up,
}


def ablate(block, x, cos, sin):
    """Time the block as it is, with one part in torch, and with all four."""
    kept = {name: globals()[name] for name in IN_TORCH}

    def with_torch(*names):
        def run():
            globals().update({name: IN_TORCH[name] for name in names})
            try:
                with torch.no_grad():
                    return block(x, cos, sin)
            finally:
                globals().update(kept)

        return run

    ways = {"your kernels": with_torch()}
    ways |= {f"{name} in torch": with_torch(name) for name in IN_TORCH}
    ways |= {"all in torch": with_torch(*IN_TORCH)}
    flops = 2 * x.shape[0] * x.shape[1] * sum(w.numel() for w in block.parameters())
    return bench(ways, flops=flops, baseline="all in torch")


if DEVICE == "cuda":
    B, L, D, F, H, HK, d, dtype = 2, 2048, 4096, 14336, 32, 8, 128, torch.bfloat16
else:
    B, L, D, F, H, HK, d, dtype = 1, 16, 32, 64, 2, 1, 16, torch.float32
# as torch.nn.Linear keeps them: (out, in), seen through .t()
shapes = {"w_qkv": ((H + 2 * HK) * d, D), "w_o": (D, H * d), "w_gate": (F, D), "w_up": (F, D),
          "w_down": (D, F)}
weights = {n: (torch.randn(*s, device=DEVICE) * s[-1] ** -0.5).to(dtype).t()
           for n, s in shapes.items()}
weights |= {name: torch.ones(D, device=DEVICE, dtype=dtype) for name in ("norm_attn", "norm_mlp")}
block = TritonLlamaBlock(weights, H, HK)
angle = torch.arange(L)[:, None] * 500_000.0 ** (-torch.arange(0, d, 2) / d)
cos, sin = angle.cos().to(DEVICE, dtype), angle.sin().to(DEVICE, dtype)
x = torch.randn(B, L, D, device=DEVICE, dtype=dtype)
timed = ablate(block, x, cos, sin)
timed

# %%
timed.plot()

# %% tags=["predict"]
from tritonbook import predict, time_of

predict(
    {
        "bytes that silu_mul moves for 8 x 14336 float32": None,
        "ms of your block for 2 x 2048 tokens": None,
    },
    measured=[
        lambda: traffic(silu_mul, *torch.randn(2, 8, 14336, device=DEVICE)),
        lambda: time_of(timed, "your kernels", stored="llama_block"),
    ],
    hints=[
        "Two matrices are read, one is written.",
        "2 operations for each weight and token. How many weights do the five matrices have?",
    ],
)

# %% [markdown]
# <details><summary>Where the numbers come from</summary>
#
# **Bytes.** 3 × 8 × 14336 × 4 = 1,376,256.
#
# **Milliseconds.** The five matrices hold 4096 × (6144 + 4096 + 3 × 14336) = 218 million weights.
# With 4,096 tokens that is 2 × 218e6 × 4096 = 1.79e12 operations. Attention adds 0.07e12. At the 680
# TFLOP/s of a large product on an H100: 2.73 ms. It took 2.87, in the benchmarks 2.94. The other 5
# to 8 % are norms, rotations and gates, and attention, which runs below that rate.
#
# </details>

# %% [markdown]
# **Read the chart.** The five products take most of the time, the three of the MLP four fifths of
# that, and cuBLAS is good at them. What you save lies between them: numbers that are not written to
# memory only to be read again. (On an H100 the workbook's `flash_gqa` is the kernel of notebook 18
# here. In plain Triton attention takes 0.03 ms more, with 8,192 tokens 0.23.)
#
# Against a real Llama layer: where the package `transformers` is installed, the next cell takes one
# of its layers with random weights, gives the same weights to your block, and compares.

# %%
import importlib.util

if importlib.util.find_spec("transformers"):
    from transformers import LlamaConfig
    from transformers.models.llama.modeling_llama import LlamaDecoderLayer, LlamaRotaryEmbedding

    config = LlamaConfig(hidden_size=64, intermediate_size=112, num_attention_heads=4,
                         num_key_value_heads=2, attn_implementation="eager")
    layer, angles = LlamaDecoderLayer(config, 0).to(DEVICE), LlamaRotaryEmbedding(config).to(DEVICE)
    x = torch.randn(2, 9, 64, device=DEVICE)
    places = torch.arange(9, device=DEVICE)[None]
    cos, sin = angles(x, places)
    hidden = torch.full((9, 9), float("-inf"), device=DEVICE).triu(1)[None, None]
    with torch.no_grad():
        want = layer(x, attention_mask=hidden, position_embeddings=(cos, sin))
        want = want[0] if isinstance(want, tuple) else want
        got = TritonLlamaBlock.from_hugging_face(layer, config)(x, cos[0], sin[0])
    print(f"largest difference to Hugging Face's layer: {(got - want).abs().max():.1e}")
else:
    print("transformers is not installed: nothing to compare with")

# %% [markdown]
# ## Recap
#
# - A Llama layer is two halves: normalise, work, add to what came in.
# - Strides carry q, k and v from one product through RoPE and attention without a copy.
# - With a KV cache a step is the same code: an offset for RoPE, a slice for attention.
# - For training, each kernel gets its gradient and a small class that connects the two.
#
# <details><summary>Common mistakes</summary>
#
# - The residual adds the normalised values, or x where h is meant. The loss may fall all the same.
# - The cache is read to its end, with garbage behind the last token.
# - A decode step without `pos_offset`: every new token stands at position 0.
# - q and k turned in place, in memory that the cache or the backward pass still needs.
#
# </details>
#
# You have built the layer that large language models are made of, from the first load to the last
# store. What next? The [course map](../README.md) has the stretch tasks that you left out.

# %%
progress()

# ---
# workbook:
#   title: A small Llama that learns to write
#   minutes: 50
#   needs: interpreter
#   requires: [15_norm_backward, 43_flash_backward, 44_llama_block]
#   limits: {sm_75: fits, sm_80: no spills, sm_86: fits, sm_89: fits, sm_90: spills 64}
#   you_will:
#     - write the step that adds one token, with a cache of keys and values
#     - give the last of your kernels its gradient, and connect all of them to autograd
#     - train a small Llama on the pages of this course, and read what it writes
# ---

# %% tags=["setup"]
from tritonbook.first_cell import *

# %% [markdown]
# ## The idea
#
# Page 44 ended with a layer. A model that writes needs two things more: a cheap way to add **one token**, and
# **gradients**. Then you can put layers on top of each other, train them, and let them write.
#
# A model writes one token at a time. The new token attends to all those before it. Their keys and values have
# not changed, so nobody computes them again: they are kept in the *KV cache*, two tensors for each layer with
# room for P tokens. A step computes q, k and v of the new token alone, puts k and v into the cache, and
# attends to the part that is filled.

# %%
pictures("llama_decode_train").draw_cache(filled=5, room=8)

# %% [markdown]
# ## A smaller example first
#
# A cache of single numbers, with room for five. Each step writes at its own `position` and reads up to there.

# %%
cache = torch.empty(5).fill_(float("nan"))  # what lies in fresh memory is anybody's guess
for position, number in enumerate((3.0, 1.0, 4.0)):
    cache[position : position + 1] = number
    print(f"position {position}: reads {cache[: position + 1].tolist()} of {cache.tolist()}")

# %% [markdown]
# ## Task 1. One token more
#
# | name | shape | role |
# |---|---|---|
# | `x` | (B, L, D) | the new tokens: all of a prompt at once, later one by one |
# | `position` | int | where the first of them stands; as many tokens came before |
# | `cache_k`, `cache_v` | (B, HK, P, d) | hold keys and values of the tokens 0 to `position` − 1 |
# | weights, tables | as on page 44 | |
# | result | (B, L, D) | as `attention_half` gives it for these tokens |
#
# `attention_step` is `attention_half` of page 44 with a cache. Fill its gap, about 5 lines. You have q as
# (B, H, L, d), k and v as (B, HK, L, d). Two things about your kernels:
#
# - `rope(q, k, cos, sin, pos_offset=p)` turns the first token as the one at position p, the next as p + 1.
# - `flash_gqa(q, k, v, True)` returns o and lse, and may get more keys than queries. Then the last query sees the last key, the one
#   before it all keys but the last. That is just what new tokens need.
#
# `llama_decode` is given. It reads the first `prefill` tokens in one step and the others one by one. The result must
# be what the whole layer gives at once. As on page 44, torch may do products (`@`), sums with the residual and
# views; all else is your kernels' work, and no step copies what the cache holds.

# %% tags=["reference"]
EPS = 1e-5
rmsnorm, rope = mine("rmsnorm", quiet=True), mine("rope", quiet=True)
flash_gqa, silu_mul = mine("flash_gqa", quiet=True), mine("silu_mul", quiet=True)
rmsnorm_backward = mine("rmsnorm_backward", quiet=True)
rope_backward = mine("rope_backward", quiet=True)
flash_attention = mine("flash_attention", quiet=True)


def mlp_half(h, norm_mlp, w_gate, w_up, w_down):
    """h + mlp(rmsnorm(h)), as on page 44."""
    rows = rmsnorm(h, norm_mlp, EPS).view(-1, h.shape[-1])
    return h + (silu_mul(rows @ w_gate, rows @ w_up) @ w_down).view(h.shape)

# %% tags=["answer"] key="llama_decode"
def attention_step(
    x, norm_attn, w_qkv, w_o, cos, sin, heads, kv_heads, cache_k, cache_v, position
):
    """x + attention, for the tokens that stand at `position` and after it; fills the cache."""
    B, L, D = x.shape
    made = (rmsnorm(x, norm_attn, EPS) @ w_qkv).view(B, L, heads + 2 * kv_heads, -1)
    q, k, v = made.transpose(1, 2).split((heads, kv_heads, kv_heads), dim=1)
    # TODO: turn q and k; keep k and v; o from the filled part of the cache (about 5 lines)
    ### BEGIN SOLUTION
    q, k = rope(q, k, cos, sin, pos_offset=position)
    end = position + L
    cache_k[:, :, position:end] = k
    cache_v[:, :, position:end] = v
    o, _ = flash_gqa(q, cache_k[:, :, :end], cache_v[:, :, :end], True)
    ### END SOLUTION
    return x + o.transpose(1, 2).reshape(B, L, -1) @ w_o


def llama_decode(
    x, norm_attn, w_qkv, w_o, norm_mlp, w_gate, w_up, w_down, cos, sin, heads, kv_heads, prefill
):
    """The layer's result for all tokens of x: `prefill` of them at once, then one after another."""
    B, L, D = x.shape
    room = (B, kv_heads, L, w_o.shape[0] // heads)
    caches = [torch.empty(room, dtype=x.dtype, device=x.device) for _ in range(2)]
    attention = (norm_attn, w_qkv, w_o, cos, sin, heads, kv_heads, *caches)
    results, position = [], 0
    for tokens in x.split([prefill] + [1] * (L - prefill), dim=1):
        h = attention_step(tokens, *attention, position)
        results.append(mlp_half(h, norm_mlp, w_gate, w_up, w_down))
        position += tokens.shape[1]
    return torch.cat(results, dim=1)

# %% [markdown] tags=["hint"] key="llama_decode"
# #### Hints for llama_decode
#
# <details><summary>Hint 1: a question</summary>
#
# Five tokens are in the cache, and one is new. What is `position`? How many keys does the new query
# see? And if three are new?
#
# </details>
# <details><summary>Hint 2: where to look</summary>
#
# The smaller example has the two slices; here they are in dimension 2. A key is turned once, by the position at
# which it stands, and never again: so what goes into the cache?
#
# </details>
# <details><summary>Hint 3: the shape of the code</summary>
#
# ```python
# q, k = rope(...)
# end = ...  # one past the last new token
# cache_k[:, :, ...] = ...
# ...
# o, _ = flash_gqa(q, ..., ..., True)  # the filled part of both
# ```
#
# </details>

# %% tags=["check"] key="llama_decode" points=4
check(llama_decode)

# %% [markdown]
# ## Where the gradients come from
#
# | part of a layer | its way back |
# |---|---|
# | products, sums | PyTorch's own |
# | `flash_attention(q, k, v, True)` | has one, connected on page 43: yours, or else the course's |
# | `rope` | `rope_backward(dq, dk, cos, sin)` of page 40 returns the gradients of q and k |
# | `rmsnorm` | `rmsnorm_backward(dy, x, w, eps)` of page 15 returns dx and dw |
# | `silu_mul` | missing: Task 2 |
#
# ## Task 2. The way back through the gate
#
# hidden = silu(g) × u, where silu(g) = g × s and s = sigmoid(g). Two facts: the derivative of s is s (1 − s),
# and a product's derivative has two terms. So, in one launch:
#
# $$du = dhidden \cdot g\,s \qquad dg = dhidden \cdot u \cdot \bigl(s + g\,s\,(1 - s)\bigr)$$
#
# | name | shape | role |
# |---|---|---|
# | `dhidden` | as `gate` | gradient of silu(gate) × up |
# | `gate`, `up` | the same, contiguous | what went into `silu_mul` |
# | result | two new tensors | gradients of `gate` and `up`, in their dtype |
#
# The matrices are contiguous, so rows do not matter: each program takes the next 1,024 elements, as on page 01.
# Load, go to float32, compute, store: about 6 lines. Shapes that differ raise `ValueError`.

# %% tags=["answer"] key="silu_mul_backward"
@triton.jit
def silu_mul_backward_kernel(
    dhidden_ptr, gate_ptr, up_ptr, dgate_ptr, dup_ptr,
    n_elements, BLOCK_SIZE: tl.constexpr,
):
    """dgate and dup of hidden = silu(gate) * up.

    One program = BLOCK_SIZE elements.
    Assumes contiguous tensors.
    """
    offs = tl.program_id(0).to(tl.int64) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offs < n_elements

    # TODO: load three tiles in float32, compute, store two (about 6 lines)
    ### BEGIN SOLUTION
    dhidden = tl.load(dhidden_ptr + offs, mask=mask).to(tl.float32)
    gate = tl.load(gate_ptr + offs, mask=mask).to(tl.float32)
    up = tl.load(up_ptr + offs, mask=mask).to(tl.float32)
    s = tl.sigmoid(gate)
    tl.store(dgate_ptr + offs, dhidden * up * (s + gate * s * (1 - s)), mask=mask)
    tl.store(dup_ptr + offs, dhidden * gate * s, mask=mask)
    ### END SOLUTION


def silu_mul_backward(dhidden, gate, up):
    """(dgate, dup) for hidden = silu(gate) * up, from the gradient of hidden."""
    if not all(t.shape == gate.shape and t.is_contiguous() for t in (dhidden, gate, up)):
        raise ValueError("dhidden, gate and up must be contiguous and of one shape")
    dgate, dup = torch.empty_like(gate), torch.empty_like(up)
    n_elements = gate.numel()
    silu_mul_backward_kernel[(triton.cdiv(n_elements, 1024),)](
        dhidden, gate, up, dgate, dup, n_elements, BLOCK_SIZE=1024
    )
    return dgate, dup

# %% [markdown] tags=["hint"] key="silu_mul_backward"
# #### Hints for silu_mul_backward
#
# <details><summary>Hint 1: a question</summary>
#
# Which two of the three inputs does du need? And dg?
#
# </details>
# <details><summary>Hint 2: where to look</summary>
#
# `tl.sigmoid(x)` is the s of the formulas. All five tensors have the same offsets and the same mask.
#
# </details>
# <details><summary>Hint 3: the shape of the code</summary>
#
# ```python
# dhidden = tl.load(...).to(tl.float32)
# # gate and up likewise
# s = ...
# tl.store(dgate_ptr + offs, ..., mask=mask)
# # and dup
# ```
#
# </details>

# %% tags=["check"] key="silu_mul_backward" points=4
check(silu_mul_backward)

# %% [markdown]
# ## Task 3. Connect them to autograd
#
# A `torch.autograd.Function` ties a way there to a way back. `forward` keeps what `backward` will need.
# `backward` gets one gradient for each output, and returns one value **for each input**, in the order of `forward`:
# None for what has no gradient. `RMSNorm` below is written out. Write `Rope` and `SiluMul`, two lines in each gap;
# the rule for torch is that of Task 1.
#
# `llama_train` is the layer of page 44 on these functions. Nothing in it writes over a tensor: autograd may
# need the old values. `layer_gradients` is what the check calls. It gives the result and the gradients of x and of
# all weights, from the end of the layer to its beginning. **The first that is wrong is nearest to the mistake.** The
# card names it.

# %% tags=["answer"] key="llama_train"
class RMSNorm(torch.autograd.Function):
    """rmsnorm(x, w, EPS) with a gradient."""

    @staticmethod
    def forward(ctx, x, w):
        ctx.save_for_backward(x, w)
        return rmsnorm(x, w, EPS)

    @staticmethod
    def backward(ctx, dy):
        x, w = ctx.saved_tensors
        return rmsnorm_backward(dy, x, w, EPS)


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
        # TODO: turn back; four values (2 lines)
        ### BEGIN SOLUTION
        dq, dk = rope_backward(dq, dk, *ctx.saved_tensors)
        return dq, dk, None, None
        ### END SOLUTION


class SiluMul(torch.autograd.Function):
    """silu_mul(gate, up) with a gradient."""

    @staticmethod
    def forward(ctx, gate, up):
        # TODO: keep what the way back needs, compute (2 lines)
        ### BEGIN SOLUTION
        ctx.save_for_backward(gate, up)
        return silu_mul(gate, up)
        ### END SOLUTION

    @staticmethod
    def backward(ctx, dhidden):
        # TODO: two values (2 lines)
        ### BEGIN SOLUTION
        gate, up = ctx.saved_tensors
        return silu_mul_backward(dhidden, gate, up)
        ### END SOLUTION


KERNELS = (RMSNorm.apply, Rope.apply, flash_attention, SiluMul.apply)


def llama_train(
    x, norm_attn, w_qkv, w_o, norm_mlp, w_gate, w_up, w_down, cos, sin, heads, kv_heads, ops=KERNELS
):
    """A layer that autograd can differentiate, from four functions."""
    norm, turn, attention, gated = ops
    B, L, D = x.shape
    made = (norm(x, norm_attn) @ w_qkv).view(B, L, heads + 2 * kv_heads, -1)
    q, k, v = made.transpose(1, 2).split((heads, kv_heads, kv_heads), dim=1)
    q, k = turn(q, k, cos, sin)
    h = x + attention(q, k, v, True).transpose(1, 2).reshape(B, L, -1) @ w_o
    rows = norm(h, norm_mlp).view(-1, D)
    return h + (gated(rows @ w_gate, rows @ w_up) @ w_down).view(B, L, D)


def layer_gradients(x, dy, *rest):
    """The layer's result, then all gradients, from the layer's end to its beginning."""
    leaves = [t.detach().requires_grad_() for t in (x, *rest[:7])]
    y = llama_train(*leaves, *rest[7:])
    return y.detach(), *torch.autograd.grad(y, leaves[::-1], dy)

# %% [markdown] tags=["hint"] key="llama_train"
# #### Hints for llama_train
#
# <details><summary>Hint 1: a question</summary>
#
# `Rope.forward` has four inputs after `ctx`. For which two of them does anybody want a gradient?
#
# </details>
# <details><summary>Hint 2: where to look</summary>
#
# `RMSNorm` has the form: tensors go through `ctx.save_for_backward`, and come back from
# `ctx.saved_tensors` in the same order. The table above names the functions for the way back.
#
# </details>
# <details><summary>Hint 3: the shape of the code</summary>
#
# ```python
# ctx.save_for_backward(..., ...)
# return rope(...)
# # and back
# dq, dk = rope_backward(...)
# return ..., ..., None, None
# ```
#
# </details>

# %% tags=["check"] key="llama_train" points=4
check(llama_train)

# %% [markdown]
# ## A small Llama
#
# Its alphabet is the 256 bytes. Each byte of the text becomes a row of a table, D numbers. The rows go through the
# layers, each token's numbers are normalised once more, and a last matrix gives 256 numbers: how likely is each byte as the
# next? The loss is −log of the share that the model gives to the byte that really comes.
#
# The text is all the prose of this course. Its last 10,000 bytes are kept back: the model never trains on them.

# %%
from torch.nn.functional import cross_entropy, embedding, rms_norm
from torch.nn.functional import scaled_dot_product_attention, silu
from tritonbook.course.exercises import exercises

prose = "".join(c.source for page in exercises() for c in page.cells if c.kind == "markdown")
text = torch.tensor(list(prose.encode()), device=DEVICE)
small = (32, 48, 2, 1, 16, 2), (16, 2, 6)  # enough to show, in the interpreter, that it works
sizes = ((256, 704, 8, 4, 32, 4), (256, 32, 1000)) if DEVICE == "cuda" else small
(D, F, H, HK, d, layers), (L, batch, steps) = sizes
angle = torch.arange(L)[:, None] * 10_000.0 ** (-torch.arange(0, d, 2) / d)
cos, sin = angle.cos().to(DEVICE), angle.sin().to(DEVICE)


def weights_of(*shapes):
    made = (torch.randn(s) * s[0] ** -0.5 if len(s) == 2 else torch.ones(s) for s in shapes)
    return [w.to(DEVICE).requires_grad_() for w in made]


def new_model():
    """Lists of weights: the table; seven for each layer; the last norm and matrix."""
    torch.manual_seed(0)
    layer = [(D,), (D, (H + 2 * HK) * d), (H * d, D), (D,), (D, F), (D, F), (F, D)]
    inner = [weights_of(*layer) for _ in range(layers)]
    last = torch.zeros(D, 256, device=DEVICE, requires_grad=True)
    return [weights_of((256, D)), *inner, [*weights_of((D,)), last]]


def loss_of(model, window, ops):
    """Mean loss of guessing each byte of `window` (B, L + 1) from those before it."""
    (table,), *inner, (norm, last) = model
    x = embedding(window[:, :-1], table)
    for weights in inner:
        x = llama_train(x, *weights, cos, sin, H, HK, ops)
    return cross_entropy((ops[0](x, norm) @ last).flatten(0, 1), window[:, 1:].flatten())


def train(ops):
    model, losses = new_model(), []
    optimiser = torch.optim.AdamW(sum(model, []))
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, 2e-3, total_steps=steps)
    for _ in range(steps):
        starts = torch.randint(len(text) - 10_000 - L, (batch, 1), device=DEVICE)
        loss = loss_of(model, text[starts + torch.arange(L + 1, device=DEVICE)], ops)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        schedule.step()
        losses.append(loss.detach())
    return model, torch.stack(losses).tolist()


def torch_rope(q, k, cos, sin):
    halves = (x.chunk(2, dim=-1) for x in (q, k))
    return [torch.cat((a * cos - b * sin, b * cos + a * sin), dim=-1) for a, b in halves]


TORCH = (
    lambda x, w: rms_norm(x, w.shape, w, EPS),
    torch_rope,
    lambda q, k, v, mask: scaled_dot_product_attention(q, k, v, is_causal=mask, enable_gqa=True),
    lambda gate, up: silu(gate) * up,
)

# %% [markdown]
# `llama_train` takes its four functions as an argument. So the same model can be trained twice: on your kernels, and
# on PyTorch's operators. Both start from the same weights and see the same text. On a GPU the model has 3 million
# weights and takes 1,000 steps. Without one it has 32 thousand and takes six, to show that it works. The cell shows
# nothing yet. Give it a minute or two.

# %%
model, ours = train(KERNELS)
_, torchs = train(TORCH)
q, kv = torch.randn(1, 8, 1, 16, device=DEVICE), torch.randn(2, 1, 2, 100, 16, device=DEVICE)

# %% tags=["predict"]
from tritonbook import predict

predict(
    {
        "loss before the first step, when all 256 bytes are equally likely": None,
        "bytes of k that flash_gqa reads for a token: 2 key heads, 100 x 16 float32": None,
    },
    measured=[lambda: ours[0], lambda: traffic(flash_gqa, q, *kv, True)["k"]],
    hints=[
        "−log(1/256), with the natural logarithm.",
        "Heads that share their keys share the load. And every key is needed, for this one token.",
    ],
)

# %% [markdown]
# <details><summary>Where the numbers come from</summary>
#
# **The loss.** −log(1/256) = log 256 = 5.545.
#
# **Bytes.** 2 × 100 × 16 × 4 = 12,800, whatever the number of query heads. For each token that is
# written the whole cache is read once. Decoding is bound by memory: page 50 is about that.
#
# </details>

# %% [markdown]
# ## What it writes
#
# `generate` runs your decode step: the prompt at once, then byte by byte, with a cache for each layer. Each new byte is
# drawn by the shares that the model gives; a temperature below 1 makes likely bytes likelier.

# %%
def generate(model, prompt, count, temperature=0.7):
    """The prompt and `count` bytes more, one decode step each; at most L bytes in all."""
    (table,), *inner, (norm, last) = model
    caches = [[torch.empty(1, HK, L, d, device=DEVICE) for _ in "kv"] for _ in range(layers)]
    new, written, position = list(prompt.encode()), list(prompt.encode()), 0
    for _ in range(count):
        x = embedding(torch.tensor([new], device=DEVICE), table)
        for weights, cache in zip(inner, caches, strict=True):
            h = attention_step(x, *weights[:3], cos, sin, H, HK, *cache, position)
            x = mlp_half(h, *weights[3:])
        shares = torch.softmax(rmsnorm(x[0, -1:], norm, EPS) @ last / temperature, dim=-1)
        position += len(new)
        new = torch.multinomial(shares, 1)[0].tolist()
        written += new
    return bytes(written).decode(errors="replace")


with torch.no_grad():
    unseen = loss_of(model, text[-16 * (L + 1) :].view(16, L + 1), KERNELS).item()
    sample = generate(model, "One program", L - 11 if DEVICE == "cuda" else 4)
said = f"Loss after {steps} steps: your kernels {ours[-1]:.3f}, torch {torchs[-1]:.3f}; "
said += f"yours on text that it never saw: {unseen:.3f}.\n\n{sample}"
print(said)

# %%
from tritonbook.timing.plots import lines
from tritonbook.timing.stored import Curves, keep, load

none = "No curve of a GPU is kept yet: run this page on one to see it."
# kept with the workbook: what a GPU made of it
curves = load("llama_training") or Curves({}, none)
if DEVICE == "cuda":  # every tenth step
    curves = Curves({"your kernels": ours[::10], "torch": torchs[::10]}, said)
    keep("llama_training", curves)
drawn = {k: [*zip(range(0, 1000, 40), v[::4], strict=False)] for k, v in curves.curves.items()}
if DEVICE != "cuda":
    print(curves.label, curves.text, sep="\n")
lines(
    drawn, ("step", "loss"), title="A small Llama learns to write", label=curves.label
) if drawn else None

# %% [markdown]
# **Read it.** On an H200 the loss goes from 5.545 to 0.75. The two curves lie on each other: the same sums,
# rounded in another order. They need not agree in every digit for long, because training makes small differences
# grow. After 1,000 steps they are at 0.753 and 0.754.
#
# 1,000 steps of 32 × 256 bytes are 8 million, the text many times over, and the model knows much of it by
# heart. On text that it never saw its loss is 1.40. That is still far below 5.545: read the sample. Nobody
# taught this model a word.
#
# ## Recap
#
# - With a cache, a step is the layer that you know: an offset for RoPE, a slice for attention.
# - A key is turned once, by its own position, before it is kept.
# - Each kernel gets a way back, and an autograd function ties the two together.
# - Read wrong gradients from the end: the first that is wrong is nearest to the mistake.
#
# <details><summary>Common mistakes</summary>
#
# - Every new token turned as if it stood at position 0: right for a prompt, wrong for all that follows.
# - The cache read to its end. Behind the last token lies what was in memory before.
# - RoPE's gradient turned forwards, or handed on as it is. The loss falls all the same, a little less.
# - A tensor written over that the way back still needs.
#
# </details>
#
# You have built the layer that large language models are made of, from the first load to the last store, and a
# model that writes. Part 5 is about what serving and training such models at scale need. What you left out is on the
# [course map](../README.md).
#
# Next: [46_window_sinks](46_window_sinks.ipynb), where a query sees its last keys alone.

# %%
progress()

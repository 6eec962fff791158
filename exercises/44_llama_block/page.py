# ---
# workbook:
#   title: A Llama block on your kernels
#   minutes: 40
#   needs: interpreter
#   requires: [12_rmsnorm_choose, 23_fused_mlp, 40_rope, 43_flash_backward]
#   you_will:
#     - put RMSNorm, RoPE, flash attention and SwiGLU together to one layer of Llama 3
#     - hand queries, keys and values from one product to your kernels without a copy
#     - load the weights of a Hugging Face layer, and get its results
#     - find out which of your kernels bought how much
# ---

# %% tags=["setup"]
from tritonbook.first_cell import *

# %% [markdown]
# ## The idea
#
# You have all the parts. A layer of Llama is two halves. Each half normalises its input, does its work,
# and adds the result to what came in:
#
# $$h = x + \mathrm{Attention}(\mathrm{RMSNorm}(x))$$
#
# $$y = h + \mathrm{MLP}(\mathrm{RMSNorm}(h))$$
#
# What is added is called the *residual*. It is the input of the half **as it came**, not the normalised
# one.

# %%
pictures("llama_block").draw_layer()

# %% [markdown]
# The blue boxes are your kernels. This page has no new one. It puts them together, and measures what each
# of them is worth.
#
# ## Your four kernels
#
# | function | takes | returns |
# |---|---|---|
# | `rmsnorm(x, w, eps)` | (..., D), (D,) | as `x` |
# | `rope(q, k, cos, sin, out=(q, k))` | (B, H, L, d), (B, HK, L, d), two tables (P, d/2) or (P, d), P ≥ L | q and k, turned; `out=(q, k)` writes over them |
# | `flash_gqa(q, k, v, causal)` | (B, H, L, d), twice (B, HK, L, d) | **two** tensors: o, as `q`, and lse |
# | `silu_mul(gate, up)` | twice (M, F) | silu(gate) × up, (M, F) |
#
# B is the number of texts, L their length in tokens, D the width of a token. There are H query heads of size
# d, and HK heads of keys and values. All four take any strides.
#
# The next cell fetches them: yours if you have passed their checks, else the workbook's. It says which. They go into a
# tuple with four names. A layer will take it as the argument `ops` and call `ops.rmsnorm`, `ops.rope` and
# so on. So you can hand in PyTorch's functions later, one at a time, and see what changes.

# %% tags=["reference"]
from types import SimpleNamespace

EPS = 1e-5
rmsnorm, rope = mine("rmsnorm"), mine("rope")
flash_gqa, silu_mul = mine("flash_gqa"), mine("silu_mul")
MINE = SimpleNamespace(rmsnorm=rmsnorm, rope=rope, flash_gqa=flash_gqa, silu_mul=silu_mul)

# %% [markdown]
# ## A smaller example: one product, several tensors
#
# A layer needs queries, keys and values of all heads. Three products would read x three times. One product
# with a wide matrix reads it once. Its result holds the heads of one token side by side. Here are 3 tokens
# with 2 heads of "a" and 2 heads of "b", of size 4.

# %%
made = torch.arange(3 * 16, device=DEVICE).view(1, 3, 16)  # (B, L, 4 heads x 4)
heads = made.view(1, 3, 4, 4).transpose(1, 2)  # (B, heads, L, d)
a, b = heads.split((2, 2), dim=1)
for name, t in (("made", made), ("a", a), ("b", b)):
    place = t.data_ptr() - made.data_ptr()
    print(f"{name:5} shape {tuple(t.shape)}, strides {t.stride()}, begins at byte {place}")

# %% [markdown]
# Nothing was copied: `view`, `transpose` and `split` only make new shapes and strides for the same memory.
# A kernel that takes strides reads it where it lies. That is why you gave yours so many of them.
#
# **Predict.** `made.view(1, 4, 3, 4)` has the same shape as `heads`, without the transposition. What does
# its first head hold?
#
# <details><summary>Answer</summary>
#
# The numbers 0 to 11. They are token 0 whole, but for its last head. A view takes the numbers in the order in
# which they lie, and the heads of *one token* lie side by side. So first cut each token into heads, then
# transpose.
#
# </details>
#
# ## The contract
#
# | name | shape | role |
# |---|---|---|
# | `x` | (B, L, D), contiguous | the tokens that enter the layer |
# | `norm_attn`, `norm_mlp` | (D,) | weights of the two norms |
# | `w_qkv` | (D, (H + 2 HK) × d) | makes q, k and v in one product, in this order |
# | `w_o` | (H × d, D) | after attention |
# | `w_gate`, `w_up` | (D, F) | first two products of the MLP |
# | `w_down` | (F, D) | its last |
# | `cos`, `sin` | (P, d/2) or (P, d) | tables of RoPE, half-split |
# | `heads`, `kv_heads` | | H and HK |
# | result | (B, L, D), dtype of `x` | new; x is not changed |
#
# Weights lie as (in, out): `x @ w`. And this is what the layer computes, in plain PyTorch. Here the weights
# are those of Hugging Face's library: by its names, as (out, in), with three matrices for q, k and v.

# %%
from torch.nn.functional import rms_norm, scaled_dot_product_attention, silu


def plain_layer(x, state, cos, sin):
    """The layer with a Hugging Face layer's state_dict(); cos and sin are (L, d/2)."""
    w = {name.split(".")[-2].removesuffix("_proj"): t for name, t in state.items()}
    L, D = x.shape[1:]
    h = rms_norm(x, (D,), w["input_layernorm"], EPS)
    # each (B, L, heads, d)
    q, k, v = ((h @ w[name].T).unflatten(2, (-1, 2 * cos.shape[1])) for name in "qkv")
    halves, c, s = (t.chunk(2, dim=-1) for t in (q, k)), cos[:, None], sin[:, None]
    q, k = (torch.cat((a * c - b * s, b * c + a * s), dim=-1) for a, b in halves)
    k, v = (t.repeat_interleave(q.shape[2] // k.shape[2], dim=2) for t in (k, v))
    scores = torch.einsum("blhd,bmhd->bhlm", q, k) * q.shape[3] ** -0.5
    later = torch.ones(L, L, device=x.device).triu(1) > 0
    shares = scores.masked_fill(later, float("-inf")).softmax(dim=-1)
    x = x + torch.einsum("bhlm,bmhd->blhd", shares, v).flatten(2) @ w["o"].T
    h = rms_norm(x, (D,), w["post_attention_layernorm"], EPS)
    return x + (silu(h @ w["gate"].T) * (h @ w["up"].T)) @ w["down"].T

# %% [markdown]
# **What torch may do in your layer:** products (`@`, `torch.addmm`), a sum with the residual, and views. The
# products are cuBLAS's, and page 20 showed how hard it is to beat. All else comes out of your four kernels. The
# check refuses any other operator, and copies of q, k and v.
#
# ## Task 1. The half with attention
#
# About 8 lines. Three things to know:
#
# - Nobody needs q and k as they were before the turn. So let `rope` write over them: `out=(q, k)`.
# - Matrix products want two dimensions, or (B, L, D) on the left. `t.view(-1, D)` makes one row for each
#   token, `.view(B, L, D)` undoes it. Where memory is not in order a view fails, and `.reshape` makes a copy.
# - `torch.addmm(c, a, b)` is c + a @ b, for matrices: the residual costs no kernel of its own.

# %% tags=["answer"] key="attention_half"
def attention_half(
    x, norm_attn, w_qkv, w_o, cos, sin, heads, kv_heads, eps=EPS, ops=MINE
):
    """x + attention(rmsnorm(x)), for x (B, L, D)."""
    B, L, D = x.shape
    # TODO: norm, one product, q, k, v as (B, heads, L, d), rope, attention, last product
    ### BEGIN SOLUTION
    normed = ops.rmsnorm(x, norm_attn, eps)
    parts = (normed @ w_qkv).view(B, L, heads + 2 * kv_heads, -1).transpose(1, 2)
    q, k, v = parts.split((heads, kv_heads, kv_heads), dim=1)
    q, k = ops.rope(q, k, cos, sin, out=(q, k))
    o, _ = ops.flash_gqa(q, k, v, True)
    o = o.transpose(1, 2).reshape(B * L, -1)
    return torch.addmm(x.view(-1, D), o, w_o).view(B, L, D)
    ### END SOLUTION

# %% [markdown] tags=["hint"] key="attention_half"
# #### Hints for attention_half
#
# <details><summary>Hint 1: a question</summary>
#
# Attention gives o as (B, heads, L, d). The last product wants one row of H × d numbers for each
# token. What has to happen to o?
#
# </details>
# <details><summary>Hint 2: where to look</summary>
#
# The smaller example cuts a product into heads of two kinds. You have three kinds, H, HK and HK
# of them; a size of -1 in a view is computed for you. The picture has the order of the steps.
#
# </details>
# <details><summary>Hint 3: the shape of the code</summary>
#
# ```python
# normed = ops.rmsnorm(...)
# parts = ...  # the product, then (B, heads of all kinds, L, d)
# q, k, v = parts.split((..., ..., ...), dim=1)
# # turn q and k, attend (two results), make rows of o
# # the last product, with the residual
# ```
#
# </details>

# %% tags=["check"] key="attention_half" points=6
check(attention_half)

# %% [markdown]
# ## Task 2. The layer
#
# Call your `attention_half`, then write the MLP's half, about 4 lines more. Pass `eps` and `ops` on.
#
# What attention gave is a tensor that nobody else holds. So the last sum may write over it:
# `c.addmm_(a, b)`, with an underscore, is c += a @ b. It saves a copy of c.

# %% tags=["answer"] key="llama_block"
def llama_block(
    x, norm_attn, w_qkv, w_o, norm_mlp, w_gate, w_up, w_down,
    cos, sin, heads, kv_heads, eps=EPS, ops=MINE,
):
    """One layer of Llama: (B, L, D) to (B, L, D)."""
    D = x.shape[-1]
    # TODO: the half with attention; norm, two products, the gate, the last product
    ### BEGIN SOLUTION
    h = attention_half(x, norm_attn, w_qkv, w_o, cos, sin, heads, kv_heads, eps, ops)
    normed = ops.rmsnorm(h, norm_mlp, eps).view(-1, D)
    hidden = ops.silu_mul(normed @ w_gate, normed @ w_up)
    return h.view(-1, D).addmm_(hidden, w_down).view(x.shape)
    ### END SOLUTION

# %% [markdown] tags=["hint"] key="llama_block"
# #### Hints for llama_block
#
# <details><summary>Hint 1: a question</summary>
#
# In the picture, which tensor goes into the second norm? And which one is added at the end?
#
# </details>
# <details><summary>Hint 2: where to look</summary>
#
# `silu_mul` takes matrices, (rows of tokens, F): make rows before the products. Its first argument goes
# through the SiLU.
#
# </details>
# <details><summary>Hint 3: the shape of the code</summary>
#
# ```python
# h = attention_half(...)
# normed = ...  # as rows
# hidden = ops.silu_mul(..., ...)
# # h plus the last product, as (B, L, D)
# ```
#
# </details>

# %% tags=["check"] key="llama_block" points=6
check(llama_block)

# %% [markdown]
# ## Task 3. The weights of a real model
#
# A model that you download holds its weights by the names that `plain_layer` uses, each as `torch.nn.Linear`
# keeps it, (out, in). Write `from_hugging_face`, about 5 lines: the seven weights in the order of your
# `llama_block`. `.t()` turns a matrix round without a copy, and cuBLAS reads either. Only q, k and v have to be joined,
# once, with `torch.cat`. `w` is given, with short names: q, k, v, o, gate, up, down, input_layernorm,
# post_attention_layernorm.

# %% tags=["answer"] key="from_hugging_face"
def from_hugging_face(state):
    """The seven weights of llama_block, from a LlamaDecoderLayer's state_dict()."""
    w = {name.split(".")[-2].removesuffix("_proj"): t for name, t in state.items()}
    # TODO: join q, k and v; norm_attn, w_qkv, w_o, norm_mlp, w_gate, w_up, w_down
    ### BEGIN SOLUTION
    w_qkv = torch.cat((w["q"], w["k"], w["v"])).t()
    return (
        w["input_layernorm"], w_qkv, w["o"].t(),
        w["post_attention_layernorm"], w["gate"].t(), w["up"].t(), w["down"].t(),
    )
    ### END SOLUTION

# %% [markdown] tags=["hint"] key="from_hugging_face"
# #### Hints for from_hugging_face
#
# <details><summary>Hint 1: a question</summary>
#
# Here q is (H × d, D) and k is (HK × d, D). Along which dimension do they fit together?
#
# </details>
# <details><summary>Hint 2: where to look</summary>
#
# The contract says which shape each weight must have. A norm's weight is a vector: nothing to turn.
#
# </details>
# <details><summary>Hint 3: the shape of the code</summary>
#
# ```python
# w_qkv = torch.cat((..., ..., ...))  # (out, in) still
# return ..., ..., ...  # seven tensors, five of them turned
# ```
#
# </details>

# %% tags=["check"] key="from_hugging_face" points=2
check(from_hugging_face)

# %% [markdown]
# Now the proof. Where the package `transformers` is installed, the next cell compares your layer with one of Hugging
# Face's, else with `plain_layer`. The weights are random, the sizes odd.

# %%
import importlib.util

B, L, D, F, H, HK, d = 2, 37, 192, 512, 6, 2, 32


def tables(L, d, base):
    """cos and sin of RoPE's angles, (L, d/2)."""
    angle = torch.arange(L)[:, None] * base ** (-torch.arange(0, d, 2) / d)
    return angle.cos().to(DEVICE), angle.sin().to(DEVICE)


shapes = {"q": (H * d, D), "k": (HK * d, D), "v": (HK * d, D), "o": (D, H * d)}
shapes = {f"self_attn.{name}_proj": shape for name, shape in shapes.items()}
shapes |= {"mlp.gate_proj": (F, D), "mlp.up_proj": (F, D), "mlp.down_proj": (D, F)}
shapes |= {"input_layernorm": (D,), "post_attention_layernorm": (D,)}
state = {f"{n}.weight": torch.randn(s, device=DEVICE) * s[-1] ** -0.5 for n, s in shapes.items()}
x, (cos, sin) = torch.randn(B, L, D, device=DEVICE), tables(L, d, 10_000.0)
whose, want = "plain_layer", plain_layer(x, state, cos, sin)
if importlib.util.find_spec("transformers"):
    from transformers import LlamaConfig
    from transformers.models.llama.modeling_llama import LlamaDecoderLayer

    config = LlamaConfig(
        hidden_size=D, intermediate_size=F, num_attention_heads=H, num_key_value_heads=HK,
        rms_norm_eps=EPS, attn_implementation="eager",
    )  # fmt: skip
    layer = LlamaDecoderLayer(config, 0).to(DEVICE)
    layer.load_state_dict(state)
    later = torch.full((1, 1, L, L), float("-inf"), device=DEVICE).triu(1)
    wide = tuple(torch.cat((t, t), dim=1)[None] for t in (cos, sin))
    with torch.no_grad():
        want = layer(x, attention_mask=later, position_embeddings=wide)
    whose, want = "Hugging Face's layer", want[0] if isinstance(want, tuple) else want
got = llama_block(x, *from_hugging_face(state), cos, sin, H, HK)
print(f"largest value {want.abs().max():.2f}, largest difference to {whose}:", end=" ")
print(f"{(got - want).abs().max():.1e}")

# %% [markdown]
# Differences of a millionth are float32's rounding, in another order of sums.
#
# ## Predict, then measure
#
# The next cell builds a layer of Llama 3 8B, and times it with your four kernels, with one of them at a time
# taken back to PyTorch, and with all four taken back. It shows nothing yet.

# %%
from functools import partial


def torch_rope(q, k, cos, sin, out=None):
    def turn(x):
        a, b = x.chunk(2, dim=-1)
        return torch.cat((a * cos - b * sin, b * cos + a * sin), dim=-1)

    return turn(q), turn(k)


def torch_attention(q, k, v, causal):
    return scaled_dot_product_attention(q, k, v, is_causal=causal, enable_gqa=True), None


TORCH = SimpleNamespace(
    rmsnorm=lambda x, w, eps: rms_norm(x, w.shape, w, eps),
    rope=torch_rope,
    flash_gqa=torch_attention,
    silu_mul=lambda gate, up: silu(gate) * up,
)
ways = {"your kernels": MINE}
for name, function in vars(TORCH).items():
    ways[f"{name} in torch"] = SimpleNamespace(**(vars(MINE) | {name: function}))
ways["all in torch"] = TORCH

if DEVICE == "cuda":
    B, L, D, F, H, HK, d, dtype = 2, 2048, 4096, 14336, 32, 8, 128, torch.bfloat16
else:
    B, L, D, F, H, HK, d, dtype = 1, 16, 32, 64, 2, 1, 16, torch.float32


def weight(rows, columns):
    """As nn.Linear keeps it, (out, in), seen through .t()."""
    return (torch.randn(columns, rows, device=DEVICE) * rows**-0.5).to(dtype).t()


ones = torch.ones(D, device=DEVICE, dtype=dtype)
weights = (ones, weight(D, (H + 2 * HK) * d), weight(H * d, D))
weights += (ones, weight(D, F), weight(D, F), weight(F, D))
x = torch.randn(B, L, D, device=DEVICE, dtype=dtype)
arguments = (x, *weights, *(table.to(dtype) for table in tables(L, d, 500_000.0)), H, HK)
timed = bench(
    {way: partial(llama_block, ops=ops) for way, ops in ways.items()},
    *arguments,
    flops=2 * B * L * sum(w.numel() for w in weights) + 2 * B * H * L * L * d,
    baseline="all in torch",
    title="A layer of Llama 3 8B, 2 x 2048 tokens, bfloat16",
    stored="llama_parts",
)

# %% [markdown]
# Guess. An H200 does about 700 TFLOP/s in a large product, and moves about 4,150 GB/s. And which of the four,
# taken back, costs most?

# %% tags=["predict"]
from tritonbook import predict, time_of

predict(
    {
        "bytes that silu_mul moves for 8 x 14336 float32": None,
        "ms of your block for 2 x 2048 tokens": None,
    },
    measured=[
        lambda: traffic(silu_mul, *torch.randn(2, 8, 14336, device=DEVICE)),
        lambda: time_of(timed, "your kernels"),
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
# With 4,096 tokens that is 2 × 218e6 × 4096 = 1.79e12 operations. Attention adds 0.07e12. At 700 TFLOP/s: 2.66
# ms. Two norms, the turn and the gate move 134 + 84 + 352 = 570 MB, 0.14 ms more: 2.80. An H200 took 2.92.
#
# **What costs most, taken back?** Count the bytes. The matrix behind `silu_mul` has 4096 × 14336 numbers,
# 117 MB. Your kernel moves three of them. PyTorch moves five: silu reads one and writes one, the product
# reads two and writes one. Two more are 235 MB, 0.06 ms. For RoPE PyTorch needs seven operators on halves
# of q and k, some 380 MB in place of 84: 0.07 ms. A norm is one kernel in recent PyTorch too.
#
# </details>

# %%
timed

# %%
timed.plot()

# %% [markdown]
# **Read it.** On the H200 your layer takes 2.92 ms, PyTorch's operators 3.29. The five products alone need
# 2.56 at the rate above, so no kernel of yours can halve a layer. What you save lies between the products:
# numbers that are not written to memory only to be read again.
#
# - RoPE taken back costs most, 0.36 ms, five times what its bytes say. PyTorch's result lies head by head in
#   memory: o has to be copied before the last product.
# - The gate costs 0.08 ms, the norms 0.04. A GPU at full power changes its clock: do not add these up.
# - With PyTorch's attention it takes 2.95 ms. PyTorch chooses among the kernels of libraries, cuDNN's
#   among them. Part 6 is about kernels as fast as theirs.
#
# **Why not the fused kernel of page 23?** `gate_up_swiglu` makes both products and the gate at once: gate and
# up are never written, four matrices less to move. But then its products must keep up with cuBLAS.
#
# ## Recap
#
# - A layer is two halves: normalise, work, add to what came in.
# - Strides carry q, k and v from one product through RoPE and attention without a copy.
# - A layer that takes its operators as an argument can be measured part by part.
# - Your weights are Hugging Face's, seen through `.t()`. Only q, k and v are joined.
#
# <details><summary>Common mistakes</summary>
#
# - The normalised values are added, or x where h is meant. Nothing fails, and a model trains worse.
# - Heads cut before tokens: `.view(B, heads, L, d)` has the right shape and the wrong numbers.
# - o made into rows as it is, without the transposition back.
# - A kernel that writes over a tensor which somebody else still holds.
#
# </details>
#
# Next: [45_llama_decode_train](45_llama_decode_train.ipynb), where a small Llama learns to write.

# %%
progress()

# ---
# workbook:
#   title: Cross entropy without the logits
#   minutes: 45
#   needs: interpreter
#   requires: [20_matmul]
#   limits: {sm_75: fits, sm_80: no spills, sm_86: fits, sm_89: fits, sm_90: no spills}
#   you_will:
#     - count how often the largest tensor of a training step is read
#     - compute a loss and its gradient in one kernel, the gradient over the logits themselves
#     - join that kernel with three products, piece by piece, and count the memory
# ---

# %% tags=["setup"]
from tritonbook.first_cell import *

# %% [markdown]
# ## The idea
#
# A language model ends with one large product. Each token has a hidden row of D numbers. The
# vocabulary has V words, and each word has a weight row. Their products are the **logits**, one
# number for each token and word:
#
# `logits = x @ w.T`, with x (T, D) and w (V, D)
#
# Llama 3 has D = 4096 and V = 128,256. Take T = 8,192 tokens in bfloat16. The picture is to scale.

# %%
draw = pictures("linear_cross_entropy")
draw.draw_memory(T=8192, D=4096, V=128256)

# %% [markdown]
# The logits are 31 times as large as x. And they are only the beginning: PyTorch makes the logarithm
# of their softmax, and on the way back two gradients of that size. Trainers that go to float32 first
# pay twice as much. The next largest tensor here, w, has half as many numbers.
#
# All that for one number per token. Its **loss** says how surprised the model is by the word that
# really comes next, the **target**:
#
# $$\mathrm{loss}_t = \mathrm{lse}_t - z_{t,\,\mathrm{target}_t}, \qquad
# \mathrm{lse}_t = \log \sum_v e^{z_{tv}}$$
#
# where $z_t$ is the token's row of logits. The derivative of lse by $z_{tv}$ is the softmax of the
# row, and the target's logit has the derivative 1. So the gradient is as simple as a gradient can be:
#
# $$\frac{\partial\, \mathrm{loss}_t}{\partial z_{tv}} = \frac{e^{z_{tv}}}{\sum_k e^{z_{tk}}}
# - [v = \mathrm{target}_t]$$
#
# The bracket is 1 where v is the target, and 0 elsewhere. Two things follow.
#
# - **A token needs its own row of logits and no other.** So take a piece of the tokens, say 256,
#   make their logits, use them up, and let the next piece use the same memory.
# - **The gradient is known as soon as the loss is.** It can overwrite the logits. Nothing waits for
#   the backward pass.

# %%
draw.draw_pieces(T=8192, piece=2048)

# %% [markdown]
# Liger-Kernel does this under the name *fused linear cross entropy*, and trainers of large models
# use it. You build it here.
#
# ## A smaller kernel first
#
# Some tokens do not count: padding, or the question in a question with its answer. By custom their
# target is -100. The worked kernel picks the logit of each target, and 0 where the target is -100.


# %%
@triton.jit
def picked_kernel(z_ptr, targets_ptr, out_ptr, V, stride_zt, BLOCK_V: tl.constexpr):
    """out[t] = z[t, targets[t]], or 0 where targets[t] is negative.

    One program = one token, its V logits in tiles.
    """
    pid_t = tl.program_id(axis=0).to(tl.int64)
    target = tl.load(targets_ptr + pid_t)
    row_ptr = z_ptr + pid_t * stride_zt

    z_target = 0.0
    for start in range(0, V, BLOCK_V):
        offs_v = start + tl.arange(0, BLOCK_V)
        z = tl.load(row_ptr + offs_v, mask=offs_v < V, other=0.0)
        z_target += tl.sum(tl.where(offs_v == target, z, 0.0), axis=0)
    tl.store(out_ptr + pid_t, z_target)


z = torch.arange(20.0, device=DEVICE).view(4, 5)
targets = torch.tensor([0, 4, -100, 2], device=DEVICE)
out = torch.empty(4, device=DEVICE)
picked_kernel[(4,)](z, targets, out, 5, z.stride(0), BLOCK_V=4)
out

# %% [markdown]
# `offs_v == target` is true in one lane of one tile. `tl.where` keeps that lane's logit, 0 replaces
# the others, and the sum picks it. A target of -100 is met in no lane.
#
# **Predict.** Why not `tl.load(row_ptr + target)`, one number instead of a walk?
#
# <details><summary>Answer</summary>
#
# For a target of -100 the address lies 100 elements before the row: somebody else's memory. With a
# mask it is right too. Here the row is walked through anyway, for its softmax, so the target's logit
# costs nothing.
#
# </details>
#
# ## The contract
#
# | name | shape | dtype | role |
# |---|---|---|---|
# | `logits` | (T, V), rows contiguous | float32, float16, bfloat16 | becomes the gradient |
# | `targets` | (T,), contiguous | int64 | 0 to V - 1, or negative: does not count |
# | `x`, `w` | (T, D), (V, D), contiguous | as logits | inputs, never changed |
# | `losses` | (T,) | float32 | result, 0 where the target does not count |
# | `dx`, `dw` | as `x`, as `w` | as `x`, as `w` | results: gradients of the **sum** of the losses |
#
# `cross_entropy_in_place` is one launch. A logit may be minus infinity: a word that is forbidden. Never the
# target's.

# %% tags=["reference"]
def linear_cross_entropy_ref(x, w, targets):
    """Losses, dx and dw with all logits at once."""
    z = x @ w.T
    counts = (targets >= 0)[:, None]
    target = (torch.arange(w.shape[0], device=x.device) == targets[:, None]) & counts
    losses = torch.where(counts, z.logsumexp(-1, keepdim=True) - z, 0).masked_fill(~target, 0)
    dz = torch.where(counts, z.softmax(-1) - target.to(z.dtype), 0)
    return losses.sum(-1).to(torch.float32), dz @ w, dz.T @ x


def require_rows(logits, targets, losses):
    T = logits.shape[0]
    if logits.stride(1) != 1:
        raise ValueError("the words of a token must lie side by side")
    for name, given, dtype in ("targets", targets, torch.int64), ("losses", losses, torch.float32):
        if given.shape != (T,) or given.dtype != dtype or not given.is_contiguous():
            raise ValueError(f"{name} must be contiguous {dtype} with shape ({T},)")

# %% [markdown]
# ## Task 1. Loss and gradient of a row
#
# Two gaps in one kernel.
#
# 1. **The first walk**, about 8 lines: the running maximum `m_i` and the rescaled sum `l_i` of
#    page 04, and `z_target` as above. Compute in float32.
# 2. **What follows**, about 8 lines: the loss, then a second walk that writes the gradient over the
#    logits. With $\mathrm{lse}$ known the softmax is $e^{z - \mathrm{lse}}$. A token that does not
#    count has the loss 0 and a gradient of zeros.

# %% tags=["answer"] key="cross_entropy_in_place"
@triton.jit
def cross_entropy_kernel(
    z_ptr, targets_ptr, losses_ptr,
    V,
    stride_zt,
    BLOCK_V: tl.constexpr,
):
    """losses[t] = lse(z[t]) - z[t, target]; then z[t] = softmax(z[t]) - [v = target].

    One program = one token, its V logits in tiles, walked through twice.
    Assumes that the words of a token lie side by side.
    """
    pid_t = tl.program_id(axis=0).to(tl.int64)
    target = tl.load(targets_ptr + pid_t)
    row_ptr = z_ptr + pid_t * stride_zt

    m_i, l_i, z_target = -1e38, 0.0, 0.0
    # TODO 1: for each tile of the row, update m_i, l_i and z_target (about 8 lines)
    ### BEGIN SOLUTION
    for start in range(0, V, BLOCK_V):
        offs_v = start + tl.arange(0, BLOCK_V)
        z = tl.load(row_ptr + offs_v, mask=offs_v < V, other=float("-inf"))
        z = z.to(tl.float32)
        m_new = tl.maximum(m_i, tl.max(z, axis=0))
        l_i = l_i * tl.exp(m_i - m_new) + tl.sum(tl.exp(z - m_new), axis=0)
        m_i = m_new
        z_target += tl.sum(tl.where(offs_v == target, z, 0.0), axis=0)
    ### END SOLUTION

    # TODO 2: lse, the loss, then the gradient over the logits (about 8 lines)
    ### BEGIN SOLUTION
    counts = target >= 0
    lse = m_i + tl.log(l_i)
    tl.store(losses_ptr + pid_t, tl.where(counts, lse - z_target, 0.0))
    for start in range(0, V, BLOCK_V):
        offs_v = start + tl.arange(0, BLOCK_V)
        z = tl.load(row_ptr + offs_v, mask=offs_v < V).to(tl.float32)
        dz = tl.exp(z - lse) - tl.where(offs_v == target, 1.0, 0.0)
        tl.store(row_ptr + offs_v, tl.where(counts, dz, 0.0), mask=offs_v < V)
    ### END SOLUTION


def cross_entropy_in_place(logits, targets, losses, block=8192):
    """Write losses [T], float32, and turn logits [T, V] into the gradient of their sum.

    ValueError where the words of a token do not lie side by side, or sizes do not fit.
    """
    require_rows(logits, targets, losses)
    T, V = logits.shape
    BLOCK_V = min(block, triton.next_power_of_2(V))
    if T > 0:
        cross_entropy_kernel[(T,)](
            logits, targets, losses, V, logits.stride(0), BLOCK_V=BLOCK_V, num_warps=16
        )

# %% [markdown] tags=["hint"] key="cross_entropy_in_place"
# #### Hints for cross_entropy_in_place
#
# <details><summary>Hint 1: a question</summary>
#
# Which loop of page 04 is the first walk, and which one line of the worked kernel does it get?
#
# </details>
# <details><summary>Hint 2: where to look</summary>
#
# `other=` must lose against a maximum and add nothing to a sum of exponentials. `z_target` is safe
# from it: no masked lane is a target. `tl.log` is the natural logarithm. `counts` is
# `target >= 0`, and `tl.where` takes it for single numbers and for tiles.
#
# </details>
# <details><summary>Hint 3: the shape of the code</summary>
#
# ```python
# for start in range(0, V, BLOCK_V):
#     # offsets, then load in float32
#     m_new = ...
#     l_i = ...  # the old sum put right, plus this tile's
#     m_i = m_new
#     z_target += ...
# ```
#
# ```python
# lse = ...  # the sum l_i was taken with m_i subtracted
# # store the loss
# for start in range(0, V, BLOCK_V):
#     # offsets, load, the softmax minus 1 in one lane, store at the same address
# ```
#
# </details>

# %% tags=["check"] key="cross_entropy_in_place" points=5
check(cross_entropy_in_place)

# %% [markdown]
# **Look at what you wrote.** 8 tokens, 1,000 words, float32: 32,000 bytes of logits. Two walks read
# them twice, and write them once.

# %%
z, targets = torch.randn(8, 1000, device=DEVICE), torch.arange(8, device=DEVICE)
traffic(cross_entropy_in_place, z, targets, torch.empty(8, device=DEVICE))

# %% [markdown]
# ## Task 2. Piece by piece
#
# Now the three products around it. The chain rule for `z = x @ w.T` says
#
# `dx = dz @ w` and `dw = dz.T @ x`
#
# A piece is `piece` neighbouring tokens; the last piece may be shorter. For each piece: its logits,
# your kernel, its rows of `dx`, and what it adds to `dw`. Every row of `dx` belongs to one piece. But
# `dw` gets a share from **every** piece.
#
# Leave the products to PyTorch. `torch.mm(a, b)` is `a @ b`; `torch.mm(a, b, out=c)` writes into c, a
# slice of rows too; `c.addmm_(a, b)` adds `a @ b` to c. Keep the logits of one piece
# only. About 8 lines.

# %% tags=["answer"] key="linear_cross_entropy"
def linear_cross_entropy(x, w, targets, piece=256):
    """Losses of x @ w.T [T], and the gradients dx [T, D], dw [V, D] of their sum.

    Never holds more than `piece` rows of logits.
    """
    T, D = x.shape
    if w.shape[1] != D or not x.is_contiguous() or not w.is_contiguous():
        raise ValueError("x must be (T, D) and w (V, D), both contiguous")
    losses = torch.empty(T, dtype=torch.float32, device=x.device)
    dx, dw = torch.empty_like(x), torch.zeros_like(w)
    # TODO: for each piece: logits, losses, its rows of dx, its share of dw (about 8 lines)
    ### BEGIN SOLUTION
    for start in range(0, T, piece):
        rows = slice(start, start + piece)
        z = torch.mm(x[rows], w.T)
        cross_entropy_in_place(z, targets[rows], losses[rows])
        torch.mm(z, w, out=dx[rows])
        dw.addmm_(z.T, x[rows])
    ### END SOLUTION
    return losses, dx, dw

# %% [markdown] tags=["hint"] key="linear_cross_entropy"
# #### Hints for linear_cross_entropy
#
# <details><summary>Hint 1: a question</summary>
#
# After your kernel has run, what do the logits of the piece hold?
#
# </details>
# <details><summary>Hint 2: where to look</summary>
#
# `x[a:b]` is a view of rows a to b - 1, and a slice that goes beyond the end just ends there. What
# is written into a view is written into the tensor.
#
# </details>
# <details><summary>Hint 3: the shape of the code</summary>
#
# ```python
# for start in range(...):
#     rows = slice(...)
#     z = ...  # [piece, V]
#     cross_entropy_in_place(...)  # and z is no longer what it was
#     torch.mm(..., out=...)
#     dw.addmm_(...)
# ```
#
# </details>

# %% tags=["check"] key="linear_cross_entropy" points=5
check(linear_cross_entropy)

# %% [markdown]
# ## It is a layer
#
# A loss that a model can train with is one `torch.autograd.Function` away (page 15). The gradients
# exist before anybody asks for them: `backward` only multiplies. The loss is the mean over the tokens
# that count.


# %%
class LinearCrossEntropy(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, w, targets, piece):
        losses, dx, dw = linear_cross_entropy(x, w, targets, piece)
        tokens = (targets >= 0).sum()
        ctx.save_for_backward(dx, dw, tokens)
        return losses.sum() / tokens

    @staticmethod
    def backward(ctx, grad):
        dx, dw, tokens = ctx.saved_tensors
        return dx * (grad / tokens), dw * (grad / tokens), None, None


x = torch.randn(50, 32, device=DEVICE, requires_grad=True)
w = torch.randn(700, 32, device=DEVICE, requires_grad=True)
targets = torch.randint(0, 700, (50,), device=DEVICE)
loss = LinearCrossEntropy.apply(x, w, targets, 16)
loss.backward()
torch_loss = torch.nn.functional.cross_entropy(x @ w.T, targets)
print("loss:     ", round(loss.item(), 4), "   torch:", round(torch_loss.item(), 4))
print("gradient: ", f"{(x.grad - torch.autograd.grad(torch_loss, x)[0]).abs().max():.0e}", "apart")

# %% [markdown]
# ## Predict, then measure
#
# The cell takes 4,096 tokens, D = 2048 and V = 128,256, in bfloat16, and shows nothing yet. *torch* is
# `cross_entropy(x @ w.T, targets)` with its backward pass. Without a GPU it fetches a GPU's times.

# %%
def torch_step(x, w, targets):
    x, w = x.detach().requires_grad_(), w.detach().requires_grad_()
    torch.nn.functional.cross_entropy(x @ w.T, targets).backward()
    return x.grad, w.grad


T, D, V = (4096, 2048, 128256) if DEVICE == "cuda" else (32, 16, 100)
dtype = torch.bfloat16 if DEVICE == "cuda" else torch.float32
x, w = (torch.randn(rows, D, device=DEVICE, dtype=dtype) * D**-0.25 for rows in (T, V))
targets = torch.randint(0, V, (T,), device=DEVICE)

ways = {"torch": torch_step, "one piece": lambda *given: linear_cross_entropy(*given, piece=T)}
for piece in (1024, 256, 64):
    ways[f"pieces of {piece}"] = lambda *given, piece=piece: linear_cross_entropy(
        *given, piece=piece
    )
if DEVICE == "cuda":
    try:
        from liger_kernel.transformers.functional import liger_fused_linear_cross_entropy

        def liger_step(x, w, targets):
            x, w = x.detach().requires_grad_(), w.detach().requires_grad_()
            liger_fused_linear_cross_entropy(x, w, targets).backward()
            return x.grad, w.grad

        ways["Liger-Kernel"] = liger_step
    except ImportError:
        pass  # not installed here
timed = bench(
    ways,
    x, w, targets,
    flops=6 * T * D * V,
    baseline="torch",
    title="Loss and gradients, 4096 tokens, D = 2048, 128,256 words",
    stored="linear_cross_entropy_ways",
)

# %% [markdown]
# And the memory. The cell asks PyTorch for the highest sum of all tensors during the call, less what
# was there before.

# %%
from tritonbook.timing.stored import Curves, keep, load


def peak_mb(fn):
    """Megabytes that a call needs at its highest point, results included."""
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    fn(x, w, targets)
    return (torch.cuda.max_memory_allocated() - before) / 1e6


memory = load("linear_cross_entropy_memory")
if DEVICE == "cuda":
    memory = Curves({name: [peak_mb(fn)] for name, fn in ways.items()})
    keep("linear_cross_entropy_memory", memory)

# %% tags=["predict"]
from tritonbook import predict

predict(
    {
        "bytes of logits read: 6 tokens, 500 words, float32": None,
    },
    measured=[
        lambda: traffic(
            cross_entropy_in_place,
            torch.randn(6, 500, device=DEVICE),
            torch.arange(6, device=DEVICE),
            torch.empty(6, device=DEVICE),
        )["logits"].read,
    ],
    hints=[
        "How often is each logit read?",
    ],
)

# %% [markdown]
# <details><summary>Where the numbers come from</summary>
#
# **Logits.** 4,096 × 128,256 × 2 = 1,051 MB. A piece of 256 rows has 66 MB.
#
# **Bytes.** 6 × 500 × 4 = 12,000, read in both walks: 24,000.
#
# </details>

# %%
timed

# %%
if memory:
    print(memory.label)
    for name, (mb,) in memory.curves.items():
        print(f"{name:>16} {mb:8,.0f} MB")

# %% [markdown]
# **Read it.** Results alone, dx and dw, are 542 MB: what every way needs. What is above that is the
# price of the logits. For torch it is 2.6 GB: at its highest point it holds three tensors of 1,051 MB,
# and no results yet. In pieces of 1,024 it is 0.5 GB, faster all the same. Those are the logits of
# *two* pieces: Python makes the new ones before `z` lets go of the old ones. With `del z` at the end of
# the loop it is one.
#
# Then read the times downwards. **Each** piece reads w twice, for its logits and for dx, and reads and
# writes `dw`: four times 525 MB. In pieces of 64 that is 134 GB: 32 ms at the speed of a copy.
#
# So a piece should be as large as you can bear. Liger-Kernel's rule makes the piece's logits about as
# large as x: `piece = T * D / V`, here 65 tokens, rounded up to 128.
#
# ## What it costs in digits
#
# `dw` has the dtype of w. In bfloat16 every share that a piece adds is rounded to 8 binary digits. Does
# that add up? Count it.

# %%
x, w = torch.randn(512, 64, device=DEVICE), torch.randn(300, 64, device=DEVICE) / 8
targets = torch.randint(0, 300, (512,), device=DEVICE)
exact = linear_cross_entropy(x, w, targets, piece=512)[2]
for piece in (512, 128, 32):
    dw = linear_cross_entropy(x.bfloat16(), w.bfloat16(), targets, piece)[2]
    error = (dw.float() - exact).norm() / exact.norm()
    print(f"pieces of {piece:3}: {error:.4f} of dw's length lost")

# %% [markdown]
# A single piece loses 0.3 %: x, w and dz are rounded once. Sixteen pieces lose 0.5 %.
# Roundings go up as often as down, so they mostly cancel. A trainer can live with it.
#
# ## Recap
#
# - The logits are the largest tensor of a training step, and each row of them is needed once.
# - Loss and gradient come from the same two walks. The gradient takes the place of the logits.
# - Pieces bound the memory. Small pieces read w and write `dw` too often.
#
# <details><summary>Common mistakes</summary>
#
# - The 1 subtracted in the target's lane of **every** tile: compare global columns, not lanes.
# - A token that does not count, with its softmax left as a gradient.
# - `torch.mm(..., out=dw)`: only the last piece is left.
# - The logits of all tokens made once, and only then cut into pieces: right values, no memory saved.
# - `lse` without `m_i`: right for small logits only.
#
# </details>
#
# Liger-Kernel goes by this plan; vLLM takes the logits of a prompt's words in chunks too. *Cut
# cross-entropy* (Apple, 2024) goes one step further: tiles of logits live in registers only, as the
# scores of page 41 do, and are computed again for the gradient.
#
# Next: [55_sampling](55_sampling.ipynb).

# %%
progress()

# ---
# workbook:
#   title: Random numbers, and the next word
#   minutes: 65
#   needs: interpreter
#   requires: [04_softmax]
#   limits: {sm_75: fits, sm_80: no spills, sm_86: fits, sm_89: fits, sm_90: no spills}
#   you_will:
#     - draw random numbers in a kernel that depend on a seed and an element's number alone
#     - draw the next word of a language model in one walk over its logits, without a softmax
#     - find the most likely words by bisection instead of sorting
# ---

# %% tags=["setup"]
from tritonbook.first_cell import *

# %% [markdown]
# ## The idea
#
# Most random generators have a **state**: each number comes from the one before. Thousands of programs
# that run in no order cannot share one.
#
# So GPUs use a **function** instead. It takes a seed and a *counter*, the number of the element, and
# mixes both until neither can be recognised. The same two always give the same result, in whichever
# program. In Triton it is
#
# `u = tl.rand(seed, offsets)`, with 0 ≤ u < 1
#
# What it does is **Philox** (Salmon and others, 2011): ten rounds of two multiplications whose halves
# cross over. PyTorch's GPU generator is Philox too. Here it is in Python, to look at once.

# %%
import numpy as np

LOW = 0xFFFFFFFF  # the lower 32 bits


def philox(seed, counter):
    """The 32 random bits of one counter, or of an array of them."""
    c0, c1, c2, c3 = counter, 0, 0, 0
    k0, k1 = seed & LOW, seed >> 32
    for _ in range(10):
        a, b = 0xD2511F53 * c0, 0xCD9E8D57 * c2
        c0, c1, c2, c3 = (b >> 32) ^ c1 ^ k0, b & LOW, (a >> 32) ^ c3 ^ k1, a & LOW
        k0, k1 = (k0 + 0x9E3779B9) & LOW, (k1 + 0xBB67AE85) & LOW
    return c0


def uniform(seed, count):
    """tl.rand of the counters 0 to count - 1."""
    bits = philox(seed, np.arange(count, dtype=np.uint64)).astype(np.uint32).view(np.int32)
    bits = np.where(bits < 0, -bits - 1, bits)  # 31 bits are left
    return torch.from_numpy(bits.astype(np.float32) * np.float32(4.6566127342e-10))


[f"{philox(42, counter):08x}" for counter in range(4)]

# %% [markdown]
# ## A smaller kernel first
#
# One random number for each element. The counter is the element's number, and nothing else.


# %%
@triton.jit
def uniform_kernel(out_ptr, N, seed, BLOCK: tl.constexpr):
    """out[n] = u, 0 <= u < 1, from seed and n.

    One program = BLOCK elements.
    """
    offs = tl.program_id(axis=0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + offs, tl.rand(seed, offs), mask=offs < N)


for block in (16, 64):
    out = torch.empty(100, device=DEVICE)
    uniform_kernel[(triton.cdiv(100, block),)](out, 100, 42, BLOCK=block)
    same = out.cpu().equal(uniform(42, 100))
    print(f"tiles of {block}: {[round(u, 3) for u in out[:4].tolist()]}, as in Python: {same}")

# %% [markdown]
# Two widths of a tile, the same numbers, to the last bit.
#
# **Predict.** Somebody writes `tl.rand(seed, tl.arange(0, BLOCK))`. What comes out?
#
# <details><summary>Answer</summary>
#
# The counters begin at 0 in each program. Every tile gets the same numbers, over and over. Their
# average is right all the same.
#
# </details>
#
# ## The contract
#
# | call | result |
# |---|---|
# | `dropout(x, p, seed)` | as x: 0 with probability p, else x / (1 - p) |
# | `sample(logits, temperature, seed)` | (B,) int64: one word for each row |
# | `top_p_filter(logits, p)` | (B, V) as logits, new, contiguous: words that are out have -inf |
#
# - **x** has any shape and is contiguous; 0 ≤ p < 1. Element n has the counter n, and stays where
#   u ≥ p.
# - **logits** (explained below) are (B, V), the words of a row side by side. Minus infinity forbids a word; at least
#   one in each row is allowed. Word v of row b has the counter b V + v. temperature ≥ 0.
# - **top_p_filter**, 0 < p < 1: the smallest set of most likely words that has probability p or
#   more. Equal logits stay or go together; less than 0.00001 apart counts as equal.
# - Any floating dtype, computed in float32. Seeds are 0 to 2⁶³ - 1. There are fewer than 2³¹
#   elements, so **counters have 32 bits**: with 64, versions of Triton differ.
# - One launch each: `dropout` takes `block` numbers a program, the others one row, in tiles of `block`.
#   What does not fit raises `ValueError`.

# %% tags=["reference"]
def dropout_ref(x, p, u):
    """u: the random number of each element."""
    return torch.where(u >= p, x / (1 - p), 0)


def sample_ref(logits, temperature, u):
    return (logits - temperature * torch.log(-torch.log(u.clamp(min=1e-10)))).argmax(-1)


def top_p_ref(logits, p):
    """Sort, and add up until p is reached."""
    z, _ = logits.sort(-1, descending=True)
    probability = z.softmax(-1)
    needed = probability.cumsum(-1) - probability < p  # what comes before is not enough
    lowest = z.masked_fill(~needed, float("inf")).amin(-1, keepdim=True)
    return logits.masked_fill(logits < lowest, float("-inf"))

# %% [markdown]
# ## Task 1. Dropout
#
# While a model is trained, **dropout** sets numbers to 0, each with probability p. Dividing the others
# by 1 - p keeps the sum, on average, what it was.
#
# u is anywhere between 0 and 1, so u ≥ p has the probability 1 - p. Fill the gap, about 6 lines.

# %% tags=["answer"] key="dropout"
@triton.jit
def dropout_kernel(x_ptr, y_ptr, N, p, seed, BLOCK: tl.constexpr):
    """y[n] = 0 with probability p, else x[n] / (1 - p).

    One program = BLOCK elements.
    """
    pid = tl.program_id(axis=0)
    # TODO: offsets, mask, load in float32, which stay, result, store (about 6 lines)
    ### BEGIN SOLUTION
    offs = pid * BLOCK + tl.arange(0, BLOCK)
    mask = offs < N
    x = tl.load(x_ptr + offs, mask=mask).to(tl.float32)
    keep = tl.rand(seed, offs) >= p
    y = tl.where(keep, x / (1 - p), 0.0)
    tl.store(y_ptr + offs, y, mask=mask)
    ### END SOLUTION


def dropout(x, p, seed, block=1024):
    """x with each number set to 0 with probability p, the others divided by 1 - p."""
    if not 0 <= p < 1 or not x.is_contiguous():
        raise ValueError("x must be contiguous, and p at least 0 and below 1")
    y, N = torch.empty_like(x), x.numel()
    if N > 0:
        dropout_kernel[(triton.cdiv(N, block),)](x, y, N, p, seed, BLOCK=block)
    return y

# %% [markdown] tags=["hint"] key="dropout"
# #### Hints for dropout
#
# <details><summary>Hint 1: a question</summary>
#
# With p = 0.1, does `u = 0.7` stay or go? And u = 0 with p = 0?
#
# </details>
# <details><summary>Hint 2: where to look</summary>
#
# The worked kernel has the counters. `tl.where(condition, a, b)` picks lane by lane.
#
# </details>
# <details><summary>Hint 3: the shape of the code</summary>
#
# ```python
# # offsets, mask, then load
# keep = ...  # one comparison
# y = tl.where(keep, ..., ...)
# # store
# ```
#
# </details>

# %% tags=["check"] key="dropout" points=3
check(dropout)

# %% [markdown]
# **No mask is stored.** The gradient passes where x did, with the same factor. So the backward pass is
# dropout again, of the gradient, with the same seed.


# %%
class Dropout(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, p, seed):
        ctx.options = p, seed
        return dropout(x, p, seed)

    @staticmethod
    def backward(ctx, grad):
        return dropout(grad.contiguous(), *ctx.options), None, None


x = torch.randn(1000, device=DEVICE, requires_grad=True)
y = Dropout.apply(x, 0.25, 42)
y.sum().backward()
print("dropped in both passes:", ((y == 0) == (x.grad == 0)).all().item())

# %% [markdown]
# ## The next word
#
# A language model gives each word v of its vocabulary a logit $z_v$. The next word is drawn with the
# probabilities $\mathrm{softmax}(z / T)$. The **temperature** T is a matter of taste: near 0 the most
# likely word always wins, at 1 the model speaks as it learnt to.
#
# The usual way takes a softmax, running sums and a search. A shorter one:
#
# $$\mathrm{word} = \operatorname{argmax}_v\,(z_v + T g_v), \qquad g_v = -\log(-\log u_v)$$
#
# $g$ is **Gumbel noise**: random numbers of just the kind with which the argmax draws from the softmax.
#
# <details><summary>Why the softmax?</summary>
#
# Take T = 1. $-\log u$ is the waiting time for a clock that rings once a second on average. Let the clock
# of word v run $e^{z_v}$ times as fast: $t_v = -\log(u_v)\, e^{-z_v}$. The probability that a clock rings
# first is its speed over the sum of all speeds. That is the softmax. And the smallest t is the largest
# $-\log t_v = z_v + g_v$.
#
# </details>

# %%
draw = pictures("sampling")
draw.draw_scores(z=[2.0, 1.2, 0.4, 1.6, -0.5, 0.0], noise=[-0.4, 1.5, 0.3, -0.9, 0.9, -0.2])

# %% [markdown]
# All of it is one walk with a running best. $z / T + g$ has the same order, but here T may be 0: no
# noise. One trap is left. `tl.rand` may give 0. Then g is minus infinity, and 0 times that is NaN. So
# take `tl.maximum(u, 1e-10)`: the smallest u above 0 is 4.7e-10.
#
# ## Task 2. Draw it, from a blank page
#
# One program = one row, in tiles of `min(block, next power of 2)` words; its walk is that of page 04.
# Keep two numbers: `best`, the highest score so far, from minus infinity on, and its `word`. For a tile,
# `top, lane = tl.max(scores, axis=0, return_indices=True)` are the highest score and its lane. Of equal
# scores the first word wins. About 25 lines.

# %% tags=["answer"] key="sample"
# TODO: the kernel (about 15 lines)
### BEGIN SOLUTION
@triton.jit
def sample_kernel(
    z_ptr, words_ptr, V, stride_zb, temperature, seed, BLOCK_V: tl.constexpr
):
    """words[b] = argmax over v of z[b, v] + temperature * g[b, v].

    One program = one row, in tiles.
    Assumes that the words of a row lie side by side.
    """
    pid_b = tl.program_id(axis=0)
    row_ptr = z_ptr + pid_b.to(tl.int64) * stride_zb

    best, word = float("-inf"), 0
    for start in range(0, V, BLOCK_V):
        offs_v = start + tl.arange(0, BLOCK_V)
        z = tl.load(row_ptr + offs_v, mask=offs_v < V, other=float("-inf"))
        u = tl.maximum(tl.rand(seed, pid_b * V + offs_v), 1e-10)
        scores = z.to(tl.float32) - temperature * tl.log(-tl.log(u))
        top, lane = tl.max(scores, axis=0, return_indices=True)
        word = tl.where(top > best, start + lane, word)
        best = tl.maximum(best, top)
    tl.store(words_ptr + pid_b, word)


### END SOLUTION


def sample(logits, temperature, seed, block=4096):
    """One word for each row of logits [B, V], drawn from softmax(logits / temperature).

    ValueError unless logits are a matrix with rows side by side, and temperature at least 0.
    """
    # TODO: check, allocate, grid, launch (about 9 lines)
    ### BEGIN SOLUTION
    if logits.ndim != 2 or logits.stride(1) != 1 or temperature < 0:
        raise ValueError("logits must be (B, V), words side by side; temperature at least 0")
    B, V = logits.shape
    words = torch.empty(B, dtype=torch.int64, device=logits.device)
    BLOCK_V = min(block, triton.next_power_of_2(V))
    if B > 0:
        sample_kernel[(B,)](
            logits, words, V, logits.stride(0), temperature, seed, BLOCK_V=BLOCK_V, num_warps=8
        )
    return words
    ### END SOLUTION

# %% [markdown] tags=["hint"] key="sample"
# #### Hints for sample
#
# <details><summary>Hint 1: a question</summary>
#
# The second tile has its highest score in lane 3. Which word is that?
#
# </details>
# <details><summary>Hint 2: where to look</summary>
#
# A masked lane must not win: which `other=` does that? `best` can start at minus infinity, since nothing
# is subtracted from it. A word is replaced only by a **higher** score.
#
# </details>
# <details><summary>Hint 3: the shape of the code</summary>
#
# ```python
# best, word = float("-inf"), 0
# for start in range(...):
#     # offsets of the words, load
#     u = ...  # the row's counters begin at pid_b * V
#     scores = ...
#     top, lane = tl.max(scores, axis=0, return_indices=True)
#     word = tl.where(..., ..., word)
#     best = ...
# # store
# ```
#
# </details>

# %% tags=["check"] key="sample" points=5
check(sample)

# %% [markdown]
# **Is it the softmax?** 500 rows with the same five logits are 500 draws. For each word the table
# compares how often it came with how often it should. The sum of (came - expected)² / expected is
# called **chi-square**. With five words it is about 4 by chance, and above 13.3 about once in a hundred
# times.

# %%
logits = torch.tensor([2.0, 1.0, 0.5, 0.0, -1.0], device=DEVICE)
for T in (1.0, 0.5):
    words = sample(logits.expand(500, 5), T, seed=42)
    came, expected = words.bincount(minlength=5), 500 * torch.softmax(logits / T, 0)
    chi_square = ((came - expected) ** 2 / expected).sum().item()
    print(f"T = {T}: came {came.tolist()}, expected {expected.round().int().tolist()}")
    print(f"         chi-square {chi_square:.1f}")

# %% [markdown]
# ## Only words that make sense
#
# A vocabulary has 100,000 unlikely words, and together they are drawn now and then. **Top-p** keeps the
# smallest set of most likely words that has probability p, say 0.9, and forbids the others. Done
# word by word that needs a sort. But all you look for is one number, a **threshold** t: words with
# z ≥ t stay. The lower t, the more probability stays. So bisect:

# %%
draw.draw_bisection(z=[2.0, 1.2, 0.4, 1.6, -0.5, -1.7], p=0.8, width=8, steps=5)

# %% [markdown]
# - `lo` is low enough: the words from there on have p or more. `hi` is as high as t can be.
# - They start at `m_i - 32` and the maximum `m_i`. A word below has less than e⁻³² of the probability
#   of the best, too little for float32 to notice.
# - In each step the middle becomes `lo` or `hi`. After 24 steps they are 32 / 2²⁴ = 0.000002 apart.
#
# ## Task 3. Bisection for a sort
#
# The walks are given; the first, for `m_i` and `l_i`, is that of page 04. Three gaps.
#
# 1. **The mass**, 1 line: the sum of `e`, $e^{z - m_i}$, over the words with z ≥ mid. `l_i` is that sum
#    over all words.
# 2. **The step**, 2 lines. Is `mass` enough for p? Then move `lo` or `hi`.
# 3. **The result**, 2 lines. Which of `lo` and `hi` is the threshold?

# %% tags=["answer"] key="top_p_filter"
@triton.jit
def top_p_kernel(
    z_ptr, out_ptr,
    V,
    stride_zb,
    p,
    STEPS: tl.constexpr, BLOCK_V: tl.constexpr,
):
    """out[b, v] = z[b, v] for the most likely words that have probability p, else -inf.

    One program = one row, in tiles, walked through STEPS + 2 times.
    Assumes that the words of a row lie side by side, and that out is contiguous.
    """
    pid_b = tl.program_id(axis=0).to(tl.int64)
    row_ptr, out_row_ptr = z_ptr + pid_b * stride_zb, out_ptr + pid_b * V

    m_i, l_i = -1e38, 0.0
    for start in range(0, V, BLOCK_V):
        offs_v = start + tl.arange(0, BLOCK_V)
        z = tl.load(row_ptr + offs_v, mask=offs_v < V, other=float("-inf"))
        z = z.to(tl.float32)
        m_new = tl.maximum(m_i, tl.max(z, axis=0))
        l_i = l_i * tl.exp(m_i - m_new) + tl.sum(tl.exp(z - m_new), axis=0)
        m_i = m_new

    lo, hi = m_i - 32.0, m_i
    for _ in range(STEPS):
        mid = (lo + hi) / 2
        mass = 0.0
        for start in range(0, V, BLOCK_V):
            offs_v = start + tl.arange(0, BLOCK_V)
            z = tl.load(row_ptr + offs_v, mask=offs_v < V, other=float("-inf"))
            e = tl.exp(z.to(tl.float32) - m_i)
            # TODO 1: what this tile adds to mass (1 line)
            ### BEGIN SOLUTION
            mass += tl.sum(tl.where(z >= mid, e, 0.0), axis=0)
            ### END SOLUTION
        # TODO 2: is it enough? Then move lo or hi (2 lines)
        ### BEGIN SOLUTION
        enough = mass >= p * l_i
        lo, hi = tl.where(enough, mid, lo), tl.where(enough, hi, mid)
        ### END SOLUTION

    for start in range(0, V, BLOCK_V):
        offs_v = start + tl.arange(0, BLOCK_V)
        z = tl.load(row_ptr + offs_v, mask=offs_v < V)
        # TODO 3: store the words that stay, and -inf for the others (2 lines)
        ### BEGIN SOLUTION
        kept = tl.where(z >= lo, z, float("-inf"))
        tl.store(out_row_ptr + offs_v, kept, mask=offs_v < V)
        ### END SOLUTION


def top_p_filter(logits, p, block=8192):
    """Logits [B, V] with -inf for all but the most likely words that have probability p."""
    if logits.ndim != 2 or logits.stride(1) != 1 or not 0 < p < 1:
        raise ValueError("logits must be (B, V), words side by side; p above 0 and below 1")
    B, V = logits.shape
    out = torch.empty((B, V), dtype=logits.dtype, device=logits.device)
    BLOCK_V = min(block, triton.next_power_of_2(V))
    if B > 0:
        top_p_kernel[(B,)](
            logits, out, V, logits.stride(0), p, STEPS=24, BLOCK_V=BLOCK_V, num_warps=16
        )
    return out

# %% [markdown] tags=["hint"] key="top_p_filter"
# #### Hints for top_p_filter
#
# <details><summary>Hint 1: a question</summary>
#
# The words from `mid` on have probability 0.95, and p is 0.9. May the threshold be higher, or must it
# be lower?
#
# </details>
# <details><summary>Hint 2: where to look</summary>
#
# `mass / l_i` is a probability. `lo` is low enough all the time, `hi` only at the very end, and not
# always then.
#
# </details>
# <details><summary>Hint 3: the shape of the code</summary>
#
# ```python
# mass += tl.sum(tl.where(..., ..., 0.0), axis=0)
# ```
#
# ```python
# if ...:
#     # one of the two becomes mid
# ```
#
# </details>

# %% tags=["check"] key="top_p_filter" points=5
check(top_p_filter)

# %% [markdown]
# **Top-k** keeps the k most likely words. The same bisection finds them: count words instead of adding
# up `e`, and ask whether k are there.
#
# ## Predict, then measure
#
# The cell takes 64 rows of 128,256 words, the vocabulary of Llama 3, and shows nothing yet. Two ways draw
# from all words, the others with p = 0.9. Without a GPU it fetches a GPU's times.

# %%
B, V = (64, 128256) if DEVICE == "cuda" else (2, 100)
logits = 3 * torch.randn(B, V, device=DEVICE)
ways = {
    "softmax, multinomial": lambda: torch.multinomial(logits.softmax(-1), 1),
    "sample": lambda: sample(logits, 1.0, seed=42),
    "sort, softmax, multinomial": lambda: torch.multinomial(top_p_ref(logits, 0.9).softmax(-1), 1),
    "top_p_filter, sample": lambda: sample(top_p_filter(logits, 0.9), 1.0, seed=42),
}
if DEVICE == "cuda":
    try:
        from flashinfer.sampling import top_p_sampling_from_probs

        ways["softmax, FlashInfer"] = lambda: top_p_sampling_from_probs(logits.softmax(-1), 0.9)
    except ImportError:
        pass  # not installed here
timed = bench(ways, title="The next word, 64 rows of 128,256 words", stored="next_word_ways")

x = torch.randn(2**24 if DEVICE == "cuda" else 100, device=DEVICE)
dropouts = bench(
    {
        "torch": lambda: torch.nn.functional.dropout(x, 0.1),
        "dropout": lambda: dropout(x, 0.1, seed=42),
    },
    bytes=2 * x.nbytes,
    baseline="torch",
    title="Dropout of 16.8 million float32",
    stored="dropout_ways",
)

# %% tags=["predict"]
from tritonbook import predict

predict(
    {
        "bytes of logits that sample reads: 2 rows, 1000 words, float32": None,
        "bytes of logits that top_p_filter reads for them": None,
        "words that stay of four with 0.1, 0.4, 0.2, 0.3, and p = 0.65": None,
    },
    measured=[
        lambda: traffic(sample, torch.randn(2, 1000, device=DEVICE), 1.0, 42)["logits"].read,
        lambda: traffic(top_p_filter, torch.randn(2, 1000, device=DEVICE), 0.9)["logits"].read,
        lambda: top_p_filter(torch.tensor([[0.1, 0.4, 0.2, 0.3]], device=DEVICE).log(), 0.65)
        .isfinite()
        .sum()
        .item(),
    ],
    hints=[
        "How often is each logit needed?",
        "Maximum and sum, the steps, the result.",
        "Take the most likely ones until 0.65 is reached.",
    ],
)

# %% [markdown]
# <details><summary>Where the numbers come from</summary>
#
# **Sample.** One walk: 2 × 1,000 × 4 = 8,000 bytes.
#
# **Top-p.** 1 + 24 + 1 walks: 26 × 8,000 = 208,000. That is less bad than it looks: 64 rows of Llama 3
# are 33 MB, and an H200's L2 cache holds 60 MB. Most walks need not go to memory.
#
# **Words.** 0.4 is not enough, 0.4 + 0.3 is: two.
#
# </details>

# %%
timed

# %%
dropouts

# %% [markdown]
# **Read it.** *softmax, multinomial* writes and reads the whole matrix several times, *sample* reads it
# once. A sort moves each row many times, *top_p_filter* only reads it. Then dropout: both read x and
# write y, and torch writes a mask besides, one byte for each number.
#
# Philox is not free: about 100 integer operations for each u. And 64 programs leave half of an H200
# idle. vLLM's sampler adds Gumbel noise in Triton too, with a program for each row **and** tile; then
# it compares the tiles' best.
#
# ## Recap
#
# - Random numbers are a function of seed and counter. Use the element's number, never the lane.
# - What can be computed again need not be stored.
# - Argmax with Gumbel noise draws from a softmax in one walk, without computing it.
# - To find a threshold, bisect. Each step is a reduction, which a GPU does better than a sort.
#
# <details><summary>Common mistakes</summary>
#
# - Counters that begin again in each tile, or in each row.
# - u < p for the numbers that stay, or the factor 1 / (1 - p) forgotten.
# - The argmax of a tile taken for the argmax of the row, or its lane for the word.
# - $-\log u$ added to the logits: the waiting time, not the noise.
# - `hi` as the threshold: it leaves out the word that reaches p.
#
# </details>
#
# vLLM's Triton kernel for top-p searches for a threshold too, but gathers the likely words first: its
# walks are short. FlashInfer, which SGLang calls, filters while it draws: it rejects words outside the
# set, and raises a threshold with each.
#
# Next: [56_ragged_batches](56_ragged_batches.ipynb).

# %%
progress()

# ---
# workbook:
#   title: Find the bug
#   minutes: 45
#   needs: interpreter
#   requires: [11_rmsnorm_split, 13_layernorm, 15_norm_backward, 40_rope, 54_linear_cross_entropy]
#   limits: {sm_75: fits, sm_80: no spills, sm_86: fits, sm_89: fits, sm_90: no spills}
#   you_will:
#     - find the cause of a wrong result from where, when and for whom it is wrong
#     - use what shows a kernel at work, with and without a GPU
#     - mend five kernels, each a line or two from right, and name what ailed them
# ---

# %% tags=["setup"]
from tritonbook.first_cell import *

# %% [markdown]
# ## How to look
#
# So far you wrote kernels. Most of the time people read kernels that are there, and wrong. This page is
# a clinic: five patients, each with the complaint that its owner came with.
#
# Do not begin with the code. Begin with the result, and ask three questions.
#
# 1. **Where is it wrong?** In some columns, some rows, everywhere?
# 2. **When?** For which sizes, dtypes, calls? Find the smallest case that is wrong, and a case
#    beside it that is right. What is the one thing that differs?
# 3. **What would be true if you were right?** Guess a cause. Say what it predicts for a case that you
#    have not tried. Try that case. A guess that predicts nothing is no guess.
#
# Only then change the code.

# %%
pictures("debug").draw_places()

# %% [markdown]
# What helps you to look:
#
# | tool | shows | works |
# |---|---|---|
# | `breakpoint()`, `print(x)` in a kernel | a tile's values, program by program | in the interpreter |
# | `tl.device_print("x", x)` | the same, from a compiled kernel | everywhere |
# | `tl.static_print(x.dtype)` | what the compiler knows of a tile | everywhere |
# | `tl.device_assert(cond, "text")` | stops a program; needs `TRITON_DEBUG=1` | on a GPU |
# | `show_tiles(f, ...)` | which program touches which cells | everywhere |
# | `traffic(f, ...)` | bytes by tensor, lanes outside every tensor | everywhere |
# | `CUDA_LAUNCH_BLOCKING=1` | the launch that failed, and not a later line | on a GPU |
# | `compute-sanitizer --tool memcheck` | each access outside an allocation | on a GPU |
#
# `compute-sanitizer` has two more tools: `initcheck` tells of memory that is read before anybody wrote
# to it, `racecheck` of races in shared memory.
#
# And here is the most useful tool of all: a line that says where.


# %%
def compare(label, got, want):
    """Print which rows of a result are wrong, and by how much at most."""
    error = (got - want).abs().reshape(len(got), -1).amax(1)
    wrong = [row for row, e in enumerate(error) if not e <= 1e-3 * want.abs().max()]
    said = f"rows {wrong} of {len(got)} wrong, by up to {error.max():.3g}" if wrong else "right"
    print(f"{label:26} {said}")


compare("a row of rubbish:", torch.tensor([[1.0, 2.0], [1.0, 9.0]]), torch.tensor([[1.0, 2.0]] * 2))

# %% [markdown]
# `not e <= limit` is meant so. A NaN is not greater than any limit, and it is not smaller either.
#
# ## The causes
#
# Each patient has one of these. You mend the kernel, **and** you put the name of the cause into the
# function below it. The check takes a cause only with a mended kernel. If the cause is a wrong one, it
# tells you which observation speaks against it.
#
# | name | cause |
# |---|---|
# | `"grid"` | part of the work has no program |
# | `"padding"` | lanes past the end take part in a sum or a maximum |
# | `"guard too late"` | an address is read first, and its value is thrown away afterwards |
# | `"stale buffer"` | a buffer that is kept still holds what the last call left there |
# | `"uninitialised"` | memory is read that nobody has written |
# | `"changed input"` | a call writes to its own input |
# | `"narrow sum"` | a running sum has too few digits |
# | `"overflow"` | a number is too large for its dtype |
# | `"cancellation"` | large, nearly equal numbers are subtracted |
# | `"index"` | a number counts over more than the dimension that it is used for |
# | `"stride"` | an address goes by the stride of another tensor or dimension |
# | `"race"` | two programs meet at one address, and one of them writes |

# %% tags=["reference"]
def require_contiguous(*tensors):
    """Raise ValueError unless the tensors have no gaps and their own order in memory."""
    if not all(each.is_contiguous() for each in tensors):
        raise ValueError("the tensors must be contiguous")

# %% [markdown]
# ## Patient 1: right in the test, wrong in the model
#
# *"LayerNorm without weights. The test takes 64 columns and passes. Our model has 60, and its loss is
# a little off."* The right result is `torch.nn.functional.layer_norm(x, (N,))`.

# %% tags=["answer"] key="standardise"
@triton.jit
def standardise_kernel(x_ptr, y_ptr, N, eps, BLOCK_N: tl.constexpr):
    """y = (x - mean(x)) / sqrt(var(x) + eps) for each row.

    One program = one row, held whole in registers.
    Assumes BLOCK_N >= N, and contiguous tensors.
    """
    pid_m = tl.program_id(axis=0).to(tl.int64)
    offs_n = tl.arange(0, BLOCK_N)
    mask_n = offs_n < N
    x_ptrs = x_ptr + pid_m * N + offs_n

    x = tl.load(x_ptrs, mask=mask_n, other=0.0).to(tl.float32)
    mean = tl.sum(x, axis=0) / N
    ### BEGIN SOLUTION
    # a bare difference makes masked lanes 0 - mean, and the variance counts them
    centred = tl.where(mask_n, x - mean, 0.0)
    ### BROKEN
    # centred = x - mean
    ### END SOLUTION
    var = tl.sum(centred * centred, axis=0) / N

    tl.store(y_ptr + pid_m * N + offs_n, centred * tl.rsqrt(var + eps), mask=mask_n)


def standardise(x, eps=1e-5):
    """The rows of x [M, N], each with mean 0 and variance 1."""
    require_contiguous(x)
    M, N = x.shape
    y = torch.empty_like(x)
    standardise_kernel[(M,)](x, y, N, eps, BLOCK_N=triton.next_power_of_2(N))
    return y


def standardise_cause():
    """What ailed the patient: a name of the table."""
    ### BEGIN SOLUTION
    return "padding"
    ### END SOLUTION

# %% [markdown] tags=["hint"] key="standardise"
# #### Hints for standardise
#
# <details><summary>Hint 1: a question</summary>
#
# Below, the error grows with two things. Which lanes does a tile of 64 have for 60 columns that it does
# not have for 64?
#
# </details>
# <details><summary>Hint 2: where to look</summary>
#
# Without a GPU: put `breakpoint()` behind the line of `var`, call `standardise(torch.full((1, 3), 5.0))`,
# and print `x`, `mean` and `centred` with `p`. `c` goes on. A row of equal numbers has the variance 0.
#
# </details>
# <details><summary>Hint 3: the shape of the code</summary>
#
# `other=` says what a masked lane holds when it is loaded. It says nothing about what the lane holds
# two lines later. Page 13 has the same kernel.
#
# </details>

# %%
for N in (64, 60, 40, 33, 32):
    for mean in (0, 3):
        x = torch.randn(4, N, device=DEVICE) + mean
        want = torch.nn.functional.layer_norm(x, (N,))
        compare(f"{N} columns around {mean}:", standardise(x), want)

# %% [markdown]
# Run this cell before you mend anything, and once more afterwards. Do the same with every patient.

# %% tags=["check"] key="standardise" points=2
check(standardise)

# %% [markdown]
# <details><summary>Next time (open it when the check has passed)</summary>
#
# A mask at the load covers the load alone: ask again at each line that looks at all lanes. And test
# sizes that are no powers of two, with numbers whose mean is not 0.
#
# </details>
#
# ## Patient 2: the first step is right
#
# *"The squared norm of the gradients, for clipping. The first step of a training run is right. Then
# the norm grows and grows, and the model learns nothing."* The right result is `x.pow(2).sum()`.

# %% tags=["answer"] key="square_sum"
@triton.jit
def square_sum_kernel(x_ptr, total_ptr, n, BLOCK: tl.constexpr):
    """total += sum of x^2.

    One program = BLOCK elements.
    """
    offs = tl.program_id(axis=0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs, mask=offs < n, other=0.0).to(tl.float32)
    tl.atomic_add(total_ptr, tl.sum(x * x, axis=0))


TOTALS = {}  # one for each device: a step need not allocate


def square_sum(x, block=1024):
    """The sum of the squares of x, of any shape: a new float32 tensor [1]."""
    require_contiguous(x)
    if x.device not in TOTALS:
        TOTALS[x.device] = torch.zeros(1, dtype=torch.float32, device=x.device)
    total = TOTALS[x.device]
    ### BEGIN SOLUTION
    total.zero_()
    ### BROKEN
    ### END SOLUTION
    grid = (triton.cdiv(x.numel(), block),)
    square_sum_kernel[grid](x, total, x.numel(), BLOCK=block)
    return total.clone()


def square_sum_cause():
    """What ailed the patient: a name of the table."""
    ### BEGIN SOLUTION
    return "stale buffer"
    ### END SOLUTION

# %% [markdown] tags=["hint"] key="square_sum"
# #### Hints for square_sum
#
# <details><summary>Hint 1: a question</summary>
#
# The same input, three calls: by how much does each result differ from the one before it?
#
# </details>
# <details><summary>Hint 2: where to look</summary>
#
# What outlives a call? Not the names inside the function.
#
# </details>
# <details><summary>Hint 3: the shape of the code</summary>
#
# `+=` needs a beginning. Who sees to it at the first call, and who at the second? A tensor can be set
# to 0 where it lies, or made anew.
#
# </details>

# %%
x = torch.full((3, 100), 2.0, device=DEVICE)
print("sum of 300 squares of 2:", [square_sum(x).item() for _ in range(3)])
print("input as before:        ", bool((x == 2).all()))

# %% tags=["check"] key="square_sum" points=2
check(square_sum)

# %% [markdown]
# <details><summary>Next time (open it when the check has passed)</summary>
#
# Call everything twice in a test, with the same input and with another. Look for what outlives a call:
# buffers in dictionaries, default arguments, counters, results that somebody keeps.
#
# </details>
#
# ## Patient 3: only in half precision
#
# *"The gradient of a bias, one number for each column. In float32 all tests pass. In float16 the bias
# of our large batches stops learning."* The right result is `dy.sum(0)`.

# %% tags=["answer"] key="bias_gradient"
@triton.jit
def bias_gradient_kernel(dy_ptr, db_ptr, M, N, BLOCK_N: tl.constexpr):
    """db = sum of the rows of dy.

    One program = BLOCK_N columns, one row after the other.
    Assumes contiguous tensors.
    """
    offs_n = tl.program_id(axis=0) * BLOCK_N + tl.arange(0, BLOCK_N)
    mask_n = offs_n < N
    dy_ptrs = dy_ptr + offs_n

    ### BEGIN SOLUTION
    acc = tl.zeros((BLOCK_N,), dtype=tl.float32)
    ### BROKEN
    # acc = tl.zeros((BLOCK_N,), dtype=dy_ptr.dtype.element_ty)
    ### END SOLUTION
    for _ in range(M):
        acc += tl.load(dy_ptrs, mask=mask_n, other=0.0)
        dy_ptrs += N

    tl.store(db_ptr + offs_n, acc, mask=mask_n)


def bias_gradient(dy, block=64):
    """The sum of the rows of dy [M, N]: a vector [N] of dy's dtype, rounded once."""
    require_contiguous(dy)
    M, N = dy.shape
    db = torch.empty(N, dtype=dy.dtype, device=dy.device)
    bias_gradient_kernel[(triton.cdiv(N, block),)](dy, db, M, N, BLOCK_N=block)
    return db


def bias_gradient_cause():
    """What ailed the patient: a name of the table."""
    ### BEGIN SOLUTION
    return "narrow sum"
    ### END SOLUTION

# %% [markdown] tags=["hint"] key="bias_gradient"
# #### Hints for bias_gradient
#
# <details><summary>Hint 1: a question</summary>
#
# float16 has 11 binary digits and reaches to 65,504. What is 2,048 + 1 in float16? And is any number
# here near 65,504?
#
# </details>
# <details><summary>Hint 2: where to look</summary>
#
# Put `tl.device_print("acc", acc)` behind the loop, or `tl.static_print(acc.dtype)` before it.
#
# </details>
# <details><summary>Hint 3: the shape of the code</summary>
#
# `acc` in float32, as everywhere in this course. The store rounds to the dtype of the pointer, once.
#
# </details>

# %%
for dtype in (torch.float32, torch.float16, torch.bfloat16):
    sums = [bias_gradient(torch.ones(M, 1, dtype=dtype, device=DEVICE)) for M in (200, 1000, 3000)]
    print(f"{str(dtype):15} sums of 200, 1000 and 3000 ones:", [s.item() for s in sums])

# %% [markdown]
# **Predict.** With the patient mended, will the three numbers of bfloat16 be 200, 1000, 3000?
#
# <details><summary>Answer</summary>
#
# Yes for the first two. bfloat16 has 8 binary digits: between 2,048 and 4,096 its numbers lie 16 apart.
# 3,000 is 187.5 times 16, so the store has to round, to 3,008. One rounding, and not 3,000.
#
# </details>

# %% tags=["check"] key="bias_gradient" points=2
check(bias_gradient)

# %% [markdown]
# <details><summary>Next time (open it when the check has passed)</summary>
#
# If one dtype alone is wrong, look at each place where a dtype is chosen: accumulators, casts, buffers
# between two kernels. And test sums that are long: ten rows of float16 are right in either way.
#
# </details>
#
# ## Patient 4: alone it is right
#
# *"Rotary embedding. One prompt at a time: the model talks sense. Two prompts in a batch: the first
# answer is good, the second one wanders off."* It is the half-split form of page 40, with one head.
# The tables may hold more positions than a prompt has.

# %% tags=["answer"] key="rope_rows"
@triton.jit
def rope_rows_kernel(
    x_ptr, y_ptr, cos_ptr, sin_ptr,
    L,
    stride_xb, stride_xl,
    stride_yb, stride_yl,
    HALF: tl.constexpr, BLOCK_P: tl.constexpr,
):
    """(a, b) -> (a cos - b sin, b cos + a sin), each pair of a token.

    One program = one token of one prompt.
    Assumes BLOCK_P >= HALF, and contiguous tables.
    """
    token = tl.program_id(axis=0).to(tl.int64)
    b, position = token // L, token % L
    offs_p = tl.arange(0, BLOCK_P)
    mask_p = offs_p < HALF
    x_ptrs = x_ptr + b * stride_xb + position * stride_xl + offs_p
    y_ptrs = y_ptr + b * stride_yb + position * stride_yl + offs_p
    ### BEGIN SOLUTION
    offs_t = position * HALF + offs_p
    ### BROKEN
    # offs_t = token * HALF + offs_p
    ### END SOLUTION

    cos = tl.load(cos_ptr + offs_t, mask=mask_p, other=0.0).to(tl.float32)
    sin = tl.load(sin_ptr + offs_t, mask=mask_p, other=0.0).to(tl.float32)
    first = tl.load(x_ptrs, mask=mask_p, other=0.0).to(tl.float32)
    second = tl.load(x_ptrs + HALF, mask=mask_p, other=0.0).to(tl.float32)

    tl.store(y_ptrs, first * cos - second * sin, mask=mask_p)
    tl.store(y_ptrs + HALF, second * cos + first * sin, mask=mask_p)


def rope_rows(x, cos, sin):
    """x [B, L, D] turned by position: a new tensor. cos, sin [P, D/2], contiguous, P >= L."""
    require_contiguous(cos, sin)
    B, L, D = x.shape
    if cos.shape != sin.shape or cos.shape[1] * 2 != D or cos.shape[0] < L or x.stride(2) != 1:
        raise ValueError("x must be (B, L, D), cos and sin (P, D/2) with P >= L")
    y = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    rope_rows_kernel[(B * L,)](
        x, y, cos, sin, L, *x.stride()[:2], *y.stride()[:2],
        HALF=D // 2, BLOCK_P=triton.next_power_of_2(D // 2),
    )
    return y


def rope_rows_cause():
    """What ailed the patient: a name of the table."""
    ### BEGIN SOLUTION
    return "index"
    ### END SOLUTION

# %% [markdown] tags=["hint"] key="rope_rows"
# #### Hints for rope_rows
#
# <details><summary>Hint 1: a question</summary>
#
# Both prompts are the same below, so both results should be. Which of the four tensors does a program
# of the second prompt read from another place than its twin in the first, and should not?
#
# </details>
# <details><summary>Hint 2: where to look</summary>
#
# The picture: programs 0 to 2 are the first prompt, 3 to 5 the second. Compare the rows of `cos` that
# they load with the rows of `x`.
#
# </details>
# <details><summary>Hint 3: the shape of the code</summary>
#
# `token` counts over B × L, `position` over L, and `b` over B. Each address wants one or two of them.
#
# </details>

# %%
angle = torch.arange(8.0, device=DEVICE)[:, None] * torch.tensor([1.0, 0.1], device=DEVICE)
cos, sin = angle.cos(), angle.sin()
x = torch.randn(1, 3, 4, device=DEVICE).repeat(2, 1, 1)  # the same prompt twice
alone = rope_rows(x[:1].clone(), cos, sin)
compare("both prompts:", rope_rows(x, cos, sin), alone.repeat(2, 1, 1))
show_tiles(rope_rows, x, cos, sin, tensors=["x", "cos"])

# %% tags=["check"] key="rope_rows" points=2
check(rope_rows)

# %% [markdown]
# <details><summary>Next time (open it when the check has passed)</summary>
#
# Give a batch the same row twice: whatever differs between the two results comes from an address. Ask
# of each number in an address which dimensions it counts over, and let its name say so.
#
# </details>
#
# ## Patient 5: right for months
#
# *"The logit of each target, as on page 54. Every test passes, every loss is right. Last night a
# training run stopped: illegal memory access."* In the contract, a negative target does not count,
# and gives 0.

# %% tags=["answer"] key="picked_logits"
@triton.jit
def picked_logits_kernel(z_ptr, targets_ptr, out_ptr, T, V, BLOCK_T: tl.constexpr):
    """out[t] = z[t, targets[t]], or 0 where targets[t] is negative.

    One program = BLOCK_T tokens.
    Assumes contiguous tensors.
    """
    offs_t = tl.program_id(axis=0).to(tl.int64) * BLOCK_T + tl.arange(0, BLOCK_T)
    mask_t = offs_t < T
    target = tl.load(targets_ptr + offs_t, mask=mask_t, other=-100)

    z_ptrs = z_ptr + offs_t * V + target
    ### BEGIN SOLUTION
    z = tl.load(z_ptrs, mask=target >= 0, other=0.0).to(tl.float32)
    tl.store(out_ptr + offs_t, z, mask=mask_t)
    ### BROKEN
    # z = tl.load(z_ptrs, mask=mask_t, other=0.0).to(tl.float32)
    # tl.store(out_ptr + offs_t, tl.where(target >= 0, z, 0.0), mask=mask_t)
    ### END SOLUTION


def picked_logits(z, targets, block=16):
    """The logits of the targets [T], int64, from z [T, V]: float32 [T], 0 where a target is < 0."""
    require_contiguous(z, targets)
    T, V = z.shape
    out = torch.empty(T, dtype=torch.float32, device=z.device)
    picked_logits_kernel[(triton.cdiv(T, block),)](z, targets, out, T, V, BLOCK_T=block)
    return out


def picked_logits_cause():
    """What ailed the patient: a name of the table."""
    ### BEGIN SOLUTION
    return "guard too late"
    ### END SOLUTION

# %% [markdown] tags=["hint"] key="picked_logits"
# #### Hints for picked_logits
#
# <details><summary>Hint 1: a question</summary>
#
# A target of -100 in row 0: which address does the program compute? Does it only compute it?
#
# </details>
# <details><summary>Hint 2: where to look</summary>
#
# `traffic(picked_logits, z, targets)` names the program, the line and the lane's distance from the tensor. Put the -100 into row 3
# instead, and the complaint is gone: the address lies in row 2 then, and nobody can see it.
#
# </details>
# <details><summary>Hint 3: the shape of the code</summary>
#
# `tl.where` chooses between two values that are there already. What keeps a lane from memory is `mask=`.
#
# </details>

# %%
z = torch.randn(9, 100, device=DEVICE)[5:]  # a slice of a larger buffer, as in training
targets = torch.tensor([-100, 7, 99, 0], device=DEVICE)
found, due = picked_logits(z, targets).tolist(), [0.0, *z[[1, 2, 3], [7, 99, 0]].tolist()]
print([round(x, 3) for x in found], "should be", [round(x, 3) for x in due])

# %% [markdown]
# The values are right, so no comparison finds it. Which tool of the table sees addresses? On a GPU an address before a tensor usually belongs
# to another tensor of the same process: PyTorch takes memory in large pieces and cuts them up. So
# `compute-sanitizer` is silent too, until you run it with `PYTORCH_NO_CUDA_MEMORY_CACHING=1`, which
# gives each tensor an allocation of its own. Here is the answer cell as it came, with a call, in a file,
# on an H100:
#
# ```text
# $ PYTORCH_NO_CUDA_MEMORY_CACHING=1 compute-sanitizer --tool memcheck python patient.py
# ========= Invalid __global__ read of size 4 bytes
# =========     at picked_logits_kernel+0x1b0 in patient.py:23
# =========     by thread (96,0,0) in block (0,0,0)
# =========     Access to 0x7fa2827ffe70 is out of bounds
# =========     and is 400 bytes before the nearest allocation at 0x7fa282800000 of size 1,600 bytes
# ```
#
# It names the kernel, the line, the program (*block*) and the distance: 400 bytes are 100 floats. On a GPU
# the next cell does the same with your answer.

# %%
CALL = """
z = torch.randn(4, 100, device="cuda")
print(picked_logits(z, torch.tensor([-100, 7, 99, 0], device="cuda")))
"""
pictures("debug").sanitize(("require_contiguous", "picked_logits"), CALL)

# %% tags=["check"] key="picked_logits" points=2
check(picked_logits)

# %% [markdown]
# <details><summary>Next time (open it when the check has passed)</summary>
#
# An index that comes from memory can be anything: the mask of the load has to know it. Right values
# prove nothing about addresses; let a tool look at those, in a test.
#
# </details>
#
# ## Recap
#
# | patient | right | wrong | the one thing that differs |
# |---|---|---|---|
# | 1 | 64 columns | 60 columns | lanes without a column |
# | 2 | first call | second call | what the first one left |
# | 3 | float32 | float16 | digits |
# | 4 | one prompt | two prompts | the number of the prompt |
# | 5 | values | addresses | who looks |
#
# None of the five was found by reading the kernel from top to bottom. Each was found by two cases side
# by side.
#
# **Common mistakes**
#
# - Changing several lines at once: when it works, nobody knows why.
# - Loosening a tolerance until the test passes. Patient 1 would pass.
# - Blaming the compiler. It happens, and rarely.
#
# Next: [91_profile](91_profile.ipynb), with kernels that are right and slow.

# %%
progress()

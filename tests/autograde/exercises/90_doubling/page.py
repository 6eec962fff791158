# ---
# workbook:
#   title: Doubling
#   minutes: 25
#   needs: interpreter
#   requires: []
#   you_will:
#     - double a vector
# ---

# %% [markdown]
# # Doubling
#
# A small exercise that the grading tests are made with.

# %% tags=["setup"]
import torch
import triton
import triton.language as tl

from tritonbook import check


# %% tags=["reference"]
def double_ref(x):
    return x + x


def halves_ref(n):
    return [n // 2, n - n // 2]

# %%
print("a worked example")


# %% tags=["answer"] key="double"
@triton.jit
def double_kernel(x_ptr, out_ptr, n, BLOCK_SIZE: tl.constexpr):
    pid = tl.program_id(0)
    # TODO: double this program's tile (4 lines)
    ### BEGIN SOLUTION
    offs = pid * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offs < n
    x = tl.load(x_ptr + offs, mask=mask)
    tl.store(out_ptr + offs, x + x, mask=mask)
    ### END SOLUTION


def double(x):
    out = torch.empty_like(x)
    n = x.numel()
    double_kernel[(triton.cdiv(n, 64),)](x, out, n, BLOCK_SIZE=64)
    return out


# %% [markdown] tags=["hint"] key="double"
# <details><summary>Hint 1</summary>Which elements?</details>
# <details><summary>Hint 2</summary>Load.</details>
# <details><summary>Hint 3</summary>Store.</details>

# %% tags=["check"] key="double" points=4
check(double)


# %% tags=["answer"] key="halves"
def halves(n):
    ### BEGIN SOLUTION
    return [n // 2, n - n // 2]
    ### END SOLUTION


# %% [markdown] tags=["hint"] key="halves"
# <details><summary>Hint 1</summary>Divide.</details>
# <details><summary>Hint 2</summary>Round down.</details>
# <details><summary>Hint 3</summary>The rest.</details>

# %% tags=["check"] key="halves" points=2
check(halves)

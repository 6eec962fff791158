# ---
# workbook:
#   title: From kernel to operator
#   minutes: 50
#   needs: interpreter
#   requires: [10_rmsnorm_rows]
#   limits: {sm_75: fits, sm_80: no spills, sm_86: fits, sm_89: fits, sm_90: no spills}
#   you_will:
#     - register one kernel as a PyTorch operator in three ways, and say what each one buys
#     - tell the compiler what a result looks like without computing it
#     - give an operator a gradient that torch.compile can follow
#     - read a graph break, and let opcheck find what you forgot
# ---

# %% tags=["setup"]
from tritonbook.first_cell import *

# %% [markdown]
# ## The idea
#
# Your RMSNorm works, and PyTorch does not know that it exists. Autograd cannot go backwards through
# it. `torch.compile` has to look into your Python, and stops where it cannot follow.
#
# An **operator** is a function that PyTorch knows by name, such as `torch.ops.workbook.rmsnorm`. To
# become one, a function gives four answers:
#
# 1. What goes in, what comes out, what is changed? The **schema**.
# 2. Who computes it, on which device? The **implementation**.
# 3. What does the result look like when nobody computes it? The **fake**, also called *meta
#    function*.
# 4. What is the gradient? The **autograd formula**.

# %%
pictures("register_op").draw_floors(
    "A call of an operator goes down these floors",
    [
        ("Autograd", "notes how to go back", "your gradient (answer 4)"),
        ("Fake", "only for tensors without data: the call ends here", "your fake (answer 3)"),
        ("CPU or CUDA", "computes", "your implementation, for its device (answer 2)"),
    ],
)

# %% [markdown]
# ## Where torch.compile stops
#
# First **Dynamo**, a part of `torch.compile`, follows your Python code and writes down which
# operators it calls: the **graph**. Then the backward is added, and a code generator makes kernels.
# Until then nothing is computed. The graph is made with **fake tensors**: they have shape, dtype,
# strides and device, but no data.
#
# So Dynamo cannot follow code that asks for a value. That is a **graph break**: the function falls
# into pieces, and nothing is fused across the cut. With `fullgraph=True` it is an error instead.


# %%
def double(x):
    if x.abs().max() > 32752:  # asks for a value
        raise ValueError("2 x does not fit in float16")
    return 2 * x


x = torch.arange(6.0, device=DEVICE)
try:
    torch.compile(double, fullgraph=True)(x)
except Exception as error:
    print(error)

# %% [markdown]
# **Read two places.** The first line says *what* Dynamo cannot follow. The lines under `from user
# code` say *where*. What stands between is advice, and differs from version to version.
#
# ## A smaller operator first
#
# An operator is called and not followed. `custom_op` makes one of a Python function. The name
# consists of a **namespace**, `demo`, and a name in it. The annotations are the schema.
# `mutates_args=()` promises that no argument is changed.


# %%
@torch.library.custom_op("demo::double", mutates_args=())
def double_op(x: torch.Tensor) -> torch.Tensor:
    return double(x)


print(torch.ops.demo.double.default._schema)
for test, said in torch.library.opcheck(double_op, (x,), raise_exception=False).items():
    print(f"{test}: {said}")

# %% [markdown]
# **`opcheck` is the test for every operator.** It takes the operator and arguments, calls it in four
# ways, and says what does not fit. Here answer 3 is missing: what is the result for a fake tensor?
# A fake gets fake tensors and returns one. It allocates the result and computes nothing.

# %%
from tritonbook.seeing.operators import graph_of

double_op.register_fake(lambda x: torch.empty_like(x))
double_op.register_autograd(lambda ctx, dy: 2 * dy)
print(torch.library.opcheck(double_op, (x.requires_grad_(),)))
print("graph:", graph_of(lambda x: double_op(x + 1) * 3, x))

# %% [markdown]
# `graph_of` shows the graph that the code generator gets. Your operator is one call among others,
# and no graph break is left.
#
# **Predict.** Somebody writes `return torch.empty(x.shape)` in a fake. Which two properties may be
# wrong?
#
# <details><summary>Answer</summary>
#
# The dtype is float32 and the device is the CPU, whatever x is. The compiler believes it, and plans
# memory and kernels for a tensor that will never exist. That is an error far away, or wrong numbers.
#
# </details>
#
# ## The contract
#
# Each task is a function `register_...(namespace)` that registers this operator and returns it:
#
# | name | shape | dtype | role |
# |---|---|---|---|
# | `x` | `[M, N]`, any strides | floating | input, never changed |
# | `w` | `[N]`, contiguous | floating | weight |
# | `eps` | | float | inside the root, beside the mean |
# | result | `[M, N]`, contiguous | as `x` | new |
#
# - The schema is `rmsnorm(Tensor x, Tensor w, float eps) -> Tensor`.
# - A second call with the same namespace replaces the first operator, since cells are run again.
#
# The forward is your `rmsnorm_row` of page 10. The gradient is given in PyTorch's own operators,
# with $r = 1/\sqrt{\mathrm{mean}(x^2) + \varepsilon}$ and $\hat x = x\,r$:
#
# $$dx = r\,(w\,dy - \hat x \cdot \mathrm{mean}(w\,dy\,\hat x)) \qquad dw = \sum_\text{rows} dy\,\hat x$$

# %% tags=["reference"]
from tritonbook.seeing.operators import operator_fact

rmsnorm_row = mine("rmsnorm_row", quiet=True)
HELD = {}  # for Task 2: namespace -> its library


def close_library(namespace):
    """Close the library that HELD keeps for a namespace, if there is one."""
    if namespace in HELD:
        HELD.pop(namespace)._destroy()


def rmsnorm_ref(x, w, eps):
    return x * torch.rsqrt(x.pow(2).mean(dim=-1, keepdim=True) + eps) * w


def rmsnorm_gradients(dy, x, w, eps):
    """dx and dw for the gradient dy of the result."""
    r = torch.rsqrt(x.float().pow(2).mean(dim=-1, keepdim=True) + eps)
    x_hat, wdy = x * r, w * dy.float()
    dx = r * (wdy - x_hat * (wdy * x_hat).mean(dim=-1, keepdim=True))
    return dx.to(x.dtype), (dy * x_hat).sum(dim=0).to(w.dtype)

# %% [markdown]
# ## Task 1. `custom_op`, with fake and gradient
#
# Four short gaps. A gradient takes two functions:
#
# - `save_inputs(ctx, inputs, output)` runs after the forward and keeps on `ctx` what the backward
#   needs. Numbers are attributes, such as `ctx.eps`. Tensors go through
#   `ctx.save_for_backward(...)`: it notices if somebody changes one before the backward.
# - `rmsnorm_backward(ctx, dy)` finds these tensors in `ctx.saved_tensors`. It returns one gradient
#   for each input, `None` for a number.
#
# The compiler runs the backward on fake tensors too. So a backward **consists of operators**, as
# `rmsnorm_gradients` does. A kernel that is launched there has to be an operator first.

# %% tags=["answer"] key="register_custom"
def rmsnorm_fake(x, w, eps):
    """What rmsnorm returns, without data."""
    # TODO: shape, dtype, device and strides of the contract (1 line)
    ### BEGIN SOLUTION
    return torch.empty(x.shape, dtype=x.dtype, device=x.device)
    ### END SOLUTION


def save_inputs(ctx, inputs, output):
    """Keep what the backward needs. inputs: the operator's three arguments."""
    # TODO: (2 lines)
    ### BEGIN SOLUTION
    x, w, ctx.eps = inputs
    ctx.save_for_backward(x, w)
    ### END SOLUTION


def rmsnorm_backward(ctx, dy):
    """The gradients of x, w and eps."""
    # TODO: call rmsnorm_gradients (2 lines)
    ### BEGIN SOLUTION
    dx, dw = rmsnorm_gradients(dy, *ctx.saved_tensors, ctx.eps)
    return dx, dw, None
    ### END SOLUTION


def register_custom(namespace):
    """Register rmsnorm(x, w, eps) under `namespace` with custom_op; return it."""
    # TODO: the operator from an annotated function, its fake, its gradient (about 6 lines)
    ### BEGIN SOLUTION
    @torch.library.custom_op(f"{namespace}::rmsnorm", mutates_args=())
    def rmsnorm(x: torch.Tensor, w: torch.Tensor, eps: float) -> torch.Tensor:
        return rmsnorm_row(x, w, eps)

    rmsnorm.register_fake(rmsnorm_fake)
    rmsnorm.register_autograd(rmsnorm_backward, setup_context=save_inputs)
    return rmsnorm
    ### END SOLUTION


def custom_fact(what, x, w, eps, dy, layout):
    """What the check asks (given)."""
    return operator_fact(register_custom, what, (x, w, eps), dy, layout)

# %% [markdown] tags=["hint"] key="register_custom"
# #### Hints for register_custom
#
# <details><summary>Hint 1: a question</summary>
#
# `rmsnorm_row` returns a contiguous tensor, for a transposed x too. What does
# `torch.empty_like(x)` return for a transposed x?
#
# </details>
# <details><summary>Hint 2: where to look</summary>
#
# `double_op` has the decorator, and the two lines below it attach a fake and a gradient. In the name
# only the namespace is new: `f"{namespace}::..."`. A number's annotation is `float`.
# `register_autograd` also takes `setup_context=`.
#
# </details>
# <details><summary>Hint 3: the shape of the code</summary>
#
# ```python
# @torch.library.custom_op(...)
# def rmsnorm(...) -> ...:  # each argument with its type
#     ...
#
# # the fake, the gradient with what saves for it, and what is returned?
# ```
#
# </details>

# %% tags=["check"] key="register_custom" points=6
check(register_custom)

# %% [markdown]
# **Now you, without a check.** Three lines: your operator in a namespace of your own, inputs that want
# gradients, `opcheck`. Then break the fake and look again.

# %%
# op = ...

# %% [markdown]
# ## Task 2. By hand: `torch.library.Library`
#
# `custom_op` puts Python of its own around your function. A `Library` puts none: PyTorch's operators
# and vLLM's are registered so. You write every answer by hand, the schema as text.
#
# There are three kinds. `"DEF"` claims a whole namespace, `"FRAGMENT"` adds to one, `"IMPL"`
# implements operators that others defined. Of all three it holds: **a library is open as long as
# somebody holds it.**


# %%
def forgetful():
    lib = torch.library.Library("forgotten", "FRAGMENT")
    lib.define("triple(Tensor x) -> Tensor")
    lib.impl("triple", lambda x: 3 * x, DEVICE.upper())


forgetful()
print("still there:", hasattr(torch.ops.forgotten, "triple"))

# %% [markdown]
# `lib` was a local variable. When the function returned, nobody held the library, and PyTorch took
# its operators back. **Never call an operator of a closed library:** its memory is freed, and the
# process may crash.
#
# Here `HELD` keeps libraries, one for each namespace. A name can be defined only once while its
# library is open: begin with `close_library(namespace)`, which is given. The key of a device is
# `"CPU"` or `"CUDA"`, which is `DEVICE.upper()`. Fake and gradient are those of Task 1. About 8 lines.

# %% tags=["answer"] key="register_library"
def register_library(namespace):
    """Register rmsnorm(x, w, eps) under `namespace` with a Library; return it."""
    # TODO: close an earlier library, open one and hold it; define, impl for this device, fake,
    # gradient; return the operator (about 8 lines)
    ### BEGIN SOLUTION
    close_library(namespace)
    HELD[namespace] = lib = torch.library.Library(namespace, "FRAGMENT")
    lib.define("rmsnorm(Tensor x, Tensor w, float eps) -> Tensor")
    lib.impl("rmsnorm", rmsnorm_row, DEVICE.upper())
    name = f"{namespace}::rmsnorm"
    torch.library.register_fake(name, rmsnorm_fake, lib=lib)
    torch.library.register_autograd(name, rmsnorm_backward, setup_context=save_inputs, lib=lib)
    return getattr(torch.ops, namespace).rmsnorm
    ### END SOLUTION


def library_fact(what, x, w, eps, dy, layout):
    """What the check asks (given)."""
    return operator_fact(register_library, what, (x, w, eps), dy, layout)

# %% [markdown] tags=["hint"] key="register_library"
# #### Hints for register_library
#
# <details><summary>Hint 1: a question</summary>
#
# Which line of `forgetful` would you change so that `triple` is still there afterwards?
#
# </details>
# <details><summary>Hint 2: where to look</summary>
#
# `define` and `impl` are in `forgetful`. `torch.library.register_fake` and
# `torch.library.register_autograd` take the full name, `"namespace::rmsnorm"`, the same functions as
# in Task 1, and `lib=`. `getattr(torch.ops, namespace)` is the namespace.
#
# </details>
# <details><summary>Hint 3: the shape of the code</summary>
#
# ```python
# # close, open, hold
# # define, impl
# torch.library.register_fake(..., ..., lib=...)
# torch.library.register_autograd(..., ..., setup_context=..., lib=...)
# # the operator, by its name
# ```
#
# </details>

# %% tags=["check"] key="register_library" points=5
check(register_library)

# %% [markdown]
# ## Task 3. Open the box: `triton_op`
#
# For the compiler both operators are closed boxes. `triton_op` opens the box: the compiler sees the
# allocation and the launch. Two differences from `custom_op`:
#
# - The launch stands in the operator itself and goes through
#   `torch.library.wrap_triton(kernel)[grid](...)`.
# - There is no fake. The compiler runs your function on fake tensors, and notes a wrapped launch
#   instead of carrying it out.
#
# The kernel is that of page 10, for a contiguous result. Write about 9 lines, the gradient included.

# %% tags=["answer"] key="register_triton"
@triton.jit
def rmsnorm_kernel(
    x_ptr, w_ptr, y_ptr, N, stride_xm, stride_xn, eps, BLOCK_N: tl.constexpr
):
    """y = x / sqrt(mean(x^2) + eps) * w for each row.

    One program = one row.
    Assumes BLOCK_N >= N, and that y is contiguous.
    """
    pid_m = tl.program_id(axis=0).to(tl.int64)
    offs_n = tl.arange(0, BLOCK_N)
    mask_n = offs_n < N

    x_ptrs = x_ptr + pid_m * stride_xm + offs_n * stride_xn
    x = tl.load(x_ptrs, mask=mask_n, other=0.0).to(tl.float32)
    w = tl.load(w_ptr + offs_n, mask=mask_n, other=0.0).to(tl.float32)

    y = x * tl.rsqrt(tl.sum(x * x, axis=0) / N + eps) * w

    tl.store(y_ptr + pid_m * N + offs_n, y, mask=mask_n)


def register_triton(namespace):
    """Register rmsnorm(x, w, eps) under `namespace` with triton_op; return it."""
    # TODO: the operator allocates, launches rmsnorm_kernel wrapped, returns y; its gradient
    # (about 9 lines)
    ### BEGIN SOLUTION
    @torch.library.triton_op(f"{namespace}::rmsnorm", mutates_args=())
    def rmsnorm(x: torch.Tensor, w: torch.Tensor, eps: float) -> torch.Tensor:
        M, N = x.shape
        y = torch.empty(x.shape, dtype=x.dtype, device=x.device)
        launch = torch.library.wrap_triton(rmsnorm_kernel)[(M,)]
        launch(x, w, y, N, *x.stride(), eps, BLOCK_N=triton.next_power_of_2(N))
        return y

    rmsnorm.register_autograd(rmsnorm_backward, setup_context=save_inputs)
    return rmsnorm
    ### END SOLUTION


def triton_fact(what, x, w, eps, dy, layout):
    """What the check asks (given)."""
    return operator_fact(register_triton, what, (x, w, eps), dy, layout)

# %% [markdown] tags=["hint"] key="register_triton"
# #### Hints for register_triton
#
# <details><summary>Hint 1: a question</summary>
#
# What did `rmsnorm_row` do before and after its launch? Which of it does this kernel still need?
#
# </details>
# <details><summary>Hint 2: where to look</summary>
#
# `wrap_triton(kernel)` is used like the kernel: grid in square brackets, then the arguments in the
# kernel's order. Its signature names two strides: whose?
#
# </details>
# <details><summary>Hint 3: the shape of the code</summary>
#
# ```python
# @torch.library.triton_op(...)
# def rmsnorm(...) -> ...:
#     # sizes and the result
#     torch.library.wrap_triton(...)[...](...)
#     # and return
#
# # gradient, and what is returned?
# ```
#
# </details>

# %% tags=["check"] key="register_triton" points=5
check(register_triton)

# %% [markdown]
# ## Side by side

# %%
ways = {
    "custom_op": register_custom("way1"),
    "Library": register_library("way2"),
    "triton_op": register_triton("way3"),
}
w = torch.ones(64, device=DEVICE, requires_grad=True)
x = torch.randn(8, 64, device=DEVICE, requires_grad=True)
for name, way in ways.items():
    said = torch.library.opcheck(way, (x, w, 1e-5))
    print(f"{name}: opcheck says {set(said.values())}")
    with torch.no_grad():
        print("   ", graph_of(lambda x, w, way=way: way(x + 1, w, 1e-5) * 2, x, w))

# %% [markdown]
# Two graphs hold one closed call. In the third your operator is gone: an allocation and the kernel
# (`triton_kernel_wrapper...`) are left, and the code generator launches it itself.
#
# **Predict.** Before any kernel runs, a call costs the host some microseconds. Put the four in order:
# the plain function `rmsnorm_row` and the three operators. And which operator gains most when the
# calls stand in a compiled function?
#
# The cell makes a thousand small calls in a row, in layers of ten. So **read milliseconds as
# microseconds of one call**. Without a GPU it shows the times of an H200.


# %%
def layers(call):
    def ten(x):
        for _ in range(10):
            x = call(x, w, 1e-5)
        return x

    return ten


def in_a_row(ten):
    return lambda: [ten(x) for _ in range(100 if DEVICE == "cuda" else 1)]


timed = {name: in_a_row(layers(way)) for name, way in ({"function": rmsnorm_row} | ways).items()}
if DEVICE == "cuda":
    for name, way in ways.items():
        timed[f"{name}, compiled"] = in_a_row(torch.compile(layers(way)))
with torch.no_grad():
    calls = bench(timed, baseline="function", title="1,000 calls", stored="operator_calls")
calls

# %% [markdown]
# **Read it.** The first four rows are the answer to the first question. What an operator adds to the
# function is the way through PyTorch: the floors of the picture, and for two of the three Python on
# them. In a compiled function a closed call still goes that way, and even costs more than before: 106
# and 108 µs. The kernel of a `triton_op` does not. The generated code launches it, and a call takes 19 µs.
#
# **Which one?** `custom_op` if you want few surprises. `Library` if calls must be cheap without a
# compiler. `triton_op` if the model gets compiled. The gradient is the same two functions in
# all three.
#
# ## Recap
#
# - An operator is schema, implementation, fake and gradient. `opcheck` tests one against the other.
# - A fake allocates what the real one returns: shape, dtype, device, **strides**. It reads nothing.
# - A backward consists of operators and gets its tensors from `save_for_backward`.
# - A `Library` is open as long as somebody holds it.
# - A graph break names what and where: the first line, and `from user code`.
#
# <details><summary>Common mistakes</summary>
#
# - `torch.empty_like(x)` in the fake of an operator whose result is contiguous.
# - `int(x.shape[0])` in a fake: each size is compiled anew.
# - A wrong `mutates_args`. The compiler drops, moves and copies by it; eager mode never notices.
# - A kernel that is registered for all devices: with tensors of another one Triton's launch fails, in
#   words about pointers.
# - A launch in a `triton_op` without `wrap_triton`: called it works, compiled it does not.
#
# </details>
#
# Sources: PyTorch documentation, *Custom Python Operators* and *torch.library* (2025).
#
# Next: [31_op_library](31_op_library.ipynb), where Python writes kernels, and a model runs on
# yours without knowing it.

# %%
progress()

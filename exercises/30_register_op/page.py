# ---
# workbook:
#   title: From kernel to operator
#   minutes: 55
#   needs: interpreter
#   requires: [10_rmsnorm_rows]
#   limits: {sm_75: fits, sm_80: no spills, sm_86: fits, sm_89: fits, sm_90: no spills}
#   you_will:
#     - register one kernel as a PyTorch operator in three ways, and say what each one buys
#     - tell the compiler what a result looks like without computing it
#     - give an operator a gradient that torch.compile can follow
#     - say truthfully which arguments an operator changes
# ---

# %% tags=["setup"]
from tritonbook import DEVICE, bench, check, facts, mine, pictures, progress
from tritonbook import reference, setup, show_cases, show_tiles, traffic

import torch
import triton
import triton.language as tl

setup()

# %% [markdown]
# ## The idea
#
# Your RMSNorm works. You can call it from Python. But PyTorch does not know that it exists. Autograd
# cannot go backwards through it. `torch.compile` must look into your Python code, and stops where it
# cannot follow. And PyTorch does not know for which device it was made: a CPU tensor is refused
# only at the launch, by Triton, in words about pointers.
#
# An **operator** is a function that PyTorch knows by name: `torch.ops.workbook.rmsnorm`. To become
# one, your function has to answer four questions:
#
# 1. What goes in, what comes out, which arguments are changed? That is the **schema**.
# 2. Who computes it, on which device? That is the **implementation**.
# 3. What does the result look like, if nobody computes it? Shape, dtype, strides, device. That is
#    the **fake**. The compiler runs your whole model with tensors that have no memory behind them,
#    and your operator has to take part.
# 4. What is the gradient? That is the **autograd formula**.
#
# **Scope.** No new kernel here. Forward and backward kernels are given. You write what stands
# between a kernel and a framework.
#
# | way | you write | the compiler sees | used by |
# |---|---|---|---|
# | `torch.library.Library` | schema as text, everything by hand | one closed box | vLLM, PyTorch itself |
# | `torch.library.custom_op` | a decorated function | one closed box | most projects |
# | `torch.library.triton_op` | the same, with the launch wrapped | the kernel inside | models that are compiled |
#
# The third way needs a GPU for most of what it is good for. Everything else here runs without one.

# %%
from tritonbook.seeing.pictures_operators import draw_floors

draw_floors(
    "Where your answers stand: a call goes down the floors of the dispatcher",
    [
        ("Autograd", "notes how to go back", "your gradient formula (question 4)"),
        ("Fake", "only if the tensors have no data: the call ends here", "your fake (question 3)"),
        ("CPU or CUDA", "computes", "your implementation, for its device only (question 2)"),
    ],
)

# %% [markdown]
# ## The kernels
#
# These are given. The forward one is the kernel of [10_rmsnorm_rows](10_rmsnorm_rows.ipynb). For the
# backward one let $r = 1 / \sqrt{\mathrm{mean}(x^2) + \varepsilon}$ and $\hat x = x \cdot r$. Then
# each row has
#
# $$dx = r\,(w\,dy - \hat x \cdot \mathrm{mean}(w\,dy\,\hat x)) \qquad dw = \sum_\text{rows} dy\,\hat x$$

# %% tags=["reference"]
@triton.jit
def rmsnorm_kernel(
    x_ptr, w_ptr, y_ptr,
    N,
    stride_xm, stride_xn,
    stride_ym, stride_yn,
    eps,
    BLOCK_N: tl.constexpr,
):
    """y = x / sqrt(mean(x^2) + eps) * w for each row.

    One program = one row.
    Assumes BLOCK_N >= N; y may be x itself.
    """
    row = tl.program_id(0).to(tl.int64)
    offs_n = tl.arange(0, BLOCK_N)
    mask_n = offs_n < N

    x_ptrs = x_ptr + row * stride_xm + offs_n * stride_xn
    x = tl.load(x_ptrs, mask=mask_n, other=0.0).to(tl.float32)
    w = tl.load(w_ptr + offs_n, mask=mask_n, other=0.0).to(tl.float32)

    y = x * tl.rsqrt(tl.sum(x * x, axis=0) / N + eps) * w

    y_ptrs = y_ptr + row * stride_ym + offs_n * stride_yn
    tl.store(y_ptrs, y.to(y_ptr.dtype.element_ty), mask=mask_n)


@triton.jit
def rmsnorm_bwd_kernel(
    dy_ptr, x_ptr, w_ptr, dx_ptr, dw_ptr,
    N,
    stride_ym, stride_yn,
    stride_xm, stride_xn,
    stride_dm, stride_dn,
    eps,
    BLOCK_N: tl.constexpr,
):
    """dx as above; dw in float32, added up over the rows.

    One program = one row.
    Assumes BLOCK_N >= N and dw zero at the start.
    """
    row = tl.program_id(0).to(tl.int64)
    offs_n = tl.arange(0, BLOCK_N)
    mask_n = offs_n < N

    dy_ptrs = dy_ptr + row * stride_ym + offs_n * stride_yn
    dy = tl.load(dy_ptrs, mask=mask_n, other=0.0).to(tl.float32)
    x_ptrs = x_ptr + row * stride_xm + offs_n * stride_xn
    x = tl.load(x_ptrs, mask=mask_n, other=0.0).to(tl.float32)
    w = tl.load(w_ptr + offs_n, mask=mask_n, other=0.0).to(tl.float32)

    rstd = tl.rsqrt(tl.sum(x * x, axis=0) / N + eps)
    x_hat = x * rstd
    dx = rstd * (w * dy - x_hat * tl.sum(w * dy * x_hat, axis=0) / N)

    dx_ptrs = dx_ptr + row * stride_dm + offs_n * stride_dn
    tl.store(dx_ptrs, dx.to(dx_ptr.dtype.element_ty), mask=mask_n)
    tl.atomic_add(dw_ptr + offs_n, dy * x_hat, mask=mask_n)


def rmsnorm_into(x, w, eps, y):
    """Write the RMSNorm of the rows of x [M, N] to y [M, N], which may be x."""
    M, N = x.shape
    BLOCK_N = triton.next_power_of_2(N)
    rmsnorm_kernel[(M,)](x, w, y, N, *x.stride(), *y.stride(), eps, BLOCK_N=BLOCK_N)


def rmsnorm_forward(x, w, eps):
    """RMSNorm of x [M, N] with the weight w [N]: a new, contiguous tensor, dtype of x."""
    y = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    rmsnorm_into(x, w, eps, y)
    return y


def rmsnorm_gradients(dy, x, w, eps):
    """dx (contiguous, dtype of x) and dw (dtype of w) for the gradient dy [M, N]."""
    M, N = x.shape
    dx = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    dw = torch.zeros(N, dtype=torch.float32, device=x.device)
    rmsnorm_bwd_kernel[(M,)](
        dy, x, w, dx, dw, N, *dy.stride(), *x.stride(), *dx.stride(), eps,
        BLOCK_N=triton.next_power_of_2(N),
    )
    return dx, dw.to(w.dtype)


# %% [markdown]
# ## A smaller operator first
#
# `double` becomes an operator. Read it line by line.
#
# - The name has two parts, namespace and operator: `demo::double`.
# - The **annotations are the schema**. `mutates_args=()` says that no argument is changed.
# - `register_fake` is a second function with the same arguments. It allocates and computes nothing.


# %%
@torch.library.custom_op("demo::double", mutates_args=())
def double(x: torch.Tensor) -> torch.Tensor:
    return 2 * x


@double.register_fake
def _(x):
    return torch.empty_like(x)


print(torch.ops.demo.double.default._schema)
torch.ops.demo.double(torch.arange(4.0, device=DEVICE))

# %% [markdown]
# What does the fake get? A tensor with shape, dtype, strides and device, and nothing in it. You can
# make one yourself:

# %%
from torch._subclasses import FakeTensorMode

with FakeTensorMode():
    print(double(torch.empty(1_000_000, 1_000_000, device="cuda")))  # 4 TB, on any machine

# %% [markdown]
# **Predict.** Somebody writes `return torch.empty(x.shape)` in a fake. Which two of the four
# properties may be wrong?
#
# <details><summary>Answer</summary>
#
# The dtype is float32 and the device is the CPU, whatever x is. The compiler believes it. It then
# plans memory, kernels and copies for a tensor that will never exist. Some of these mistakes give
# an error later, far away. Others give wrong numbers.
#
# </details>

# %% [markdown]
# ## The contract
#
# | name | shape | dtype | role |
# |---|---|---|---|
# | `namespace` | | str | first part of the operator's name |
# | `x` | [M, N], any strides | float32, float16, bfloat16 | input, never changed |
# | `w` | [N], contiguous | as `x` | weight |
# | `eps` | | float | |
# | result of the operator | [M, N], contiguous | as `x` | new tensor |
#
# You write functions `register_...(namespace)` that register an operator `rmsnorm` under that
# namespace and return it. Why a function? Because a notebook's cell is run again and again. A second
# call with the same namespace must replace the first operator, not fail.
#
# The check asks your operator questions, one for each case. Read `examine` below: it is how you test
# an operator of your own. Most of it is PyTorch's `opcheck` and `torch.compile`.

# %% tags=["reference"]
import contextlib
import inspect
import uuid
from torch._subclasses import FakeTensor, FakeTensorMode
from torch._subclasses.fake_tensor import DataDependentOutputException
from tritonbook import hook_launch
EPS = 1e-5
FLOATS = {"float32": torch.float32, "float16": torch.float16}
OTHER_DEVICE = "cpu" if DEVICE == "cuda" else "cuda"
LIBRARIES = {}
REFUSALS = {"may not alias": "aliases-input", "Could not run": "wrong-dispatch-key"}


def rmsnorm_ref(x, w, eps):
    return x * torch.rsqrt(x.pow(2).mean(dim=-1, keepdim=True) + eps) * w


def open_library(namespace):
    """A Library to add operators to; an earlier one of this name is closed first.

    Never call an operator of a closed Library: PyTorch has freed what it points to.
    """
    if namespace in LIBRARIES:
        LIBRARIES.pop(namespace)._destroy()
    LIBRARIES[namespace] = torch.library.Library(namespace, "FRAGMENT")
    return LIBRARIES[namespace]


def draw(shape, of, layout):
    """x [M, N] and w [N] with fixed random values."""
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(shape, generator=generator).to(DEVICE, FLOATS[of])
    w = torch.randn(shape[1], generator=generator).to(DEVICE, FLOATS[of])
    return (x.t().contiguous().t() if layout == "transposed" else x), w


@contextlib.contextmanager
def counted_launches():
    """A list that grows by one name with every kernel launch inside the block.

    A launch on fake tensors raises RuntimeError: their address is 0, and on a GPU a kernel that
    reads there ends all work of this process.
    """
    names = []

    def around(call, fn, grid, args, kwargs):
        names.append(fn.__name__)
        if any(isinstance(value, FakeTensor) for value in (*args, *kwargs.values())):
            raise RuntimeError(f"{fn.__name__} was launched on tensors without data")
        return call()

    with hook_launch(around):
        yield names


def close(got, want):
    """Equal within the rounding of the dtype of `got`?"""
    allowed = 2e-5 if got.dtype == torch.float32 else 4e-3
    return torch.allclose(got.double().cpu(), want.double().cpu(), rtol=allowed, atol=allowed)


def examine(register, question, shape, of, layout):
    """Ask the operator that `register` makes one question: "ok", or a code for what is wrong."""
    namespace = f"workbook_{uuid.uuid4().hex[:8]}"
    op = register(namespace)
    if op is None or inspect.isfunction(op):
        return "returns-nothing" if op is None else "not-an-operator"
    torch._dynamo.reset()
    with counted_launches(), pytorchs_word() as word:
        return QUESTIONS[question](op, *draw(shape, of, layout), namespace, register)
    return word[0]


@contextlib.contextmanager
def pytorchs_word():
    """A list for a code: PyTorch itself refuses some mistakes, in many words."""
    word = []
    try:
        yield word
    except RuntimeError as error:
        for text, code in REFUSALS.items():
            if text in str(error):
                word.append(code)
        if not word:
            raise


def ask_values(op, x, w, namespace, register):
    before = x.clone()
    with counted_launches() as launches:
        y = op(x, w, EPS)
    if not launches:
        return "no-kernel-launched"
    if not torch.equal(x, before):
        return "input-changed"
    if not isinstance(y, torch.Tensor) or y.shape != x.shape or y.dtype != x.dtype:
        return "wrong-type"
    return "ok" if close(y, rmsnorm_ref(x.double(), w.double(), EPS)) else "wrong-values"


def reads_data(error):
    return isinstance(error, DataDependentOutputException) or "data pointer" in str(error)


def ask_fake(op, x, w, namespace, register):
    real = op(x, w, EPS)
    with counted_launches() as launches, FakeTensorMode() as mode:
        try:
            fake = op(mode.from_tensor(x), mode.from_tensor(w), EPS)
            moved = op(
                torch.empty_strided(x.shape, x.stride(), dtype=x.dtype, device=OTHER_DEVICE),
                torch.empty(w.shape, dtype=w.dtype, device=OTHER_DEVICE),
                EPS,
            )
        except Exception as error:
            return "fake-touches-data" if launches or reads_data(error) else "fake-missing"
    if launches:
        return "fake-touches-data"
    for name in ("shape", "dtype", "device"):
        if getattr(fake, name) != getattr(real, name):
            return f"fake-{name}"
    if moved.device.type != OTHER_DEVICE:
        return "fake-device"
    return "ok" if fake.stride() == real.stride() else "fake-strides"


def ask_opcheck(op, x, w, namespace, register):
    return opcheck_says(op, (x, w, EPS))


def ask_opcheck_with_gradient(op, x, w, namespace, register):
    return opcheck_says(op, (x.requires_grad_(), w.requires_grad_(), EPS))


def opcheck_says(op, arguments):
    found = torch.library.opcheck(op, arguments, raise_exception=False)
    for test, outcome in found.items():
        text = str(outcome)
        if outcome == "SUCCESS":
            continue
        if test == "test_schema":
            return "mutates-unsaid" if "mutat" in text else "aliases-input"
        return f"opcheck-{test.removeprefix('test_')}"
    return "ok"


def compiled(fn, graphs):
    """`fn` compiled for any backend: each graph that Dynamo hands over is noted in `graphs`."""

    def backend(graph, inputs):
        graphs.append(graph)
        return torch._dynamo.lookup_backend("aot_eager")(graph, inputs)

    return torch.compile(fn, fullgraph=True, backend=backend)


def ask_compile(op, x, w, namespace, register):
    graphs = []
    try:
        y = compiled(lambda x, w: op(x + 1, w, EPS) * 2, graphs)(x, w)
    except Exception:
        return "graph-break"
    if not any(namespace in str(node.target) for node in graphs[0].graph.nodes):
        return "not-an-operator"
    want = rmsnorm_ref((x + 1).double(), w.double(), EPS) * 2
    return "ok" if close(y, want) else "wrong-values"


def ask_sizes(op, x, w, namespace, register):
    """Six numbers of rows: the second size makes the graph dynamic, and that is all."""
    graphs = []
    fn = compiled(lambda x, w: op(x, w, EPS), graphs)
    try:
        for rows in range(2, 8):
            fn(x[:1].expand(rows, -1).contiguous(), w)
    except Exception:
        return "graph-break"
    return "ok" if len(graphs) <= 2 else "recompiles"


def ask_again(op, x, w, namespace, register):
    first = op(x, w, EPS)  # now: when its library closes, the old operator is gone for good
    try:
        again = register(namespace)
    except RuntimeError:
        return "already-registered"
    return "ok" if close(again(x, w, EPS), first) else "wrong-values"


def ask_device(op, x, w, namespace, register):
    """Is it registered for this machine's device, and for no other?"""
    has = torch._C._dispatch_has_computed_kernel_for_dispatch_key
    name = f"{namespace}::rmsnorm"
    if not has(name, DEVICE.upper()) or has(name, OTHER_DEVICE.upper()):
        return "wrong-dispatch-key"
    return "ok"


def gradients(fn, x, w, dy):
    x, w = x.detach().requires_grad_(), w.detach().requires_grad_()
    return torch.autograd.grad(fn(x, w), (x, w), dy)


def ask_gradient(op, x, w, namespace, register):
    dy = torch.randn(x.shape[::-1], device=DEVICE).to(x.dtype).t()  # not contiguous, on purpose
    wanted = gradients(lambda x, w: rmsnorm_ref(x, w, EPS), x.double(), w.double(), dy.double())
    if not op(x.detach().requires_grad_(), w, EPS).requires_grad:
        return "no-gradient"
    try:
        dx, dw = gradients(lambda x, w: op(x, w, EPS), x, w, dy)
    except (RuntimeError, TypeError, AttributeError) as error:
        return "no-gradient" if "no autograd formula" in str(error) else "backward-fails"
    scale = wanted[1].abs().max()
    if not close(dx, wanted[0]):
        return "wrong-gradient-x"
    return "ok" if close(dw / scale, wanted[1] / scale) else "wrong-gradient-w"


def ask_training(op, x, w, namespace, register):
    """Compile forward and backward together."""
    x, w = x.requires_grad_(), w.requires_grad_()
    try:
        y = compiled(lambda x, w: op(x, w, EPS), [])(x, w)
        torch.autograd.grad(y.sum(), (x, w))
    except Exception:
        return "backward-not-an-operator"
    return "ok"


QUESTIONS = {
    "values": ask_values,
    "fake": ask_fake,
    "opcheck": ask_opcheck,
    "opcheck with gradient": ask_opcheck_with_gradient,
    "compile": ask_compile,
    "sizes": ask_sizes,
    "again": ask_again,
    "device": ask_device,
    "gradient": ask_gradient,
    "training": ask_training,
}


def expected(question, shape, of, layout):
    return "ok"

# %% [markdown]
# ## Task 1. By hand: `torch.library.Library`
#
# This is how PyTorch registers its own operators, and how vLLM does it: few Python steps for each
# call, and nothing is done for you. Five steps, about 6 lines:
#
# 1. `lib = open_library(namespace)` (given above: it closes an earlier one)
# 2. `lib.define("...")` with the schema as text. `Tensor x` and `float eps` are arguments,
#    `-> Tensor` is the result
# 3. `lib.impl(name, function, key)` for the device: the key is `"CPU"` or `"CUDA"`
# 4. `torch.library.register_fake("namespace::name", function, lib=lib)`
# 5. return `getattr(torch.ops, namespace).rmsnorm`

# %% tags=["answer"] key="register_library"
def rmsnorm_fake(x, w, eps):
    """What rmsnorm_forward returns, without data."""
    # TODO: an empty tensor with the shape, dtype, device and strides of the result (1 line)
    ### BEGIN SOLUTION
    return torch.empty(x.shape, dtype=x.dtype, device=x.device)
    ### END SOLUTION


def register_library(namespace):
    """Register rmsnorm(x, w, eps) under `namespace` for this machine's device; return it."""
    # TODO: open, define, impl for DEVICE, fake, return the operator (about 6 lines)
    ### BEGIN SOLUTION
    lib = open_library(namespace)
    lib.define("rmsnorm(Tensor x, Tensor w, float eps) -> Tensor")
    lib.impl("rmsnorm", rmsnorm_forward, DEVICE.upper())
    torch.library.register_fake(f"{namespace}::rmsnorm", rmsnorm_fake, lib=lib)
    return getattr(torch.ops, namespace).rmsnorm
    ### END SOLUTION


def library_says(question, shape, of, layout):
    """Put one question to your operator (given)."""
    return examine(register_library, question, shape, of, layout)

# %% [markdown] tags=["hint"] key="register_library"
# #### Hints for register_library
#
# <details><summary>Hint 1: a question</summary>
#
# `rmsnorm_forward` returns a contiguous tensor, also for a transposed x. What does
# `torch.empty_like(x)` return for a transposed x?
#
# </details>
# <details><summary>Hint 2: where to look</summary>
#
# The five steps above are five lines. `DEVICE.upper()` is the key. Print
# `torch.ops.demo.double.default._schema` to see what a schema looks like; leave out the namespace.
#
# </details>
# <details><summary>Hint 3: the shape of the code</summary>
#
# ```python
# return torch.empty(..., dtype=..., device=...)      # the fake
#
# lib = open_library(...)
# lib.define("rmsnorm(Tensor x, ..., ...) -> ...")
# lib.impl("rmsnorm", ..., DEVICE.upper())
# torch.library.register_fake(f"{...}::rmsnorm", ..., lib=lib)
# return getattr(torch.ops, ...).rmsnorm
# ```
#
# </details>

# %% tags=["check"] key="register_library" points=5
check(register_library)

# %% [markdown]
# ## Task 2. With a gradient: `custom_op`
#
# `custom_op` reads the schema from the annotations, registers the function for all devices (unless
# `device_types=` names some), and replaces an older operator of the same name. It also takes an
# autograd formula.
#
# The formula has a catch. When a model is compiled for training, the compiler runs the backward with
# fake tensors as well. A kernel launch in it would need data. So the backward **must consist of
# operators**, and your backward kernel has to become one first. `register_backward` does that. It is
# given, and it is the pattern for what you write.
#
# Then your part, about 14 lines: the operator, its fake, and two functions for autograd.
#
# - `setup_context(ctx, inputs, output)` saves what the backward will need, with
#   `ctx.save_for_backward` for tensors.
# - `backward(ctx, dy)` returns one gradient for each input, None for `eps`.
# - `op.register_autograd(backward, setup_context=setup_context)`

# %% tags=["answer"] key="register_custom"
def register_backward(namespace):
    """The backward kernel as an operator of its own (given)."""

    @torch.library.custom_op(f"{namespace}::rmsnorm_backward", mutates_args=())
    def op(
        dy: torch.Tensor, x: torch.Tensor, w: torch.Tensor, eps: float
    ) -> tuple[torch.Tensor, torch.Tensor]:
        return rmsnorm_gradients(dy, x, w, eps)

    @op.register_fake
    def _(dy, x, w, eps):
        dx = torch.empty_like(x, memory_format=torch.contiguous_format)
        return dx, torch.empty_like(w)

    return op


def register_custom(namespace):
    """Register rmsnorm(x, w, eps) with a fake and a gradient under `namespace`; return it."""
    backward_op = register_backward(namespace)

    # TODO: the operator, its fake, setup_context and backward; return it (about 14 lines)
    ### BEGIN SOLUTION
    @torch.library.custom_op(f"{namespace}::rmsnorm", mutates_args=())
    def op(x: torch.Tensor, w: torch.Tensor, eps: float) -> torch.Tensor:
        return rmsnorm_forward(x, w, eps)

    @op.register_fake
    def _(x, w, eps):
        return torch.empty(x.shape, dtype=x.dtype, device=x.device)

    def setup_context(ctx, inputs, output):
        x, w, ctx.eps = inputs
        ctx.save_for_backward(x, w)

    def backward(ctx, dy):
        dx, dw = backward_op(dy, *ctx.saved_tensors, ctx.eps)
        return dx, dw, None

    op.register_autograd(backward, setup_context=setup_context)
    return op
    ### END SOLUTION


def custom_says(question, shape, of, layout):
    """Put one question to your operator (given)."""
    return examine(register_custom, question, shape, of, layout)

# %% [markdown] tags=["hint"] key="register_custom"
# #### Hints for register_custom
#
# <details><summary>Hint 1: a question</summary>
#
# The formula for dx needs x and w. Who hands them to `backward`? It gets nothing but `ctx` and `dy`.
#
# </details>
# <details><summary>Hint 2: where to look</summary>
#
# `register_backward` has the decorator, the annotations and the fake. In `setup_context`, `inputs`
# are the operator's three arguments. `ctx.saved_tensors` gives saved tensors back in order.
#
# </details>
# <details><summary>Hint 3: the shape of the code</summary>
#
# ```python
# @torch.library.custom_op(f"{namespace}::rmsnorm", mutates_args=...)
# def op(x: torch.Tensor, w: ..., eps: ...) -> ...:
#     return ...
#
# @op.register_fake
# def _(x, w, eps):
#     return ...
#
# def setup_context(ctx, inputs, output):
#     ...
#
# def backward(ctx, dy):
#     x, w = ctx.saved_tensors
#     ...
#     return ..., ..., None
#
# op.register_autograd(..., setup_context=...)
# return op
# ```
#
# </details>

# %% tags=["check"] key="register_custom" points=6
check(register_custom)

# %% [markdown]
# ## Task 3. In place: what `mutates_args` promises
#
# Inference engines normalise in place to save memory. Such an operator changes its argument, and the
# schema has to say so: `mutates_args=("x",)`. The compiler moves, merges and drops operators. An
# operator that changes nothing and whose result nobody uses is dropped. So a false `mutates_args`
# works in eager mode, and gives wrong numbers once somebody compiles.
#
# Write `register_inplace(namespace)`. Its operator `rmsnorm_inplace(x, w, eps)` overwrites x [M, N]
# and returns nothing. `rmsnorm_into` takes the place to write to. About 8 lines. What does the fake
# of an operator do that returns nothing?

# %% tags=["reference"]
def examine_inplace(register, question, shape, of, layout):
    """Ask the in-place operator one question: "ok", or a code for what is wrong."""
    namespace = f"workbook_{uuid.uuid4().hex[:8]}"
    op = register(namespace)
    if op is None:
        return "returns-nothing"
    torch._dynamo.reset()
    with counted_launches(), pytorchs_word() as word:
        return ask_inplace(op, question, *draw(shape, of, layout))
    return word[0]


def ask_inplace(op, question, x, w):
    want = rmsnorm_ref(x.double(), w.double(), EPS)
    if question == "values":
        with counted_launches() as launches:
            returned = op(x, w, EPS)
        if not launches:
            return "no-kernel-launched"
        if returned is not None:
            return "returns-something"
        return "ok" if close(x, want) else "wrong-values"
    if question == "version":  # autograd notices changes by this counter
        before = x._version
        op(x, w, EPS)
        return "ok" if x._version > before else "mutates-unsaid"
    if question == "fake":
        with counted_launches() as launches, FakeTensorMode() as mode:
            try:
                op(mode.from_tensor(x), mode.from_tensor(w), EPS)
            except Exception as error:
                return "fake-touches-data" if launches or reads_data(error) else "fake-missing"
        return "fake-touches-data" if launches else "ok"
    if question == "opcheck":
        return opcheck_says(op, (x, w, EPS))
    if question == "only x":
        changed = w._version
        op(x, w, EPS)
        return "ok" if w._version == changed else "mutates-too-much"

    def normalise_a_copy(x, w):
        copy = x * 1
        op(copy, w, EPS)
        return copy * 1

    try:
        y = compiled(normalise_a_copy, [])(x, w)
    except Exception:
        return "graph-break"
    return "ok" if close(y, want) else "mutates-unsaid"

# %% tags=["answer"] key="register_inplace"
def register_inplace(namespace):
    """Register rmsnorm_inplace(x, w, eps), which overwrites x; return the operator."""

    # TODO: the operator with its mutates_args, and its fake; return it (about 8 lines)
    ### BEGIN SOLUTION
    @torch.library.custom_op(f"{namespace}::rmsnorm_inplace", mutates_args=("x",))
    def op(x: torch.Tensor, w: torch.Tensor, eps: float) -> None:
        rmsnorm_into(x, w, eps, x)

    @op.register_fake
    def _(x, w, eps):
        return None

    return op
    ### END SOLUTION


def inplace_says(question, shape, of, layout):
    """Put one question to your operator (given)."""
    return examine_inplace(register_inplace, question, shape, of, layout)

# %% [markdown] tags=["hint"] key="register_inplace"
# #### Hints for register_inplace
#
# <details><summary>Hint 1: a question</summary>
#
# Which argument of the operator is different after the call? And which is the same?
#
# </details>
# <details><summary>Hint 2: where to look</summary>
#
# `mutates_args` is a tuple of argument names. The annotation for "returns nothing" is `-> None`.
#
# </details>
# <details><summary>Hint 3: the shape of the code</summary>
#
# ```python
# @torch.library.custom_op(f"{namespace}::rmsnorm_inplace", mutates_args=(...,))
# def op(x: torch.Tensor, w: torch.Tensor, eps: float) -> ...:
#     rmsnorm_into(...)
#
# @op.register_fake
# def _(x, w, eps):
#     ...
# ```
#
# </details>

# %% tags=["check"] key="register_inplace" points=3
check(register_inplace)

# %% [markdown]
# ## Task 4. Open the box: `triton_op`
#
# For the compiler, an operator of Task 1 or 2 is a closed box. What goes in must be in memory first,
# and what comes out goes to memory. `triton_op` opens the box: the compiler sees the allocation and
# the launch, and it can work on the code around it. It can also drop an allocation, or put the launch
# into one compiled program with its neighbours.
#
# Three differences from `custom_op`. The decorator is `torch.library.triton_op`. The launch goes
# through `torch.library.wrap_triton(kernel)[grid](...)`, in the operator itself. And there is no
# fake: the compiler runs the Python code and finds out. No gradient is asked for. About 8 lines.
#
# Without a GPU you can call it, and your kernel runs in the interpreter. But an interpreted kernel is a
# Python function, and there is nothing to hand to a compiler. So the cases that compile are *not run*
# there, and the card says so.

# %% tags=["reference"]
def examine_triton(register, question, shape, of, layout):
    """Ask the triton_op one question: "ok", or a code for what is wrong."""
    if question != "kernel seen":
        return examine(register, question, shape, of, layout)
    from torch._dynamo.backends.common import aot_autograd

    torch._dynamo.reset()
    op = register(f"workbook_{uuid.uuid4().hex[:8]}")
    seen = []

    def note(graph, inputs):
        seen.extend(str(node.target) for node in graph.graph.nodes)
        return graph

    x, w = draw(shape, of, layout)
    try:
        with counted_launches():
            torch.compile(
                lambda x, w: op(x, w, EPS), fullgraph=True, backend=aot_autograd(fw_compiler=note)
            )(x, w)
    except Exception:
        return "graph-break"
    return "ok" if any("triton_kernel_wrapper" in name for name in seen) else "kernel-not-seen"

# %% tags=["answer"] key="register_triton"
def register_triton(namespace):
    """Register rmsnorm(x, w, eps) as a triton_op under `namespace`; return it."""

    # TODO: the operator: allocate, launch rmsnorm_kernel through wrap_triton, return y
    # (about 8 lines)
    ### BEGIN SOLUTION
    @torch.library.triton_op(f"{namespace}::rmsnorm", mutates_args=())
    def op(x: torch.Tensor, w: torch.Tensor, eps: float) -> torch.Tensor:
        M, N = x.shape
        y = torch.empty(x.shape, dtype=x.dtype, device=x.device)
        torch.library.wrap_triton(rmsnorm_kernel)[(M,)](
            x, w, y, N, *x.stride(), *y.stride(), eps, BLOCK_N=triton.next_power_of_2(N)
        )
        return y

    return op
    ### END SOLUTION


def triton_says(question, shape, of, layout):
    """Put one question to your operator (given)."""
    return examine_triton(register_triton, question, shape, of, layout)

# %% [markdown] tags=["hint"] key="register_triton"
# #### Hints for register_triton
#
# <details><summary>Hint 1: a question</summary>
#
# Which two lines of `rmsnorm_forward` and `rmsnorm_into` allocate and launch? They now stand in the
# operator.
#
# </details>
# <details><summary>Hint 2: where to look</summary>
#
# `wrap_triton(kernel)` is used like the kernel: grid in square brackets, then the arguments.
#
# </details>
# <details><summary>Hint 3: the shape of the code</summary>
#
# ```python
# @torch.library.triton_op(f"{namespace}::rmsnorm", mutates_args=...)
# def op(x: torch.Tensor, w: torch.Tensor, eps: float) -> torch.Tensor:
#     M, N = ...
#     y = ...
#     torch.library.wrap_triton(...)[(...,)](x, w, y, N, ..., BLOCK_N=...)
#     return y
# ```
#
# </details>

# %% tags=["check"] key="register_triton" points=3
check(register_triton)

# %% [markdown]
# ## Predict, then measure
#
# A call of a plain Python function costs no PyTorch at all. An operator's call goes through the
# *dispatcher*, PyTorch's table of who computes what, and `custom_op` adds Python of its own. Put the
# four in order, cheapest first: the plain function, `Library`, `custom_op`, `triton_op`. Then look.
#
# The tensors are tiny, so the kernel takes almost no time, and what remains is the way to it. The
# last column is what the compiler gets to see.

# %%
import operator
import time


def seen_by_compiler(fn, *arguments):
    """Operators that reach the code generator, by name."""
    from torch._dynamo.backends.common import aot_autograd

    names = []

    def note(graph, inputs):
        targets = [node.target for node in graph.graph.nodes if node.op == "call_function"]
        names.extend(str(target) for target in targets if target is not operator.getitem)
        return graph

    torch._dynamo.reset()
    torch.compile(fn, fullgraph=True, backend=aot_autograd(fw_compiler=note))(*arguments)
    return ", ".join(name.removeprefix("torch.ops.") for name in names)


def microseconds(fn, *arguments, calls=2000 if DEVICE == "cuda" else 5):
    """Host time of one call; on a GPU the launches queue up behind it."""
    for _ in range(3):
        fn(*arguments)
    if DEVICE == "cuda":
        torch.cuda.synchronize()  # start with an empty queue
    start = time.perf_counter()
    for _ in range(calls):
        fn(*arguments)
    return 1e6 * (time.perf_counter() - start) / calls


ways = {
    "plain function": rmsnorm_forward,
    "Library": register_library("way1"),
    "custom_op": register_custom("way2"),
    "triton_op": register_triton("way3"),
}
x, w = draw((2, 64), "float32", "contiguous")
rows = []
with torch.no_grad():
    for name, way in ways.items():
        seen = "not run: needs a GPU"
        if DEVICE == "cuda" or name in ("Library", "custom_op"):
            seen = seen_by_compiler(lambda x, w, way=way: way(x, w, EPS) * 2, x, w)
        rows.append((name, microseconds(way, x, w, EPS), seen))
print(f"{'way':15} {'one call':>11} {'on top':>11}   what the compiler sees")
for name, us, seen in rows:
    print(f"{name:15} {us:8.1f} us {us - rows[0][1]:8.1f} us   {seen}")

# %% [markdown]
# **Read the table.** On a GPU all four times are host times: such a small kernel is done before the
# next one arrives. `on top` is what the operator adds to the plain function. Without a GPU the
# interpreter's own time hides the differences, and only the last column says something.
#
# `Library` and `custom_op` show the compiler one name. `triton_op` shows it the kernel. So does the
# plain function, since the compiler follows launches in Python code; but it has no name, no gradient and
# no schema. The last operation of each graph is the `* 2`. With a box in front of it, it has to be a
# kernel of its own. With an open one the compiler may merge the two, if its version can.
#
# Which way would you take? If you need a gradient and want few surprises: `custom_op`. If the call
# itself must be cheap, because a model makes hundreds of them per token: `Library`. If your kernel
# stands among many small operations and gets compiled: `triton_op`.
#
# ## Recap
#
# - An operator is schema, implementation, fake and gradient. `opcheck` tests them against each other.
# - A fake allocates what the real one returns: shape, dtype, device, **strides**. It reads nothing.
# - A backward consists of operators, or training does not compile.
# - `mutates_args` is a promise. The compiler relies on it, and eager mode never notices a lie.
#
# <details><summary>Common mistakes</summary>
#
# - `torch.empty_like(x)` in the fake, where the real result is contiguous.
# - An operator that returns its input. Return something new, or change it and return nothing.
# - `int(x.shape[0])` in a fake: the size becomes a constant, and each new size compiles again.
# - Keeping an operator whose library was closed, and calling it: PyTorch has freed it.
# - Registering a GPU kernel for all devices: with a CPU tensor the error comes from Triton's launch
#   and does not name the operator.
#
# </details>
#
# Sources: PyTorch documentation, *Custom Python Operators* and *torch.library* (2025).
#
# Next: [31_op_library](31_op_library.ipynb), where a program writes the kernels.

# %%
progress()

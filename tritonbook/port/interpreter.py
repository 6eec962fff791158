"""Mends of Triton's interpreter, made once when the package is imported."""

from __future__ import annotations

import dataclasses
import functools
import inspect
import os
import sys
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from .arithmetic import compute_as_a_gpu
from .compat import FakeDriver, triton_version
from .device import INTERPRET
from .idle_lanes import hold_rubbish
from .interpreter_types import keep_types
from .lane_trees import combine_in_trees
from .launch_later import know_later_launches
from .libdevice import interpret_libdevice
from .loop_counters import counted
from .numbers_only import NAME, guard, no_truth, refuse_foreign
from .tuners import know_tuners
from .wrapped_kernels import trace_interpreted_kernels

_installed = False


def install_interpreter_fixes() -> None:
    """Mend what Triton's interpreter gets wrong in some versions. On a GPU only the first applies.

    - a cell that changes TRITON_INTERPRET makes kernels for the other side, on which nothing is.
    - `@triton.autotune` asks a driver for a benchmark function: a wall clock (see `tuners`).
    - 3.2 does not know four of its own launch options, nor one of later versions.
    - Each integer sum and product is computed again in 64 bits for an assertion that only debug
      mode makes: without it kernels run almost twice as fast.
    - each call of a device function (`tl.max` and `tl.sum` are some) searches `triton.language` for
      what to replace, though the launch has replaced it: half the time of a softmax.
    - numpy 2.4 refuses the array-to-int conversion of runtime loop bounds (Triton up to 3.6).
    - a global constant (`tl.constexpr`) times a tile stays a constant, which `tl.exp` then refuses
      (from 3.7 on): the compiler makes a tile of it, so must the interpreter.
    - a kernel that a function made does not see that function's names, and `tl.constexpr` is known
      under this name only.
    - outside of kernels, functions under `@triton.jit` can be called, `tl.cdiv` among them; a grid
      can be empty and cannot be a list; `triton.jit` takes a kernel. On a GPU it is the other way
      round.
    - names imported from `triton.language` (`from triton.language import load`) stay what they are
      outside kernels, and a kernel that sees no module called `triton.language` is refused.
    - Triton up to 3.4 takes the mask of a single lane that is off for no mask, and stores.
    - a run-time float stays Python's, which takes the dtype of the tile that it meets: on a GPU it
      is float32, and makes a product with half precision float32.
    - lanes that a mask switches off hold zeros where no `other=` fills them (see `idle_lanes`).
    - `tl.associative_scan` and `tl.reduce` take one lane after the other (see `lane_trees`).
    - Python's `max` and `min` of a tile: the compiler takes them for tl.maximum and tl.minimum.
    - the number of a loop over `range` is Python's, without `.to` (see `loop_counters`).
    - functions of `math`, numpy and torch run in a kernel, of loaded numbers too (`numbers_only`).
    - functions of CUDA's libdevice are not known (see `libdevice`).
    - `if`, `and`, `or` and `not` take a tile for true.
    - one truth value becomes whole numbers where it meets a tile: 3.9 takes `mask & (n > 0)` for no
      mask.
    - Triton up to 3.2 knows no truth value as a constant, such as an `other=` of a mask's tile.
    - `tl.histogram` drops numbers beyond its bins: NVIDIA's GPUs count them by their low bits.
    - bfloat16 values are kept as bit patterns: constants, `tl.dot`, arithmetic, `tl.sum` and the
      cast to bfloat16, of whole numbers too, must go through float32 with round-to-nearest-even,
      as the hardware does.
    - NaN, signed zeros, division by zero and numbers out of range: see `arithmetic`.
    - numpy warns of overflow, also in lanes that a mask switches off.
    - a launch returns when it is over: see `launch_later` for those that run side by side.
    """
    global _installed
    if _installed:
        return
    _installed = True
    _stay_on_this_side()
    if not INTERPRET:
        return
    from triton.runtime import driver
    from triton.runtime import interpreter as interp

    driver.set_active(FakeDriver(80))
    if hasattr(interp, "RESERVED_KWS"):
        interp.RESERVED_KWS += [
            "launch_cooperative_grid",
            "num_buffers_warp_spec",
            "num_consumer_groups",
            "reg_dec_producer",
            "reg_inc_consumer",
        ]
    builder = interp.interpreter_builder
    builder.options = dataclasses.replace(builder.options, sanitize_overflow=False)
    if not hasattr(builder, "get_int1_ty"):
        interp.InterpreterBuilder.get_int1_ty = lambda self: interp.tl.int1
    if triton_version() < (3, 7):
        _allow_runtime_loop_bounds(interp)
    keep_types(interp)
    no_truth(interp)
    hold_rubbish(interp)
    combine_in_trees(interp)
    _patch_language_once_a_launch(interp)
    _call_in_launches_alone(interp)
    _let_constants_meet_tiles()
    _let_a_single_lane_be_off()
    _keep_what_was_written(interp.FunctionRewriter)
    _compute_bfloat16_in_float32(interp)
    compute_as_a_gpu(interp)
    _make_floats_float32(interp)
    _count_by_low_bits(interp)
    _spread_truths(interp)
    trace_interpreted_kernels()
    know_tuners()
    interpret_libdevice(interp)
    know_later_launches(interp)


def _stay_on_this_side() -> None:
    import triton

    if hasattr(triton, "knobs"):
        vars(triton.knobs.runtime)["interpret"] = INTERPRET  # asked before the variable
        return
    jit = triton.jit

    @functools.wraps(jit)
    def decide_again(*args: Any, **options: Any) -> Any:
        if (os.environ.get("TRITON_INTERPRET") == "1") != INTERPRET:
            os.environ["TRITON_INTERPRET"] = "1" if INTERPRET else "0"
        return jit(*args, **options)

    triton.jit = decide_again


def _keep_what_was_written(rewriter: Any) -> None:
    """The rewritten function of a kernel sees the names of the function that made it, knows the one
    that was written as `__wrapped__`, and has its annotations, read as the compiler reads them."""
    import triton.language as tl

    original = rewriter._compile_and_exec
    given = vars(sys.modules[rewriter.__module__])
    given[NAME] = guard
    # What rewritten kernels use of the interpreter's names. With the others, `math` or `np`, a
    # kernel would run here that lacks an import on a GPU.
    used = {key for key in given if key in (NAME, "triton", "tl") or key.startswith("interpreter_")}

    def compile_and_exec(self: Any, tree: Any) -> Any:
        refuse_foreign(self.fn, tree)
        captured, home = inspect.getclosurevars(self.fn).nonlocals, self.fn.__globals__
        known = set(home)
        if captured:
            for key in used:
                home.setdefault(key, given[key])
            names: dict[str, Any] = dict(self.kwargs)
            code = compile(tree, self.filename, "exec", dont_inherit=True)
            exec(code, {**home, **captured}, names)
            made = names[self.fn.__name__]
        else:
            made = original(self, tree)
            for key in set(home) - known - used:  # Triton puts all its own names beside a kernel's
                del home[key]
        made.__wrapped__ = self.fn
        made.__annotations__ = {
            name: tl.constexpr if isinstance(kind, str) and "constexpr" in kind else kind
            for name, kind in self.fn.__annotations__.items()
        }
        # Asked for at each launch.
        made.__signature__ = inspect.signature(made, follow_wrapped=False)
        return made

    rewriter._compile_and_exec = compile_and_exec


def _patch_language_once_a_launch(interp: Any) -> None:
    import triton.language as tl

    patch_lang, launch = interp._patch_lang, interp.GridExecutor.__call__
    patched: set[int] = set()  # modules, and kernels' own, in the launch that is running
    bare: list[tuple[dict[str, Any], dict[str, Any]]] = []  # names to put back after it
    added: list[tuple[dict[str, Any], str]] = []  # and to take away
    numbers = counted(interp)
    of_kernels = {
        "max": _of_tiles(max, "maximum"),
        "min": _of_tiles(min, "minimum"),
        "range": numbers,
    }
    functions = {id(value): name for name, value in vars(tl).items() if callable(value)}

    @functools.cache
    def modules_of(fn: Any) -> frozenset[int]:
        return frozenset(id(v) for v in fn.__globals__.values() if v is tl or v is tl.core)

    @functools.cache
    def seeing(modules: frozenset[int]) -> Any:
        """What sees these modules, of `triton.language` at least one, and nothing else."""
        names = {module.__name__: module for module in (tl, tl.core) if id(module) in modules}
        return types.SimpleNamespace(__globals__=names or {"tl": tl})

    def patch_what_is_not(fn: Any) -> Any:
        modules, home = modules_of(fn), fn.__globals__
        scope = types.SimpleNamespace(restore=lambda: None)  # the launch's own scope restores
        if not patched or not modules <= patched:
            scope = patch_lang(seeing(modules))
            patched.update(modules or {id(tl)})
            getattr(scope, "set_attr", setattr)(
                tl, "range", numbers
            )  # old versions restore nothing
        if id(home) not in patched:
            patched.add(id(home))
            own = {name: value for name, value in home.items() if id(value) in functions}
            bare.append((home, own))
            home.update({name: getattr(tl, functions[id(value)]) for name, value in own.items()})
            for name, function in of_kernels.items():
                if name not in home:
                    home[name] = function
                    added.append((home, name))
        return scope

    def launch_with_nothing_patched(self: Any, *args: Any, **kwargs: Any) -> Any:
        patched.clear()
        self.grid = _numbers_of(self.grid)
        try:
            with np.errstate(all="ignore"):  # a GPU says nothing of an overflow either
                return launch(self, *args, **kwargs)
        finally:
            while bare:
                home, own = bare.pop()
                home.update(own)
            while added:
                home, name = added.pop()
                del home[name]

    interp._patch_lang = patch_what_is_not
    interp.GridExecutor.__call__ = launch_with_nothing_patched


def _numbers_of(grid: Any) -> Any:
    if callable(grid):
        return lambda meta: _numbers_of(grid(meta))
    if isinstance(grid, (list, tuple)) and not grid:
        raise IndexError("tuple index out of range")  # the compiler's own words
    return tuple(grid) if isinstance(grid, list) else grid


def _call_in_launches_alone(interp: Any) -> None:
    executor, function = interp.GridExecutor, interp.InterpretedFunction
    launch, called, make = executor.__call__, function.__call__, function.__init__
    under_way: list[Any] = []

    def initialise(self: Any, fn: Any, *args: Any, **kwargs: Any) -> None:
        if isinstance(fn, function):  # the compiler's own words
            raise TypeError(
                "module, class, method, function, traceback, frame, or code object was expected, "
                "got JITFunction"
            )
        make(self, fn, *args, **kwargs)

    def noted(self: Any, *args: Any, **kwargs: Any) -> Any:
        under_way.append(self)
        try:
            return launch(self, *args, **kwargs)
        finally:
            under_way.pop()

    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        if not under_way:  # the compiler's own words
            raise RuntimeError("Cannot call @triton.jit'd outside of the scope of a kernel")
        return called(self, *args, **kwargs)

    executor.__call__, function.__call__, function.__init__ = noted, call, initialise


def _of_tiles(builtin: Callable[..., Any], namesake: str) -> Callable[..., Any]:
    import triton.language as tl

    @functools.wraps(builtin)
    def either(*values: Any, **options: Any) -> Any:
        if len(values) == 2 and any(isinstance(value, tl.tensor) for value in values):
            return getattr(tl, namesake)(*values)
        return builtin(*values, **options)

    return either


def _let_constants_meet_tiles() -> None:
    import triton.language as tl

    def unwrapping(original: Callable[..., Any]) -> Callable[..., Any]:
        def method(self: Any, other: Any) -> Any:
            result = original(self, other)
            value = getattr(result, "value", result)
            return value if isinstance(value, tl.tensor) else result

        return method

    for operation in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow"):
        for name in (f"__{operation}__", f"__r{operation}__"):
            if name in vars(tl.constexpr):
                setattr(tl.constexpr, name, unwrapping(getattr(tl.constexpr, name)))
    for name in ("__gt__", "__ge__", "__lt__", "__le__", "__eq__", "__ne__"):
        setattr(tl.constexpr, name, unwrapping(getattr(tl.constexpr, name)))


def _let_a_single_lane_be_off() -> None:
    from triton.language import semantic

    for name in ("_store_legacy", "atom_red_typechecking_impl"):
        if name in vars(semantic):  # later versions ask for None themselves
            text = inspect.getsource(getattr(semantic, name))
            text = text.replace("if not mask:", "if mask is None:")
            exec(compile(text, semantic.__file__, "exec"), vars(semantic))


def _allow_runtime_loop_bounds(interp: Any) -> None:
    original = interp._patch_lang_tensor

    def patch(tensor: Any, *rest: Any) -> Any:
        result = original(tensor, *rest)
        tensor.__index__ = lambda self: int(np.asarray(self.handle.data).reshape(-1)[0])
        return result

    interp._patch_lang_tensor = patch


def _make_floats_float32(interp: Any) -> None:
    import triton.language as tl

    original = interp._implicit_cvt

    def convert(argument: Any) -> Any:
        if not isinstance(argument, float):
            return original(argument)
        with np.errstate(over="ignore"):  # what float32 does not hold is infinite there too
            data = np.array([argument], dtype=np.float32)
        return tl.tensor(interp.TensorHandle(data, tl.float32), tl.float32)

    interp._implicit_cvt = convert


def _count_by_low_bits(interp: Any) -> None:
    builder, handle = interp.InterpreterBuilder, interp.TensorHandle
    count = getattr(builder, "create_histogram", None)
    if count is None:
        return

    def create_histogram(self: Any, data: Any, bins: Any, *mask: Any) -> Any:
        if isinstance(bins, int):  # else the error is Triton's
            data = handle(data.data & (bins - 1), data.dtype)
        return count(self, data, bins, *mask)

    builder.create_histogram = create_histogram


def _spread_truths(interp: Any) -> None:
    builder, handle = interp.InterpreterBuilder, interp.TensorHandle
    spread = builder.create_splat

    def create_splat(self: Any, *arguments: Any) -> Any:
        result = spread(self, *arguments)
        given = next(each for each in arguments if isinstance(each, handle))
        if given.data.dtype == np.bool_:
            return handle(result.data.astype(np.bool_), result.dtype)
        return result

    builder.create_splat = create_splat


def _compute_bfloat16_in_float32(interp: Any) -> None:
    import triton.language as tl

    builder, handle = interp.InterpreterBuilder, interp.TensorHandle

    def scalar(value: Any) -> Any:
        return getattr(value.dtype, "scalar", None)

    def to_float32(value: Any) -> Any:
        if scalar(value) != tl.bfloat16:
            return value
        return handle((value.data.astype(np.uint32) << 16).view(np.float32), tl.float32)

    def to_bfloat16_bits(values: np.ndarray) -> np.ndarray:
        bits = np.ascontiguousarray(values, dtype=np.float32).view(np.uint32)
        nearest_even = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16
        rounded = np.where(np.isnan(values), np.uint16(0x7FC0), nearest_even.astype(np.uint16))
        return rounded.reshape(np.shape(values))

    dot, binary_op, cast_impl = builder.create_dot, builder.binary_op, builder.cast_impl
    sum_of = interp.ReduceOps.sum

    def create_dot(self: Any, a: Any, b: Any, *rest: Any, **options: Any) -> Any:
        return dot(self, to_float32(a), to_float32(b), *rest, **options)

    def binary(self: Any, left: Any, right: Any, op: Any) -> Any:
        if not (scalar(left) == tl.bfloat16 and scalar(right) == tl.bfloat16):
            return binary_op(self, left, right, op)
        result = binary_op(self, to_float32(left), to_float32(right), op)
        if result.data.dtype != np.float32:  # a comparison
            return result
        return handle(to_bfloat16_bits(result.data), tl.bfloat16)

    def cast(self: Any, value: Any, to: Any) -> Any:
        whole = value.data.dtype.kind in "biu" and scalar(value) != tl.bfloat16
        if to.scalar == tl.bfloat16 and (whole or scalar(value) in (tl.float32, tl.float64)):
            return handle(to_bfloat16_bits(value.data), tl.bfloat16)
        if to.scalar == tl.float32:  # the interpreter's way loses numbers below 2**-126
            value = to_float32(value)
        return cast_impl(self, value, to)

    def get_bf16(self: Any, value: float) -> Any:
        return handle(to_bfloat16_bits(np.array([value], dtype=np.float32)), tl.bfloat16)

    def reduced(self: Any, tile: Any) -> Any:
        if tile.dtype.scalar != tl.bfloat16:
            return sum_of(self, tile)
        values = to_float32(tile.handle).data
        total = np.sum(values, axis=self.axis, keepdims=self.keep_dims)
        return self.to_tensor(to_bfloat16_bits(np.asarray(total)), tile.dtype)

    builder.create_dot, builder.binary_op, builder.cast_impl = create_dot, binary, cast
    builder.get_bf16 = get_bf16
    interp.ReduceOps.sum = reduced

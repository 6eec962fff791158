"""Mistakes that Triton's compiler or interpreter stumbles over: the kernel's lines, the launch, and
what the card says of them."""

from __future__ import annotations

GOOD = """\
x = tl.load(x_ptr + offs, mask=mask, other=0.0)
tl.store(out_ptr + offs, 2 * x, mask=mask)"""
TUNER = "triton.autotune([triton.Config({'BLOCK': size}) for size in (32, 64)], key=['n']"
LAUNCH = "double_kernel[(triton.cdiv(n, 64),)](x, out, n, BLOCK=64)"

# name: (the kernel's lines after its offsets and mask, the launch, the sentence)
MISTAKES = {
    "grid_int": (
        GOOD,
        "double_kernel[triton.cdiv(n, 64)](x, out, n, BLOCK=64)",
        "The grid is a tuple, also with one number in it: `(n,)`, with a comma.",
    ),
    "grid_float": (
        GOOD,
        "double_kernel[(n / 64 + 1,)](x, out, n, BLOCK=64)",
        "A whole number is needed, and `/` gives a float. Use `triton.cdiv(a,",
    ),
    "no_grid": (
        GOOD,
        "double_kernel(x, out, n, BLOCK=64)",
        "A kernel's code ran as plain Python: it is launched as",
    ),
    "missing_arg": (
        GOOD,
        "double_kernel[(4,)](x, out, BLOCK=64)",
        "The call leaves out 'n'. Compare its arguments with the function's, one",
    ),
    "unknown_kw": (
        GOOD,
        "double_kernel[(4,)](x, out, n, BLOCK_SIZE=64)",
        "The call leaves out 'BLOCK'. Compare its arguments with the function's,",
    ),
    "too_many_args": (
        GOOD,
        "double_kernel[(4,)](x, out, n, 64, 3)",
        "The call gives 5 arguments where 4 are expected. Compare them one by",
    ),
    "block_twice": (
        GOOD,
        "double_kernel[(4,)](x, out, n, 64, BLOCK=64)",
        "`BLOCK` is given twice, by its place and by its name.",
    ),
    "block_not_pow2": (
        GOOD,
        "double_kernel[(triton.cdiv(n, 60),)](x, out, n, BLOCK=60)",
        "`tl.arange` needs a power of two. Round up with",
    ),
    "return_value": (
        """\
x = tl.load(x_ptr + offs, mask=mask)
return 2 * x""",
        LAUNCH,
        "A kernel returns nothing, and `return 2 * x` does. Use `tl.store`.",
    ),
    "pow": (
        """\
x = tl.load(x_ptr + offs, mask=mask)
tl.store(out_ptr + offs, x**2, mask=mask)""",
        LAUNCH,
        "`**` does not work on a tile. Write the product, `x * x`.",
    ),
    "index_store": (
        """\
x = tl.load(x_ptr + offs, mask=mask)
out_ptr[offs] = 2 * x""",
        LAUNCH,
        "A pointer is an address, not an array, and cannot be indexed. Read with",
    ),
    "store_value_first": (
        """\
x = tl.load(x_ptr + offs, mask=mask)
tl.store(2 * x, out_ptr + offs, mask=mask)""",
        LAUNCH,
        "What `tl.store` gets first must be addresses: a pointer plus offsets.",
    ),
    "store_no_value": (
        """\
x = tl.load(x_ptr + offs, mask=mask)
tl.store(out_ptr + offs, mask=mask)""",
        LAUNCH,
        "The call leaves out 'value'. Compare its arguments with the function's,",
    ),
    "load_offsets_only": (
        """\
x = tl.load(offs, mask=mask)
tl.store(out_ptr + offs, 2 * x, mask=mask)""",
        LAUNCH,
        "What `tl.load` gets first must be addresses: a pointer plus offsets.",
    ),
    "scalar_pointer_tile_mask": (
        """\
x = tl.load(x_ptr, mask=mask)
tl.store(out_ptr + offs, 2 * x, mask=mask)""",
        LAUNCH,
        "The mask is a tile and the address one number. Are the offsets missing",
    ),
    "store_scalar_pointer": (
        """\
x = tl.load(x_ptr + offs, mask=mask)
tl.store(out_ptr + pid, 2 * x, mask=mask)""",
        LAUNCH,
        "A tile of values and one address: nobody knows where they go. Are the",
    ),
    "typo_tl": (
        """\
x = tl.laod(x_ptr + offs, mask=mask)
tl.store(out_ptr + offs, 2 * x, mask=mask)""",
        LAUNCH,
        "There is no `tl.laod`. Is it misspelt?",
    ),
    "torch_in_kernel": (
        """\
x = tl.load(x_ptr + offs, mask=mask)
tl.store(out_ptr + offs, torch.exp(x), mask=mask)""",
        LAUNCH,
        "`torch.exp(x)`: a kernel cannot call `torch.exp`, which is Python's. Use `tl.exp`.",
    ),
    "math_in_kernel": (
        """\
import math
x = tl.load(x_ptr + offs, mask=mask)
tl.store(out_ptr + offs, math.sqrt(x), mask=mask)""",
        LAUNCH,
        "A kernel cannot import. What it uses is imported above it, and comes",
    ),
    "python_sum": (
        """\
x = tl.load(x_ptr + offs, mask=mask)
tl.store(out_ptr + offs, sum(x), mask=mask)""",
        LAUNCH,
        "`sum(x)`: Python's `sum` is not known in a kernel. Use `tl.sum`.",
    ),
    "if_tile": (
        """\
x = tl.load(x_ptr + offs, mask=mask)
if x > 0:
    x = 2 * x
tl.store(out_ptr + offs, x, mask=mask)""",
        LAUNCH,
        "`if`, `and`, `or` and `not` need one truth value, and a tile has many.",
    ),
    "and_masks": (
        """\
x = tl.load(x_ptr + offs, mask=mask and offs >= 0)
tl.store(out_ptr + offs, 2 * x, mask=mask)""",
        LAUNCH,
        "Python's `and` needs one truth value, and a mask has many: write `&`.",
    ),
    "arange_runtime": (
        """\
o = pid * BLOCK + tl.arange(0, n)
x = tl.load(x_ptr + o)
tl.store(out_ptr + o, 2 * x)""",
        LAUNCH,
        "`tl.arange` takes compile-time constants (`tl.constexpr`). Add what is",
    ),
    "arange_one": (
        """\
o = pid * BLOCK + tl.arange(BLOCK)
x = tl.load(x_ptr + o, mask=mask)
tl.store(out_ptr + o, 2 * x, mask=mask)""",
        LAUNCH,
        "The call leaves out 'end'. Compare its arguments with the function's,",
    ),
    "zeros_int": (
        """\
x = tl.load(x_ptr + offs, mask=mask)
acc = tl.zeros(BLOCK, dtype=tl.float32)
tl.store(out_ptr + offs, 2 * x + acc, mask=mask)""",
        LAUNCH,
        "A tile's shape is a list: `tl.zeros([BLOCK], dtype=tl.float32)`.",
    ),
    "zeros_torch_dtype": (
        """\
x = tl.load(x_ptr + offs, mask=mask)
acc = tl.zeros([BLOCK], dtype=torch.float32)
tl.store(out_ptr + offs, 2 * x + acc, mask=mask)""",
        LAUNCH,
        "A kernel takes dtypes from `tl`: `tl.float32`, not `torch.float32`.",
    ),
    "zeros_runtime": (
        """\
acc = tl.zeros([n], dtype=tl.float32)
x = tl.load(x_ptr + offs, mask=mask)
tl.store(out_ptr + offs, 2 * x, mask=mask)""",
        LAUNCH,
        "A tile's size is a compile-time constant (`tl.constexpr`), and a power",
    ),
    "shape_mismatch": (
        """\
x = tl.load(x_ptr + offs, mask=mask)
y = x + tl.arange(0, 32)
tl.store(out_ptr + offs, y, mask=mask)""",
        LAUNCH,
        "Two shapes do not fit: tiles must have the same size, or size 1, in",
    ),
    "broadcast_2d": (
        """\
x = tl.load(x_ptr + offs, mask=mask)
y = x[:, None] + x
tl.store(out_ptr + offs, y, mask=mask)""",
        LAUNCH,
        "The values have another shape than the addresses.",
    ),
    "index_tile": (
        """\
x = tl.load(x_ptr + offs, mask=mask)
tl.store(out_ptr + offs, x[0], mask=mask)""",
        LAUNCH,
        "One lane of a tile cannot be picked with `[...]`: only",
    ),
    "print_fstring": (
        """\
x = tl.load(x_ptr + offs, mask=mask)
print(f'x is {x}')
tl.store(out_ptr + offs, 2 * x, mask=mask)""",
        LAUNCH,
        'Compiled kernels print with `tl.device_print("x", x)`, not with an',
    ),
    "keyword_typo": (
        """\
x = tl.load(x_ptr + offs, masks=mask)
tl.store(out_ptr + offs, 2 * x, mask=mask)""",
        LAUNCH,
        "There is no argument called `masks`. Look at how the function spells",
    ),
    "sum_no_axis_kw": (
        """\
x = tl.load(x_ptr + offs, mask=mask)
s = tl.sum(x, dim=0)
tl.store(out_ptr + offs, 2 * x + 0 * s, mask=mask)""",
        LAUNCH,
        "There is no argument called `dim`. Look at how the function spells it.",
    ),
    "axis_1": (
        """\
x = tl.load(x_ptr + offs, mask=mask, other=0.0)
s = tl.sum(x, axis=1)
tl.store(out_ptr + offs, 2 * x + 0 * s, mask=mask)""",
        LAUNCH,
        "The tile has no axis 1. A tile of one dimension has `axis=0` alone.",
    ),
    "dot_1d": (
        """\
x = tl.load(x_ptr + offs, mask=mask)
s = tl.dot(x, x)
tl.store(out_ptr + offs, 2 * x, mask=mask)""",
        LAUNCH,
        "`tl.dot` multiplies tiles of two dimensions: [M, K] by [K, N].",
    ),
    "dot_small": (
        """\
x = tl.load(x_ptr + offs, mask=mask, other=0.0)
y = tl.reshape(x, (8, 8))
z = tl.dot(y, y)
tl.store(out_ptr + offs, 2 * x, mask=mask)""",
        LAUNCH,
        "`tl.dot` needs tiles of at least 16 in every dimension.",
    ),
    "loop_type_change": (
        """\
acc = 0
x = tl.load(x_ptr + offs, mask=mask)
for i in range(0, n, BLOCK):
    acc = acc + tl.sum(x, axis=0)
tl.store(out_ptr + offs, 2 * x + 0 * acc, mask=mask)""",
        LAUNCH,
        "`acc` changes its type inside the loop, from int32 to fp32. Start it as",
    ),
    "one_branch": (
        """\
x = tl.load(x_ptr + offs, mask=mask)
if pid == 0:
    y = 2 * x
tl.store(out_ptr + offs, y, mask=mask)""",
        LAUNCH,
        "`y` is not defined where the kernel uses it. Is it set in one branch",
    ),
    "lambda_in_kernel": (
        """\
f = lambda v: 2 * v
x = tl.load(x_ptr + offs, mask=mask)
tl.store(out_ptr + offs, f(x), mask=mask)""",
        LAUNCH,
        "A kernel cannot contain this kind of Python (Lambda).",
    ),
    "atomic_blockwise": (
        """\
x = tl.load(x_ptr + offs, mask=mask)
tl.atomic_add(out_ptr, 2 * x, mask=mask)""",
        LAUNCH,
        "`tl.atomic_add(out_ptr, ...)` has one address and a mask of many lanes.",
    ),
    "cast_torch": (
        """\
x = tl.load(x_ptr + offs, mask=mask).to(torch.float32)
tl.store(out_ptr + offs, 2 * x, mask=mask)""",
        LAUNCH,
        "A kernel takes dtypes from `tl`: `tl.float32`, not `torch.float32`.",
    ),
    "cast_method": (
        """\
x = tl.load(x_ptr + offs, mask=mask).float()
tl.store(out_ptr + offs, 2 * x, mask=mask)""",
        LAUNCH,
        "A tile has no `.float()`. Convert it with `.to(tl.float32)`, or another",
    ),
    "mask_none_kw": (
        """\
x = tl.load(x_ptr + offs, mask)
tl.store(out_ptr + offs, mask, 2 * x)""",
        LAUNCH,
        "The mask is no truth value. In `tl.store(pointers, values, mask=...)`",
    ),
    "other_no_mask": (
        """\
x = tl.load(x_ptr + offs, other=0.0)
tl.store(out_ptr + offs, 2 * x, mask=mask)""",
        LAUNCH,
        "`other=` says what masked lanes hold: it needs `mask=` beside it.",
    ),
    "pointer_times": (
        """\
x = tl.load(x_ptr * 1 + offs, mask=mask)
tl.store(out_ptr + offs, 2 * x, mask=mask)""",
        LAUNCH,
        "A pointer can have whole numbers added to it, and nothing else done to",
    ),
    "pointer_plus_pointer": (
        """\
x = tl.load(x_ptr + out_ptr, mask=mask)
tl.store(out_ptr + offs, 2 * x, mask=mask)""",
        LAUNCH,
        "Two addresses cannot be added: add offsets to a pointer.",
    ),
    "float_offsets": (
        """\
o = pid * BLOCK / 1 + tl.arange(0, BLOCK)
x = tl.load(x_ptr + o, mask=mask)
tl.store(out_ptr + offs, 2 * x, mask=mask)""",
        LAUNCH,
        "Offsets must be whole numbers, and these are floats. `/` makes a float:",
    ),
    "cpu_item": (
        """\
x = tl.load(x_ptr + offs, mask=mask)
tl.store(out_ptr + offs, 2 * x.item(), mask=mask)""",
        LAUNCH,
        "A kernel works on tiles and addresses; methods of tensors do not exist",
    ),
    "cdiv_in_grid_list": (
        GOOD,
        "double_kernel[[triton.cdiv(n, 64)]](x, out, n, BLOCK=64)",
        "The grid is a tuple, `(n,)`, no list.",
    ),
    "none_arg": (
        GOOD,
        "double_kernel[(4,)](x, None, n, BLOCK=64)",
        "One of the kernel's arguments is None.",
    ),
    "list_arg": (
        GOOD,
        "double_kernel[(4,)](x, out, [n], BLOCK=64)",
        "A kernel takes tensors and numbers, and was given a list.",
    ),
    "shape_arg": (
        GOOD,
        "double_kernel[(4,)](x, out, x.shape, BLOCK=64)",
        "A kernel takes tensors and numbers, and was given the tuple (150,). Pass one",
    ),
    "stride_arg": (
        GOOD,
        "double_kernel[(4,)](x, out, x.stride(), BLOCK=64)",
        "A kernel takes tensors and numbers, and was given the tuple (1,). Pass one number, "
        "`x.stride(0)`, or all of them with a star: `*x.stride()`.",
    ),
    "stride_not_called": (
        GOOD,
        "double_kernel[(4,)](x, out, x.stride, BLOCK=64)",
        "A kernel was given `.stride` itself, which is a method. Call it: `x.stride(0)`.",
    ),
    "number_becomes_a_tile": (
        """\
acc = 0.0
for i in range(0, n, BLOCK):
    tile = tl.full([BLOCK, BLOCK], 1.0, tl.float32)
    acc += tl.dot(tile, tile)
tl.store(out_ptr + offs, 0 * tl.sum(acc, axis=0), mask=mask)""",
        LAUNCH,
        "`acc` begins as one number and becomes a tile inside the loop. Is it to be a tile?",
    ),
    "accumulator_of_one_number": (
        """\
acc = 0.0
for i in range(0, n, BLOCK):
    tile = tl.full([BLOCK, BLOCK], 1.0, tl.float32)
    acc = tl.dot(tile, tile, acc)
tl.store(out_ptr + offs, 0 * tl.sum(acc, axis=0), mask=mask)""",
        LAUNCH,
        "`tl.dot(a, b, acc)` adds to a tile",
    ),
    "float_for_a_tensor": (
        GOOD,
        "x = 0.5; n = x.shape[0]",
        "A value of type float stands where a tensor or a tile is expected.",
    ),
    "used_too_early": (
        """\
tl.store(out_ptr + offs, late, mask=mask)
late = tl.load(x_ptr + offs, mask=mask)""",
        LAUNCH,
        "`late` is",
    ),
    "no_jit": (
        GOOD,
        "double[(4,)](x, out, n, BLOCK=64)",
        "What is launched as `...[grid]` is a plain function. Is `@triton.jit` missing",
    ),
    "grid_function_without_return": (
        GOOD,
        "double_kernel[lambda meta: None](x, out, n, BLOCK=64)",
        "The grid, or a list, is None. Is a `return` missing",
    ),
    "grid_function_misspelt": (
        GOOD,
        "double_kernel[lambda meta: (meta['BLOCKS'],)](x, out, n, BLOCK=64)",
        "There is no key `BLOCKS`. Is it misspelt?",
    ),
    "tuner_without_kernel": (
        GOOD,
        f"{TUNER})[(3,)](x, out, n)",
        "What is launched as `...[grid]` is a plain function.",
    ),
    "tuner_of_tiles": (
        GOOD,
        "triton.autotune([{'BLOCK': 64}, {'BLOCK': 32}], key=[])(double_kernel)[(3,)](x, out, n)",
        "The tuner's `configs` is a list of `triton.Config(...)`.",
    ),
    "tuner_prunes_by_no_dict": (
        GOOD,
        f"{TUNER}, prune_configs_by=len)(double_kernel)[(3,)](x, out, n)",
        "`prune_configs_by` is a dictionary",
    ),
    "tuner_prunes_by_another_function": (
        GOOD,
        f"{TUNER}, prune_configs_by={{'early_config_prune': len}})(double_kernel)[(3,)](x, out, n)",
        "Triton's tuner calls `len(configs, named_args, **kwargs)`, and",
    ),
    "tuner_restores_a_misspelt_argument": (
        GOOD,
        f"{TUNER}, restore_value=['x'])(double_kernel)[(3,)](x, out, n)",
        "The kernel has no argument called `x`.",
    ),
    "product_of_python": (
        """\
a = tl.zeros((16, 16), dtype=tl.float32)
b = a @ a""",
        LAUNCH,
        "`@` does not work on tiles in a kernel.",
    ),
    "half_accumulator": (
        """\
a = tl.zeros((16, 16), dtype=tl.float32)
acc = tl.zeros((16, 16), dtype=tl.float16)
acc = tl.dot(a, a, acc)
"""
        + GOOD,
        LAUNCH,
        "`tl.dot(a, b, acc)` adds to a tile: begin with",
    ),
    "comparisons_without_brackets": (
        """\
x = tl.load(x_ptr + offs, mask=offs < n & offs < 150, other=0.0)
tl.store(out_ptr + offs, 2 * x, mask=mask)""",
        LAUNCH,
        "`&` binds tighter than `<`. Put each comparison in brackets",
    ),
    "floats_with_two_slashes": (
        """\
x = tl.load(x_ptr + offs, mask=mask, other=0.0)
tl.store(out_ptr + offs, x // 0.5, mask=mask)""",
        LAUNCH,
        "`//` and `%` are for whole numbers",
    ),
    "tiles_without_a_tuple": (
        """\
x = tl.load(x_ptr + offs, mask=mask, other=0.0)
tl.store(out_ptr + offs, tl.reduce(x, x, x, 0, double_kernel), mask=mask)""",
        LAUNCH,
        "Too many arguments for a function of `tl`, or a list.",
    ),
    "atomic_at_one_address": (
        """\
x = tl.load(x_ptr + offs, mask=mask, other=0.0)
tl.atomic_add(out_ptr + pid, 2 * x)""",
        LAUNCH,
        "`tl.atomic_add(out_ptr + pid, 2 * x)`: has it one address and a tile of values?",
    ),
    "one_lane_is_set": (
        """\
x = tl.load(x_ptr + offs, mask=mask, other=0.0)
x[0] = 1.0
tl.store(out_ptr + offs, 2 * x, mask=mask)""",
        LAUNCH,
        "One lane of a tile cannot be set.",
    ),
    "cdiv_of_triton": (
        """\
steps = triton.cdiv(n, BLOCK)
x = tl.load(x_ptr + offs, mask=mask, other=0.0)
tl.store(out_ptr + offs, steps * x, mask=mask)""",
        LAUNCH,
        "`triton.cdiv(n, BLOCK)`: `triton.cdiv` takes numbers that are known before",
    ),
    "sum_of_comparisons": (
        """\
x = tl.load(x_ptr + offs, mask=mask, other=0.0)
found = 0
for i in range(n):
    found += tl.sum(x > i, axis=0)
tl.store(out_ptr + offs, found * x, mask=mask)""",
        LAUNCH,
        "`found` changes its type inside the loop, from int32 to uint32",
    ),
    "bins_at_run_time": (
        """\
x = tl.load(x_ptr + offs, mask=mask, other=0.0)
tl.store(out_ptr + offs, tl.histogram(x.to(tl.int32), n), mask=mask)""",
        LAUNCH,
        "The number of bins of `tl.histogram`",
    ),
    "larger_of_two_tiles": (
        """\
x = tl.load(x_ptr + offs, mask=mask, other=0.0)
tl.store(out_ptr + offs, tl.max(x, tl.abs(x)), mask=mask)""",
        LAUNCH,
        "`tl.max` reduces one tile along an axis",
    ),
    "a_half_in_the_loop": (
        """\
total = 0.0
for i in range(n):
    total = tl.load(x_ptr + i).to(tl.float16)
tl.store(out_ptr + offs, total, mask=mask)""",
        LAUNCH,
        "`total` is float32 before the loop and fp16 in it.",
    ),
    "scan_with_a_plain_function": (
        """\
x = tl.load(x_ptr + offs, mask=mask, other=0.0)
tl.store(out_ptr + offs, tl.associative_scan(x, 0, double), mask=mask)""",
        LAUNCH,
        "A kernel cannot call the Python function `double`",
    ),
    "no_grid_but_warps": (
        GOOD,
        "double_kernel(x, out, n, BLOCK=64, num_warps=4)",
        "`num_warps` belongs to a launch: `kernel[grid](...)`. Is `[grid]` missing?",
    ),
    "length_of_a_tile": (
        """\
x = tl.load(x_ptr + offs, mask=offs < len(x_ptr))
tl.store(out_ptr + offs, 2 * x, mask=mask)""",
        LAUNCH,
        "A kernel knows no `len`",
    ),
    "arange_from_below_zero": (
        """\
near = tl.arange(-8, 8)
"""
        + GOOD,
        LAUNCH,
        "`tl.arange` begins at 0 or later.",
    ),
    "arange_of_a_float": (
        """\
half = tl.arange(0, BLOCK / 2)
"""
        + GOOD,
        LAUNCH,
        "`/` makes a float, and `tl.arange` takes whole numbers",
    ),
    "or_between_masks": (
        """\
mask = (offs < n) or (offs == 0)
"""
        + GOOD,
        LAUNCH,
        "Python's `or` needs one truth value, and a mask has many: write `|`.",
    ),
    "and_under_another_name": (
        """\
inside = offs < n and offs >= 0
x = tl.load(x_ptr + offs, mask=inside)
tl.store(out_ptr + offs, 2 * x, mask=mask)""",
        LAUNCH,
        "Python's `and` needs one truth value, and a tile has many: write `&`, with brackets",
    ),
    "not_of_a_tile": (
        """\
x = tl.load(x_ptr + offs, mask=mask, other=0.0)
negative = x < 0
x = tl.where(not negative, x, x)
tl.store(out_ptr + offs, 2 * x, mask=mask)""",
        LAUNCH,
        "Python's `not` needs one truth value, and a tile has many: write `~`.",
    ),
    "choice_of_python": (
        """\
x = tl.load(x_ptr + offs, mask=mask, other=0.0)
x = x if x > 0 else x
tl.store(out_ptr + offs, 2 * x, mask=mask)""",
        LAUNCH,
        "Python's `if` needs one truth value, and a tile has many. `tl.where(",
    ),
    "while_of_a_tile": (
        """\
x = tl.load(x_ptr + offs, mask=mask, other=0.0)
while x > 1e9:
    x = x - 1
tl.store(out_ptr + offs, 2 * x, mask=mask)""",
        LAUNCH,
        "Python's `while` needs one truth value, and a tile has many.",
    ),
    "chained_comparison": (
        """\
mask = 0 <= offs < n
"""
        + GOOD,
        LAUNCH,
        "`&` binds tighter than `<`.",
    ),
    "larger_of_tile_and_product": (
        """\
x = tl.load(x_ptr + offs, mask=mask, other=0.0)
x = tl.max(x, 0.0 * x)
tl.store(out_ptr + offs, 2 * x, mask=mask)""",
        LAUNCH,
        "`tl.max` reduces one tile along an axis",
    ),
    "half_tile_in_a_loop": (
        """\
acc = tl.zeros([BLOCK], dtype=tl.float16)
for i in range(2):
    acc += tl.load(x_ptr + offs, mask=mask, other=0.0)
tl.store(out_ptr + offs, acc, mask=mask)""",
        LAUNCH,
        "`acc` is a tile of fp16 before the loop and of fp32 in it. Begin with fp32",
    ),
    "address_becomes_a_tile": (
        """\
acc = tl.zeros([BLOCK], dtype=tl.float32)
for i in range(2):
    acc += tl.load(x_ptr + 0 * offs)
    x_ptr += offs
tl.store(out_ptr + offs, acc, mask=mask)""",
        LAUNCH,
        "`x_ptr` is one address before the loop and a tile of addresses in it.",
    ),
    "fourth_axis": (
        """\
late = tl.program_id(3)
"""
        + GOOD,
        LAUNCH,
        "A grid has at most three axes",
    ),
    "text_for_a_number": (
        """\
x = tl.load(x_ptr + offs, mask=mask, other='0')
tl.store(out_ptr + offs, 2 * x, mask=mask)""",
        LAUNCH,
        "The text `'0'` stands where a number is expected.",
    ),
    "dtype_as_text": (
        """\
x = tl.load(x_ptr + offs, mask=mask).to('float32')
tl.store(out_ptr + offs, 2 * x, mask=mask)""",
        LAUNCH,
        "A kernel takes dtypes from `tl`: `tl.float32`, without quotation marks.",
    ),
    "turned_row": (
        """\
x = tl.load(x_ptr + offs, mask=mask, other=0.0)
turned = x.T
tl.store(out_ptr + offs, 2 * x, mask=mask)""",
        LAUNCH,
        "`.T` and `tl.trans` turn a tile of two dimensions",
    ),
    "reshape_to_fewer": (
        """\
x = tl.load(x_ptr + offs, mask=mask, other=0.0)
square = tl.reshape(x, (8, 4))
tl.store(out_ptr + offs, 2 * x, mask=mask)""",
        LAUNCH,
        "`tl.reshape` keeps the number of elements",
    ),
    "range_of_a_float": (
        """\
for i in range(n / BLOCK):
    pid = pid + 0
"""
        + GOOD,
        LAUNCH,
        "`range` takes whole numbers. `/` makes a float",
    ),
    "range_of_a_tile": (
        """\
x = tl.load(x_ptr + offs, mask=mask, other=0.0)
for i in range(offs):
    x = x + 0
tl.store(out_ptr + offs, 2 * x, mask=mask)""",
        LAUNCH,
        "`range` takes numbers, and this is a tile.",
    ),
    "loop_over_a_tile": (
        """\
x = tl.load(x_ptr + offs, mask=mask, other=0.0)
for value in x:
    pid = pid + 0
tl.store(out_ptr + offs, 2 * x, mask=mask)""",
        LAUNCH,
        "A kernel's `for` goes over `range(...)`",
    ),
    "two_names_at_once": (
        """\
a = b = pid
"""
        + GOOD,
        LAUNCH,
        "A kernel cannot hold `a = b = ...`. Write two lines.",
    ),
    "print_without_text": (
        """\
x = tl.load(x_ptr + offs, mask=mask, other=0.0)
tl.device_print(x)
tl.store(out_ptr + offs, 2 * x, mask=mask)""",
        LAUNCH,
        "In a kernel `print` begins with a text",
    ),
    "mean_of_a_tile": (
        """\
x = tl.load(x_ptr + offs, mask=mask, other=0.0)
tl.store(out_ptr + offs, tl.mean(x, axis=0), mask=mask)""",
        LAUNCH,
        "There is no `tl.mean`. Divide `tl.sum(x, axis=0)`",
    ),
    "relu_of_a_tile": (
        """\
x = tl.load(x_ptr + offs, mask=mask, other=0.0)
tl.store(out_ptr + offs, tl.relu(x), mask=mask)""",
        LAUNCH,
        "There is no `tl.relu`. `tl.maximum(x, 0.0)`",
    ),
    "pow_of_tl": (
        """\
x = tl.load(x_ptr + offs, mask=mask, other=0.0)
tl.store(out_ptr + offs, tl.pow(x, 2), mask=mask)""",
        LAUNCH,
        "There is no `tl.pow`. Write the product, `x * x`.",
    ),
    "inf_of_tl": (
        """\
x = tl.load(x_ptr + offs, mask=mask, other=-tl.inf)
tl.store(out_ptr + offs, 2 * x, mask=mask)""",
        LAUNCH,
        'In a kernel it is `float("inf")`.',
    ),
    "inf_alone": (
        """\
x = tl.load(x_ptr + offs, mask=mask, other=-inf)
tl.store(out_ptr + offs, 2 * x, mask=mask)""",
        LAUNCH,
        'In a kernel it is `float("inf")`.',
    ),
    "last_lane": (
        """\
x = tl.load(x_ptr + offs, mask=mask, other=0.0)
tl.store(out_ptr + offs, x[-1], mask=mask)""",
        LAUNCH,
        "One lane of a tile cannot be picked with `[...]`",
    ),
    "indices_without_axis": (
        """\
x = tl.load(x_ptr + offs, mask=mask, other=0.0)
top = tl.max(x, return_indices=True)
tl.store(out_ptr + offs, 2 * x, mask=mask)""",
        LAUNCH,
        "`return_indices=True` needs `axis=` too.",
    ),
    "del_in_kernel": (
        """\
spare = pid
del spare
"""
        + GOOD,
        LAUNCH,
        "Triton's language has no `del`",
    ),
    "exp_of_math": (
        """\
x = tl.load(x_ptr + offs, mask=mask, other=0.0)
tl.store(out_ptr + offs, math.exp(tl.max(x, axis=0)), mask=mask)""",
        LAUNCH,
        "`math.exp(tl.max(x, axis=0))`: `math.exp` takes numbers that are known before the launch",
    ),
    "maximum_of_numpy": (
        """\
x = tl.load(x_ptr + offs, mask=mask, other=0.0)
tl.store(out_ptr + offs, np.maximum(2 * x, 0.0), mask=mask)""",
        LAUNCH,
        "`np.maximum(2 * x, 0.0)`: a kernel cannot call `np.maximum`, which is",
    ),
}

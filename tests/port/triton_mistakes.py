"""Mistakes that Triton's compiler or interpreter stumbles over, and what the card says of them.

A line has a mistake's name and how its sentence begins. Below it stand the launch, behind an @, and
the kernel's lines after its offsets and mask, where they are not those of a good kernel.
"""

from __future__ import annotations

from dataclasses import dataclass

LOAD = "x = tl.load(x_ptr + offs, mask=mask, other=0.0)"
STORE = "tl.store(out_ptr + offs, 2 * x, mask=mask)"
GOOD = f"{LOAD}\n{STORE}"
LAUNCH = "double_kernel[(triton.cdiv(n, 64),)](x, out, n, BLOCK=64)"
TUNER = "triton.autotune([triton.Config({'BLOCK': size}) for size in (32, 64)], key=['n']"


@dataclass
class Mistake:
    sentence: str
    launch: str = LAUNCH
    lines: str = ""


TABLE = """\
grid_int: The grid is a tuple, also with one number in it: `(n,)`, with a comma.
@ double_kernel[triton.cdiv(n, 64)](x, out, n, BLOCK=64)
grid_float: A whole number is needed, and `/` gives a float. Use `triton.cdiv(a,
@ double_kernel[(n / 64 + 1,)](x, out, n, BLOCK=64)
constant_in_a_branch: `step` is a constant before the `if`, as an argument that is 1 is
    step: tl.constexpr = 1
    if n > 0:
        step = n // n
    LOAD
    tl.store(out_ptr + offs, 2 * x * step, mask=mask)
jit_twice: `triton.jit` is given a kernel, which it has made already: give
@ triton.jit(double_kernel)[(triton.cdiv(n, 64),)](x, out, n, BLOCK=64)
no_grid: A kernel is launched, `kernel[grid](...)`, and not called: outside of a kernel each
@ double_kernel(x, out, n, BLOCK=64)
missing_arg: The call leaves out 'n'. Compare its arguments with the function's, one
@ double_kernel[(4,)](x, out, BLOCK=64)
unknown_kw: The call leaves out 'BLOCK'. Compare its arguments with the function's,
@ double_kernel[(4,)](x, out, n, BLOCK_SIZE=64)
too_many_args: The call gives 5 arguments where 4 are expected. Compare them one by
@ double_kernel[(4,)](x, out, n, 64, 3)
block_twice: `BLOCK` is given twice, by its place and by its name.
@ double_kernel[(4,)](x, out, n, 64, BLOCK=64)
block_not_pow2: `tl.arange` needs a power of two. Round up with `triton.next_power_of_2`. Is the
> tile's size a power of two already?
@ double_kernel[(triton.cdiv(n, 60),)](x, out, n, BLOCK=60)
return_value: A kernel returns nothing, and `return 2 * x` does. Use `tl.store`.
    x = tl.load(x_ptr + offs, mask=mask)
    return 2 * x
pow: `**` does not work on a tile. Write the product, `x * x`.
    x = tl.load(x_ptr + offs, mask=mask)
    tl.store(out_ptr + offs, x**2, mask=mask)
index_store: A pointer is an address, not an array, and cannot be indexed. Read with
    x = tl.load(x_ptr + offs, mask=mask)
    out_ptr[offs] = 2 * x
store_value_first: What `tl.store` gets first must be addresses: a pointer plus offsets.
    x = tl.load(x_ptr + offs, mask=mask)
    tl.store(2 * x, out_ptr + offs, mask=mask)
store_no_value: The call leaves out 'value'. Compare its arguments with the function's,
    x = tl.load(x_ptr + offs, mask=mask)
    tl.store(out_ptr + offs, mask=mask)
load_offsets_only: What `tl.load` gets first must be addresses: a pointer plus offsets.
    x = tl.load(offs, mask=mask)
    STORE
scalar_pointer_tile_mask: The mask is a tile and the address one number. Are the offsets missing
    x = tl.load(x_ptr, mask=mask)
    STORE
store_scalar_pointer: A tile of values and one address: nobody knows where they go. Are the
    x = tl.load(x_ptr + offs, mask=mask)
    tl.store(out_ptr + pid, 2 * x, mask=mask)
typo_tl: There is no `tl.laod`. Is it to be `tl.load`?
    x = tl.laod(x_ptr + offs, mask=mask)
    STORE
math_in_kernel: A kernel cannot import. What it uses is imported above it, and comes
    import math
    x = tl.load(x_ptr + offs, mask=mask)
    tl.store(out_ptr + offs, math.sqrt(x), mask=mask)
if_tile: Python's `if` needs one truth value, and a tile has one for each lane. A mask
    x = tl.load(x_ptr + offs, mask=mask)
    if x > 0:
        x = 2 * x
    tl.store(out_ptr + offs, x, mask=mask)
and_masks: Python's `and` needs one truth value, and a mask has many: write `&`.
    x = tl.load(x_ptr + offs, mask=mask and offs >= 0)
    STORE
arange_runtime: `tl.arange` takes numbers that are known when the kernel is compiled.
    o = pid * BLOCK + tl.arange(0, n)
    x = tl.load(x_ptr + o)
    tl.store(out_ptr + o, 2 * x)
arange_one: `tl.arange` takes both ends: `tl.arange(0, BLOCK)`.
    o = pid * BLOCK + tl.arange(BLOCK)
    x = tl.load(x_ptr + o, mask=mask)
    tl.store(out_ptr + o, 2 * x, mask=mask)
arange_from_one: `tl.arange(start, end)` has end - start numbers, a power of two.
    o = pid * BLOCK + tl.arange(1, BLOCK)
    x = tl.load(x_ptr + o, mask=mask)
    tl.store(out_ptr + o, 2 * x, mask=mask)
arange_to_the_last: `tl.arange(start, end)` has end - start numbers, a power of two.
    o = pid * BLOCK + tl.arange(0, BLOCK - 1)
    x = tl.load(x_ptr + o, mask=mask)
    tl.store(out_ptr + o, 2 * x, mask=mask)
name_misspelt: There is no `tl.sigmod`. Is it to be `tl.sigmoid`?
    x = tl.sigmod(tl.load(x_ptr + offs, mask=mask))
    STORE
pi_of_math: A kernel knows no `math`. Its functions come from `tl`
    LOAD
    tl.store(out_ptr + offs, 2 * x / math.pi, mask=mask)
address_converted: An address cannot be converted, and what is loaded can
    x = tl.load(x_ptr.to(tl.float32) + offs, mask=mask)
    STORE
range_for_a_tile: `range` gives a loop its numbers, one after another.
    o = pid * BLOCK + range(BLOCK)
    x = tl.load(x_ptr + o, mask=mask)
    tl.store(out_ptr + o, 2 * x, mask=mask)
zeros_int: A tile's shape is a list: `tl.zeros([BLOCK], dtype=tl.float32)`.
    x = tl.load(x_ptr + offs, mask=mask)
    acc = tl.zeros(BLOCK, dtype=tl.float32)
    tl.store(out_ptr + offs, 2 * x + acc, mask=mask)
zeros_torch_dtype: A kernel takes dtypes from `tl`: `tl.float32`, not `torch.float32`.
    x = tl.load(x_ptr + offs, mask=mask)
    acc = tl.zeros([BLOCK], dtype=torch.float32)
    tl.store(out_ptr + offs, 2 * x + acc, mask=mask)
zeros_runtime: A tile's size is a compile-time constant (`tl.constexpr`), and a power
    acc = tl.zeros([n], dtype=tl.float32)
    x = tl.load(x_ptr + offs, mask=mask)
    STORE
shape_mismatch: Two shapes do not fit: tiles must have the same size, or size 1, in
    x = tl.load(x_ptr + offs, mask=mask)
    y = x + tl.arange(0, 32)
    tl.store(out_ptr + offs, y, mask=mask)
broadcast_2d: The values, or their mask, have another shape than the addresses.
    x = tl.load(x_ptr + offs, mask=mask)
    y = x[:, None] + x
    tl.store(out_ptr + offs, y, mask=mask)
index_tile: One lane of a tile cannot be picked with `[...]`: only
    x = tl.load(x_ptr + offs, mask=mask)
    tl.store(out_ptr + offs, x[0], mask=mask)
print_fstring: Compiled kernels print with `tl.device_print("x", x)`, not with an
    x = tl.load(x_ptr + offs, mask=mask)
    print(f'x is {x}')
    STORE
keyword_typo: There is no argument called `masks`. Look at how the function spells
    x = tl.load(x_ptr + offs, masks=mask)
    STORE
sum_no_axis_kw: There is no argument called `dim`. Look at how the function spells it.
    x = tl.load(x_ptr + offs, mask=mask)
    s = tl.sum(x, dim=0)
    tl.store(out_ptr + offs, 2 * x + 0 * s, mask=mask)
axis_1: The tile has no axis 1. A tile of one dimension has `axis=0` alone.
    LOAD
    s = tl.sum(x, axis=1)
    tl.store(out_ptr + offs, 2 * x + 0 * s, mask=mask)
dot_1d: `tl.dot` multiplies tiles of two dimensions: [M, K] by [K, N].
    x = tl.load(x_ptr + offs, mask=mask)
    s = tl.dot(x, x)
    STORE
dot_small: `tl.dot` multiplies [M, K] by [K, N], and
    LOAD
    y = tl.reshape(x, (8, 8))
    z = tl.dot(y, y)
    STORE
loop_type_change: `acc` changes its type inside the loop, from int32 to fp32. Start it as
    acc = 0
    x = tl.load(x_ptr + offs, mask=mask)
    for i in range(0, n, BLOCK):
        acc = acc + tl.sum(x, axis=0)
    tl.store(out_ptr + offs, 2 * x + 0 * acc, mask=mask)
one_branch: `y` is not defined where the kernel uses it. Is it an argument that the
> kernel does not take, misspelt, or set in one branch
    x = tl.load(x_ptr + offs, mask=mask)
    if pid == 0:
        y = 2 * x
    tl.store(out_ptr + offs, y, mask=mask)
lambda_in_kernel: A kernel cannot contain a `lambda`. Write what it computes where it is
    f = lambda v: 2 * v
    x = tl.load(x_ptr + offs, mask=mask)
    tl.store(out_ptr + offs, f(x), mask=mask)
atomic_blockwise: `tl.atomic_add(out_ptr, ...)` has one address and a mask of many lanes.
    x = tl.load(x_ptr + offs, mask=mask)
    tl.atomic_add(out_ptr, 2 * x, mask=mask)
cast_method: A tile has no `.float()`. Convert it with `.to(tl.float32)`, or another
    x = tl.load(x_ptr + offs, mask=mask).float()
    STORE
mask_none_kw: The mask is no truth value. In `tl.store(pointers, values, mask=...)`
    x = tl.load(x_ptr + offs, mask)
    tl.store(out_ptr + offs, mask, 2 * x)
other_no_mask: `other=` says what masked lanes hold: it needs `mask=` beside it.
    x = tl.load(x_ptr + offs, other=0.0)
    STORE
pointer_times: A pointer can have whole numbers added to it, and nothing else done to
    x = tl.load(x_ptr * 1 + offs, mask=mask)
    STORE
pointer_plus_pointer: Two addresses cannot be added. If these are to be numbers: `tl.load`
    x = tl.load(x_ptr + out_ptr, mask=mask)
    STORE
float_offsets: `/` makes a float, and an offset is a whole number: use `//`.
    o = pid * BLOCK / 1 + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + o, mask=mask)
    STORE
cpu_item: A kernel works on tiles and addresses; methods of tensors do not exist
    x = tl.load(x_ptr + offs, mask=mask)
    tl.store(out_ptr + offs, 2 * x.item(), mask=mask)
cdiv_of_kernels: A function of `tl` belongs in a kernel. In a wrapper `tl.cdiv` is `triton.cdiv`.
@ double_kernel[(tl.cdiv(n, 64),)](x, out, n, BLOCK=64)
none_arg: One of the kernel's arguments is None.
@ double_kernel[(4,)](x, None, n, BLOCK=64)
number_of_numpy: A kernel takes tensors and Python's numbers, and was given one of numpy.
@ double_kernel[(4,)](x, out, np.int64(n), BLOCK=64)
list_arg: A kernel takes tensors and numbers, and was given a list.
@ double_kernel[(4,)](x, out, [n], BLOCK=64)
shape_arg: A kernel takes tensors and numbers, and was given the tuple (150,). Pass one
@ double_kernel[(4,)](x, out, x.shape, BLOCK=64)
stride_arg: A kernel takes tensors and numbers, and was given the tuple (1,). Pass one number,
> `x.stride(0)`, or all of them with a star: `*x.stride()`.
@ double_kernel[(4,)](x, out, x.stride(), BLOCK=64)
stride_not_called: A kernel was given `.stride` itself, which is a method. Call it: `x.stride(0)`.
@ double_kernel[(4,)](x, out, x.stride, BLOCK=64)
number_becomes_a_tile: `acc` begins as one number and becomes a tile inside the loop. Is it to be
> a tile?
    acc = 0.0
    for i in range(0, n, BLOCK):
        tile = tl.full([BLOCK, BLOCK], 1.0, tl.float32)
        acc += tl.dot(tile, tile)
    tl.store(out_ptr + offs, 0 * tl.sum(acc, axis=0), mask=mask)
accumulator_of_one_number: `tl.dot(a, b, acc)` adds to a tile
    acc = 0.0
    for i in range(0, n, BLOCK):
        tile = tl.full([BLOCK, BLOCK], 1.0, tl.float32)
        acc = tl.dot(tile, tile, acc)
    tl.store(out_ptr + offs, 0 * tl.sum(acc, axis=0), mask=mask)
float_for_a_tensor: A value of type float stands where a tensor or a tile is expected.
@ x = 0.5; n = x.shape[0]
used_too_early: `late` is
    tl.store(out_ptr + offs, late, mask=mask)
    late = tl.load(x_ptr + offs, mask=mask)
no_jit: What is launched as `...[grid]` is a plain function. Is `@triton.jit` missing above it?
@ double[(4,)](x, out, n, BLOCK=64)
grid_function_without_return: The grid, or a list, is None. Is a `return` missing
@ double_kernel[lambda meta: None](x, out, n, BLOCK=64)
grid_function_misspelt: There is no key `BLOCKS`. Is it misspelt?
@ double_kernel[lambda meta: (meta['BLOCKS'],)](x, out, n, BLOCK=64)
tuner_without_kernel: A tuner gets its kernel in brackets of its own
@ TUNER)[(3,)](x, out, n)
tuner_without_kernel_of_a_name: A tuner gets its kernel in brackets of its own
@ tuned = TUNER); tuned[(3,)](x, out, n)
tuner_of_a_plain_function: A tuner gets a kernel, and this is a plain function.
@ TUNER)(double_kernel.fn)[(3,)](x, out, n)
tuner_of_tiles: The tuner's `configs` is a list of `triton.Config(...)`.
@ triton.autotune([{'BLOCK': 64}, {'BLOCK': 32}], key=[])(double_kernel)[(3,)](x, out, n)
tuner_prunes_by_no_dict: `prune_configs_by` is a dictionary
@ TUNER, prune_configs_by=len)(double_kernel)[(3,)](x, out, n)
tuner_prunes_by_another_function: Triton's tuner calls `len(configs, named_args, **kwargs)`, and
@ TUNER, prune_configs_by={'early_config_prune': len})(double_kernel)[(3,)](x, out, n)
tuner_prunes_by_a_text: A text is called as if it were a function.
@ TUNER, prune_configs_by={'early_config_prune': 'len'})(double_kernel)[(3,)](x, out, n)
tuner_of_a_function: A function stands where a list is meant, or a tensor.
@ triton.autotune(lambda: 0, key=[])(double_kernel)[(3,)](x, out, n)
tuner_restores_a_misspelt_argument: The kernel has no argument called `x`.
@ TUNER, restore_value=['x'])(double_kernel)[(3,)](x, out, n)
product_of_python: `@` does not work on tiles in a kernel.
    a = tl.zeros((16, 16), dtype=tl.float32)
    b = a @ a
half_accumulator: `tl.dot(a, b, acc)` adds to a tile: begin with
    a = tl.zeros((16, 16), dtype=tl.float32)
    acc = tl.zeros((16, 16), dtype=tl.float16)
    acc = tl.dot(a, a, acc)
    LOAD
    STORE
comparisons_without_brackets: `&` binds tighter than `<`. Put each comparison in brackets
    x = tl.load(x_ptr + offs, mask=offs < n & offs < 150, other=0.0)
    STORE
floats_with_two_slashes: `//` is for whole numbers
    LOAD
    tl.store(out_ptr + offs, x // 0.5, mask=mask)
tiles_without_a_tuple: Too many arguments for a function of `tl`, or a list.
    LOAD
    tl.store(out_ptr + offs, tl.reduce(x, x, x, 0, double_kernel), mask=mask)
atomic_at_one_address: `tl.atomic_add(out_ptr + pid, 2 * x)`: has it one address and a tile of
> values?
    LOAD
    tl.atomic_add(out_ptr + pid, 2 * x)
one_lane_is_set: One lane of a tile cannot be set.
    LOAD
    x[0] = 1.0
    STORE
sum_of_comparisons: `found` changes its type inside the loop, from int32 to uint32
    LOAD
    found = 0
    for i in range(n):
        found += tl.sum(x > i, axis=0)
    tl.store(out_ptr + offs, found * x, mask=mask)
bins_at_run_time: The number of bins of `tl.histogram`
    LOAD
    tl.store(out_ptr + offs, tl.histogram(x.to(tl.int32), n), mask=mask)
larger_of_two_tiles: `tl.max` reduces one tile along an axis
    LOAD
    tl.store(out_ptr + offs, tl.max(x, tl.abs(x)), mask=mask)
a_half_in_the_loop: `total` is float32 before the loop and fp16 in it.
    total = 0.0
    for i in range(n):
        total = tl.load(x_ptr + i).to(tl.float16)
    tl.store(out_ptr + offs, total, mask=mask)
scan_with_a_plain_function: A kernel cannot call the Python function `double`
    LOAD
    tl.store(out_ptr + offs, tl.associative_scan(x, 0, double), mask=mask)
no_grid_but_warps: A kernel is launched, `kernel[grid](...)`, and not called: outside of a kernel
@ double_kernel(x, out, n, BLOCK=64, num_warps=4)
length_of_a_tile: A kernel knows no `len`
    x = tl.load(x_ptr + offs, mask=offs < len(x_ptr))
    STORE
arange_from_below_zero: `tl.arange` begins at 0 or later.
    near = tl.arange(-8, 8)
    LOAD
    STORE
arange_of_a_float: `/` makes a float, and `tl.arange` takes whole numbers
    half = tl.arange(0, BLOCK / 2)
    LOAD
    STORE
or_between_masks: Python's `or` needs one truth value, and a mask has many: write `|`.
    mask = (offs < n) or (offs == 0)
    LOAD
    STORE
and_under_another_name: Python's `and` needs one truth value, and a tile has many: write `&`. Put
> each comparison in brackets.
    inside = offs < n and offs >= 0
    x = tl.load(x_ptr + offs, mask=inside)
    STORE
not_of_a_tile: Python's `not` needs one truth value, and a tile has many: write `~`.
    LOAD
    negative = x < 0
    x = tl.where(not negative, x, x)
    STORE
choice_of_python: Python's `if` needs one truth value, and a tile has many. `tl.where(
    LOAD
    x = x if x > 0 else x
    STORE
while_of_a_tile: Python's `while` needs one truth value, and a tile has many.
    LOAD
    while x > 1e9:
        x = x - 1
    STORE
chained_comparison: `a <= b < c` is two comparisons. Of tiles write
    mask = 0 <= offs < n
    LOAD
    STORE
larger_of_two_numbers: `tl.max` reduces one tile along an axis: `tl.max(tile, axis=0)`. The larger
> of two numbers is `tl.maximum(a, b)`.
    LOAD
    tl.store(out_ptr + offs, tl.max(0.0, tl.max(x, axis=0)), mask=mask)
larger_of_tile_and_product: `tl.max` reduces one tile along an axis
    LOAD
    x = tl.max(x, 0.0 * x)
    STORE
half_tile_in_a_loop: `acc` is a tile of fp16 before the loop and of fp32 in it. Begin with fp32
    acc = tl.zeros([BLOCK], dtype=tl.float16)
    for i in range(2):
        acc += tl.load(x_ptr + offs, mask=mask, other=0.0)
    tl.store(out_ptr + offs, acc, mask=mask)
another_half_in_a_loop: `acc` is a tile of bf16 before the loop and of fp16 in it. A running sum
    acc = tl.zeros([BLOCK], dtype=tl.bfloat16)
    for i in range(2):
        acc += tl.load(x_ptr + offs, mask=mask, other=0.0).to(tl.float16)
    tl.store(out_ptr + offs, acc, mask=mask)
address_becomes_a_tile: `x_ptr` is one address before the loop and a tile of addresses in it.
    acc = tl.zeros([BLOCK], dtype=tl.float32)
    for i in range(2):
        acc += tl.load(x_ptr + 0 * offs)
        x_ptr += offs
    tl.store(out_ptr + offs, acc, mask=mask)
fourth_axis: A grid has at most three axes
    late = tl.program_id(3)
    LOAD
    STORE
text_for_a_number: The text `'0'` stands where a number is expected.
    x = tl.load(x_ptr + offs, mask=mask, other='0')
    STORE
dtype_as_text: A kernel takes dtypes from `tl`: `tl.float32`, without quotation marks.
    x = tl.load(x_ptr + offs, mask=mask).to('float32')
    STORE
turned_row: `.T` and `tl.trans` turn a tile of two dimensions
    LOAD
    turned = x.T
    STORE
reshape_to_fewer: `tl.reshape` keeps the number of elements
    LOAD
    square = tl.reshape(x, (8, 4))
    STORE
range_of_a_float: `range` takes whole numbers. `/` makes a float
    for i in range(n / BLOCK):
        pid = pid + 0
    LOAD
    STORE
range_of_a_tile: `range` takes numbers, and this is a tile.
    LOAD
    for i in range(offs):
        x = x + 0
    STORE
loop_over_a_tile: A kernel's `for` goes over `range(...)`
    LOAD
    for value in x:
        pid = pid + 0
    STORE
two_names_at_once: A kernel cannot hold `a = b = ...`. Write two lines.
    a = b = pid
    LOAD
    STORE
print_without_text: In a kernel `print` begins with a text
    LOAD
    tl.device_print(x)
    STORE
mean_of_a_tile: There is no `tl.mean`. Divide `tl.sum(x, axis=0)`
    LOAD
    tl.store(out_ptr + offs, tl.mean(x, axis=0), mask=mask)
relu_of_a_tile: There is no `tl.relu`. `tl.maximum(x, 0.0)`
    LOAD
    tl.store(out_ptr + offs, tl.relu(x), mask=mask)
pow_of_tl: There is no `tl.pow`. Write the product, `x * x`.
    LOAD
    tl.store(out_ptr + offs, tl.pow(x, 2), mask=mask)
inf_of_tl: In a kernel it is `float("inf")`.
    x = tl.load(x_ptr + offs, mask=mask, other=-tl.inf)
    STORE
inf_alone: In a kernel it is `float("inf")`.
    x = tl.load(x_ptr + offs, mask=mask, other=-inf)
    STORE
last_lane: One lane of a tile cannot be picked with `[...]`
    LOAD
    tl.store(out_ptr + offs, x[-1], mask=mask)
indices_without_axis: `return_indices=True` needs `axis=` too.
    LOAD
    top = tl.max(x, return_indices=True)
    STORE
del_in_kernel: Triton's language has no `del`
    spare = pid
    del spare
    LOAD
    STORE
grid_of_text: The grid is a tuple of numbers, `(n,)`.
@ double_kernel['3'](x, out, n, BLOCK=64)
grid_empty: The grid is an empty tuple.
@ double_kernel[()](x, out, n, BLOCK=64)
grid_of_four: A grid has at most three numbers.
@ double_kernel[(3, 1, 1, 1)](x, out, n, BLOCK=64)
grid_below_zero: The grid has no program at all for this size.
@ double_kernel[(-1,)](x, out, n, BLOCK=64)
grid_function_without_argument: A grid that is a function takes one argument
@ double_kernel[lambda: (3,)](x, out, n, BLOCK=64)
grid_function_with_a_dot: The function of a grid gets a dictionary: `meta["BLOCK"]`.
@ double_kernel[lambda meta: (triton.cdiv(n, meta.BLOCK),)](x, out, n, BLOCK=64)
grid_by_name: A kernel is launched, `kernel[grid](...)`, and not called: outside of a kernel each
@ double_kernel(x, out, n, BLOCK=64, grid=(3,))
three_warps: `num_warps` is a power of two
@ double_kernel[(3,)](x, out, n, BLOCK=64, num_warps=3)
shape_called: `x.shape` is a tuple: `x.shape[0]`, in square brackets.
@ double_kernel[(3,)](x, out, x.shape(0), BLOCK=64)
kernel_of_triton: There is no `triton.double_kernel`.
@ triton.double_kernel[(3,)](x, out, n, BLOCK=64)
power_of_two_of_tl: There is no `tl.next_power_of_2`. It is `triton.next_power_of_2`
@ double_kernel[(3,)](x, out, n, BLOCK=tl.next_power_of_2(64))
constant_tensor: A tensor of torch's stands where a number is expected.
@ double_kernel[(3,)](x, out, n, BLOCK=torch.tensor(64))
constant_text: A text stands where a number or a tile is expected.
@ double_kernel[(3,)](x, out, n, BLOCK='64')
size_none: None stands where a number or a tile is expected.
@ double_kernel[(3,)](x, out, None, BLOCK=64)
size_tensor: A pointer can have whole numbers added to it
@ double_kernel[(3,)](x, out, torch.full((1,), n), BLOCK=64)
numpy_arg: A kernel takes tensors and Python's numbers, and was given one of numpy.
@ double_kernel[(3,)](np.zeros(150), out, n, BLOCK=64)
id_not_called: A function is used as if it were its result.
    offs = tl.program_id * BLOCK + tl.arange(0, BLOCK)
    LOAD
    STORE
bits_of_floats: `&`, `|`, `^`, `<<` and `>>` are for truths and whole numbers
    LOAD
    x = x & x
    STORE
opposite_of_a_float: `~` is for truths and whole numbers
    LOAD
    x = ~x
    STORE
picked_by_a_mask: A mask does not pick lanes in square brackets.
    x = tl.load(x_ptr + offs[mask])
    STORE
picked_by_a_tile: Square brackets fetch nothing in a kernel
    LOAD
    x = x[offs]
    STORE
picked_by_a_number: Square brackets fetch nothing in a kernel
    LOAD
    for i in range(4):
        x = x[i] + 1
    STORE
range_of_a_tile: `range` gives a loop its numbers, one after another.
    o = range(pid * BLOCK, (pid + 1) * BLOCK)
    LOAD
    STORE
three_to_maximum: A tile stands where something else belongs
    LOAD
    x = tl.maximum(x, x, x)
    STORE
tanh_of_tl: There is no `tl.tanh`. Write it with the function that there is: `2 * tl.sig
    LOAD
    x = tl.tanh(x)
    STORE
gelu_of_tl: There is no `tl.gelu`. Is it misspelt? If not, compute it with the functions
    LOAD
    x = tl.gelu(x)
    STORE
clip_of_tl: There is no `tl.clip`. `tl.maximum(x, low)`
    LOAD
    x = tl.clip(x, 0, 1)
    STORE
int_of_tl: There is no `tl.int`. A dtype's name says its bits
    x = tl.load(x_ptr + offs, mask=mask).to(tl.int)
    STORE
pi_of_tl: There is no `tl.pi`. Write the number, or `math.pi`.
    x = tl.load(x_ptr + offs, mask=mask) * tl.pi
    STORE
no_argument: `M` is not defined where the kernel uses it. Is it an argument that the
> kernel does not take,
    x = tl.load(x_ptr + offs, mask=offs < M)
    STORE
unrolled_to_a_runtime_number: `tl.static_range` is unrolled when the kernel is compiled: its end is
    LOAD
    for i in tl.static_range(0, n, BLOCK):
        x = x + 0
    STORE
to_of_a_constant: A plain number has no `.to`. In a kernel a `tl.constexpr` is one, and so is an
> argument that is 1
    x = tl.load(x_ptr + offs * BLOCK.to(tl.int64) // BLOCK, mask=mask)
    STORE
small_int8_product: `tl.dot` multiplies [M, K] by [K, N], and
    a = tl.zeros((16, 16), dtype=tl.int8)
    b = tl.dot(a, a)
    LOAD
    STORE
product_of_int32: `tl.dot` multiplies tiles of floats or of int8, and one of these is int32.
    a = tl.zeros((16, 16), dtype=tl.int32)
    b = tl.dot(a, a)
    LOAD
    STORE
step_of_zero: A step of `range` is 0.
    LOAD
    for i in range(pid, n, 0):
        x = x + 0
    STORE
with_in_a_kernel: A kernel cannot contain `with`.
    with x_ptr as x:
        pass
    LOAD
    STORE
cast_to_an_address: A number is to become an address. `x_ptr.dtype` is the type of an address
    x = tl.load(x_ptr + offs, mask=mask).to(x_ptr.dtype)
    STORE
type_of_what_lies_there: What lies at an address has the type `x_ptr.dtype.element_ty`.
    x = tl.load(x_ptr + offs, mask=mask).to(x_ptr.element_ty)
    STORE
dtype_as_number: A number stands where a dtype is expected, such as `tl.float32`.
    x = tl.load(x_ptr + offs, mask=mask).to(BLOCK)
    STORE
load_of_none: A plain number or None stands where an address belongs.
    x = tl.load(None)
    STORE
four_by_their_places: `boundary_check=` and `padding_option=` belong to block pointers
    x = tl.load(x_ptr + offs, mask, 0.0, 1)
    STORE
turned_line: `.T` and `tl.trans` turn a tile of two dimensions
    x = tl.trans(tl.load(x_ptr + offs, mask=mask))
    STORE
bins_of_floats: `tl.histogram` counts whole numbers.
    LOAD
    h = tl.histogram(x, 16)
    STORE
sorted_along_the_first: Tiles are sorted along their last dimension alone.
    LOAD
    x = tl.sort(x, 3, 1)
    STORE
sizes_that_differ: Two shapes do not fit: tiles must have the same size, or size 1, in each
> dimension, and in dimension 0 these have 64 and 32.
    LOAD
    x = x + tl.arange(0, 32)
    STORE
many_warps: One program needs 2,048 threads; the A100 (sm_80) has 1,024. A program has 32 threads
> for each of its `num_warps`: ask for fewer warps.
@ double_kernel[(3,)](x, out, n, BLOCK=64, num_warps=64)
grid_in_round_brackets: A kernel is launched, `kernel[grid](...)`, and not called: outside of a
@ double_kernel((3,))(x, out, n, BLOCK=64)
arange_in_the_wrapper: A function of `tl` was called outside of a kernel.
@ tl.arange(0, 64)
grid_of_one_text: A whole number is needed, and a value of type str stands there.
@ double_kernel[('3',)](x, out, n, BLOCK=64)
grid_of_one_none: A whole number is needed, and a value of type NoneType stands there.
@ double_kernel[(None,)](x, out, n, BLOCK=64)
second_dimension_of_one: A tuple has fewer values than are asked for.
@ double_kernel[(3,)](x, out, x.shape[1], BLOCK=64)
stride_of_a_second: The tensor has no dimension 1: its first is dimension 0.
@ double_kernel[(3,)](x, out, x.stride(1), BLOCK=64)
key_of_another: There is no key `a_ptr`. Is it misspelt? A grid's `meta` holds the launch's
> arguments, and the `named_args` of a tuner's function
@ {}['a_ptr']
instructions_of_a_gpu: `tl.inline_asm_elementwise` holds a GPU's own instructions: the
    LOAD
    x = tl.inline_asm_elementwise("neg.f32 $0, $1;", "=r,r", [x], tl.float32, True, 1)
    STORE
two_cache_hints: `eviction_policy="evict_first"` and `cache_modifier=".cg"` exclude each other:
    x = tl.load(x_ptr + offs, mask, cache_modifier=".cg", eviction_policy="evict_first")
    STORE
grid_of_a_slash_alone: The grid is a tuple, also with one number in it: `(n,)`, with a comma.
@ double_kernel[n / 64 + 1](x, out, n, BLOCK=64)
module_not_imported: `math` is not imported. Write `import math` at the top of this cell.
@ double_kernel[(math.ceil(n / 64),)](x, out, n, BLOCK=64)
tile_of_a_product: `tl.arange` needs a power of two, and a product of two sizes need not be one.
    o = pid * BLOCK + tl.arange(0, 3 * BLOCK)
    x = tl.load(x_ptr + o, mask=o < n)
    tl.store(out_ptr + o, 2 * x, mask=o < n)
name_nearly: `msk` is not defined where the kernel uses it. Is it to be `mask`?
    x = tl.load(x_ptr + offs, mask=msk)
    STORE
name_without_tl: `load` is not defined here. Is it to be `tl.load`?
    x = load(x_ptr + offs, mask=mask)
    STORE
name_without_triton: `cdiv` is not defined here. Is it to be `triton.cdiv`?
@ double_kernel[(cdiv(n, 64),)](x, out, n, BLOCK=64)
name_without_triton_in_a_kernel: `next_power_of_2` is not defined here. Is it to be
    o = tl.arange(0, next_power_of_2(BLOCK))
    LOAD
    STORE
name_set_below: `x` is used here, and gets its value only further down: `x = tl.load(
    positive = x > 0
    LOAD
    STORE
address_not_loaded: `y` is an address. To compute with what lies there, load it first
    x = tl.load(x_ptr + offs, mask=mask)
    y = x_ptr + offs
    tl.store(out_ptr + offs, x + y, mask=mask)
address_not_loaded_in_place: `y` is an address. To compute
    y = x_ptr + offs
    y += tl.load(x_ptr + offs, mask=mask)
    LOAD
    STORE
address_not_loaded_on_the_right: `bias` is an address. To compute
    LOAD
    bias = x_ptr + offs
    x += bias
    STORE
address_times_a_float: `x` is an address. To compute with what lies there, load it first
    x = x_ptr + offs
    tl.store(out_ptr + offs, 2.0 * x, mask=mask)
pointer_plus_values: `x_ptr` is an address. To compute with what lies there, load it first
    LOAD
    tl.store(out_ptr + offs, x_ptr + x, mask=mask)
store_without_comma: `out_ptr + offs` is an address, and values are added to it. In `tl.store`
    LOAD
    tl.store(out_ptr + offs + x + x, mask=mask)
offsets_of_values: A float meets an address here.
    LOAD
    y = tl.load(x_ptr + x, mask=mask)
    STORE
offsets_divided_before: `/` makes a float, and an offset is a whole number: use `//`.
    ptrs = x_ptr + offs / 2
    x = tl.load(ptrs, mask=mask)
    STORE
pointers_moved_by_a_float: `/` makes a float, and an offset is a whole number: use `//`.
    x_ptrs = x_ptr + offs
    x_ptrs += BLOCK / 2
    LOAD
    STORE
address_stored: What is to be stored is an address. Load what lies there first
    x = x_ptr + 1
    tl.store(out_ptr + offs, x, mask=mask)
load_with_a_comma: An address is one argument, a pointer plus its offsets
    x = tl.load(x_ptr, offs, mask=mask)
    STORE
store_with_a_comma: An address is one argument, a pointer plus its offsets
    LOAD
    tl.store(out_ptr, offs, 2 * x, mask=mask)
load_with_a_comma_and_no_mask: An address is one argument, a pointer plus its offsets
    x = tl.load(x_ptr, offs)
    STORE
store_with_a_comma_and_no_mask: An address is one argument, a pointer plus its offsets
    LOAD
    tl.store(out_ptr, offs, 2 * x)
mask_given_twice: `mask` is given twice, by its place and by its name.
    x = tl.load(x_ptr + offs, mask, mask=mask)
    STORE
two_texts_printed: In a kernel `print` takes one text, which comes first
    LOAD
    print("offs", offs, "x", x)
    STORE
"""


def _mistakes() -> dict[str, Mistake]:
    found, mistake = {}, Mistake("")
    for line in TABLE.splitlines():
        mark, rest = line[:4], line[4:]
        if mark == "    ":
            mistake.lines += {"LOAD": LOAD, "STORE": STORE}.get(rest, rest) + "\n"
        elif mark.startswith("@ "):
            mistake.launch = line[2:].replace("TUNER", TUNER)
        elif mark.startswith("> "):
            mistake.sentence += line[1:]
        else:
            name, _, sentence = line.partition(": ")
            mistake = found[name] = Mistake(sentence)
    for mistake in found.values():
        mistake.lines = mistake.lines or GOOD
    return found


MISTAKES = _mistakes()

"""Triton's errors in a learner's words: of its compiler, of its interpreter, of a launch.

One sentence each: what is wrong and what to do. The first pattern that matches wins; a backslash
with a number stands for a group. `tests/port/test_plain_words.py` provokes them.
"""

from __future__ import annotations

import os
import re
import traceback
import types

# What Triton's tuner stumbles over itself: the text begins with its file.
_TUNER = (
    (
        r"autotuner\.py (?:KeyError: '|ValueError: .* not kernel arguments: )(\w+)",
        r"The kernel has no argument called `\1`. `restore_value` and `reset_to_zero` are lists of "
        'its arguments, spelt as in the kernel: `["x_ptr"]`.',
    ),
    (
        r"autotuner\.py AttributeError: .* has no attribute 'get'",
        '`prune_configs_by` is a dictionary: `{"early_config_prune": ...}`, a function of yours in '
        "place of the dots.",
    ),
    (
        r"autotuner\.py TypeError: (\w+)\(\)",
        r"Triton's tuner calls `\1(configs, named_args, **kwargs)`, and `\1` takes other "
        "arguments. Give it the function that is made for this call.",
    ),
    (
        r"has no attribute '(?:all_)?kwargs'",
        "The tuner's `configs` is a list of `triton.Config(...)`. Something else stands in it.",
    ),
)

_LAUNCH = (
    (
        r"'(?:Script)?[Ff]unction' object is not subscriptable",
        "What is launched as `...[grid]` is a plain function. Is `@triton.jit` missing above it, "
        "or, where a tuner is made, the kernel: `triton.autotune(...)(kernel)`?",
    ),
    (
        r"'NoneType' object is not subscriptable",
        "What stands before `[...]` is None. Is a `return` missing in the function that makes it?",
    ),
    (
        r"object of type 'NoneType' has no len\(\)",
        "The grid, or a list, is None. Is a `return` missing in the function that makes it?",
    ),
    (
        r"object of type 'int' has no len\(\)",
        "The grid is a tuple, also with one number in it: `(n,)`, with a comma.",
    ),
    (
        r"'NoneType' object is not an iterator",
        "A function under `@contextlib.contextmanager` has a `yield`, once, where its block runs.",
    ),
    (
        r"can only concatenate str \(not \"tuple\"\)|'set' object is not subscriptable",
        "The grid is a tuple of numbers, `(n,)`.",
    ),
    (
        r"jit\.py IndexError: tuple index out of range",
        "The grid is an empty tuple. It holds the number of programs: `(n,)`.",
    ),
    (
        r"grid must have at most 3 dimensions",
        "A grid has at most three numbers.",
    ),
    (
        r"takes 0 positional arguments but 1 was given",
        "A grid that is a function takes one argument, the launch's own: `lambda meta: (...)`.",
    ),
    (
        r"'dict' object has no attribute '([A-Z]\w*)'",
        r'The function of a grid gets a dictionary: `meta["\1"]`.',
    ),
    (
        r"unexpected keyword argument 'grid'",
        "The grid stands in square brackets: `kernel[grid](...)`.",
    ),
    (
        r"num_warps must be a power of 2",
        "`num_warps` is a power of two: 1, 2, 4, 8 or 16. Where it is computed from a tile's "
        "sizes, one of them may be none.",
    ),
    (
        r"'torch\.Size' object is not callable",
        "`x.shape` is a tuple: `x.shape[0]`, in square brackets.",
    ),
    (
        r"module 'triton' has no attribute '(\w+)'",
        r"There is no `triton.\1`. Is it `tl.\1`, or a name of your own?",
    ),
    (
        r"no attribute 'next_power_of_2'",
        "There is no `tl.next_power_of_2`. It is `triton.next_power_of_2`, in the wrapper.",
    ),
    (
        r"failed to specialize argument of type:? tensor\b",
        "A kernel is not launched in a kernel. A function that it calls has no `[grid]`: `f(x)`.",
    ),
    (
        r"'builtin_function_or_method' object has no attribute 'scalar'",
        "A tensor of torch's stands where a number is expected. Was one passed for a constant, or "
        "is a pointer marked `tl.constexpr`?",
    ),
    (
        r"'str' object has no attribute 'type'",
        "A text stands where a number or a tile is expected. Are the quotation marks too much?",
    ),
    (
        r"cannot convert None of type",
        "None stands where a number or a tile is expected. Is a `return` missing in a function "
        "that the kernel calls, or was None passed to the kernel?",
    ),
    (
        r"cannot convert <class 'triton\.language\.core\.constexpr'>",
        "A colon marks an argument, `BLOCK: tl.constexpr`. With `=` it is the argument's default.",
    ),
    (
        r"unsupported operand type\(s\) for .*'function'",
        "A function is used as if it were its result. Call it: `tl.program_id(0)`.",
    ),
    (
        r"can only concatenate list \(not \"tuple\"\) to list",
        "The grid is a tuple, `(n,)`, no list.",
    ),
    (
        r"'float' object cannot be interpreted as an integer",
        "A whole number is needed, and `/` gives a float. Use `triton.cdiv(a, b)`, or `//`.",
    ),
    (
        r"missing \d+ required positional arguments?: (.*)",
        r"The call leaves out \1. Compare its arguments with the function's, one by one.",
    ),
    (
        r"takes (\d+) positional arguments? but (\d+) were given",
        r"The call gives \2 arguments where \1 are expected. Compare them one by one.",
    ),
    (
        r"missing a required argument: '(\w+)'",
        r"The call leaves out `\1`. Compare its arguments with the function's, one by one.",
    ),
    (
        r"multiple values for argument '_(?:semantic|builder)'|must be a tensor, got <class 'list'",
        "Too many arguments for a function of `tl`, or a list. Several tiles go in as one tuple: "
        "`tl.reduce((a, b), 0, combine)`.",
    ),
    (
        r"got multiple values for argument '(\w+)'",
        r"`\1` is given twice, by its place and by its name. (Several tiles of a scan or a "
        "reduction go in as one tuple.)",
    ),
    (
        r"got an unexpected keyword argument '(num_warps|num_stages|num_ctas|maxnreg)'",
        r"`\1` belongs to a launch: `kernel[grid](...)`. Is `[grid]` missing?",
    ),
    (
        r"got an unexpected keyword argument '(\w+)'|[Kk]eyword argument (\w+) was specified but",
        r"There is no argument called `\1\2`. Look at how the function spells it.",
    ),
    (
        r"type:? (?:builtin_function_or_method|method)|'builtin_function_or_method' object",
        "A method itself stands where a number is expected. Call it: `x.stride(0)`.",
    ),
    (
        r"'tuple_type' object has no attribute",
        "Several values stand where one is expected. Unpack them, `a, b = ...`; to a kernel pass "
        "one number, `x.stride(0)`, or all of them with a star: `*x.stride()`.",
    ),
    (
        r"'(?:float|int)' object has no attribute '(?:type|dtype)'",
        "A number stands where an address or a tile is expected. `tl.load` takes an address: pass "
        "the tensor itself.",
    ),
    (
        r"'(float|int|bool|str|NoneType)' object has no attribute "
        r"'(shape|stride|size|device|numel|ndim|contiguous|reshape|view|to|t|transpose)'",
        r"A value of type \1 stands where a tensor or a tile is expected. Are two arguments "
        "swapped, or is a `return` missing?",
    ),
    (
        r"numpy data itemsize .* exceeds dtype primitive_bitwidth .* for triton type (\w+)",
        r"A value does not fit its argument, which is \1. Are two arguments swapped?",
    ),
    (
        r"failed to specialize argument of type:? ([\w.]+)",
        r"A kernel takes tensors and numbers, and was given a \1.",
    ),
    (
        r"cannot convert \[.*\] of type .*tuple",
        "A kernel takes tensors and numbers, and was given a tuple. Pass one size as a number.",
    ),
    (
        r"core\.py TypeError: 'int' object is not iterable|tensor index: constexpr\[-?\d+\]",
        "One lane of a tile cannot be picked with `[...]`: only `[:, None]` and `[None, :]` exist. "
        "Choose it with a mask and a sum, `tl.sum(tl.where(lanes == i, tile, 0))`, or load it.",
    ),
    (
        r"'(?:int|float|bool)' object is not iterable",
        "One number stands where a list or a tuple is expected.",
    ),
    (
        r"'NoneType' object has no attribute '(?:type|dtype|data_ptr)'",
        "One of the kernel's arguments is None.",
    ),
    (
        r"no attribute 'is_cuda'|Pointer argument .* cannot be accessed from Triton",
        "A tensor on the CPU reached a kernel compiled for the GPU. Allocate outputs on the "
        "input's "
        "device (`torch.empty_like(x)`).",
    ),
)

_PYTHON = (
    (
        r"is defined under @triton\.jit$|'function' object has no attribute 'fn'",
        "The function of a scan or a reduction needs `@triton.jit` above it. (A lambda will not "
        "do.)",
    ),
    (
        r"object of type 'tensor' has no len\(\)",
        "A kernel knows no `len`: it gets addresses, and tiles whose size you chose. Pass the size "
        "as an argument.",
    ),
    (
        r"must be real number, not tensor|argument must be a string.* not 'tensor'",
        "A function of Python's takes numbers that are known before the launch, and this value is "
        "known only while the kernel runs. Look for its namesake in `tl`; `.to(...)` converts.",
    ),
    (
        r"Simultaneous multiple assignment",
        "A kernel cannot hold `a = b = ...`. Write two lines.",
    ),
    (
        r"'(?:Name|Tuple|List|Attribute|Subscript|Constant)' object has no attribute 'func'|"
        r"Only `range` and `static_range` iterators",
        "A kernel's `for` goes over `range(...)` or `tl.static_range(...)`, not over a tile or a "
        "list.",
    ),
    (
        r"For loop bounds and step must all be ints",
        "`range` takes whole numbers. `/` makes a float: use `//` or `tl.cdiv`.",
    ),
    (
        r"For (?:lower bound|upper bound|step) must be a scalar",
        "`range` takes numbers, and this is a tile.",
    ),
    (
        r"\] is not string",
        'In a kernel `print` begins with a text, and the values follow: `print("x", x)`.',
    ),
    (
        r"cannot convert (\S+) of type <class 'str'>",
        r"The text `'\1'` stands where a number is expected. Are the quotation marks too much?",
    ),
    (
        r"'str' object has no attribute 'scalar'|type object '\S+' has no attribute 'scalar'",
        "A kernel takes dtypes from `tl`: `tl.float32`, without quotation marks.",
    ),
    (
        r"program_id axis must be 0, 1, or 2 but got (\S+)",
        r"A grid has at most three axes: `tl.program_id` takes 0, 1 or 2, not \1.",
    ),
    (
        r"^torch/(?:utils|library|custom_ops|_internal)\.py ValueError: .*values to unpack",
        "An operator's name is one text, `namespace::name`.",
    ),
    (
        r"(\w+)\(\)(?:: argument| received an invalid combination of arguments).*NoneType",
        r"`\1` was given None for a tensor. Is a `return` missing in the function that makes it?",
    ),
    (
        r"expected ident but found '\{'",
        "The text still has a `{` in it. Is the `f` before its quotation mark missing?",
    ),
    (
        r"register a meta kernel directly|CompositeImplicitAutograd kernel",
        '`impl` needs the device as its last argument, such as `"CUDA"` or `"CPU"`.',
    ),
    (
        r"MatMult|unsupported operand type\(s\) for @",
        "`@` does not work on tiles in a kernel. The product is `tl.dot(a, b, acc)`, which adds to "
        "`acc`.",
    ),
    (
        r"KeyError: ['\"](\w+)['\"]",
        r"There is no key `\1`. Is it misspelt? A grid's `meta` holds the launch's arguments, "
        "named as in the kernel.",
    ),
    (
        r"StopIteration",
        "A kernel cannot define a function. Define it above, under `@triton.jit`.",
    ),
    (
        r"Ternary expression with dynamic condition",
        "`a if c else b` takes two numbers of one type. Of tiles, `tl.where(c, a, b)` chooses.",
    ),
    (
        r"interpreter\.py ValueError: Unsupported data type",
        "The interpreter's `tl.atomic_xchg` takes whole numbers alone; floats take a GPU.",
    ),
    (
        r"unsupported AST node type: (?:ListComp|DictComp|SetComp|GeneratorExp)|comprehensions",
        "A kernel cannot contain a comprehension. Write a loop, or compute with tiles.",
    ),
    (
        r"unsupported AST node type: (?:Break|Continue)",
        "A kernel's loop has no `break` and no `continue`. Choose the loop's end beforehand, or "
        "mask.",
    ),
    (
        r"unsupported AST node type: Import",
        "A kernel cannot import. What it uses is imported above it, and comes from `tl`.",
    ),
    (r"unsupported AST node type: (\w+)", r"A kernel cannot contain this kind of Python (\1)."),
    (
        r"Unsupported function referenced: <function (\w+)",
        r"A kernel cannot call the Python function `\1`. One of your own needs `@triton.jit` above "
        "it (a kernel of Gluon `@gluon.jit`); one of torch, numpy or math has a namesake in `tl`.",
    ),
    (
        r"Unsupported function referenced|unsupported function",
        "A kernel cannot call functions of torch, numpy or math. Look for its namesake in `tl`.",
    ),
    (
        r"Boolean value of Tensor with more than one value|truth value of an array",
        "`if`, `and`, `or` and `not` need one truth value, and a tile has many. Use `tl.where`, "
        "`&`, "
        "`|` and `~`, or a mask. If it was to be a number: are two arguments swapped?",
    ),
    (
        r"list index out of range.*shape|'(?:tensor|pointer_type)' object has no attribute 'shape'",
        "A kernel gets addresses, not tensors: it knows no shape. Pass sizes as arguments.",
    ),
    (
        r"Cannot access global variable (\w+) from within",
        r"A kernel cannot read the global `\1`. Pass it as an argument, or make it a "
        r"`tl.constexpr`.",
    ),
    (
        r"NameError(?:: |\([\"'])(sum|max|min|abs|len|float|int|round|pow) is not defined",
        r"Python's `\1` is not known in a kernel. Look for its namesake in `tl`.",
    ),
    (
        r"NameError(?:: |\([\"'])(inf|nan) is not defined|"
        r"module 'triton.language(?:\.\w+)*' has no attribute '(inf|nan)'",
        r'In a kernel it is `float("\1\2")`.',
    ),
    (
        r"NameError(?:: |\([\"'])(program_id|num_programs|arange|load|store|zeros|full|dot|exp|exp2"
        r"|log|sqrt|rsqrt|where|maximum|minimum|cdiv|atomic_add|constexpr|float32|float16|int32)"
        " is not defined",
        r"`\1` is not defined here: it is `tl.\1`.",
    ),
    (
        r"NameError(?:: |\([\"'])(\w+) is not defined",
        r"`\1` is not defined where the kernel uses it. Is it set in one branch only, in a loop "
        "only, or misspelt?",
    ),
    (
        r"NameError: name '(\w+)' is not defined",
        r"`\1` is not defined here. Is it misspelt, or set in another function?",
    ),
    (
        r"UnboundLocalError:.* local variable '(\w+)'|UnboundLocalError: local variable '(\w+)'",
        r"`\1\2` is used before it has a value. Is it set further down, or in one branch only?",
    ),
    (
        r"module 'triton.language(?:\.\w+)*' has no attribute 'mean'",
        "There is no `tl.mean`. Divide `tl.sum(x, axis=0)` by the number of elements.",
    ),
    (
        r"module 'triton.language(?:\.\w+)*' has no attribute 'relu'",
        "There is no `tl.relu`. `tl.maximum(x, 0.0)` is the larger of the two, lane by lane.",
    ),
    (
        r"module 'triton.language(?:\.\w+)*' has no attribute '(pow|square)'",
        r"There is no `tl.\1`. Write the product, `x * x`.",
    ),
    (
        r"module 'triton.language(?:\.\w+)*' has no attribute '(matmul|mm|bmm|gemm)'",
        r"There is no `tl.\1`. The product of two tiles is `tl.dot(a, b, acc)`.",
    ),
    (
        r"module 'triton.language(?:\.\w+)*' has no attribute '(\w+)'",
        r"There is no `tl.\1`. Is it misspelt?",
    ),
    (r"no attribute '__r?pow__'", "`**` does not work on a tile. Write the product, `x * x`."),
    (
        r"'tensor' object has no attribute '(float|half|bfloat16|int|long|double)'",
        r"A tile has no `.\1()`. Convert it with `.to(tl.float32)`, or another dtype of `tl`.",
    ),
    (
        r"'tensor' object has no attribute 'values'",
        "One tile cannot be taken apart into several names. (`tl.max(x, axis=0, "
        "return_indices=True)` gives two tiles.) Or are two arguments swapped?",
    ),
    (
        r"'tensor' object has no attribute '(load|store)'",
        r"Only a descriptor has `.\1`, and this is a pointer or a tile: `tl.\1` takes pointers.",
    ),
    (
        r"'(?:tensor|TensorHandle)' object has no attribute '(\w+)'",
        r"A tile has no `.\1`. Look for a function of `tl`.",
    ),
    (
        r"can only unsplat single-element|'int' object is not callable",
        "A kernel works on tiles and addresses; methods of tensors do not exist there. Pass sizes "
        "and numbers as arguments.",
    ),
    (
        r"'torch.dtype' object has no attribute",
        "A kernel takes dtypes from `tl`: `tl.float32`, not `torch.float32`.",
    ),
    (
        r"__setitem__ is not supported|'tensor' object does not support item assignment",
        "One lane of a tile cannot be set. Choose it with a mask: `tl.where(offs == i, new, old)`.",
    ),
    (
        r"f-string containing non-constexpr",
        'Compiled kernels print with `tl.device_print("x", x)`, not with an f-string.',
    ),
    (
        r"Did you forget to add @triton.jit",
        "A kernel's code ran as plain Python: it is launched as `kernel[grid](...)`, never called "
        "as `kernel(...)`, and a function that it calls needs `@triton.jit` too. In a kernel, what "
        "`triton.cdiv` does is `tl.cdiv`.",
    ),
)

_TILES = (
    (
        r"simultaneous multiple comparison",
        "`&` binds tighter than `<`. Put each comparison in brackets: `(i < n) & (j < m)`. (Of "
        "`a <= i < n` too: `(a <= i) & (i < n)`.)",
    ),
    (
        r"unexpected type (?:fp|bf)\d+",
        "`//` and `%` are for whole numbers, and these are floats. Divide with `/`.",
    ),
    (
        r"'NoneType' object has no attribute 'values'|cannot unpack non-iterable NoneType",
        "A function that is called here gives nothing back. Is a `return` missing in it?",
    ),
    (
        r"list index out of range",
        "A list has fewer values than are asked for. Are there more names on the left of a `=` "
        "than the function on its right gives back?",
    ),
    (
        r"^(?!torch/).*(?:not enough|too many) values to unpack",
        "The names on the left are more or fewer than the values on the right. Compare the two. "
        "(A dictionary gives pairs by `.items()`.)",
    ),
    (
        r"arange's range must be a power of|range must be a power of",
        "`tl.arange` needs a power of two. Round up with `triton.next_power_of_2`. If the tile's "
        "size is one: are two arguments of the launch swapped?",
    ),
    (
        r"arange's arguments must",
        "`tl.arange` takes compile-time constants (`tl.constexpr`). Add what is known later: "
        "`start + tl.arange(0, BLOCK)`. It is one? Then it is no whole number: `/` makes a float.",
    ),
    (
        r"Shape element \d+ must have type `constexpr",
        "A tile's size is a compile-time constant (`tl.constexpr`), and a power of two.",
    ),
    (
        r"assert isinstance\(idx, \(slice, builtins",
        "Several values are picked by a whole number. (Where `return_indices=True` stands: it "
        "needs `axis=` too.)",
    ),
    (
        r"a\.shape\[-1\]\) == 2|a\.shape\[-1\] == 2",
        "`tl.split` takes a tile whose last dimension is 2. Reshape it first, the 2 at the end.",
    ),
    (
        r"arange must fit in int32",
        "`tl.arange` begins at 0 or later. Subtract afterwards: `tl.arange(0, BLOCK) - start`.",
    ),
    (
        r"permute dims must have the same length",
        "`.T` and `tl.trans` turn a tile of two dimensions, and this one has another number.",
    ),
    (
        r"cannot change total number of elements",
        "`tl.reshape` keeps the number of elements: the sizes multiply to the same number.",
    ),
    (
        r"arange's end argument must be greater",
        "`tl.arange(start, end)`: the end comes second, and is larger than the start.",
    ),
    (
        r"Loop-carried variable (\w+) has initial type \w+ but is re-assigned to <",
        r"`\1` begins as one number and becomes a tile inside the loop. Is it to be a tile? Begin "
        r"with one: `\1 = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)`. A number? Then `tl.sum` "
        "what the loop adds.",
    ),
    (
        r"Loop-carried variable (\w+) has initial type pointer<\w+> but is re-assigned to <",
        r"`\1` is one address before the loop and a tile of addresses in it. Add the offsets "
        r"before the loop, under another name: `x_ptrs = x_ptr + offs`.",
    ),
    (
        r"Loop-carried variable (\w+) has initial type <(\[.*?\]), (\w+)> but is re-assigned to "
        r"<\2, (\w+)>",
        r"`\1` is a tile of \3 before the loop and of \4 in it. Begin with \4, or convert what "
        "the loop gives it.",
    ),
    (
        r"Loop-carried variable (\w+) has initial type <.*> but is re-assigned to <",
        r"`\1` changes its shape or type inside the loop. Begin with a tile of the shape and type "
        "that the loop gives it.",
    ),
    (
        r"Loop-carried variable (\w+) has initial type (\S+) but is re-assigned to uint32",
        r"`\1` changes its type inside the loop, from \2 to uint32, the type of a sum of "
        "comparisons. Convert the sum: `.to(tl.int32)`.",
    ),
    (
        r"Loop-carried variable (\w+) has initial type .*(?:fp32.* re-assigned to .*fp64|fp64.* "
        r"re-assigned to .*fp32)",
        r"`\1` is float32 in one place and float64 in another. A number that float32 cannot hold, "
        "such as 1e-39 or 1e39, makes it so.",
    ),
    (
        r"Loop-carried variable (\w+) has initial type fp32 but is re-assigned to ([fb]\w*16)",
        r"`\1` is float32 before the loop and \2 in it. Convert what the loop gives it: "
        "`.to(tl.float32)`.",
    ),
    (
        r"Loop-carried variable (\w+) has initial type (\S+) but is re-assigned to (\S+)",
        r"`\1` changes its type inside the loop, from \2 to \3. Start it as \3.",
    ),
    (
        r"Mismatched type for (\w+) between then block \((\S+)\) and else block \((\S+)\)",
        r"`\1` is \2 in one branch and \3 in the other.",
    ),
    (
        r"shape.* (?:\d+ )?must be (?:a )?power of 2|Shape element \d+ must be a power of 2",
        "Every tile dimension must be a power of two.",
    ),
    (
        r"(?:M|N|K) >= 16|must be at least 16|lower than 16|minimum dot size|Input shapes should",
        "`tl.dot` needs tiles of at least 16 in every dimension.",
    ),
    (
        r"must have equal ranks >= 2|Both inputs must be 2D",
        "`tl.dot` multiplies tiles of two dimensions: [M, K] by [K, N].",
    ),
    (
        r"Both operands must be same dtype|must be same dtype|Both inputs must be of the same",
        "`tl.dot` takes two tiles of one dtype. Convert one of them.",
    ),
    (
        r"Dot .*reduction dim|equal reduction dim|First input shape .* second input shape",
        "`tl.dot` takes [M, K] and [K, N]: the two K differ.",
    ),
    (
        r"accumulator (?:shape|element type|dtype)|assert acc\.type",
        "`tl.dot(a, b, acc)` adds to a tile: begin with `acc = tl.zeros((BLOCK_M, BLOCK_N), "
        "dtype=tl.float32)`, M the rows of a and N the columns of b. (Of int8 tiles: acc in "
        "tl.int32, and `out_dtype=tl.int32`.) If acc has the right shape and dtype: is a or b to "
        "be turned?",
    ),
    (
        r"invalid axis (-?\d+)|axis (-?\d+) out of bounds",
        r"The tile has no axis \1\2. A tile of one dimension has `axis=0` alone.",
    ),
    (
        r"Expected dtype \[.*\] but got pointer",
        "This is an address, and a number is needed. Load what lies there: `tl.load(...)`.",
    ),
    (
        r"Expected dtype \['fp32', 'fp64'\] but got (\w+)",
        r"This function takes float32, and the tile is \1. Convert it first: `.to(tl.float32)`.",
    ),
    (
        r"[Mm]ask argument cannot be block type if pointer argument is not a block",
        "The mask is a tile and the address one number. Are the offsets missing from the address?",
    ),
    (
        r"Value argument cannot be block type if pointer argument is not a block",
        "A tile of values and one address: nobody knows where they go. Are the offsets missing "
        "from "
        "the address?",
    ),
    (
        r"Mask must have boolean scalar type",
        "The mask is no truth value. In `tl.store(pointers, values, mask=...)` the mask comes "
        "last.",
    ),
    (
        r"`other` cannot be provided without `mask`|other.*without.*mask",
        "`other=` says what masked lanes hold: it needs `mask=` beside it.",
    ),
    (
        r"Expected pointer argument to have shape (\S.*) but got (\S.*)",
        "The values, or their mask, have another shape than the addresses.",
    ),
    (
        r"(?:numel|number of elements).*exceed\w* .*maximum",
        "A tile is too large: Triton allows 1,048,576 elements.",
    ),
    (
        r"Layout mismatch",
        "Two tiles are held in different layouts. Have two names changed places, such as two "
        "results? Else `gl.convert_layout(x, layout)` brings one into the other's.",
    ),
    (
        r"[Ll]oop.carried variable (\w+) changed type.*warpgroup_mma_accumulator",
        r"`\1` is a product under way in one place and a tile in another. What "
        r"`warpgroup_mma_wait` gives back is the tile: `\1 = warpgroup_mma_wait(..., deps=[\1])`, "
        "in the same step, after the product.",
    ),
    (
        r"'shared_memory_descriptor' object has no attribute '__getitem__'"
        r"|'(?:Barriers|Shared)' object is not subscriptable",
        "A ring of tiles or barriers is no list: `ring.index(slot)` is one of its slots.",
    ),
    (
        r"'warpgroup_mma_accumulator' object is not iterable",
        "`deps` is a list, also with one product in it: `deps=[acc]`.",
    ),
    (
        r"'(?:tensor_d|D)escriptor' object has no attribute 'nbytes'",
        "The bytes of a descriptor's tile are `a_desc.block_type.nbytes`.",
    ),
    (
        r"'tensor_descriptor_type' object has no attribute 'scalar'",
        "The way by addresses got a descriptor: it has to get a tensor.",
    ),
    (
        r"'constexpr' object has no attribute 'handle'"
        r"|'\w+' object has no attribute '(?:expect|arrive|landed)'",
        "A plain number stands where a barrier or a tile belongs. Have two arguments changed "
        "places?",
    ),
    (
        r"'warpgroup_mma_accumulator_type' object has no",
        "A product under way is used as a tile. What `warpgroup_mma_wait` gives back is the tile: "
        "`x = warpgroup_mma_wait(..., deps=[x])`.",
    ),
    (
        r"Unsupported element type in shape/strides/offsets",
        "A tile or a descriptor stands where offsets are expected. Are two arguments swapped?",
    ),
    (
        r"Cannot bitcast data-type of size \d+ to data-type of size 1\b",
        "`not` is for truths. For a number n that is 0 or 1 write `n ^ 1`.",
    ),
    (
        r"incompatible dimensions|Cannot make_shape_compatible|broadcast",
        "Two shapes do not fit: tiles must have the same size, or size 1, in each dimension. (A "
        "sum along an axis drops it, unless it says `keep_dims=True`.)",
    ),
    (r"cannot add pointers together", "Two addresses cannot be added: add offsets to a pointer."),
    (
        r"invalid operands of type pointer<\w+> and triton\.language\.(?:fp|float|bf)\w*",
        "Offsets must be whole numbers, and these are floats. `/` makes a float: use `//`. Or was "
        "a float passed for an offset?",
    ),
    (
        r"invalid operands of type pointer",
        "A pointer can have whole numbers added to it, and nothing else done to it. Are two "
        "arguments of the launch swapped, or was a tensor passed for a number?",
    ),
    (
        r"unsupported tensor index",
        "A tile cannot be indexed: only `[:, None]` and `[None, :]` exist. Reduce it, or load "
        "the element that you need.",
    ),
    (
        r"Unsupported ptr type .*in `tl\.(\w+)`",
        r"What `tl.\1` gets first must be addresses: a pointer plus offsets.",
    ),
    (
        r"Unsupported ptr type|Pointer argument",
        "The kernel uses a value as a pointer that is none.",
    ),
    (
        r"scan_op\.verify|reduce_op\.verify|as many values as tiles go in",
        "The function of a scan or a reduction returns as many values as tiles go in, all scalars.",
    ),
    (
        r"assert len\(lhs\.shape\) == 1",
        "`tl.cat` joins tiles of one dimension.",
    ),
    (
        r"create_histogram\(\): incompatible|ufunc 'isfinite' not supported",
        "The number of bins of `tl.histogram` is a compile-time constant (`tl.constexpr`), and a "
        "power of two.",
    ),
    (
        r"(?:static_assert|tl\.core\.static_assert)\(seed\.dtype\.is_int",
        "`tl.rand(seed, offsets)`: the seed comes first, and is a whole number.",
    ),
    (
        r"not defined in both|is not defined in (?:then|else)",
        "A variable is set in one branch only.",
    ),
)

# Lines that no kernel can hold, whatever Triton's compiler and interpreter say of them.
_LINES = (
    (
        r"\btl\.(?:zeros|full|empty)\(\s*\w+\s*,",
        "A tile's shape is a list: `tl.zeros([BLOCK], dtype=tl.float32)`.",
    ),
    (
        r"\b\w+_ptrs?\[",
        "A pointer is an address, not an array, and cannot be indexed. Read with "
        "`tl.load(pointer + offsets, mask=...)`, write with `tl.store(pointer + offsets, values, "
        "mask=...)`.",
    ),
    (
        r"\btl\.(?:max|min)\(\s*\w+\s*,\s*return_indices=",
        "`return_indices=True` needs `axis=` too.",
    ),
    (
        r"\btl\.arange\([^()]*[^/()]/(?!/)",
        "`/` makes a float, and `tl.arange` takes whole numbers: use `//`.",
    ),
    (
        r"\btl\.(max|min)\([^()=]*, *(?:(?:\w+\.)*\w+\(|\d+\.|[a-z]\w*\)|\w+ *[-+*/])",
        "`tl.max` reduces one tile along an axis: `tl.max(tile, axis=0)`. The larger of two "
        "numbers is `tl.maximum(a, b)`.",
    ),
    (
        r"_ptr\.(?:shape|size|numel|stride)\b",
        "A kernel gets addresses, not tensors: it knows no shape. Pass sizes as arguments.",
    ),
)


def own_words(error: BaseException) -> str:
    """An error's text; of an assertion without one, the line that does not hold."""
    text, steps = str(error).strip(), traceback.extract_tb(error.__traceback__)
    if text or not steps or not isinstance(error, AssertionError):
        return text
    # The interpreter's own way to say `tl.static_assert(...)`: the line is the one above.
    own = [step for step in steps if step.line != "assert cond, msg"]
    return (own or steps)[-1].line or ""


def said_of_error(error: BaseException) -> str | None:
    """One sentence for an error, or None."""
    steps = traceback.extract_tb(error.__traceback__)
    path = steps[-1].filename if steps else ""
    file = f"{'torch/' if '/torch/' in path else ''}{os.path.basename(path)}"
    return said_of(f"{file} {type(error).__name__}: {own_words(error)}")


def said_of(text: str) -> str | None:
    """One sentence for an error's text, or None."""
    for pattern, sentence in (*_TUNER, *_LAUNCH, *_PYTHON, *_TILES):
        found = re.search(pattern, text, re.DOTALL)
        if found:
            for number, group in enumerate(found.groups(), 1):
                sentence = sentence.replace(f"\\{number}", group or "")
            return sentence
    return None


def said_of_argument(value: object) -> str | None:
    """What is wrong with an argument of a launch that failed, where it is the argument's kind."""
    if isinstance(value, tuple) and all(isinstance(each, int) for each in value):
        return (
            f"A kernel takes tensors and numbers, and was given the tuple {tuple(value)}. Pass one "
            "number, `x.stride(0)`, or all of them with a star: `*x.stride()`."
        )
    if isinstance(value, (types.BuiltinMethodType, types.MethodType)):
        name = value.__name__
        return f"A kernel was given `.{name}` itself, which is a method. Call it: `x.{name}(0)`."
    return None


def said_of_lines(lines: str) -> str | None:
    """What is wrong with the lines of a kernel at which an error arose, where that is known."""
    return next((said for pattern, said in _LINES if re.search(pattern, lines)), None)

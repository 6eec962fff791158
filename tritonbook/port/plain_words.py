"""Triton's errors in a learner's words: of its compiler, of its interpreter, of a launch.

One sentence each: what is wrong and what to do. The first pattern that matches wins; a backslash
with a number stands for a group. `tests/port/test_plain_words.py` provokes them.
"""

from __future__ import annotations

import difflib
import os
import re
import sys
import traceback
import types

import numpy as np
import triton
import triton.language as tl


def stanzas(text: str) -> list[tuple[str, str]]:
    """Patterns with their sentences, which stand below them, indented. Lines of a pattern,
    from the second on behind a |, are joined as they are, those of a sentence with a space."""
    stanza = r"(^[^\s#|].*\n(?:^\|.*\n)*)((?:^    \S.*\n)+)"
    left = re.sub(rf"{stanza}|^#.*\n|^\n", "", text, flags=re.MULTILINE)
    assert not left, f"neither a pattern with its sentence nor a remark: {left}"
    pairs = re.findall(stanza, text, re.MULTILINE)
    return [(pattern.replace("\n", ""), " ".join(said.split())) for pattern, said in pairs]


def as_message(sentence: str) -> str:
    """A sentence as catalogues have it: its groups are fields. Of groups side by side only one
    ever holds something, so they are one field."""
    return re.sub(r"\\(\d)(?:\\\d)*", r"{part\1}", sentence)


ERRORS = stanzas(r"""
# What Triton's tuner stumbles over itself: the text begins with its file.
autotuner\.py (?:KeyError: '|ValueError: .* not kernel arguments: )(\w+)
    The kernel has no argument called `\1`. `restore_value` and `reset_to_zero` are lists of its
    arguments, spelt as in the kernel: `["x_ptr"]`.
autotuner\.py AttributeError: .* has no attribute 'get'
    `prune_configs_by` is a dictionary: `{"early_config_prune": ...}`, a function of yours in place
    of the dots.
autotuner\.py TypeError: (\w+)\(\)
    Triton's tuner calls `\1(configs, named_args, **kwargs)`, and `\1` takes other arguments. Give
    it the function that is made for this call.
has no attribute '(?:all_)?kwargs'
    The tuner's `configs` is a list of `triton.Config(...)`. Something else stands in it.

# A launch.
'function' object has no attribute 'arg_names'
    A tuner gets a kernel, and this is a plain function. Is `@triton.jit` missing between the two?
^tuner TypeError: 'function' object is not subscriptable
    A tuner gets its kernel in brackets of its own: `triton.autotune(...)(kernel)`.
code object was expected, got (?:JITFunction|Autotuner|Heuristics)
    `triton.jit` is given a kernel, which it has made already: give it the plain function, once.
'(?:Script)?[Ff]unction' object is not subscriptable
    What is launched as `...[grid]` is a plain function. Is `@triton.jit` missing above it?
'NoneType' object is not subscriptable
    What stands before `[...]` is None. Is a `return` missing in the function that makes it?
object of type 'NoneType' has no len\(\)
    The grid, or a list, is None. Is a `return` missing in the function that makes it?
object of type 'function' has no len\(\)
    A function stands where a list is meant, or a tensor. Is it to be called, or another name meant?
object of type '(?:int|float)' has no len\(\)
    The grid is a tuple, also with one number in it: `(n,)`, with a comma.
'NoneType' object is not an iterator
    A function under `@contextlib.contextmanager` has a `yield`, once, where its block runs.
can only concatenate str \(not \"tuple\"\)|'set' object is not subscriptable
    The grid is a tuple of numbers, `(n,)`.
(?:jit|interpreter)\.py IndexError: tuple index out of range
    The grid is an empty tuple. It holds the number of programs: `(n,)`.
IndexError: tuple index out of range
    A tuple has fewer values than are asked for. The first is `[0]`; a tensor of two dimensions has
    `x.shape[0]` and `x.shape[1]`.
Dimension out of range \(expected .*?but got (-?\d+)\)
    The tensor has no dimension \1: its first is dimension 0.
grid must have at most 3 dimensions
    A grid has at most three numbers.
takes 0 positional arguments but 1 was given
    A grid that is a function takes one argument, the launch's own: `lambda meta: (...)`.
'dict' object has no attribute '([A-Z]\w*)'
    The function of a grid gets a dictionary: `meta["\1"]`.
'dict' object has no attribute '(?!append|add|sort|index|count)(\w+)'
    What a dictionary holds is asked for in square brackets: `["\1"]`.
num_warps must be a power of 2
    `num_warps` is a power of two: 1, 2, 4, 8 or 16. Where it is computed from a tile's sizes, one
    of them may be none.
'str' object is not callable
    A text is called as if it were a function. Give the function itself, its name without quotes.
'torch\.Size' object is not callable
    `x.shape` is a tuple: `x.shape[0]`, in square brackets.
module 'triton' has no attribute '(\w+)'
    There is no `triton.\1`. Is it `tl.\1`, or a name of your own?
no attribute 'next_power_of_2'
    There is no `tl.next_power_of_2`. It is `triton.next_power_of_2`, in the wrapper.
failed to specialize argument of type:? tensor\b
    A kernel is not launched in a kernel. A function that it calls has no `[grid]`: `f(x)`.
'builtin_function_or_method' object has no attribute 'scalar'
    A tensor of torch's stands where a number is expected. Was one passed for a constant, is a
    pointer marked `tl.constexpr`, or is `[grid]` missing where the kernel is launched?
'range' object has no attribute 'type'
    `range` gives a loop its numbers, one after another. A tile of them is `tl.arange(0, BLOCK)`.
'str' object has no attribute 'type'
    A text stands where a number or a tile is expected. Are the quotation marks too much?
cannot convert None of type
    None stands where a number or a tile is expected. Is a `return` missing in a function that the
    kernel calls, or was None passed to the kernel?
cannot convert <class 'triton\.language\.core\.constexpr'>
    A colon marks an argument, `BLOCK: tl.constexpr`. With `=` it is the argument's default.
unsupported operand type\(s\) for .*'(?:builtin_function_or_)?method'
    A function is used as if it were its result: its brackets are missing, `f()`.
unsupported operand type\(s\) for .*'function'
    A function is used as if it were its result. Call it: `tl.program_id(0)`.
list\.append\(\) takes exactly one argument
    `append` adds one thing. A pair has brackets of its own: `append((first, second))`.
ValueError: (max|min)\(\)(?: arg is an empty sequence| iterable argument is empty)
    `\1` got nothing to choose from. `\1(..., default=...)` says what it gives then.
'float' object cannot be interpreted as an integer
    A whole number is needed, and `/` gives a float. Use `triton.cdiv(a, b)`, or `//`.
'(\w+)' object cannot be interpreted as an integer
|^\S+ TypeError: int\(\) argument must .* '(\w+)'$
    A whole number is needed, and a value of type \1\2 stands there. (NoneType: is a `return`
    missing in the function that computes it?)
^interpreter\.py .*missing \d+ required positional arguments?: (.*)
    The call leaves out \1. Compare its arguments with the function's, one by one. If it launches a
    kernel: the grid stands in square brackets, `kernel[grid](...)`.
missing \d+ required positional arguments?: (.*)
    The call leaves out \1. Compare its arguments with the function's, one by one.
takes (\d+) positional arguments? but (\d+) were given
    The call gives \2 arguments where \1 are expected. Compare them one by one.
missing a required argument: '(\w+)'
    The call leaves out `\1`. Compare its arguments with the function's, one by one.
multiple values for argument '_(?:semantic|builder)'|must be a tensor, got <class 'list'
    Too many arguments for a function of `tl`, or a list. Several tiles go in as one tuple:
    `tl.reduce((a, b), 0, combine)`.
got multiple values for argument '(axis|combine_fn)'
    `\1` is given twice, by its place and by its name. Several tiles of a scan or a reduction go in
    as one tuple.
got multiple values for argument '(\w+)'
    `\1` is given twice, by its place and by its name. Do more values stand before it than the
    function has arguments there, such as one stride too many?
got an unexpected keyword argument '(num_warps|num_stages|num_ctas|maxnreg)'
    `\1` belongs to a launch: `kernel[grid](...)`. Is `[grid]` missing?
got an unexpected keyword argument '(\w+)'|[Kk]eyword argument (\w+) was specified but
    There is no argument called `\1\2`. Look at how the function spells it.
type:? (?:builtin_function_or_method|method)|'builtin_function_or_method' object
    A method itself stands where a value is expected. Call it: `x.stride(0)`. Or is what stands
    before the dot something else than you think?
'tuple(?:_type)?' object has no attribute
    Several values stand where one is expected. Unpack them, `a, b = ...`; to a kernel pass one
    number, `x.stride(0)`, or all of them with a star: `*x.stride()`.
'(?:float|int)' object has no attribute '(?:type|dtype)'
    A number stands where an address or a tile is expected. `tl.load` takes an address: pass the
    tensor itself.
'(?:float|int|bool)' object has no attribute 'to'
    A plain number has no `.to`. In a kernel a `tl.constexpr` is one, and so is an argument that is
    1, such as a stride: convert what it is multiplied by, `offs.to(tl.int64) * stride`. In a
    wrapper: are two arguments swapped?
'(float|int|bool|str|NoneType)' object has no attribute '(shape|stride|size|device|numel|ndim
|contiguous|reshape|view|to|t|transpose)'
    A value of type \1 stands where a tensor or a tile is expected. Are two arguments swapped, or is
    a `return` missing?
numpy data itemsize .* exceeds dtype primitive_bitwidth .* for triton type (\w+)
    A value does not fit its argument, which is \1. Are two arguments swapped?
failed to specialize argument of type:? str
    A kernel takes tensors and numbers, and was given a str. An argument that is a string is a
    constant of the kernel: `NAME: tl.constexpr`.
failed to specialize argument of type:? ([\w.]+)
    A kernel takes tensors and numbers, and was given a \1.
cannot convert \[.*\] of type .*tuple
    A kernel takes tensors and numbers, and was given a tuple. Pass one size as a number.
AttributeError: '(\w+)' object has no attribute '(?:pre_hook|all_kwargs)'
    A tuner's `configs` is a list of `triton.Config(...)`, and one of its items is a \1.
core\.py TypeError: 'int' object is not iterable|tensor index: constexpr\[-?\d+\]
    One lane of a tile cannot be picked with `[...]`: only `[:, None]` and `[None, :]` exist. Choose
    it with a mask and a sum, `tl.sum(tl.where(lanes == i, tile, 0))`, or load it.
'(?:int|float|bool)' object is not iterable
    One number stands where a list or a tuple is expected.
'NoneType' object has no attribute '(?:type|dtype|data_ptr)'
    One of the kernel's arguments is None.
no attribute 'is_cuda'|Pointer argument .* cannot be accessed from Triton
    A tensor on the CPU reached a kernel compiled for the GPU. Allocate outputs on the input's
    device (`torch.empty_like(x)`).

Triton Error \[CUDA\]: invalid argument
    The GPU refuses this launch. Has its grid more than 65,535 programs along axis 1 or 2?

# Python that is no kernel's.
is defined under @triton\.jit$|'function' object has no attribute 'fn'
    The function of a scan or a reduction needs `@triton.jit` above it. (A lambda will not do.)
object of type 'tensor' has no len\(\)
    A kernel knows no `len`: it gets addresses, and tiles whose size you chose. Pass the size as an
    argument.
must be real number, not tensor|argument must be a string.* not 'tensor'
    A function of Python's takes numbers that are known before the launch, and this value is known
    only while the kernel runs. Look for its namesake in `tl`; `.to(...)` converts.
Simultaneous multiple assignment
    A kernel cannot hold `a = b = ...`. Write two lines.
'(?:Name|Tuple|List|Attribute|Subscript|Constant)' object has no attribute 'func'
|Only `range` and `static_range` iterators
    A kernel's `for` goes over `range(...)` or `tl.static_range(...)`, not over a tile or a list.
For loop bounds and step must all be ints
    `range` takes whole numbers. `/` makes a float: use `//` or `tl.cdiv`.
For (?:lower bound|upper bound|step) must be a scalar
    `range` takes numbers, and this is a tile.
used as tl\.static_range (\w+) value is not a constexpr
    `tl.static_range` is unrolled when the kernel is compiled: its \1 is a number or a
    `tl.constexpr`. `range` takes what is known later.
range\(\) arg 3 must not be zero
    A step of `range` is 0. A loop over tiles goes on by a tile's size.
\] is not string
    In a kernel `print` begins with a text, and the values follow: `print("x", x)`.
cannot convert (\S+) of type <class 'str'>
    The text `'\1'` stands where a number is expected. Are the quotation marks too much?
'str' object has no attribute 'scalar'|type object '\S+' has no attribute 'scalar'
    A kernel takes dtypes from `tl`: `tl.float32`, without quotation marks.
program_id axis must be 0, 1, or 2 but got (\S+)
    A grid has at most three axes: `tl.program_id` takes 0, 1 or 2, not \1.
^torch/(?:utils|library|custom_ops|_internal)\.py ValueError: .*values to unpack
    An operator's name is one text, `namespace::name`.
(\w+)\(\)(?:: argument| received an invalid combination of arguments).*NoneType
    `\1` was given None for a tensor. Is a `return` missing in the function that makes it?
expected ident but found '\{'
    The text still has a `{` in it. Is the `f` before its quotation mark missing?
register a meta kernel directly|CompositeImplicitAutograd kernel
    `impl` needs the device as its last argument, such as `"CUDA"` or `"CPU"`.
MatMult|unsupported operand type\(s\) for @
    `@` does not work on tiles in a kernel. The product is `tl.dot(a, b, acc)`, which adds to `acc`.
KeyError: ['\"](\w+)['\"]
    There is no key `\1`. Is it misspelt? A grid's `meta` holds the launch's arguments, and the
    `named_args` of a tuner's function those that the tuner does not choose, named as in the kernel.
    Is it another kernel's?
^compiling .*StopIteration
    A kernel cannot define a function. Define it above, under `@triton.jit`.
Ternary expression with dynamic condition
    `a if c else b` takes two numbers of one type. Of tiles, `tl.where(c, a, b)` chooses.
interpreter\.py ValueError: Unsupported data type
    The interpreter has no such atomic for this dtype.
unsupported AST node type: (?:ListComp|DictComp|SetComp|GeneratorExp)|comprehensions
    A kernel cannot contain a comprehension. Write a loop, or compute with tiles.
unsupported AST node type: (?:Break|Continue)
    A kernel's loop has no `break` and no `continue`. Choose the loop's end beforehand, or mask.
unsupported AST node type: Import
    A kernel cannot import. What it uses is imported above it, and comes from `tl`.
unsupported AST node type: Lambda
    A kernel cannot contain a `lambda`. Write what it computes where it is used, or make it a
    function of its own under `@triton.jit`.
unsupported AST node type: (\w+)
    A kernel cannot contain this kind of Python (\1). It has assignments, `if`, `for`, `while`,
    calls and `assert`.
Unsupported function referenced: <function (\w+)
    A kernel cannot call the Python function `\1`. One of your own needs `@triton.jit` above it (a
    kernel of Gluon `@gluon.jit`); one of torch, numpy or math has a namesake in `tl`.
Unsupported function referenced|unsupported function
    A kernel cannot call functions of torch, numpy or math. Look for its namesake in `tl`.
Boolean value of Tensor with more than one value|truth value of an array
    `if`, `and`, `or` and `not` need one truth value, and a tile has many. Use `tl.where`, `&`, `|`
    and `~`, or a mask. (Outside of a kernel a tensor has many, too: it cannot be looked for in a
    list.) If it was to be a number: are two arguments swapped?
list index out of range.*shape|'(?:tensor|pointer_type)' object has no attribute 'shape'
    A kernel gets addresses, not tensors: it knows no shape. Pass sizes as arguments.
Cannot access global variable (\w+) from within
    A kernel cannot read the global `\1`. Pass it as an argument, or, if it is a number, set it as
    `\1 = tl.constexpr(...)`. (`\1: tl.constexpr = ...` is no more than a remark there.)
NameError(?:: |\([\"'])(sum|max|min|abs|len|float|int|round|pow) is not defined
    Python's `\1` is not known in a kernel. Look for its namesake in `tl`.
NameError(?:: |\([\"'])(inf|nan) is not defined
|module 'triton.language(?:\.\w+)*' has no attribute '(inf|nan)'
    In a kernel it is `float("\1\2")`.
NameError(?:: |\([\"'])(math|np|numpy) is not defined
    A kernel knows no `\1`. Its functions come from `tl`; a constant is written as a number.
NameError(?:: |\([\"'])(\w+) is not defined
    `\1` is not defined where the kernel uses it. Is it an argument that the kernel does not take,
    misspelt, or set in one branch or one loop only?
NameError: name '(\w+)' is not defined
    `\1` is not defined here. Was the cell run that defines it? If so: is it misspelt, or set in
    another function?
UnboundLocalError:.* local variable '(\w+)'|UnboundLocalError: local variable '(\w+)'
    `\1\2` is used before it has a value. Is it set further down, or in one branch only?
module 'triton.language(?:\.\w+)*' has no attribute 'mean'
    There is no `tl.mean`. Divide `tl.sum(x, axis=0)` by the number of elements.
module 'triton.language(?:\.\w+)*' has no attribute 'relu'
    There is no `tl.relu`. `tl.maximum(x, 0.0)` is the larger of the two, lane by lane.
module 'triton.language(?:\.\w+)*' has no attribute '(pow|square)'
    There is no `tl.\1`. Write the product, `x * x`.
module 'triton.language(?:\.\w+)*' has no attribute '(matmul|mm|bmm|gemm)'
    There is no `tl.\1`. The product of two tiles is `tl.dot(a, b, acc)`.
module 'triton.language(?:\.\w+)*' has no attribute 'tanh'
    There is no `tl.tanh`. Write it with the function that there is: `2 * tl.sigmoid(2 * x) - 1`.
module 'triton.language(?:\.\w+)*' has no attribute '(clip|clamp_min|clamp_max)'
    There is no `tl.\1`. `tl.maximum(x, low)` and `tl.minimum(x, high)` are the larger and the
    smaller of two, lane by lane.
module 'triton.language(?:\.\w+)*' has no attribute '(stack|concat|concatenate)'
    There is no `tl.\1`. `tl.join(a, b)` puts two tiles side by side in a new last dimension.
module 'triton.language(?:\.\w+)*' has no attribute '(int|long|short|float|half|double|bool)'
    There is no `tl.\1`. A dtype's name says its bits: `tl.int32`, `tl.float32`, `tl.float16`; a
    truth is `tl.int1`.
module 'triton.language(?:\.\w+)*' has no attribute '(pi|e)'
    There is no `tl.\1`. Write the number, or `math.\1`.
module 'triton\.language(?:\.\w+)*' has no attribute '(\w+)'
    There is no `tl.\1`. Is it misspelt? If not, compute it with the functions that there are, such
    as `tl.exp`, `tl.log`, `tl.sqrt` and `tl.where`.
module 'triton\.experimental\.gluon\.language\S*' has no attribute '(\w+)'
    There is no `gl.\1`. Is it misspelt, or is it a function of Triton's alone?
no attribute '__r?pow__'
    `**` does not work on a tile. Write the product, `x * x`.
'tensor' object has no attribute '(float|half|bfloat16|int|long|double)'
    A tile has no `.\1()`. Convert it with `.to(tl.float32)`, or another dtype of `tl`.
'tensor' object has no attribute 'values'
    One tile cannot be taken apart into several names. (`tl.max(x, axis=0, return_indices=True)`
    gives two tiles.) Or are two arguments swapped?
'tensor' object has no attribute '(load|store)'
    Only a descriptor has `.\1`, and this is a pointer or a tile: `tl.\1` takes pointers.
'tensor' object has no attribute 'element_ty'
    What lies at an address has the type `x_ptr.dtype.element_ty`.
'(?:tensor|TensorHandle)' object has no attribute '(\w+)'
    A tile has no `.\1`. Look for a function of `tl`.
can only unsplat single-element|'int' object is not callable
    A kernel works on tiles and addresses; methods of tensors do not exist there. Pass sizes and
    numbers as arguments. (Outside of a kernel: a number is called as if it were a function.)
'torch.dtype' object has no attribute
    A kernel takes dtypes from `tl`: `tl.float32`, not `torch.float32`.
__setitem__ is not supported|'tensor' object does not support item assignment
    One lane of a tile cannot be set. Choose it with a mask: `tl.where(offs == i, new, old)`.
f-string containing non-constexpr
    Compiled kernels print with `tl.device_print("x", x)`, not with an f-string.
Cannot call @triton\.jit'd outside
    A kernel is launched, `kernel[grid](...)`, and not called: outside of a kernel each function
    under `@triton.jit` has its grid in square brackets.
^compiling .*Did you forget to add @triton.jit
    A tile stands where something else belongs: one argument too many, or a tile as a flag.
Did you forget to add @triton.jit
    A function of `tl` was called outside of a kernel. A kernel is launched, `kernel[grid](...)`,
    never called as `kernel(...)`; a function that it calls needs `@triton.jit` too; in a wrapper
    `triton.cdiv` does what `tl.cdiv` does in a kernel.

# Tiles and numbers.
simultaneous multiple comparison
    `&` binds tighter than `<`. Put each comparison in brackets: `(i < n) & (j < m)`. (Of `a <= i <
    n` too: `(a <= i) & (i < n)`.)
unexpected type (?:fp|bf)\d+
    `//` is for whole numbers, and these are floats. Divide with `/`; `tl.floor` rounds down.
different signedness
    One of these numbers is signed and the other is not, and `/`, `//` and `%` take no such pair.
    Convert one: `.to(tl.int32)`.
wrong type argument to unary (?:invert|not)
    `~` is for truths and whole numbers, and this is a float or an address. The opposite of a
    comparison is `~(x > 0)`.
invalid operands of type (?!pointer)\S+ and (?!pointer)
    `&`, `|`, `^`, `<<` and `>>` are for truths and whole numbers, and one of these is a float. (A
    power is a product, `x * x`.) They bind tighter than a comparison: `(a > 0) & (b > 0)`.
'NoneType' object has no attribute 'values'|cannot unpack non-iterable NoneType
    A function that is called here gives nothing back. Is a `return` missing in it?
list index out of range
    A list has fewer values than are asked for. Is one missing in it, or are there more names on the
    left of a `=` than the function on its right gives back?
^(?!torch/).*(?:not enough|too many) values to unpack
    The names on the left are more or fewer than the values on the right. Compare the two. (A
    dictionary gives pairs by `.items()`; `ctx.saved_tensors` holds what `save_for_backward` was
    given.)
arange's range must be a power of|range must be a power of
    `tl.arange` needs a power of two. Round up with `triton.next_power_of_2`. Is the tile's size
    a power of two already? Then two arguments of the launch may be swapped.
arange's arguments must
    `tl.arange` takes numbers that are known when the kernel is compiled. Is `: tl.constexpr`
    missing behind the argument's name? What is known later is added: `start + tl.arange(0, BLOCK)`.
Shape element \d+ must have type `constexpr
    A tile's size is a compile-time constant (`tl.constexpr`), and a power of two.
assert isinstance\(idx, \(slice, builtins
    Several values are picked by a whole number. (Where `return_indices=True` stands: it needs
    `axis=` too.)
a\.shape\[-1\]\) == 2|a\.shape\[-1\] == 2
    `tl.split` takes a tile whose last dimension is 2. Reshape it first, the 2 at the end.
arange must fit in int32
    `tl.arange` begins at 0 or later. Subtract afterwards: `tl.arange(0, BLOCK) - start`.
permute dims must have the same length|tl\.trans invoked with a 0- or 1-dimensional
    `.T` and `tl.trans` turn a tile of two dimensions, and this one has another number.
cannot change total number of elements
    `tl.reshape` keeps the number of elements: the sizes multiply to the same number.
arange's end argument must be greater
    `tl.arange(start, end)`: the end comes second, and is larger than the start. Is a size 0?
Loop-carried variable (\w+) has initial type \w+ but is re-assigned to <
    `\1` begins as one number and becomes a tile inside the loop. Is it to be a tile? Begin with
    one: `\1 = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)`. A number? Then `tl.sum` what the
    loop adds.
Loop-carried variable (\w+) has initial type pointer<\w+> but is re-assigned to <
    `\1` is one address before the loop and a tile of addresses in it. Add the offsets before the
    loop, under another name: `x_ptrs = x_ptr + offs`.
Loop-carried variable (\w+) has initial type <(\[.*?\]), (\w+)> .*re-assigned to <\2, (b?fp?16)>
    `\1` is a tile of \3 before the loop and of \4 in it. A running sum belongs in float32: begin
    with it, and convert what the loop gives: `.to(tl.float32)`.
Loop-carried variable (\w+) has initial type <(\[.*?\]), (\w+)> but is re-assigned to <\2, (\w+)>
    `\1` is a tile of \3 before the loop and of \4 in it. Begin with \4, or convert what the loop
    gives it.
Loop-carried variable (\w+) has initial type <.*> but is re-assigned to <
    `\1` changes its shape or type inside the loop. Begin with a tile of the shape and type that the
    loop gives it.
Loop-carried variable (\w+) has initial type (\S+) but is re-assigned to uint32
    `\1` changes its type inside the loop, from \2 to uint32, the type of a sum of comparisons.
    Convert the sum: `.to(tl.int32)`.
Loop-carried variable (\w+) has initial type .*(?:fp32.* re-assigned to .*fp64
|fp64.* re-assigned to .*fp32)
    `\1` is float32 in one place and float64 in another. A number that float32 cannot hold, such as
    1e-39 or 1e39, makes it so.
Loop-carried variable (\w+) has initial type fp32 but is re-assigned to ([fb]\w*16)
    `\1` is float32 before the loop and \2 in it. Convert what the loop gives it: `.to(tl.float32)`.
Loop-carried variable (\w+) has initial type (\S+) but is re-assigned to (\S+)
    `\1` changes its type inside the loop, from \2 to \3. Start it as \3.
initial value for `(\w+)` is of type constexpr\[.*redefines it as
    `\1` is a constant before the `if`, as an argument that is 1 is (a stride, say), and none in it.
    Give it another name in each branch, or choose with `tl.where`.
Mismatched type for (\w+) between then block \((\S+)\) and else block \((\S+)\)
    `\1` is \2 in one branch and \3 in the other.
inline_asm not supported in interpreter
    `tl.inline_asm_elementwise` holds a GPU's own instructions: the interpreter cannot carry them
    out, and the grader takes none. Use functions of `tl` or of libdevice.
PTXASError: .*Modifier '\.(\w+)' cannot be combined with modifier '\.(\w+)'
    `eviction_policy="\1"` and `cache_modifier=".\2"` exclude each other: no GPU has an instruction
    with both. Leave one out.
shape.* (?:\d+ )?must be (?:a )?power of 2|Shape element \d+ must be a power of 2
    Every tile dimension must be a power of two.
shapes should have M >= (\d+), N >= (\d+) and K >= (\d+)
    `tl.dot` multiplies [M, K] by [K, N], and of these dtypes it takes M of at least \1, N of at
    least \2 and K of at least \3.
Unsupported (?:lhs|rhs) dtype (\w+)
    `tl.dot` multiplies tiles of floats or of int8, and one of these is \1. Convert it first.
(?:M|N|K) >= 16|must be at least 16|lower than 16|minimum dot size|Input shapes should
    `tl.dot` multiplies [M, K] by [K, N], and needs tiles of at least 16 in every dimension.
must have equal ranks >= 2|Both inputs must be 2D
    `tl.dot` multiplies tiles of two dimensions: [M, K] by [K, N].
Both operands must be same dtype|must be same dtype|Both inputs must be of the same
    `tl.dot` takes two tiles of one dtype. Convert one of them.
Dot .*reduction dim|equal reduction dim|First input shape .* second input shape
    `tl.dot` takes [M, K] and [K, N]: the two K differ.
accumulator (?:shape|element type|dtype)|assert acc\.type
    `tl.dot(a, b, acc)` adds to a tile: begin with `acc = tl.zeros((BLOCK_M, BLOCK_N),
    dtype=tl.float32)`, M the rows of a and N the columns of b. (Of int8 tiles: acc in tl.int32, and
    `out_dtype=tl.int32`.) If acc has the right shape and dtype: is a or b to be turned?
invalid axis (-?\d+)|axis (-?\d+) out of bounds
    The tile has no axis \1\2. A tile of one dimension has `axis=0` alone.
Expected dtype \[.*\] but got pointer
    This is an address, and a number is needed. Load what lies there: `tl.load(...)`.
Expected dtype \['fp32', 'fp64'\] but got (\w+)
    This function takes float32, and the tile is \1. Convert it first: `.to(tl.float32)`.
[Mm]ask argument cannot be block type if pointer argument is not a block
    The mask is a tile and the address one number. Are the offsets missing from the address?
Value argument cannot be block type if pointer argument is not a block
    A tile of values and one address: nobody knows where they go. Are the offsets missing from the
    address?
Mask must have boolean scalar type
    The mask is no truth value. In `tl.store(pointers, values, mask=...)` the mask comes last.
`other` cannot be provided without `mask`|other.*without.*mask
    `other=` says what masked lanes hold: it needs `mask=` beside it.
Expected pointer argument to have shape (\S.*) but got (\S.*)
    The values, or their mask, have another shape than the addresses.
(?:numel|number of elements).*exceed\w* .*maximum
    A tile is too large: Triton allows 1,048,576 elements.
Layout mismatch
    Two tiles are held in different layouts. Have two names changed places, such as two results?
    Else `gl.convert_layout(x, layout)` brings one into the other's.
[Ll]oop.carried variable (\w+) changed type.*warpgroup_mma_accumulator
    `\1` is a product under way in one place and a tile in another. What `warpgroup_mma_wait` gives
    back is the tile: `\1 = warpgroup_mma_wait(..., deps=[\1])`, in the same step, after the
    product.
'shared_memory_descriptor' object has no attribute '__getitem__'
|'(?:Barriers|Shared)' object is not subscriptable
    A ring of tiles or barriers is no list: `ring.index(slot)` is one of its slots.
'warpgroup_mma_accumulator' object is not iterable
    `deps` is a list, also with one product in it: `deps=[acc]`.
'(?:tensor_d|D)escriptor' object has no attribute 'nbytes'
    The bytes of a descriptor's tile are `a_desc.block_type.nbytes`.
'tensor_descriptor_type' object has no attribute 'scalar'
    The way by addresses got a descriptor: it has to get a tensor.
'constexpr' object has no attribute 'handle'
|'\w+' object has no attribute '(?:expect|arrive|landed)'
    A plain number stands where a barrier or a tile belongs. Have two arguments changed places?
'warpgroup_mma_accumulator_type' object has no
    A product under way is used as a tile. What `warpgroup_mma_wait` gives back is the tile: `x =
    warpgroup_mma_wait(..., deps=[x])`.
Unsupported element type in shape/strides/offsets
    A tile or a descriptor stands where offsets are expected. Are two arguments swapped?
Cannot bitcast data-type of size \d+ to data-type of size 1\b
    `not` is for truths. For a number n that is 0 or 1 write `n ^ 1`.
incompatible dimensions at index (\d+): (\d+) and (\d+)
    Two shapes do not fit: tiles must have the same size, or size 1, in each dimension, and in
    dimension \1 these have \2 and \3. (A sum along an axis drops it, unless it says
    `keep_dims=True`.)
(?=.*dimension (\d+))The size of tensor a \((\d+)\) must match the size of tensor b \((\d+)\)
    Two shapes do not fit: they must have the same size, or size 1, in each dimension, and in
    dimension \1 these have \2 and \3.
SimpleNamespace' object has no attribute '(\w+)'
    Gluon has no such name as `\1` here. Compare it with those that the page gives.
TypeError: Shared\.\w+\(\)
    A tile in shared memory is read and written by its own methods: `tile.load(layout)`,
    `tile.store(x)`.
incompatible dimensions|Cannot make_shape_compatible|broadcast
    Two shapes do not fit: tiles must have the same size, or size 1, in each dimension. (A sum along
    an axis drops it, unless it says `keep_dims=True`.)
cannot add pointers together
    Two addresses cannot be added. If these are to be numbers: `tl.load` fetches what lies at an
    address.
invalid operands of type pointer<\w+> and triton\.language\.(?:fp|float|bf)\w*
    A float meets an address here. If you mean the number that lies at the address, load it first,
    with `tl.load`. If the float is an offset: offsets are whole numbers. Was a float passed for
    one?
invalid operands of type pointer
    A pointer can have whole numbers added to it, and nothing else done to it: load what lies there
    first. Or are two arguments of the launch swapped, or was a tensor passed for a number?
unsupported tensor index
    A tile cannot be indexed: only `[:, None]` and `[None, :]` exist. Reduce it, or load the element
    that you need.
Unsupported ptr type .*in `tl\.(\w+)`
    What `tl.\1` gets first must be addresses: a pointer plus offsets.
'constexpr_type' object has no attribute 'is_ptr'
    A plain number or None stands where an address belongs. Is a pointer marked `tl.constexpr`, or
    was None passed for a tensor?
cannot cast pointer<
    An address cannot be converted, and what is loaded can: `tl.load(x_ptr + offs,
    mask=mask).to(tl.float32)`.
cannot cast .* to .*pointer<
    A number is to become an address. `x_ptr.dtype` is the type of an address; what lies there has
    `x_ptr.dtype.element_ty`.
argument is not supported for loading a tensor
|argument is not supported for storing a tensor
    `boundary_check=` and `padding_option=` belong to block pointers: a tile of addresses has
    `mask=` and `other=`. Were four arguments given by their places? Name them.
Unsupported ptr type|Pointer argument
    The kernel uses a value as a pointer that is none.
scan_op\.verify|reduce_op\.verify|as many values as tiles go in
    The function of a scan or a reduction returns as many values as tiles go in, all scalars.
assert len\(lhs\.shape\) == 1
    `tl.cat` joins tiles of one dimension.
create_histogram\(\): incompatible|ufunc 'isfinite' not supported
    The number of bins of `tl.histogram` is a compile-time constant (`tl.constexpr`), and a power of
    two.
histogram only supports integer
    `tl.histogram` counts whole numbers. Convert them first: `.to(tl.int32)`.
only minor dimension is currently supported
    Tiles are sorted along their last dimension alone. Turn the tile first: `tl.trans`.
'(?:int|float)' object has no attribute 'scalar'
    A number stands where a dtype is expected, such as `tl.float32`.
'NoneType' object has no attribute 'to_tensor'
    The interpreter does not know this as a method of a tile. Write the function: `tl.exp(x)`.
incompatible function arguments
    A value has another type than Triton's compiler takes there. Is it known only while the kernel
    runs, where a number or a `tl.constexpr` is needed?
appears to not have been used in the graph
    An input gets no gradient: `backward` returns None for it, or the result does not come from it.
(?:static_assert|tl\.core\.static_assert)\(seed\.dtype\.is_int
    `tl.rand(seed, offsets)`: the seed comes first, and is a whole number.
not defined in both|is not defined in (?:then|else)
    A variable is set in one branch only.

# What Triton asserts of block pointers, descriptors, promises and libraries.
Block element type\((\w+)\) and value element type\((\w+)\) mismatch
    A store through a block pointer converts nothing: the tensor holds \1, and the tile is \2.
    Convert it first: `.to(out_ptr.dtype.element_ty)`.
Block shape\((.*?)\) and value shape\((.*?)\) mismatch
    A tile of \2 is stored through a block pointer whose `block_shape` is \1.
AssertionError: strides? must be 16-byte aligned
    A descriptor's tensor has rows that begin at multiples of 16 bytes: every stride but the last,
    times the bytes of an element, is one. Other tensors are read by pointers.
AssertionError: base must be 16-byte aligned
    A descriptor's tensor begins at a multiple of 16 bytes. Other tensors are read by pointers.
AssertionError: block offset start must be 16-byte aligned
    A descriptor's tile begins at a multiple of 16 bytes: its last offset, times the bytes of an
    element, is one.
AssertionError: Assume failed
    What `tl.assume(...)` promises the compiler does not hold for this call: a GPU would compute
    anything. A stride may be 0, of a tensor that was expanded.
\((?:triton\.language\.)?((?:fp|float|bfloat|bf|u?int)\d+)(?:, [\w.]+)*,?\)$
    A function of CUDA's libdevice is called with \1, which it does not take. Convert first: to
    float32 with `.to(tl.float32)` where it takes floats.
""")

# Lines that cannot be, whatever Triton's compiler and interpreter say of them, and lines with what
# they say, which stands below.
_LINES = stanzas(r"""
\btl\.\w+\([^\n]*\n[^\n]*Cannot call @triton\.jit'd outside
    A function of `tl` belongs in a kernel. In a wrapper `tl.cdiv` is `triton.cdiv`.
\btl\.arange\([^()\n]*\*[^\n]*\n[^\w\n]*\n?[^\n]*range must be a power
    `tl.arange` needs a power of two, and a product of two sizes need not be one. Let a loop take
    one tile after another.
\btl\..*\b(?!\w*_ptrs?\b)\w+\[\w*mask\w*\]
    A mask does not pick lanes in square brackets. It goes to the load or the store, which leaves
    out the other lanes: `tl.load(x_ptr + offs, mask=mask)`.
(?:^|\n)\s*with\b
    A kernel cannot contain `with`.
\btl\.(?:zeros|full|empty)\(\s*\w+\s*,
    A tile's shape is a list: `tl.zeros([BLOCK], dtype=tl.float32)`.
\b\w+_ptrs?\[
    A pointer is an address, not an array, and cannot be indexed. Read with `tl.load(pointer +
    offsets, mask=...)`, write with `tl.store(pointer + offsets, values, mask=...)`.
\w\[(?!:|None)[^\n]*\n *\^\n.*Did you forget
    Square brackets fetch nothing in a kernel: `tl.load(x_ptr + offs)` does, and one computes with
    all of a tile at once.
= *range\(
    `range` gives a loop its numbers, one after another. A tile of them is `tl.arange(0, BLOCK)`.
\btl\.(?:max|min)\(\s*\w+\s*,\s*return_indices=
    `return_indices=True` needs `axis=` too.
\btl\.arange\([^()]*[^/()]/(?!/)
    `/` makes a float, and `tl.arange` takes whole numbers: use `//`.
\btl\.arange\((?:1, *\w+|\w+, *\w+ *[-+] *1)\)
    `tl.arange(start, end)` has end - start numbers, a power of two. As in `range`, the end is not
    among them: `tl.arange(0, BLOCK)` gives 0 to BLOCK - 1.
\btl\.arange\(\w+\)
    `tl.arange` takes both ends: `tl.arange(0, BLOCK)`.
\btl\.(?:load|store)\(\s*\w+,(?!.*mask\w*,).*\n[^\w\n]*\n?.*multiple values for argument 'mask'
|\btl\.load\(\s*\w+_ptr,\s*(?!\w*mask)[^=<>\n]*\n[^\w\n]*\n?.*Mask argument cannot be block
|\btl\.store\(\s*\w+_ptr,[^,\n]*,\s*(?!\w*mask)[^=<>\n]*\n[^\w\n]*\n?.*Value argument cannot be
    An address is one argument, a pointer plus its offsets: `x_ptr + offs`. Is there a comma where
    `+` belongs?
\btl\.(?:store|atomic_\w+)\((?!.*\.to\().*\n[^\w\n]*\n?.*cannot cast pointer<
    What is to be stored is an address. Load what lies there first: `tl.load(x_ptr + offs,
    mask=mask)`.
\b(?:device_)?print\(.*\n[^\w\n]*\n?.*cannot convert \S+ of type <class 'str'>
    In a kernel `print` takes one text, which comes first: `print("x", x)`. Give each further text a
    `print` of its own.
\btl\.(max|min)\([^()=]*, *(?:(?:\w+\.)*\w+\(|\d+\.|[a-z]\w*\)|\w+ *[-+*/])
    `tl.max` reduces one tile along an axis: `tl.max(tile, axis=0)`. The larger of two numbers is
    `tl.maximum(a, b)`.
_ptr\.(?:shape|size|numel|stride)\b
    A kernel gets addresses, not tensors: it knows no shape. Pass sizes as arguments.
""")


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
    text = own_words(error)
    if type(error) is NameError and _in_a_kernel(error):
        file, text = "", re.sub(r"^name '(\w+)'", r"\1", text)  # as the compiler says it
    if steps and _waits_for_a_kernel(error):
        file = "tuner"
    return said_of(f"{file} {type(error).__name__}: {text}")


def _in_a_kernel(error: BaseException) -> bool:
    """Whether an error was raised in the text of a kernel, which the interpreter runs as Python."""
    *_, (frame, _) = traceback.walk_tb(error.__traceback__)
    kernel = frame.f_globals.get(frame.f_code.co_name)
    return hasattr(kernel, "fn")  # as Triton's own, and a tuner's


def _waits_for_a_kernel(error: BaseException) -> bool:
    """Whether the line at which an error was raised has a tuner that was given no kernel yet."""
    *_, (frame, _) = traceback.walk_tb(error.__traceback__)
    line = traceback.extract_tb(error.__traceback__)[-1].line or ""
    named = [{**frame.f_globals, **frame.f_locals}.get(word) for word in re.findall(r"\w+", line)]
    functions = [each for each in named if isinstance(each, types.FunctionType)]
    return "autotune(" in line or any(fn.__qualname__.startswith("autotune.") for fn in functions)


def said_of(text: str) -> str | None:
    """One sentence for an error's text, or None."""
    for pattern, sentence in ERRORS:
        found = re.search(pattern, text, re.DOTALL)
        if found:
            for number, group in enumerate(found.groups(), 1):
                sentence = sentence.replace(f"\\{number}", group or "")
            return _nearly(sentence) or _with_module(sentence) or sentence
    return None


def _nearly(sentence: str) -> str | None:
    """The name that was meant, where one of Triton's is nearly the one that is asked for."""
    missing = re.match(r"There is no `tl\.(\w+)`\. Is it misspelt\?", sentence)
    name = missing[1] if missing else ""
    close = difflib.get_close_matches(name, dir(tl), n=1, cutoff=0.75)
    return f"There is no `tl.{name}`. Is it to be `tl.{close[0]}`?" if close else None


def _with_module(sentence: str) -> str | None:
    """The name with its module, where one that is not defined is that of a function or a dtype of
    Triton's: in a kernel of `tl`, else of `triton`."""
    missing = re.match(
        r"`(\w+)` is not defined (?:(here)\. Was|where the kernel uses it)", sentence
    )
    if missing is None:
        return None
    modules = {"triton": triton} if missing[2] else {"tl": tl, "triton": triton}
    for prefix, module in modules.items():
        value = getattr(module, missing[1], None) if missing[1] in module.__all__ else None
        if isinstance(value, tl.dtype) or (callable(value) and not isinstance(value, type)):
            return f"`{missing[1]}` is not defined here. Is it to be `{prefix}.{missing[1]}`?"
    return None


def out_of(what: str) -> str:
    """What to do where a GPU has less of something than one program needs."""
    if what == "threads":
        return "A program has 32 threads for each of its `num_warps`: ask for fewer warps."
    return "Use smaller tiles or fewer stages."


def said_of_argument(value: object) -> str | None:
    """What is wrong with an argument of a launch that failed, where it is the argument's kind."""
    if isinstance(value, tuple) and all(isinstance(each, int) for each in value):
        return (
            f"A kernel takes tensors and numbers, and was given the tuple {tuple(value)}. Pass one "
            "number, `x.stride(0)`, or all of them with a star: `*x.stride()`."
        )
    if isinstance(value, (np.generic, np.ndarray)):
        return (
            "A kernel takes tensors and Python's numbers, and was given one of numpy. Convert it: "
            "`int(n)`, `float(eps)`, `torch.from_numpy(a).to(x.device)`."
        )
    if isinstance(value, list):
        return "A kernel takes tensors and numbers, and was given a list. Pass one by one."
    if isinstance(value, (types.BuiltinMethodType, types.MethodType)):
        name = value.__name__
        return f"A kernel was given `.{name}` itself, which is a method. Call it: `x.{name}(0)`."
    return None


def said_of_truth(line: str) -> str | None:
    """What is wrong with a line that asks whether a tile is true, where its words show it."""
    word = re.search(r"^(if|elif|while)\b|\b(and|or|not)\b|\b(if)\b", line)
    if word and word[2]:
        sign = {"and": "&", "or": "|", "not": "~"}[word[2]]
        if sign == "~":
            return "Python's `not` needs one truth value, and a tile has many: write `~`."
        return (
            f"Python's `{word[2]}` needs one truth value, and a tile has many: write `{sign}`. Put "
            "each comparison in brackets."
        )
    if word and word[1] in ("if", "elif"):
        return (
            f"Python's `{word[1]}` needs one truth value, and a tile has one for each lane. A mask "
            "leaves lanes out: `mask = offs < n`, and `mask=mask` in each load and store. "
            "`tl.where(condition, a, b)` chooses lane by lane."
        )
    if word:
        return (
            f"Python's `{word[1] or word[3]}` needs one truth value, and a tile has many. "
            "`tl.where(condition, a, b)` chooses lane by lane, a mask switches lanes off."
        )
    if re.search(r"[<>][^<>()]*[&|][^<>()]*[<>]", line):
        return "`&` binds tighter than `<`. Put each comparison in brackets: `(i < n) & (j < m)`."
    if re.search(r"[<>]=?[^<>()&|]+[<>]", line):
        return "`a <= b < c` is two comparisons. Of tiles write `(a <= b) & (b < c)`."
    return None


_MODULES = {
    "np": "numpy",
    "numpy": "numpy",
    "F": "torch.nn.functional",
    "nn": "torch.nn",
    "plt": "matplotlib.pyplot",
}


def said_of_module(name: str | None, line: str) -> str | None:
    """What is wrong where a name that is not defined is that of a module, of which the line takes
    something."""
    module = _MODULES.get(name or "", name if name in sys.stdlib_module_names else None)
    if module is None or not re.search(rf"(?<![\w.]){name}\.", line):
        return None
    if module == name:
        return f"`{name}` is not imported. Write `import {name}` at the top of this cell."
    return f"`{name}` is not imported. Write `import {module} as {name}` at the top of this cell."


def said_of_lines(lines: str) -> str | None:
    """What is wrong with the lines of a kernel at which an error arose, where that is known."""
    return next((said for pattern, said in _LINES if re.search(pattern, lines)), None)

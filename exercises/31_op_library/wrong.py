"""Wrong answers of 31_op_library with the diagnosis each must get, and right answers of other form."""

from tritonbook.course.mutants import Mutant, Variant

SIZES = '        lines.append(f"    i_{d} = rest % size_{d}")\n        lines.append(f"    rest = rest // size_{d}")\n'
PLACE = 'place = " + ".join(f"i_{d} * stride_a{k}_{d}" for d in range(ndim))'
LOAD = 'lines.append(f"    v{k} = tl.load(a{k}_ptr + {place}, mask=mask).to(COMPUTE)")'
FULL = 'lines.append(f"    v{k} = tl.full([BLOCK_SIZE], a{k}, COMPUTE)")'
STORE = 'lines.append("    tl.store(out_ptr + offs, out.to(out_ptr.dtype.element_ty), mask=mask)")'
GROUP = "groups[0 if a.ndim else 1].append(a.dtype)"
NUMBERS = "groups[2].append(NUMBER[type(a)])"
HIGHER = "kind(own) > kind(found)"
SAYS = """

def promotion_says(operands):
    return str(result_dtype(promotion.operands_of(operands)))
"""
BLOCK = """    try:
        for name, function in zip(chosen, functions, strict=True):
            implement(lib, name, function)
        yield chosen
    finally:
        lib._destroy()"""
ALL = "chosen = list(REPLACEMENTS) if names is None else list(names)"
LOOK_UP = "functions = [REPLACEMENTS[name] for name in chosen]"


def block(text):
    return (BLOCK, text)


MUTANTS = {
    "merge": [
        Mutant(
            "merges_nothing",
            "nothing-merged",
            ("one = bool(new_sizes) and all(", "one = False and all("),
        ),
        Mutant(
            "merges_everything",
            "raised",
            ("one = bool(new_sizes) and all(", "one = bool(new_sizes) or all("),
        ),
        Mutant(
            "first_tensor_decides",
            "wrong-values",
            (
                "for new, old in zip(new_strides, strides, strict=True)\n        )",
                "for new, old in zip(new_strides[:1], strides[:1], strict=True)\n        )",
            ),
        ),
        Mutant("any_tensor_decides", "wrong-values", ("and all(", "and any(")),
        Mutant(
            "keeps_the_outer_stride",
            "wrong-values",
            ("                new[-1] = old[d]\n", "                pass\n"),
        ),
        Mutant(
            "keeps_ones",
            "nothing-merged",
            ("if sizes[d] == 1:", "if sizes[d] == 0:"),
        ),
        Mutant(
            "no_dimension_left",
            "nothing-merged",
            (
                "        return [1], [[0] for _ in strides]",
                "        return [], [[] for _ in strides]",
            ),
        ),
        Mutant(
            "sizes_not_multiplied",
            "wrong-values",
            ("new_sizes[-1] *= sizes[d]", "new_sizes[-1] = sizes[d]"),
        ),
        Mutant(
            "sizes_added",
            "wrong-values",
            ("new_sizes[-1] *= sizes[d]", "new_sizes[-1] += sizes[d]"),
        ),
        Mutant(
            "outer_size_in_the_rule",
            "nothing-merged",
            ("new[-1] == sizes[d] * old[d]", "new[-1] == new_sizes[-1] * old[d]"),
        ),
        Mutant(
            "no_return",
            "wrong-values",
            ("    return new_sizes, new_strides", "    return new_sizes"),
        ),
    ],
    "result_dtype": [
        Mutant(
            "first_argument_decides",
            "first-decides",
            replace="def result_dtype(arguments):\n    return arguments[0].dtype\n" + SAYS,
        ),
        Mutant(
            "first_tensor_decides",
            "first-decides",
            replace="def result_dtype(arguments):\n"
            "    return next(a.dtype for a in arguments if isinstance(a, torch.Tensor))\n" + SAYS,
        ),
        Mutant(
            "numbers_do_not_count",
            "first-decides",
            (NUMBERS, "pass"),
        ),
        Mutant(
            "all_are_equal",
            "widest-wins",
            (GROUP, "groups[0].append(a.dtype)"),
            (NUMBERS, "groups[0].append(NUMBER[type(a)])"),
        ),
        Mutant(
            "rank_0_counts_in_full",
            "widest-wins",
            (GROUP, "groups[0].append(a.dtype)"),
        ),
        Mutant(
            "rank_0_is_a_number_of_default_dtype",
            "0-d-is-a-number",
            (
                GROUP,
                "groups[0 if a.ndim else 2].append(a.dtype if a.ndim else NUMBER[type(a.item())])",
            ),
        ),
        Mutant(
            "rank_0_does_not_count",
            "first-decides",
            (GROUP, "groups[0].append(a.dtype) if a.ndim else None"),
        ),
        Mutant(
            "python_float_is_float64",
            "python-float-is-float64",
            (
                NUMBERS,
                "groups[2].append(torch.tensor(a).double().dtype if isinstance(a, float) else NUMBER[type(a)])",
            ),
        ),
        Mutant(
            "python_int_is_int32",
            "wrong-values",
            (NUMBERS, "groups[2].append(torch.int32 if type(a) is int else NUMBER[type(a)])"),
        ),
        Mutant(
            "later_group_of_equal_kind_wins",
            "widest-wins",
            (HIGHER, "kind(own) >= kind(found)"),
        ),
        Mutant(
            "lower_kind_wins",
            "first-decides",
            (HIGHER, "kind(own) < kind(found)"),
        ),
        Mutant(
            "last_of_a_group",
            "first-decides",
            ("functools.reduce(torch.promote_types, dtypes)", "dtypes[0]"),
        ),
        Mutant(
            "bool_is_an_integer",
            "first-decides",
            ("kind(own) > kind(found)", "max(kind(own), 1) > max(kind(found), 1)"),
        ),
    ],
    "kernel_source": [
        Mutant(
            "output_gets_the_strides_of_the_input",
            ("wrong-values", "out-of-bounds-store", "crashed"),
            (
                STORE,
                'lines.append(f"    tl.store(out_ptr + {place}, out.to(out_ptr.dtype.element_ty), mask=mask)")',
            ),
        ),
        Mutant(
            "stride_0_is_taken_for_1",
            ("wrong-values", "reads-outside", "crashed"),
            (
                PLACE,
                PLACE.replace("i_{d} * stride_a{k}_{d}", "i_{d} * tl.maximum(stride_a{k}_{d}, 1)"),
            ),
        ),
        Mutant(
            "first_tensor_is_never_broadcast",
            ("wrong-values", "reads-outside", "crashed"),
            (PLACE, PLACE + ' if k else "offs"'),
        ),
        Mutant(
            "tail_is_stored",
            ("out-of-bounds-store", "wrong-values", "crashed"),
            ("element_ty), mask=mask)", "element_ty))"),
            only="interpreter",  # a GPU says nothing of such stores
        ),
        Mutant(
            "wrong_size_divides",
            ("reads-outside", "wrong-values", "crashed"),
            ("rest = rest // size_{d}", "rest = rest // size_{d - 1}"),
        ),
        Mutant(
            "no_division",
            ("reads-outside", "wrong-values", "crashed"),
            ('        lines.append(f"    rest = rest // size_{d}")\n', ""),
        ),
        Mutant(
            "first_dimension_first",
            "wrong-values",
            ("in reversed(range(1, ndim)):", "in range(1, ndim):"),
        ),
        Mutant(
            "strides_ignored",
            ("reads-outside", "wrong-values", "crashed"),
            (PLACE, 'place = "offs"'),
        ),
        Mutant(
            "strides_of_the_first_tensor",
            ("reads-outside", "wrong-values", "crashed"),
            (
                'stride_a{k}_{d}" for d in range(ndim))\n',
                "stride_a{kinds.index('tensor')}_{d}\" for d in range(ndim))\n",
            ),
        ),
        Mutant(
            "every_tensor_is_the_first",
            ("wrong-values", "raised"),
            ("tl.load(a{k}_ptr", "tl.load(a{kinds.index('tensor')}_ptr"),
        ),
        Mutant(
            "no_conversion",
            ("wrong-values", "raised", "does-not-compile"),
            ("mask=mask).to(COMPUTE)", "mask=mask)")
        ),
        Mutant(
            "converted_to_integers",
            "wrong-values",
            ("mask=mask).to(COMPUTE)", "mask=mask).to(tl.int32)"),
        ),
        Mutant(
            "scalar_is_one",
            "wrong-values",
            (FULL, 'lines.append(f"    v{k} = tl.full([BLOCK_SIZE], 1, COMPUTE)")'),
        ),
        Mutant(
            "scalar_as_integer",
            "wrong-values",
            (FULL, 'lines.append(f"    v{k} = tl.full([BLOCK_SIZE], a{k}, tl.int32)")'),
        ),
        Mutant(
            "scalar_loaded_like_a_tensor",
            ("raised", "does-not-compile"),  # the interpreter stops in the load, the compiler before
            ('if kind == "tensor":\n            place', "if kind:\n            place"),
        ),
        Mutant(
            "two_dimensions_at_most",
            ("wrong-values", "raised"),
            (PLACE, PLACE.replace("range(ndim)", "range(min(ndim, 2))")),
        ),
    ],
    "use_workbook_ops": [
        Mutant(
            "never_restored",
            "leaks",
            block(BLOCK.replace("lib._destroy()", "KEPT.append(lib)")),
            ("@contextlib.contextmanager", "KEPT = []\n\n\n@contextlib.contextmanager"),
        ),
        Mutant(
            "not_restored_after_an_error",
            "leaks-after-error",
            block(
                "    for name, function in zip(chosen, functions, strict=True):\n        implement(lib, name, function)\n    KEPT.append(lib)\n    yield chosen\n    lib._destroy()"
            ),
            ("@contextlib.contextmanager", "KEPT = []\n\n\n@contextlib.contextmanager"),
        ),
        Mutant(
            "errors_vanish",
            "swallows-errors",
            block(
                BLOCK.replace(
                    "    finally:", "    except ZeroDivisionError:\n        pass\n    finally:"
                )
            ),
        ),
        Mutant(
            "nothing_replaced",
            "not-replaced",
            block(BLOCK.replace("implement(lib, name, function)", "pass")),
        ),
        Mutant(
            "all_but_the_last",
            "not-replaced",
            block(
                BLOCK.replace("zip(chosen, functions, strict=True)", "zip(chosen[:-1], functions)")
            ),
        ),
        Mutant("names_not_given", "no-names", block(BLOCK.replace("yield chosen", "yield"))),
        Mutant("names_ignored", "no-names", (ALL, "chosen = list(REPLACEMENTS)")),
        Mutant(
            "unknown_names_dropped",
            "unknown-accepted",
            (
                LOOK_UP,
                "chosen = [name for name in chosen if name in REPLACEMENTS]\n    functions = [REPLACEMENTS[name] for name in chosen]",
            ),
        ),
        Mutant(
            "restored_too_early",
            "not-replaced",
            block(
                "    for name, function in zip(chosen, functions, strict=True):\n        implement(lib, name, function)\n    lib._destroy()\n    yield chosen"
            ),
        ),
        Mutant(
            "functions_in_wrong_order",
            "raised",
            block(
                BLOCK.replace(
                    "zip(chosen, functions, strict=True)",
                    "zip(chosen, functions[::-1], strict=True)",
                )
            ),
        ),
        Mutant(
            "add_is_multiply",
            "model-differs",
            (
                LOOK_UP,
                'functions = [REPLACEMENTS["mul.Tensor" if name == "add.Tensor" else name] for name in chosen]',
            ),
        ),
        Mutant("no_list", "raised", ("        yield chosen\n", "        pass\n")),
    ],
}

VARIANTS = {
    "merge": [
        Variant(
            "flag_written_out",
            ("one = bool(new_sizes) and all(", "one = len(new_sizes) > 0 and all("),
        ),
        Variant(
            "tuples",
            (
                "    return new_sizes, new_strides",
                "    return tuple(new_sizes), [tuple(s) for s in new_strides]",
            ),
        ),
        Variant(
            "the_other_algorithm",
            replace="""
def merge(sizes, strides):
    kept = [d for d in range(len(sizes)) if sizes[d] != 1]
    sizes = [sizes[d] for d in kept]
    strides = [[s[d] for d in kept] for s in strides]
    for d in reversed(range(len(sizes) - 1)):
        if all(s[d] == sizes[d + 1] * s[d + 1] for s in strides):
            sizes[d : d + 2] = [sizes[d] * sizes[d + 1]]
            for s in strides:
                del s[d]
    return (sizes, strides) if sizes else ([1], [[0] for _ in strides])
""",
        ),
    ],
    "result_dtype": [
        Variant(
            "groups_are_joined",
            (
                "            found = own",
                "            found = own if found is None else torch.promote_types(found, own)",
            ),
        ),
        Variant(
            "pair_by_pair",
            (
                "functools.reduce(torch.promote_types, dtypes) if dtypes else None",
                "dtypes[0] if dtypes else None\n        for other in dtypes[1:]:\n"
                "            own = torch.promote_types(own, other)",
            ),
        ),
        Variant(
            "one_of_each_group",
            replace="""
def result_dtype(arguments):
    tensors = [a for a in arguments if isinstance(a, torch.Tensor)]
    groups = (
        [a.dtype for a in tensors if a.ndim],
        [a.dtype for a in tensors if not a.ndim],
        [NUMBER[type(a)] for a in arguments if not isinstance(a, torch.Tensor)],
    )
    joined = [functools.reduce(torch.promote_types, dtypes) for dtypes in groups if dtypes]
    return max(joined, key=kind)  # the first of the highest kind
"""
            + SAYS,
        ),
    ],
    "kernel_source": [
        Variant(
            "index_by_subtraction",
            (
                SIZES,
                '        lines.append(f"    q = rest // size_{d}")\n        lines.append(f"    i_{d} = rest - q * size_{d}")\n        lines.append("    rest = q")\n',
            ),
        ),
        Variant(
            "first_index_with_modulo",
            ('lines.append("    i_0 = rest")', 'lines.append("    i_0 = rest % size_0")'),
        ),
        Variant("wide_offsets", (PLACE, PLACE.replace("i_{d} *", "i_{d}.to(tl.int64) *"))),
        Variant(
            "masked_lanes_are_zero", ("mask=mask).to(COMPUTE)", "mask=mask, other=0).to(COMPUTE)")
        ),
    ],
    "use_workbook_ops": [
        Variant(
            "exit_stack",
            block(
                "    with contextlib.ExitStack() as stack:\n        stack.callback(lib._destroy)\n        for name, function in zip(chosen, functions, strict=True):\n            implement(lib, name, function)\n        yield chosen"
            ),
        ),
        Variant("a_copy_of_the_list", ("yield chosen", "yield list(chosen)")),
        Variant(
            "a_library_for_each",
            (
                '    lib = torch.library.Library("aten", "IMPL")\n' + BLOCK,
                '    libraries = []\n    try:\n        for name, function in zip(chosen, functions, strict=True):\n            libraries.append(torch.library.Library("aten", "IMPL"))\n            implement(libraries[-1], name, function)\n        yield chosen\n    finally:\n        for lib in libraries:\n            lib._destroy()',
            ),
        ),
    ],
}

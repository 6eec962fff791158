"""Wrong answers of 30_register_op with the diagnosis each must get, and right answers of other form."""

from tritonbook.course.mutants import Mutant, Variant

FAKE = "return torch.empty(x.shape, dtype=x.dtype, device=x.device)"
SAVE = "    x, w, ctx.eps = inputs\n    ctx.save_for_backward(x, w)"
GRADIENTS = "dx, dw = rmsnorm_gradients(dy, *ctx.saved_tensors, ctx.eps)"
CUSTOM = '@torch.library.custom_op(f"{namespace}::rmsnorm", mutates_args=())'
HEAD = "def rmsnorm(x: torch.Tensor, w: torch.Tensor, eps: float) -> torch.Tensor:"
BODY = "        return rmsnorm_row(x, w, eps)\n"
ATTACH_FAKE = "    rmsnorm.register_fake(rmsnorm_fake)\n"
ATTACH_GRADIENT = "    rmsnorm.register_autograd(rmsnorm_backward, setup_context=save_inputs)\n"

OPEN = '    HELD[namespace] = lib = torch.library.Library(namespace, "FRAGMENT")\n'
DEFINE = 'lib.define("rmsnorm(Tensor x, Tensor w, float eps) -> Tensor")'
IMPL = 'lib.impl("rmsnorm", rmsnorm_row, DEVICE.upper())'
LIB_FAKE = "    torch.library.register_fake(name, rmsnorm_fake, lib=lib)\n"
LIB_GRADIENT = "    torch.library.register_autograd(name, rmsnorm_backward, setup_context=save_inputs, lib=lib)\n"
LIB_RETURN = "    return getattr(torch.ops, namespace).rmsnorm"

TRITON = '@torch.library.triton_op(f"{namespace}::rmsnorm", mutates_args=())'
ALLOCATE = "y = torch.empty(x.shape, dtype=x.dtype, device=x.device)"
WRAPPED = "launch = torch.library.wrap_triton(rmsnorm_kernel)[(M,)]"
LAUNCH = "        launch(x, w, y, N, *x.stride(), eps, BLOCK_N=triton.next_power_of_2(N))\n"
OPERATOR = (
    "        M, N = x.shape\n"
    f"        {ALLOCATE}\n"
    f"        {WRAPPED}\n"
    f"{LAUNCH}"
    "        return y\n"
)

MUTANTS = {
    "register_custom": [
        Mutant("fake_like_x", "fake-strides", (FAKE, "return torch.empty_like(x)")),
        Mutant("fake_without_dtype", "fake-dtype", (FAKE, "return torch.empty(x.shape, device=x.device)")),
        Mutant("fake_with_dtype_of_w", "fake-dtype-of-w", (FAKE, FAKE.replace("x.dtype", "w.dtype"))),
        Mutant("fake_without_device", "fake-device", (FAKE, "return torch.empty(x.shape, dtype=x.dtype)")),
        Mutant("fake_of_shape_alone", "fake-device-and-dtype", (FAKE, "return torch.empty(x.shape)")),
        Mutant("fake_returns_nothing", "fake-returns-nothing", (FAKE, FAKE.replace("return ", ""))),
        Mutant("fake_turned", "fake-turned", (FAKE, FAKE.replace("x.shape", "x.shape[::-1]"))),
        Mutant("dy_comes_last", "dy-comes-last", ("rmsnorm_gradients(dy, *ctx.saved_tensors", "rmsnorm_gradients(*ctx.saved_tensors, dy")),
        Mutant("fake_on_this_device", ("fake-this-device", "fake-device"), (FAKE, FAKE.replace("x.device", "DEVICE"))),
        Mutant("fake_like_w", "fake-like-w", (FAKE, "return torch.empty_like(w)")),
        Mutant("fake_with_shape_of_w", "fake-shape-of-w", (FAKE, FAKE.replace("x.shape", "w.shape"))),
        Mutant("fake_of_fixed_shape", "fake-fixed-shape", (FAKE, FAKE.replace("x.shape", "(6, 40)"))),
        Mutant("fake_of_one_row", "fake-shape-of-w", (FAKE, FAKE.replace("x.shape", "x.shape[1:]"))),
        Mutant("fake_turns_a_size_into_a_number", "fixed-sizes", (FAKE, FAKE.replace("x.shape", "(int(x.shape[0]), x.shape[1])"))),
        Mutant("fake_computes", "fake-launches", (FAKE, "return rmsnorm_row(x, w, eps)")),
        Mutant("fake_computes_in_torch", ("fake-strides", "fake-dtype", "wrong-values"), (FAKE, "return rmsnorm_ref(x, w, eps)")),
        Mutant("fake_looks_at_values", "fake-touches-data", (FAKE, "if float(x.sum()) != 0:\n        " + FAKE)),
        Mutant("fake_is_x_made_contiguous", "fake-returns-its-input", (FAKE, "return x.contiguous()")),
        Mutant("fake_is_x", "fake-returns-its-input", (FAKE, "return x")),
        Mutant("fake_two_arguments", "raised", ("def rmsnorm_fake(x, w, eps)", "def rmsnorm_fake(x, w)")),
        Mutant("no_fake", "fake-missing", (ATTACH_FAKE, "")),
        Mutant("x_kept_on_ctx", "saved-on-ctx", (SAVE, "    ctx.x, ctx.w, ctx.eps = inputs"), ("*ctx.saved_tensors", "ctx.x, ctx.w")),
        Mutant("x_alone_kept_on_ctx", "saved-on-ctx", (SAVE, "    ctx.x, w, ctx.eps = inputs\n    ctx.save_for_backward(w)"), ("*ctx.saved_tensors", "ctx.x, *ctx.saved_tensors")),
        Mutant("inputs_kept_on_ctx", "saved-on-ctx", (SAVE, "    ctx.inputs = inputs"), (GRADIENTS, "dx, dw = rmsnorm_gradients(dy, *ctx.inputs)")),
        Mutant("output_saved_for_x", "output-saved", ("ctx.save_for_backward(x, w)", "ctx.save_for_backward(output, w)")),
        Mutant("nothing_saved", "raised", ("    ctx.save_for_backward(x, w)\n", "")),
        Mutant("number_saved_as_a_tensor", "raised", (SAVE, "    ctx.save_for_backward(*inputs)")),
        Mutant("saved_in_another_order", "saved-in-another-order", ("ctx.save_for_backward(x, w)", "ctx.save_for_backward(w, x)")),
        Mutant("gradients_swapped", "gradient-shape", ("return dx, dw, None", "return dw, dx, None")),
        Mutant("two_gradients_for_three_inputs", "gradient-count", ("return dx, dw, None", "return dx, dw")),
        Mutant("gradient_for_the_number", "gradient-for-a-number", ("return dx, dw, None", "return dx, dw, dx.sum()")),
        Mutant("no_gradient_of_w", "no-gradient-of-w", ("return dx, dw, None", "return dx, None, None")),
        Mutant("no_gradient_of_x", "no-gradient-of-x", ("return dx, dw, None", "return None, dw, None")),
        Mutant("gradient_without_weight", "gradient-without-weight", (GRADIENTS, "x, w = ctx.saved_tensors\n    dx, dw = rmsnorm_gradients(dy, x, torch.ones_like(w), ctx.eps)")),
        Mutant("gradient_with_fixed_eps", "gradient-eps-fixed", ("ctx.saved_tensors, ctx.eps)", "ctx.saved_tensors, 1e-5)")),
        Mutant("dy_ignored", "gradient-ignores-dy", ("rmsnorm_gradients(dy, ", "rmsnorm_gradients(torch.ones_like(dy), ")),
        Mutant("kernel_in_the_backward", ("kernel-in-the-backward", "wrong-values", "gradient-without-weight"), (GRADIENTS, "x, w = ctx.saved_tensors\n    rmsnorm_row(x, w, ctx.eps)\n    dx, dw = rmsnorm_gradients(dy, x, w, ctx.eps)")),
        Mutant("no_gradient", "no-gradient", (ATTACH_GRADIENT, "")),
        Mutant("nobody_saves", "nothing-kept", ("rmsnorm_backward, setup_context=save_inputs", "rmsnorm_backward")),
        Mutant("says_that_x_changes", "mutates-nothing", (CUSTOM, CUSTOM.replace("()", '("x",)'))),
        Mutant("says_that_w_changes", "mutates-nothing", (CUSTOM, CUSTOM.replace("()", '("w",)'))),
        Mutant("another_name", "wrong-values", (CUSTOM, CUSTOM.replace("::rmsnorm", "::rms_norm"))),
        Mutant("w_before_x", "schema-order", (HEAD, HEAD.replace("x: torch.Tensor, w: torch.Tensor", "w: torch.Tensor, x: torch.Tensor"))),
        Mutant("without_annotations", "raised", (HEAD, "def rmsnorm(x, w, eps):")),
        Mutant("eps_is_no_argument", "wrong-values", (HEAD, HEAD.replace(", eps: float", "")), (BODY, BODY.replace("eps", "1e-6"))),
        Mutant("eps_fixed", "eps-fixed", (BODY, BODY.replace("eps", "1e-5"))),
        Mutant("eps_not_passed_on", "eps-fixed", (BODY, BODY.replace(", eps", ""))),
        Mutant("weight_forgotten", "no-weight", (BODY, BODY.replace("w,", "torch.ones_like(w),"))),
        Mutant("torch_computes", "no-kernel-launched", (BODY, "        return rmsnorm_ref(x, w, eps)\n")),
        Mutant("returns_x_itself", "aliases-input", (BODY, "        rmsnorm_row(x, w, eps)\n        return x\n")),
        Mutant("writes_over_x", "input-changed", (BODY, "        y = rmsnorm_row(x, w, eps)\n        x.copy_(y)\n        return y\n")),
        Mutant("a_triton_op", ("launch-not-wrapped", "fake-launches", "open-box", "raised"), ("torch.library.custom_op", "torch.library.triton_op")),
        Mutant("returns_the_function", "not-an-operator", ("    return rmsnorm\n", "    return rmsnorm_row\n")),
        Mutant("returns_nothing", "returns-nothing", ("    return rmsnorm\n", "")),
        Mutant("a_fixed_namespace", ("wrong-values", "other-operators"), ('f"{namespace}::rmsnorm"', '"workbook::rmsnorm"')),
    ],
    "register_library": [
        Mutant("nobody_holds_it", "library-closed", (OPEN, OPEN.replace("HELD[namespace] = ", ""))),
        Mutant("one_library_for_all", "one-library-for-all", (OPEN, OPEN.replace("HELD[namespace]", 'HELD["library"]'))),
        Mutant("first_library_stays_open", "already-registered", ("    close_library(namespace)\n", ""), ("HELD[namespace] = ", "HELD[len(HELD)] = ")),
        Mutant("closed_after_the_definition", "already-registered", ("    close_library(namespace)\n", ""), (OPEN, OPEN.replace("HELD[namespace] = ", "")), (LIB_RETURN, "    close_library(namespace)\n    HELD[namespace] = lib\n" + LIB_RETURN)),
        Mutant("claims_the_namespace_and_stays", "already-registered", ("    close_library(namespace)\n", ""), ('"FRAGMENT"', '"DEF"')),
        Mutant("implements_what_is_not_there", "raised", ('"FRAGMENT"', '"IMPL"')),
        Mutant("for_every_device", "every-device", ("DEVICE.upper()", '"CompositeExplicitAutograd"')),
        Mutant("for_the_other_device", "other-device", ("DEVICE.upper()", '"CUDA" if DEVICE == "cpu" else "CPU"')),
        Mutant("composite", ("every-device", "raised"), ("DEVICE.upper()", '"CompositeImplicitAutograd"')),
        Mutant("key_in_small_letters", "raised", ("DEVICE.upper()", "DEVICE")),
        Mutant("never_implemented", ("not-implemented", "raised"), (f"    {IMPL}\n", "")),
        Mutant("another_name_implemented", "not-implemented", ('impl("rmsnorm"', 'impl("rms_norm"')),
        Mutant("schema_in_another_order", "schema-order", (DEFINE, DEFINE.replace("Tensor x, Tensor w", "Tensor w, Tensor x"))),
        Mutant("schema_says_that_x_changes", "mutates-nothing", (DEFINE, DEFINE.replace("Tensor x", "Tensor(a!) x"))),
        Mutant("schema_without_eps", "wrong-values", (DEFINE, DEFINE.replace(", float eps", ""))),
        Mutant("eps_is_an_int", "wrong-values", (DEFINE, DEFINE.replace("float eps", "int eps"))),
        Mutant("schema_returns_nothing", ("raised", "wrong-values"), (DEFINE, DEFINE.replace("-> Tensor", "-> ()"))),
        Mutant("another_operator", "wrong-values", (DEFINE, DEFINE.replace("rmsnorm(", "rms(")), (IMPL, IMPL.replace('"rmsnorm"', '"rms"')), ('f"{namespace}::rmsnorm"', 'f"{namespace}::rms"'), (LIB_RETURN, LIB_RETURN.replace(".rmsnorm", ".rms"))),
        Mutant("no_fake", "fake-missing", (LIB_FAKE, "")),
        Mutant("fake_like_x", "fake-strides", (LIB_FAKE, LIB_FAKE.replace("rmsnorm_fake", "lambda x, w, eps: torch.empty_like(x)"))),
        Mutant("fake_with_dtype_of_w", "fake-dtype-of-w", (LIB_FAKE, LIB_FAKE.replace("rmsnorm_fake", "lambda x, w, eps: torch.empty(x.shape, dtype=w.dtype, device=x.device)"))),
        Mutant("fake_computes", "fake-launches", (LIB_FAKE, LIB_FAKE.replace("rmsnorm_fake", "rmsnorm_row"))),
        Mutant("no_gradient", "no-gradient", (LIB_GRADIENT, "")),
        Mutant("nobody_saves", "nothing-kept", ("rmsnorm_backward, setup_context=save_inputs", "rmsnorm_backward")),
        Mutant("eps_fixed", "eps-fixed", (IMPL, IMPL.replace("rmsnorm_row", "lambda x, w, eps: rmsnorm_row(x, w, 1e-5)"))),
        Mutant("torch_computes", "no-kernel-launched", (IMPL, IMPL.replace("rmsnorm_row", "rmsnorm_ref"))),
        Mutant("custom_op_again", ("every-device", "wrong-values"), replace="def register_library(namespace):\n    return register_custom(namespace)\n\n\ndef library_fact(what, x, w, eps, dy, layout):\n    return operator_fact(register_library, what, (x, w, eps), dy, layout)\n"),
        Mutant("returns_the_function", "not-an-operator", (LIB_RETURN, "    return rmsnorm_row")),
        Mutant("returns_nothing", "returns-nothing", (LIB_RETURN, "")),
        Mutant("returns_the_library", "not-an-operator", (LIB_RETURN, "    return lib")),
    ],
    "register_triton": [
        Mutant("not_wrapped", "launch-not-wrapped", (WRAPPED, "launch = rmsnorm_kernel[(M,)]")),
        Mutant("a_closed_box", ("closed-box", "fake-missing"), ("torch.library.triton_op", "torch.library.custom_op")),
        Mutant("a_closed_box_with_a_fake", "closed-box", ("torch.library.triton_op", "torch.library.custom_op"), (ATTACH_GRADIENT, ATTACH_FAKE + ATTACH_GRADIENT)),
        Mutant("calls_the_wrapper", "launch-not-wrapped", (OPERATOR, BODY)),
        Mutant("calls_the_wrapper_behind_a_fake", ("closed-box", "launch-not-wrapped"), (OPERATOR, BODY), (ATTACH_GRADIENT, ATTACH_FAKE + ATTACH_GRADIENT)),
        Mutant("custom_op_again", "closed-box", replace="def register_triton(namespace):\n    return register_custom(namespace)\n\n\ndef triton_fact(what, x, w, eps, dy, layout):\n    return operator_fact(register_triton, what, (x, w, eps), dy, layout)\n"),
        Mutant("wrapped_and_torch_computes", ("no-kernel-launched", "other-operators", "raised"), (OPERATOR, "        return rmsnorm_ref(x, w, eps)\n")),
        Mutant("one_stride_twice", ("strided-only", "wrong-values", "reads-outside"), ("*x.stride()", "x.stride(0), x.stride(0)")),
        Mutant("columns_side_by_side", "columns-side-by-side", ("*x.stride()", "x.stride(0), 1")),
        Mutant("strides_swapped", ("wrong-values", "reads-outside"), ("*x.stride()", "x.stride(1), x.stride(0)")),
        Mutant("strides_of_y", "strided-only", ("*x.stride()", "*y.stride()")),
        Mutant("strides_of_a_contiguous_x", "strided-only", ("*x.stride()", "N, 1")),
        Mutant("result_like_x", ("result-not-contiguous", "strided-only"), (ALLOCATE, "y = torch.empty_like(x)")),
        Mutant("rows_and_columns_swapped", ("out-of-bounds-store", "wrong-values", "reads-outside"), ("M, N = x.shape", "N, M = x.shape")),
        Mutant("one_program", "unwritten", ("[(M,)]", "[(1,)]")),
        Mutant("half_a_row", "unwritten", ("x, w, y, N, *", "x, w, y, N // 2, *")),
        Mutant("always_float32", ("wrong-values", "fake-dtype"), (ALLOCATE, "y = torch.empty(x.shape, device=x.device)")),
        Mutant("dtype_of_w", "wrong-values", (ALLOCATE, ALLOCATE.replace("x.dtype", "w.dtype"))),
        Mutant("writes_over_x", ("aliases-input", "input-changed"), (ALLOCATE, "y = x")),
        Mutant("writes_over_x_and_says_so", "mutates-nothing", (ALLOCATE, "y = x"), (TRITON, TRITON.replace("()", '("x",)'))),
        Mutant("says_that_x_changes", "mutates-nothing", (TRITON, TRITON.replace("()", '("x",)'))),
        Mutant("eps_fixed", "eps-fixed", (LAUNCH, LAUNCH.replace("eps", "1e-5"))),
        Mutant("weight_of_ones", "no-weight", (LAUNCH, LAUNCH.replace("x, w, y", "x, torch.ones_like(w), y"))),
        Mutant("no_gradient", "no-gradient", (ATTACH_GRADIENT, "")),
        Mutant("another_name", "wrong-values", (TRITON, TRITON.replace("::rmsnorm", "::rms_norm"))),
        Mutant("reads_a_value", "fake-touches-data", (f"        {ALLOCATE}\n", f"        {ALLOCATE}\n        if float(x.sum()) != 0:\n            y = y + 0\n")),
        Mutant("no_return_in_the_operator", ("no-tensor", "raised"), ("        return y\n", "")),
        Mutant("returns_nothing", "returns-nothing", ("    return rmsnorm\n", "")),
    ],
}

VARIANTS = {
    "register_custom": [
        Variant("fake_by_new_empty", (FAKE, "return x.new_empty(x.shape)")),
        Variant("fake_of_zeros", (FAKE, FAKE.replace("empty", "zeros"))),
        Variant("fake_by_memory_format", (FAKE, "return torch.empty_like(x, memory_format=torch.contiguous_format)")),
        Variant("fake_by_size", (FAKE, "return torch.empty(x.size(0), x.size(1), dtype=x.dtype, device=x.device)")),
        Variant("copies_saved", (SAVE, "    x, w, ctx.eps = inputs\n    ctx.save_for_backward(x.clone(), w)")),
        Variant("by_index", (SAVE, "    ctx.save_for_backward(inputs[0], inputs[1])\n    ctx.eps = inputs[2]")),
        Variant("tensors_by_name", (GRADIENTS, "x, w = ctx.saved_tensors\n    dx, dw = rmsnorm_gradients(dy, x, w, ctx.eps)")),
        Variant("for_this_device_alone", (CUSTOM, CUSTOM.replace("()", "(), device_types=DEVICE"))),
        Variant("eps_with_a_default", (HEAD, HEAD.replace("eps: float", "eps: float = 1e-6"))),
        Variant("decorated_fake", (ATTACH_FAKE, "    @rmsnorm.register_fake\n    def _(x, w, eps):\n        return rmsnorm_fake(x, w, eps)\n\n")),
        Variant("schema_as_text", (CUSTOM, CUSTOM.replace("()", '(), schema="(Tensor x, Tensor w, float eps) -> Tensor"')), (HEAD, "def rmsnorm(x, w, eps):")),
        Variant("called_as_a_function", (f"    {CUSTOM}\n    {HEAD}\n{BODY}", f'    def forward(x: torch.Tensor, w: torch.Tensor, eps: float) -> torch.Tensor:\n{BODY}\n    rmsnorm = torch.library.custom_op(f"{{namespace}}::rmsnorm", forward, mutates_args=())\n')),
        Variant("returns_from_torch_ops", ("    return rmsnorm\n", "    return getattr(torch.ops, namespace).rmsnorm\n")),
    ],
    "register_library": [
        Variant("by_hand_with_define", (LIB_RETURN, LIB_RETURN + ".default")),
        Variant("closed_by_hand", ("    close_library(namespace)\n", "    if namespace in HELD:\n        HELD.pop(namespace)._destroy()\n")),
        Variant("claims_the_namespace", ('"FRAGMENT"', '"DEF"')),
        Variant("fake_as_meta", (LIB_FAKE, '    lib.impl("rmsnorm", rmsnorm_fake, "Meta")\n')),
        Variant("fake_first", (LIB_FAKE, ""), (f"    {IMPL}\n", f'    torch.library.register_fake(f"{{namespace}}::rmsnorm", rmsnorm_fake, lib=lib)\n    {IMPL}\n')),
        Variant("implemented_by_name", (IMPL, 'lib.impl("rmsnorm", rmsnorm_row, "CPU" if DEVICE == "cpu" else "CUDA")')),
    ],
    "register_triton": [
        Variant("new_empty", (ALLOCATE, "y = x.new_empty(x.shape)")),
        Variant("with_a_fake_too", (ATTACH_GRADIENT, ATTACH_FAKE + ATTACH_GRADIENT)),
        Variant("x_made_contiguous", ("M, N = x.shape", "x = x.contiguous()\n        M, N = x.shape")),
        Variant("like_a_contiguous_x", (ALLOCATE, "y = torch.empty_like(x, memory_format=torch.contiguous_format)")),
        Variant("eight_warps", ("BLOCK_N=triton.next_power_of_2(N)", "BLOCK_N=triton.next_power_of_2(N), num_warps=8")),
        Variant("in_one_line", (f"        {WRAPPED}\n{LAUNCH}", f"        torch.library.wrap_triton(rmsnorm_kernel)[(M,)]({LAUNCH.strip().removeprefix('launch(')}\n")),
        Variant("strides_by_name", ("*x.stride()", "x.stride(0), x.stride(1)")),
        Variant("a_grid_function", ("[(M,)]", "[lambda meta: (M,)]")),
        Variant("everything_by_keyword", (LAUNCH, "        launch(x_ptr=x, w_ptr=w, y_ptr=y, N=N, stride_xm=x.stride(0), stride_xn=x.stride(1), eps=eps, BLOCK_N=triton.next_power_of_2(N))\n")),
    ],
}

# Changes by machine (`make mutate`) that are no mistakes.
EQUIVALENT = {
    "register_library": {
        "close_library(namespace) => pass": "the library that HELD lets go closes",
        "torch.library.register_fake(name, rmsnorm_fake, lib=lib) => torch.library.register_fake(name, rmsnorm_fake)": "torch keeps it for the name, and a later registration takes its place",
        "torch.library.register_autograd(name, rmsnorm_backward, setup_context=save_inputs, lib=lib) => torch.library.register_autograd(name, rmsnorm_backward, setup_context=save_inputs)": "torch keeps it for the name, and a later registration takes its place",
        'torch.library.register_fake(name, rmsnorm_fake, lib=lib) torch.library.register_autograd(name, rmsnorm_backward, setup_context=save_inputs, lib=lib) => torch.library.register_autograd(name, rmsnorm_backward, setup_context=save_inputs, lib=lib) torch.library.register_fake(name, rmsnorm_fake, lib=lib)': "the order in which they are registered does not matter",
        'lib.define("rmsnorm(Tensor x, Tensor w, float eps) -> Tensor") lib.impl("rmsnorm", rmsnorm_row, DEVICE.upper()) => lib.impl("rmsnorm", rmsnorm_row, DEVICE.upper()) lib.define("rmsnorm(Tensor x, Tensor w, float eps) -> Tensor")': "the order in which they are registered does not matter",
    },
    "register_custom": {
        'rmsnorm.register_fake(rmsnorm_fake) rmsnorm.register_autograd(rmsnorm_backward, setup_context=save_inputs) => rmsnorm.register_autograd(rmsnorm_backward, setup_context=save_inputs) rmsnorm.register_fake(rmsnorm_fake)': "the order in which they are registered does not matter",
    },
}

"""Wrong answers of 30_register_op with the diagnosis each must get, and right answers of other form."""

from tritonbook.course.mutants import Mutant, Variant

FAKE = "return torch.empty(x.shape, dtype=x.dtype, device=x.device)"
SCHEMA = "rmsnorm(Tensor x, Tensor w, float eps) -> Tensor"
IMPL = 'lib.impl("rmsnorm", rmsnorm_forward, DEVICE.upper())'
REGISTER_FAKE = '    torch.library.register_fake(f"{namespace}::rmsnorm", rmsnorm_fake, lib=lib)\n'
CUSTOM_FAKE = (
    "    def _(x, w, eps):\n        return torch.empty(x.shape, dtype=x.dtype, device=x.device)"
)
CUSTOM_IMPL = (
    "(x: torch.Tensor, w: torch.Tensor, eps: float) -> torch.Tensor:\n"
    "        return rmsnorm_forward(x, w, eps)"
)
SAVE = "        x, w, ctx.eps = inputs\n        ctx.save_for_backward(x, w)"
BACKWARD = "dx, dw = backward_op(dy, *ctx.saved_tensors, ctx.eps)"
INPLACE = 'f"{namespace}::rmsnorm_inplace", mutates_args=("x",)'
INPLACE_IMPL = "eps: float) -> None:\n        rmsnorm_into(x, w, eps, x)"
LAUNCH = "torch.library.wrap_triton(rmsnorm_kernel)[(M,)]"
ALLOCATE = "y = torch.empty(x.shape, dtype=x.dtype, device=x.device)"


def custom_fake(body):
    return (CUSTOM_FAKE, f"    def _(x, w, eps):\n        {body}")


MUTANTS = {
    "register_library": [
        Mutant("fake_keeps_the_strides_of_x", "fake-strides", (FAKE, "return torch.empty_like(x)")),
        Mutant(
            "fake_always_float32",
            "fake-dtype",
            (FAKE, "return torch.empty(x.shape, device=x.device)"),
        ),
        Mutant(
            "fake_on_the_cpu",
            "fake-device",
            (FAKE, 'return torch.empty(x.shape, dtype=x.dtype, device="cpu")'),
            only="interpreter",
        ),
        Mutant(
            "fake_without_device",
            "fake-device",
            (FAKE, "return torch.empty(x.shape, dtype=x.dtype)"),
        ),
        Mutant(
            "fake_has_the_shape_of_w",
            "fake-shape",
            (FAKE, "return torch.empty(w.shape, dtype=x.dtype, device=x.device)"),
        ),
        Mutant(
            "fake_transposed",
            "fake-shape",
            (FAKE, "return torch.empty(x.shape[::-1], dtype=x.dtype, device=x.device)"),
        ),
        Mutant("fake_computes", "fake-touches-data", (FAKE, "return rmsnorm_forward(x, w, eps)")),
        Mutant(
            "fake_looks_at_the_values",
            "fake-touches-data",
            (
                FAKE,
                "return torch.empty(x.shape, dtype=x.dtype, device=x.device) if float(x.sum()) else x",
            ),
        ),
        Mutant("no_fake", "fake-missing", (REGISTER_FAKE, "")),
        Mutant(
            "fake_fixes_the_size",
            "recompiles",
            (
                FAKE,
                "return torch.empty((int(x.shape[0]), x.shape[1]), dtype=x.dtype, device=x.device)",
            ),
        ),
        Mutant(
            "registered_for_every_device",
            "wrong-dispatch-key",
            ("rmsnorm_forward, DEVICE.upper()", 'rmsnorm_forward, "CompositeExplicitAutograd"'),
        ),
        Mutant(
            "registered_for_the_other_device",
            "wrong-dispatch-key",
            ("rmsnorm_forward, DEVICE.upper()", "rmsnorm_forward, OTHER_DEVICE.upper()"),
        ),
        Mutant(
            "schema_in_another_order",
            "raised",
            (SCHEMA, "rmsnorm(Tensor w, Tensor x, float eps) -> Tensor"),
            (
                IMPL,
                'lib.impl("rmsnorm", lambda w, x, eps: rmsnorm_forward(x, w, eps), DEVICE.upper())',
            ),
        ),
        Mutant("never_implemented", "wrong-dispatch-key", (f"    {IMPL}\n", "")),
        Mutant(
            "leaves_the_first_library_open",
            "already-registered",
            (
                "lib = open_library(namespace)",
                'lib = torch.library.Library(namespace, "FRAGMENT")\n    LIBRARIES[uuid.uuid4()] = lib',
            ),
        ),
        Mutant(
            "returns_the_function",
            "not-an-operator",
            ("return getattr(torch.ops, namespace).rmsnorm", "return rmsnorm_forward"),
        ),
        Mutant(
            "returns_nothing",
            "returns-nothing",
            ("    return getattr(torch.ops, namespace).rmsnorm", ""),
        ),
        Mutant(
            "writes_over_x",
            "input-changed",
            (
                IMPL,
                'lib.impl("rmsnorm", lambda x, w, eps: (rmsnorm_into(x, w, eps, x), x.clone())[1], DEVICE.upper())',
            ),
        ),
        Mutant(
            "torch_computes",
            "no-kernel-launched",
            (IMPL, 'lib.impl("rmsnorm", rmsnorm_ref, DEVICE.upper())'),
        ),
        Mutant(
            "eps_dropped",
            "wrong-values",
            (
                IMPL,
                'lib.impl("rmsnorm", lambda x, w, eps: rmsnorm_forward(x, w, 0.1), DEVICE.upper())',
            ),
        ),
    ],
    "register_custom": [
        Mutant(
            "fake_keeps_the_strides_of_x", "fake-strides", custom_fake("return torch.empty_like(x)")
        ),
        Mutant(
            "fake_always_float32",
            "fake-dtype",
            custom_fake("return torch.empty(x.shape, device=x.device)"),
        ),
        Mutant(
            "fake_without_device",
            "fake-device",
            custom_fake("return torch.empty(x.shape, dtype=x.dtype)"),
        ),
        Mutant(
            "fake_computes", "fake-touches-data", custom_fake("return rmsnorm_forward(x, w, eps)")
        ),
        Mutant(
            "fake_fixes_the_size",
            "recompiles",
            custom_fake(
                "return torch.empty((int(x.shape[0]), x.shape[1]), dtype=x.dtype, device=x.device)"
            ),
        ),
        Mutant(
            "no_fake",
            "fake-missing",
            ("    @op.register_fake\n" + CUSTOM_FAKE + "\n\n    def setup", "    def setup"),
        ),
        Mutant(
            "no_gradient",
            "no-gradient",
            ("    op.register_autograd(backward, setup_context=setup_context)\n", ""),
        ),
        Mutant(
            "gradients_swapped", "backward-fails", ("return dx, dw, None", "return dw, dx, None")
        ),
        Mutant("no_gradient_for_eps", "backward-fails", ("return dx, dw, None", "return dx, dw")),
        Mutant(
            "gradient_without_weight",
            "wrong-gradient-x",
            (
                BACKWARD,
                "x, w = ctx.saved_tensors\n        dx, dw = backward_op(dy, x, torch.ones_like(w), ctx.eps)",
            ),
        ),
        Mutant(
            "gradient_of_one_row",
            "wrong-gradient-w",
            ("return dx, dw, None", "return dx, dw / dy.shape[0], None"),
        ),
        Mutant(
            "dy_ignored",
            "wrong-gradient-x",
            ("backward_op(dy, *", "backward_op(torch.ones_like(dy), *"),
        ),
        Mutant("nothing_saved", "backward-fails", ("        ctx.save_for_backward(x, w)\n", "")),
        Mutant(
            "kernel_in_the_backward",
            "backward-not-an-operator",
            (BACKWARD, "dx, dw = rmsnorm_gradients(dy, *ctx.saved_tensors, ctx.eps)"),
        ),
        Mutant(
            "says_it_changes_x",
            "raised",
            (
                'f"{namespace}::rmsnorm", mutates_args=()',
                'f"{namespace}::rmsnorm", mutates_args=("x",)',
            ),
        ),
        Mutant(
            "hides_a_change_of_x",
            "input-changed",
            (
                CUSTOM_IMPL,
                "(x: torch.Tensor, w: torch.Tensor, eps: float) -> torch.Tensor:\n        rmsnorm_into(x, w, eps, x)\n        return x.clone()",
            ),
        ),
        Mutant(
            "torch_computes",
            "no-kernel-launched",
            (
                CUSTOM_IMPL,
                "(x: torch.Tensor, w: torch.Tensor, eps: float) -> torch.Tensor:\n        return rmsnorm_ref(x, w, eps)",
            ),
        ),
        Mutant(
            "returns_x_itself",
            "aliases-input",
            (
                CUSTOM_IMPL,
                "(x: torch.Tensor, w: torch.Tensor, eps: float) -> torch.Tensor:\n        rmsnorm_forward(x, w, eps)\n        return x",
            ),
        ),
        Mutant(
            "returns_nothing",
            "returns-nothing",
            ("setup_context=setup_context)\n    return op", "setup_context=setup_context)"),
        ),
    ],
    "register_inplace": [
        Mutant(
            "says_it_changes_nothing",
            "mutates-unsaid",
            (INPLACE, 'f"{namespace}::rmsnorm_inplace", mutates_args=()'),
        ),
        Mutant(
            "names_the_weight",
            "mutates-unsaid",
            (INPLACE, 'f"{namespace}::rmsnorm_inplace", mutates_args=("w",)'),
        ),
        Mutant(
            "names_the_weight_too",
            "mutates-too-much",
            (INPLACE, 'f"{namespace}::rmsnorm_inplace", mutates_args=("x", "w")'),
        ),
        Mutant(
            "result_is_lost",
            "wrong-values",
            (INPLACE_IMPL, "eps: float) -> None:\n        rmsnorm_forward(x, w, eps)"),
        ),
        Mutant(
            "returns_a_copy",
            "returns-something",
            (
                INPLACE_IMPL,
                "eps: float) -> torch.Tensor:\n        rmsnorm_into(x, w, eps, x)\n        return x.clone()",
            ),
        ),
        Mutant(
            "returns_x",
            "aliases-input",
            (
                INPLACE_IMPL,
                "eps: float) -> torch.Tensor:\n        rmsnorm_into(x, w, eps, x)\n        return x",
            ),
        ),
        Mutant(
            "fake_computes",
            "fake-touches-data",
            ("        return None\n", "        rmsnorm_into(x, w, eps, x)\n"),
        ),
        Mutant(
            "torch_computes",
            "no-kernel-launched",
            (INPLACE_IMPL, "eps: float) -> None:\n        x.copy_(rmsnorm_ref(x, w, eps))"),
        ),
        Mutant(
            "without_weight",
            "wrong-values",
            ("rmsnorm_into(x, w, eps, x)", "rmsnorm_into(x, torch.ones_like(w), eps, x)"),
        ),
        Mutant(
            "returns_nothing",
            "returns-nothing",
            ("        return None\n\n    return op", "        return None\n"),
        ),
    ],
    "register_triton": [
        Mutant(
            "rows_and_columns_swapped",
            ("out-of-bounds-store", "wrong-values", "crashed"),
            ("M, N = x.shape", "N, M = x.shape"),
        ),
        Mutant("half_a_row", "wrong-values", ("x, w, y, N,", "x, w, y, N // 2,")),
        Mutant("one_row", "wrong-values", ("[(M,)](", "[(1,)](")),
        Mutant(
            "always_float32", "wrong-type", (ALLOCATE, "y = torch.empty(x.shape, device=x.device)")
        ),
        Mutant("writes_over_x", ("aliases-input", "input-changed"), (ALLOCATE, "y = x")),
        Mutant("no_weight", "wrong-values", ("x, w, y, N,", "x, torch.ones_like(w), y, N,")),
        Mutant(
            "torch_computes",
            "no-kernel-launched",
            ("        return y\n", "        return rmsnorm_ref(x, w, eps)\n"),
            (
                f"        {LAUNCH}(\n            x, w, y, N, *x.stride(), *y.stride(), eps, BLOCK_N=triton.next_power_of_2(N)\n        )\n",
                "",
            ),
        ),
        Mutant(
            "ignores_the_strides_of_x",
            "wrong-values",
            ("*x.stride(), *y.stride()", "*y.stride(), *y.stride()"),
        ),
        Mutant(
            "returns_nothing",
            "returns-nothing",
            ("        return y\n\n    return op", "        return y\n"),
        ),
        Mutant(
            "launch_not_wrapped",
            "opcheck-faketensor",
            (LAUNCH, "rmsnorm_kernel[(M,)]"),
            only="gpu",
        ),
        Mutant(
            "a_closed_box",
            "opcheck-faketensor",
            ("@torch.library.triton_op", "@torch.library.custom_op"),
            only="gpu",
        ),
    ],
}

VARIANTS = {
    "register_library": [
        Variant("fake_by_new_empty", (FAKE, "return x.new_empty(x.shape)")),
        Variant(
            "fake_by_memory_format",
            (FAKE, "return torch.empty_like(x, memory_format=torch.contiguous_format)"),
        ),
        Variant("returns_the_overload", ("namespace).rmsnorm", "namespace).rmsnorm.default")),
        Variant(
            "fake_as_meta_kernel",
            (REGISTER_FAKE, '    lib.impl("rmsnorm", rmsnorm_fake, "Meta")\n'),
        ),
    ],
    "register_custom": [
        Variant("fake_by_new_empty", custom_fake("return x.new_empty(x.shape)")),
        Variant(
            "for_this_device_only",
            ('rmsnorm", mutates_args=()', 'rmsnorm", mutates_args=(), device_types=DEVICE'),
        ),
        Variant(
            "eps_saved_later",
            (
                SAVE,
                "        ctx.save_for_backward(inputs[0], inputs[1])\n        ctx.eps = inputs[2]",
            ),
        ),
        Variant(
            "launch_written_out",
            (
                CUSTOM_IMPL,
                "(x: torch.Tensor, w: torch.Tensor, eps: float) -> torch.Tensor:\n        y = x.new_empty(x.shape)\n        rmsnorm_into(x, w, eps, y)\n        return y",
            ),
        ),
        Variant(
            "backward_in_torch",
            (
                BACKWARD,
                "x, w = ctx.saved_tensors\n        r = torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + ctx.eps)\n        x_hat = x * r\n        dx = r * (w * dy - x_hat * (w * dy * x_hat).mean(-1, keepdim=True))\n        dw = (dy * x_hat).sum(0)",
            ),
        ),
    ],
    "register_inplace": [
        Variant("fake_that_passes", ("        return None\n", "        pass\n")),
        Variant("list_of_names", ('mutates_args=("x",)', 'mutates_args=["x"]')),
        Variant(
            "computed_aside", ("rmsnorm_into(x, w, eps, x)", "x.copy_(rmsnorm_forward(x, w, eps))")
        ),
    ],
    "register_triton": [
        Variant("new_empty", (ALLOCATE, "y = x.new_empty(x.shape)")),
        Variant(
            "eight_warps",
            ("BLOCK_N=triton.next_power_of_2(N)", "BLOCK_N=triton.next_power_of_2(N), num_warps=8"),
        ),
        Variant("sizes_by_name", ("M, N = x.shape", "M, N = x.size(0), x.size(1)")),
    ],
}

"""Mistakes of 30_register_op with what is said of each, and right answers of other form."""

from tritonbook.course.mutants import Mutant, Variant

PROMISES = ("custom-op-again", "fake-computes", "no-gradient", "reads-a-value")

MUTANTS = {
    "register_custom": [
        Mutant("fake-like-x", "{empty(x.shape, dtype=x.dtype, device=x.device -> empty_like(x}", seen="fake-strides"),
        Mutant("fake-without-dtype", "{dtype=x.dtype, device -> device}", seen="fake-dtype"),
        Mutant("fake-with-dtype-of-w", "shape, dtype={x -> w}.", seen="fake-dtype-of-w"),
        Mutant("fake-without-device", "{, device=x.device -> }", seen="fake-device"),
        Mutant("fake-of-shape-alone", "{, dtype=x.dtype, device=x.device -> }", seen="fake-device-and-dtype"),
        Mutant("fake-returns-nothing", "{return  -> }torch.empty", seen="fake-returns-nothing"),
        Mutant("fake-turned", ".empty(x.shape{ -> [::-1]}", seen="fake-turned"),
        Mutant("dy-comes-last", "{dy, *ctx.saved_tensors -> *ctx.saved_tensors, dy}", seen="dy-comes-last"),
        Mutant("fake-on-this-device", "device={x.device -> DEVICE}", seen=("fake-this-device", "fake-device")),
        Mutant("fake-like-w", "{empty(x.shape, dtype=x.dtype, device=x.device -> empty_like(w}", seen="fake-like-w"),
        Mutant("fake-with-shape-of-w", "torch.empty({x -> w}.", seen="fake-shape-of-w"),
        Mutant("fake-of-fixed-shape", ".empty({x.shape -> (6, 40)}", seen="fake-fixed-shape"),
        Mutant("fake-of-one-row", ".empty(x.shape{ -> [1:]}", seen="fake-shape-of-w"),
        Mutant("fake-turns-a-size-into-a-number", ".empty({x.shape -> (int(x.shape[0]), x.shape[1])}",
            seen="fixed-sizes"),
        Mutant("fake-computes", "{torch.empty(x.shape, dtype=x.dtype, device=x.device -> rmsnorm_row(x, w, eps}",
            seen="fake-launches"),
        Mutant("fake-computes-in-torch",
            "{torch.empty(x.shape, dtype=x.dtype, device=x.device -> rmsnorm_ref(x, w, eps}",
            seen=("fake-strides", "fake-dtype", "wrong-values")),
        Mutant("fake-looks-at-values", "{ -> if float(x.sum()) != 0:\n        }return torch.empty",
            seen="fake-touches-data"),
        Mutant("fake-is-x-made-contiguous", "{torch.empty(x.shape, dtype=x.dtype, device=x.device -> x.contiguous(}",
            seen="fake-returns-its-input"),
        Mutant("fake-is-x", "{torch.empty(x.shape, dtype=x.dtype, device=x.device) -> x}",
            seen="fake-returns-its-input"),
        Mutant("fake-two-arguments", "rmsnorm_fake(x, w{, eps -> }):", seen="raised"),
        Mutant("no-fake", "{    rmsnorm.register_fake(rmsnorm_fake)\n -> }", seen="fake-missing"),
        Mutant("x-kept-on-ctx",
            "{x, w, ctx.eps = inputs\n    ctx.save_for_backward(x, w) -> ctx.x, ctx.w, ctx.eps = inputs}",
            "{*ctx.saved_tensors -> ctx.x, ctx.w}", seen="saved-on-ctx"),
        Mutant("x-alone-kept-on-ctx",
            "{x, w, ctx.eps = inputs\n"
            "    ctx.save_for_backward(x,  -> ctx.x, w, ctx.eps = inputs\n"
            "    ctx.save_for_backward(}",
            "rmsnorm_gradients(dy, { -> ctx.x, }*", seen="saved-on-ctx"),
        Mutant("inputs-kept-on-ctx", "{x, w, ctx.eps = inputs\n    ctx.save_for_backward(x, w) -> ctx.inputs = inputs}",
            "{saved_tensors, ctx.eps -> inputs}", seen="saved-on-ctx"),
        Mutant("output-saved-for-x", "save_for_backward({x -> output},", seen="output-saved"),
        Mutant("nothing-saved", "{    ctx.save_for_backward(x, w)\n -> }", seen="raised"),
        Mutant("number-saved-as-a-tensor",
            "{x, w, ctx.eps = inputs\n    ctx.save_for_backward(x, w -> ctx.save_for_backward(*inputs}", seen="raised"),
        Mutant("saved-in-another-order", "save_for_backward({x, w -> w, x})", seen="saved-in-another-order"),
        Mutant("gradients-swapped", "return {dx, dw -> dw, dx},", seen="gradient-shape"),
        Mutant("two-gradients-for-three-inputs", "return dx, dw{, None -> }", seen="gradient-count"),
        Mutant("gradient-for-the-number", "return dx, dw, {None -> dx.sum()}", seen="gradient-for-a-number"),
        Mutant("no-gradient-of-w", "return dx, {dw -> None},", seen="no-gradient-of-w"),
        Mutant("no-gradient-of-x", "return {dx -> None}, dw,", seen="no-gradient-of-x"),
        Mutant("gradient-without-weight",
            "{dx, dw = rmsnorm_gradients(dy, *ctx.saved_tensors -> x, w = ctx.saved_tensors\n"
            "    dx, dw = rmsnorm_gradients(dy, x, torch.ones_like(w)}",
            seen="gradient-without-weight"),
        Mutant("gradient-with-fixed-eps", "saved_tensors, {ctx.eps -> 1e-5})", seen="gradient-eps-fixed"),
        Mutant("dy-ignored", "rmsnorm_gradients({dy -> torch.ones_like(dy)}", seen="gradient-ignores-dy"),
        Mutant("kernel-in-the-backward",
            "{dx, dw = rmsnorm_gradients(dy, *ctx.saved_tensors -> x, w = ctx.saved_tensors\n"
            "    rmsnorm_row(x, w, ctx.eps)\n"
            "    dx, dw = rmsnorm_gradients(dy, x, w}",
            seen=("kernel-in-the-backward", "wrong-values", "gradient-without-weight")),
        Mutant("no-gradient", "{    rmsnorm.register_autograd(rmsnorm_backward, setup_context=save_inputs)\n -> }",
            seen="no-gradient"),
        Mutant("nobody-saves", "{, setup_context=save_inputs -> }", seen="nothing-kept"),
        Mutant("says-that-x-changes", 'mutates_args=({ -> "x",})', seen="mutates-nothing"),
        Mutant("says-that-w-changes", 'mutates_args=({ -> "w",})', seen="mutates-nothing"),
        Mutant("another-name",
            (
                '@torch.library.custom_op(f"{namespace}::rmsnorm", mutates_args=())',
                '@torch.library.custom_op(f"{namespace}::rms_norm", mutates_args=())',
            ),
            seen="wrong-values"),
        Mutant("w-before-x", "{x: torch.Tensor, w -> w: torch.Tensor, x}", seen="schema-order"),
        Mutant("without-annotations",
            ("def rmsnorm(x: torch.Tensor, w: torch.Tensor, eps: float) -> torch.Tensor:", "def rmsnorm(x, w, eps):"),
            seen="raised"),
        Mutant("eps-is-no-argument", "Tensor{, eps: float -> }", "rmsnorm_row(x, w, {eps -> 1e-6})",
            seen="wrong-values"),
        Mutant("eps-fixed", "rmsnorm_row(x, w, {eps -> 1e-5})", seen="eps-fixed"),
        Mutant("eps-not-passed-on", "rmsnorm_row(x, w{, eps -> })", seen="eps-fixed"),
        Mutant("weight-forgotten", "rmsnorm_row(x, {w -> torch.ones_like(w)}, eps)", seen="no-weight"),
        Mutant("torch-computes", "return {rmsnorm_row -> rmsnorm_ref}", seen="no-kernel-launched"),
        Mutant("returns-x-itself", "{return rmsnorm_row(x, w, eps) -> rmsnorm_row(x, w, eps)\n        return x}",
            seen="aliases-input"),
        Mutant("writes-over-x",
            "{return rmsnorm_row(x, w, eps) -> y = rmsnorm_row(x, w, eps)\n        x.copy_(y)\n        return y}",
            seen="input-changed"),
        Mutant("a-triton-op", "library.{custom_op -> triton_op}",
            seen=("launch-not-wrapped", "fake-launches", "open-box", "raised")),
        Mutant("returns-the-function", "\n    return {rmsnorm -> rmsnorm_row}", seen="not-an-operator"),
        Mutant("returns-nothing", "{    return rmsnorm\n -> }", seen="returns-nothing"),
        Mutant("a-fixed-namespace", ('f"{namespace}::rmsnorm"', '"workbook::rmsnorm"'),
            seen=("wrong-values", "other-operators")),
    ],
    "register_library": [
        Mutant("nobody-holds-it", "{HELD[namespace] =  -> }", seen="library-closed"),
        Mutant("one-library-for-all", 'HELD[{namespace -> "library"}', seen="one-library-for-all"),
        Mutant("first-library-stays-open", "{    close_library(namespace)\n -> }", "HELD[{namespace -> len(HELD)}",
            seen="already-registered"),
        Mutant("closed-after-the-definition", "{    close_library(namespace)\n -> }", "{HELD[namespace] =  -> }",
            "{ -> close_library(namespace)\n    HELD[namespace] = lib\n    }return getattr", seen="already-registered"),
        Mutant("claims-the-namespace-and-stays", "{    close_library(namespace)\n -> }",
            'namespace, "{FRAGMENT -> DEF}', seen="already-registered"),
        Mutant("implements-what-is-not-there", 'namespace, "{FRAGMENT -> IMPL}', seen="raised"),
        Mutant("for-every-device", '{DEVICE.upper() -> "CompositeExplicitAutograd"}', seen="every-device"),
        Mutant("for-the-other-device", '{DEVICE.upper() -> "CUDA" if DEVICE == "cpu" else "CPU"}', seen="other-device"),
        Mutant("composite", '{DEVICE.upper() -> "CompositeImplicitAutograd"}', seen=("every-device", "raised")),
        Mutant("key-in-small-letters", "DEVICE{.upper() -> }", seen="raised"),
        Mutant("never-implemented", '{    lib.impl("rmsnorm", rmsnorm_row, DEVICE.upper())\n -> }',
            seen=("not-implemented", "raised")),
        Mutant("another-name-implemented", 'impl("{rmsnorm -> rms_norm}"', seen="not-implemented"),
        Mutant("schema-in-another-order", "Tensor {x, Tensor w -> w, Tensor x}", seen="schema-order"),
        Mutant("schema-says-that-x-changes", "rmsnorm(Tensor{ -> (a!)} ", seen="mutates-nothing"),
        Mutant("schema-without-eps", "Tensor w{, float eps -> }", seen="wrong-values"),
        Mutant("eps-is-an-int", "Tensor w, {float -> int}", seen="wrong-values"),
        Mutant("schema-returns-nothing", 'eps) -> {Tensor -> ()}"', seen=("raised", "wrong-values")),
        Mutant("another-operator", 'define("{rmsnorm -> rms}(', '.impl("{rmsnorm -> rms}',
            ('f"{namespace}::rmsnorm"', 'f"{namespace}::rms"'), "namespace).{rmsnorm -> rms}", seen="wrong-values"),
        Mutant("no-fake", "{    torch.library.register_fake(name, rmsnorm_fake, lib=lib)\n -> }", seen="fake-missing"),
        Mutant("fake-like-x", ", {rmsnorm_fake -> lambda x, w, eps: torch.empty_like(x)}", seen="fake-strides"),
        Mutant("fake-with-dtype-of-w",
            ", {rmsnorm_fake -> lambda x, w, eps: torch.empty(x.shape, dtype=w.dtype, device=x.device)}",
            seen="fake-dtype-of-w"),
        Mutant("fake-computes", ", {rmsnorm_fake -> rmsnorm_row}", seen="fake-launches"),
        Mutant("no-gradient",
            "{    torch.library.register_autograd(name, rmsnorm_backward, setup_context=save_inputs, lib=lib)\n -> }",
            seen="no-gradient"),
        Mutant("nobody-saves", "{, setup_context=save_inputs -> }", seen="nothing-kept"),
        Mutant("eps-fixed", '", {rmsnorm_row -> lambda x, w, eps: rmsnorm_row(x, w, 1e-5)}', seen="eps-fixed"),
        Mutant("torch-computes", '", {rmsnorm_row -> rmsnorm_ref}', seen="no-kernel-launched"),
        Mutant("custom-op-again", seen=("every-device", "wrong-values"),
            replace='''
def register_library(namespace):
    return register_custom(namespace)


def library_fact(what, x, w, eps, dy, layout):
    return operator_fact(register_library, what, (x, w, eps), dy, layout)
'''),
        Mutant("returns-the-function", "{getattr(torch.ops, namespace).rmsnorm -> rmsnorm_row}", seen="not-an-operator"),
        Mutant("returns-nothing", "{    return getattr(torch.ops, namespace).rmsnorm -> }", seen="returns-nothing"),
        Mutant("returns-the-library", "{getattr(torch.ops, namespace).rmsnorm -> lib}", seen="not-an-operator"),
    ],
    "register_triton": [
        Mutant("not-wrapped", "{torch.library.wrap_triton(rmsnorm_kernel) -> rmsnorm_kernel}",
            seen="launch-not-wrapped"),
        Mutant("a-closed-box", "library.{triton_op -> custom_op}", seen=("closed-box", "fake-missing")),
        Mutant("a-closed-box-with-a-fake", "library.{triton_op -> custom_op}",
            "{register_autograd -> register_fake(rmsnorm_fake)\n    rmsnorm.register_autograd}", seen="closed-box"),
        Mutant("calls-the-wrapper",
            (
                "        M, N = x.shape\n"
                "        y = torch.empty(x.shape, dtype=x.dtype, device=x.device)\n"
                "        launch = torch.library.wrap_triton(rmsnorm_kernel)[(M,)]\n"
                "        launch(x, w, y, N, *x.stride(), eps, BLOCK_N=triton.next_power_of_2(N))\n"
                "        return y\n",
                "        return rmsnorm_row(x, w, eps)\n",
            ),
            seen="launch-not-wrapped"),
        Mutant("calls-the-wrapper-behind-a-fake",
            (
                "        M, N = x.shape\n"
                "        y = torch.empty(x.shape, dtype=x.dtype, device=x.device)\n"
                "        launch = torch.library.wrap_triton(rmsnorm_kernel)[(M,)]\n"
                "        launch(x, w, y, N, *x.stride(), eps, BLOCK_N=triton.next_power_of_2(N))\n"
                "        return y\n",
                "        return rmsnorm_row(x, w, eps)\n",
            ),
            "{register_autograd -> register_fake(rmsnorm_fake)\n    rmsnorm.register_autograd}",
            seen=("closed-box", "launch-not-wrapped")),
        Mutant("custom-op-again", seen="closed-box",
            replace='''
def register_triton(namespace):
    return register_custom(namespace)


def triton_fact(what, x, w, eps, dy, layout):
    return operator_fact(register_triton, what, (x, w, eps), dy, layout)
'''),
        Mutant("wrapped-and-torch-computes",
            (
                "        M, N = x.shape\n"
                "        y = torch.empty(x.shape, dtype=x.dtype, device=x.device)\n"
                "        launch = torch.library.wrap_triton(rmsnorm_kernel)[(M,)]\n"
                "        launch(x, w, y, N, *x.stride(), eps, BLOCK_N=triton.next_power_of_2(N))\n"
                "        return y\n",
                "        return rmsnorm_ref(x, w, eps)\n",
            ),
            seen=("no-kernel-launched", "other-operators", "raised")),
        Mutant("one-stride-twice", " N, {*x.stride( -> x.stride(0), x.stride(0}",
            seen=("strided-only", "wrong-values", "reads-outside")),
        Mutant("columns-side-by-side", "N, {*x.stride() -> x.stride(0), 1}", seen="columns-side-by-side"),
        Mutant("strides-swapped", " N, {*x.stride( -> x.stride(1), x.stride(0}", seen=("wrong-values", "reads-outside")),
        Mutant("strides-of-y", ", w, y, N, *{x -> y}.", seen="strided-only"),
        Mutant("strides-of-a-contiguous-x", "N, {*x.stride() -> N, 1}", seen="strided-only"),
        Mutant("result-like-x", "{empty(x.shape, dtype=x.dtype, device=x.device -> empty_like(x}",
            seen=("result-not-contiguous", "strided-only")),
        Mutant("rows-and-columns-swapped", "{M, N -> N, M} = x.shape",
            seen=("out-of-bounds-store", "wrong-values", "reads-outside"), on_gpu=("unwritten",)),
        Mutant("one-program", "rmsnorm_kernel)[({M -> 1},", seen="unwritten"),
        Mutant("half-a-row", "(x, w, y, N{ ->  // 2}, *", seen="unwritten"),
        Mutant("always-float32", "{dtype=x.dtype, device -> device}", seen=("wrong-values", "fake-dtype")),
        Mutant("dtype-of-w", "shape, dtype={x -> w}.", seen="wrong-values"),
        Mutant("writes-over-x", "{torch.empty(x.shape, dtype=x.dtype, device=x.device) -> x}",
            seen=("aliases-input", "input-changed")),
        Mutant("writes-over-x-and-says-so", "{torch.empty(x.shape, dtype=x.dtype, device=x.device) -> x}",
            'mutates_args=({ -> "x",})', seen="mutates-nothing"),
        Mutant("says-that-x-changes", 'mutates_args=({ -> "x",})', seen="mutates-nothing"),
        Mutant("eps-fixed", "stride(), {eps -> 1e-5}, ", seen="eps-fixed"),
        Mutant("weight-of-ones", "launch(x, {w -> torch.ones_like(w)}, y", seen="no-weight"),
        Mutant("no-gradient", "{    rmsnorm.register_autograd(rmsnorm_backward, setup_context=save_inputs)\n -> }",
            seen="no-gradient"),
        Mutant("another-name",
            (
                '@torch.library.triton_op(f"{namespace}::rmsnorm", mutates_args=())',
                '@torch.library.triton_op(f"{namespace}::rms_norm", mutates_args=())',
            ),
            seen="wrong-values"),
        Mutant("reads-a-value", "{ ->         if float(x.sum()) != 0:\n            y = y + 0\n}        launch ",
            seen="fake-touches-data"),
        Mutant("no-return-in-the-operator", "{        return y\n -> }", seen=("no-tensor", "raised")),
        Mutant("returns-nothing", "{    return rmsnorm\n -> }", seen="returns-nothing"),
    ],
}

VARIANTS = {
    "register_custom": [
        Variant("fake-by-new-empty", "{torch.empty(x.shape, dtype=x.dtype, device=x.device -> x.new_empty(x.shape}"),
        Variant("fake-of-zeros", "return torch.{empty -> zeros}"),
        Variant("fake-by-memory-format",
            "{empty(x.shape, dtype=x.dtype, device=x.device -> empty_like(x, memory_format=torch.contiguous_format}"),
        Variant("fake-by-size", ".empty(x.{shape -> size(0), x.size(1)}"),
        Variant("copies-saved", "save_for_backward(x{ -> .clone()}, "),
        Variant("by-index",
            "{x, w, ctx.eps = inputs\n"
            "    ctx.save_for_backward(x, w) -> ctx.save_for_backward(inputs[0], inputs[1])\n"
            "    ctx.eps = inputs[2]}"),
        Variant("tensors-by-name",
            "{dx, dw = rmsnorm_gradients(dy, *ctx.saved_tensors -> x, w = ctx.saved_tensors\n"
            "    dx, dw = rmsnorm_gradients(dy, x, w}"),
        Variant("for-this-device-alone", "mutates_args=(){ -> , device_types=DEVICE})"),
        Variant("eps-with-a-default", "Tensor, eps: float{ ->  = 1e-6}"),
        Variant("decorated-fake",
            "{rmsnorm.register_fake(rmsnorm_fake) -> @rmsnorm.register_fake\n"
            "    def _(x, w, eps):\n"
            "        return rmsnorm_fake(x, w, eps)\n"
            "}"),
        Variant("schema-as-text",
            (
                '@torch.library.custom_op(f"{namespace}::rmsnorm", mutates_args=())',
                '@torch.library.custom_op(f"{namespace}::rmsnorm", mutates_args=(), schema="(Tensor x, Tensor w, '
                'float eps) -> Tensor")',
            ),
            ("def rmsnorm(x: torch.Tensor, w: torch.Tensor, eps: float) -> torch.Tensor:", "def rmsnorm(x, w, eps):")),
        Variant("called-as-a-function",
            (
                '    @torch.library.custom_op(f"{namespace}::rmsnorm", mutates_args=())\n'
                "    def rmsnorm(x: torch.Tensor, w: torch.Tensor, eps: float) -> torch.Tensor:\n"
                "        return rmsnorm_row(x, w, eps)\n",
                "    def forward(x: torch.Tensor, w: torch.Tensor, eps: float) -> torch.Tensor:\n"
                "        return rmsnorm_row(x, w, eps)\n"
                "\n"
                '    rmsnorm = torch.library.custom_op(f"{namespace}::rmsnorm", forward, mutates_args=())\n',
            )),
        Variant("returns-from-torch-ops", "return { -> getattr(torch.ops, namespace).}rmsnorm\n\n\n"),
    ],
    "register_library": [
        Variant("by-hand-with-define", "namespace).rmsnorm{ -> .default}"),
        Variant("closed-by-hand",
            "{close_library(namespace -> if namespace in HELD:\n        HELD.pop(namespace)._destroy(}"),
        Variant("claims-the-namespace", 'namespace, "{FRAGMENT -> DEF}'),
        Variant("fake-as-meta",
            '{torch.library.register_fake(name, rmsnorm_fake, lib=lib -> lib.impl("rmsnorm", rmsnorm_fake, "Meta"}'),
        Variant("fake-first", "{    torch.library.register_fake(name, rmsnorm_fake, lib=lib)\n -> }",
            (
                '    lib.impl("rmsnorm", rmsnorm_row, DEVICE.upper())\n',
                '    torch.library.register_fake(f"{namespace}::rmsnorm", rmsnorm_fake, lib=lib)\n'
                '    lib.impl("rmsnorm", rmsnorm_row, DEVICE.upper())\n',
            )),
        Variant("implemented-by-name", '{DEVICE.upper() -> "CPU" if DEVICE == "cpu" else "CUDA"}'),
    ],
    "register_triton": [
        Variant("new-empty", "{torch.empty(x.shape, dtype=x.dtype, device=x.device -> x.new_empty(x.shape}"),
        Variant("with-a-fake-too", "{register_autograd -> register_fake(rmsnorm_fake)\n    rmsnorm.register_autograd}"),
        Variant("x-made-contiguous", "{ -> x = x.contiguous()\n        }M, N = x.shape"),
        Variant("like-a-contiguous-x",
            "{empty(x.shape, dtype=x.dtype, device=x.device -> empty_like(x, memory_format=torch.contiguous_format}"),
        Variant("eight-warps", "next_power_of_2(N){ -> , num_warps=8})"),
        Variant("in-one-line",
            "{launch = torch.library.wrap_triton(rmsnorm_kernel)[(M,)]\n"
            "        launch -> torch.library.wrap_triton(rmsnorm_kernel)[(M,)]}"),
        Variant("strides-by-name", " N, {*x.stride( -> x.stride(0), x.stride(1}"),
        Variant("a-grid-function", "rmsnorm_kernel)[{ -> lambda meta: }("),
        Variant("everything-by-keyword",
            "{x, w, y, N, *x.stride(),  -> x_ptr=x, w_ptr=w, y_ptr=y, N=N, stride_xm=x.stride(0), "
            "stride_xn=x.stride(1), eps=}"),
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

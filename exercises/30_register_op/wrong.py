"""Mistakes of 30_register_op with what is said of each, and right answers of other form."""

from tritonbook.course.mutants import Mutant, Variant

PROMISES = ("custom-op-again", "fake-computes", "no-gradient", "reads-a-value")

LAUNCH = """\
        M, N = x.shape
        y = torch.empty(x.shape, dtype=x.dtype, device=x.device)
        launch = torch.library.wrap_triton(rmsnorm_kernel)[(M,)]
        launch(x, w, y, N, *x.stride(), eps, BLOCK_N=triton.next_power_of_2(N))
        return y
"""

# Sentences that several mistakes share.
SAYS = {
    "fake-strides": "For a transposed x the fake is transposed too, and the real result is contiguous.",
    "fake-dtype": "The fake is float32 for a float16 x. Pass it the dtype of x.",
    "fake-dtype-of-w": "The fake has the dtype of w. The result has that of x.",
    "fake-device": "The fake is on the CPU wherever x is. Pass it the device of x.",
    "fake-device-and-dtype": "The fake is float32 on the CPU, whatever x is. Pass it dtype and device of x.",
    "fake-shape-of-w": "The fake is one row, as w is. The result has the shape of x.",
    "fake-fixed-shape": "The fake has 6 rows of 40 whatever x is. Take the shape of x.",
    "fake-launches": "The fake launches a kernel, and a fake tensor has no data. It may only allocate.",
    "fake-touches-data": "The fake reads a value, and a fake tensor has none. It may only allocate.",
    "fake-returns-its-input": "For a contiguous x the fake returns x itself. A fake result is new, as the real one is.",
    "fake-missing": "There is no fake: PyTorch cannot know what the result looks like.",
    "saved-on-ctx":
        "x was changed between forward and backward, nobody noticed, and the gradient is wrong. Save tensors with "
        "`ctx.save_for_backward`.",
    "no-gradient": "The result has no gradient: no autograd formula is registered for this operator.",
    "nothing-kept":
        "The backward looks for something on ctx that nobody put there. Is `setup_context=` given, and does it keep "
        "all that the backward needs?",
    "mutates-nothing":
        "The schema says that an input is changed (`mutates_args`, `Tensor(a!)`). None is, and an operator that "
        "changes one has no gradient.",
    "schema-order": "In the schema w comes before x. Callers pass x first.",
    "eps-fixed": "The result does not depend on eps: a fixed number, or a default, went into the kernel.",
    "no-weight": "The result lacks the weight.",
    "no-kernel-launched": "The operator gave a result and launched no kernel.",
    "aliases-input": "The operator returns its own input. A result must be new memory.",
    "no-tensor": "A call of the operator returns no tensor. Is a `return` missing in it?",
    "not-an-operator": "What it returns is not the operator that PyTorch knows by name.",
    "returns-nothing": "The function registers, but returns nothing. Return the operator.",
    "already-registered":
        "A second call with the same namespace fails: the first library is still open. Close it before you define the "
        "name again.",
    "every-device":
        "It is registered for every device. A kernel compiled for one must never get tensors of another: give `impl` "
        "this machine's key.",
    "not-implemented": "The name is defined, and no device has an implementation.",
    "launch-not-wrapped":
        "The compiler ran your function on fake tensors, and it launched a kernel on them. Launch through "
        "`torch.library.wrap_triton(rmsnorm_kernel)`.",
    "closed-box": "The graph holds one closed call and no kernel. Is this a `triton_op`?",
    "strided-only": "Right for a contiguous x alone: pass the kernel the strides of x.",
    "unwritten":
        "A part of the result was never written. Does each row have a program, and does the mask reach the row's end?",
}

MUTANTS = {
    "register_custom": [
        Mutant("fake-like-x", "{empty(x.shape, dtype=x.dtype, device=x.device -> empty_like(x}", says="fake-strides"),
        Mutant("fake-without-dtype", "{dtype=x.dtype, device -> device}", says="fake-dtype"),
        Mutant("fake-with-dtype-of-w", "shape, dtype={x -> w}.", says="fake-dtype-of-w"),
        Mutant("fake-without-device", "{, device=x.device -> }", says="fake-device"),
        Mutant("fake-of-shape-alone", "{, dtype=x.dtype, device=x.device -> }", says="fake-device-and-dtype"),
        Mutant("fake-returns-nothing", "{return  -> }torch.empty",
            says="The fake returns nothing. Is a `return` missing in it?"),
        Mutant("fake-turned", ".empty(x.shape{ -> [::-1]}",
            says="Rows and columns of the fake are exchanged. The result has the shape of x."),
        Mutant("dy-comes-last", "{dy, *ctx.saved_tensors -> *ctx.saved_tensors, dy}",
            says="`rmsnorm_gradients` takes dy first, then x, w and eps."),
        Mutant("fake-on-this-device", "device={x.device -> DEVICE}",
            says="The fake is on this machine's device wherever x is. Pass it the device of x.", seen="fake-device"),
        Mutant("fake-like-w", "{empty(x.shape, dtype=x.dtype, device=x.device -> empty_like(w}",
            says="The fake looks like w. The result has shape and dtype of x."),
        Mutant("fake-with-shape-of-w", "torch.empty({x -> w}.", says="fake-shape-of-w"),
        Mutant("fake-of-fixed-shape", ".empty({x.shape -> (6, 40)}", says="fake-fixed-shape"),
        Mutant("fake-of-one-row", ".empty(x.shape{ -> [1:]}", says="fake-shape-of-w"),
        Mutant("fake-turns-a-size-into-a-number", ".empty({x.shape -> (int(x.shape[0]), x.shape[1])}",
            says="A compiled call is compiled again for each number of rows: something turns a size into a plain "
                "number, such as `int(x.shape[0])`. Use `x.shape` as it is."),
        Mutant("fake-computes", "{torch.empty(x.shape, dtype=x.dtype, device=x.device -> rmsnorm_row(x, w, eps}",
            says="fake-launches"),
        Mutant("fake-computes-in-torch",
            "{torch.empty(x.shape, dtype=x.dtype, device=x.device -> rmsnorm_ref(x, w, eps}",
            says="fake-strides", seen=("wrong-values", "fake-dtype")),
        Mutant("fake-looks-at-values", "{ -> if float(x.sum()) != 0:\n        }return torch.empty",
            says="fake-touches-data"),
        Mutant("fake-is-x-made-contiguous", "{torch.empty(x.shape, dtype=x.dtype, device=x.device -> x.contiguous(}",
            says="fake-returns-its-input"),
        Mutant("fake-is-x", "{torch.empty(x.shape, dtype=x.dtype, device=x.device) -> x}",
            says="fake-returns-its-input"),
        Mutant("fake-two-arguments", "rmsnorm_fake(x, w{, eps -> }):", seen="raised"),
        Mutant("no-fake", "{    rmsnorm.register_fake(rmsnorm_fake)\n -> }", says="fake-missing"),
        Mutant("x-kept-on-ctx",
            "{x, w, ctx.eps = inputs\n    ctx.save_for_backward(x, w) -> ctx.x, ctx.w, ctx.eps = inputs}",
            "{*ctx.saved_tensors -> ctx.x, ctx.w}", says="saved-on-ctx"),
        Mutant("x-alone-kept-on-ctx",
            "{x, w, ctx.eps = inputs\n"
            "    ctx.save_for_backward(x,  -> ctx.x, w, ctx.eps = inputs\n"
            "    ctx.save_for_backward(}",
            "rmsnorm_gradients(dy, { -> ctx.x, }*", says="saved-on-ctx"),
        Mutant("inputs-kept-on-ctx", "{x, w, ctx.eps = inputs\n    ctx.save_for_backward(x, w) -> ctx.inputs = inputs}",
            "{saved_tensors, ctx.eps -> inputs}", says="saved-on-ctx"),
        Mutant("output-saved-for-x", "save_for_backward({x -> output},",
            says="The backward got the result in place of x. Save the input."),
        Mutant("nothing-saved", "{    ctx.save_for_backward(x, w)\n -> }", seen="raised"),
        Mutant("number-saved-as-a-tensor",
            "{x, w, ctx.eps = inputs\n    ctx.save_for_backward(x, w -> ctx.save_for_backward(*inputs}", seen="raised"),
        Mutant("saved-in-another-order", "save_for_backward({x, w -> w, x})",
            says="The backward takes x for w and w for x. Saved tensors come back in the order in which they were "
                "saved."),
        Mutant("gradients-swapped", "return {dx, dw -> dw, dx},",
            says="A gradient has another shape than its input. Do they come in the order of the inputs?"),
        Mutant("two-gradients-for-three-inputs", "return dx, dw{, None -> }",
            says="The operator has three inputs, so the backward returns three values: None for eps."),
        Mutant("gradient-for-the-number", "return dx, dw, {None -> dx.sum()}",
            says="eps is a number: the backward returns None for it."),
        Mutant("no-gradient-of-w", "return dx, {dw -> None},", says="There is a gradient of x and none of w."),
        Mutant("no-gradient-of-x", "return {dx -> None}, dw,", says="There is a gradient of w and none of x."),
        Mutant("gradient-without-weight",
            "{dx, dw = rmsnorm_gradients(dy, *ctx.saved_tensors -> x, w = ctx.saved_tensors\n"
            "    dx, dw = rmsnorm_gradients(dy, x, torch.ones_like(w)}",
            says="The gradient of x lacks the weight."),
        Mutant("gradient-with-fixed-eps", "saved_tensors, {ctx.eps -> 1e-5})",
            says="The gradients do not depend on eps. Keep it on ctx and pass it on."),
        Mutant("dy-ignored", "rmsnorm_gradients({dy -> torch.ones_like(dy)}",
            says="The gradients do not depend on dy, the gradient of the result."),
        Mutant("kernel-in-the-backward",
            "{dx, dw = rmsnorm_gradients(dy, *ctx.saved_tensors -> x, w = ctx.saved_tensors\n"
            "    rmsnorm_row(x, w, ctx.eps)\n"
            "    dx, dw = rmsnorm_gradients(dy, x, w}",
            says="Compiled, the backward launches a kernel on fake tensors. A backward consists of "
                "operators.", seen=("wrong-values", "gradient-without-weight")),
        Mutant("no-gradient", "{    rmsnorm.register_autograd(rmsnorm_backward, setup_context=save_inputs)\n -> }",
            says="no-gradient"),
        Mutant("nobody-saves", "{, setup_context=save_inputs -> }", says="nothing-kept"),
        Mutant("says-that-x-changes", 'mutates_args=({ -> "x",})', says="mutates-nothing"),
        Mutant("says-that-w-changes", 'mutates_args=({ -> "w",})', says="mutates-nothing"),
        Mutant("another-name",
            (
                '@torch.library.custom_op(f"{namespace}::rmsnorm", mutates_args=())',
                '@torch.library.custom_op(f"{namespace}::rms_norm", mutates_args=())',
            ),
            seen="wrong-values"),
        Mutant("w-before-x", "{x: torch.Tensor, w -> w: torch.Tensor, x}", says="schema-order"),
        Mutant("without-annotations",
            ("def rmsnorm(x: torch.Tensor, w: torch.Tensor, eps: float) -> torch.Tensor:", "def rmsnorm(x, w, eps):"),
            seen="raised"),
        Mutant("eps-is-no-argument", "Tensor{, eps: float -> }", "rmsnorm_row(x, w, {eps -> 1e-6})",
            seen="wrong-values"),
        Mutant("eps-fixed", "rmsnorm_row(x, w, {eps -> 1e-5})", says="eps-fixed"),
        Mutant("eps-not-passed-on", "rmsnorm_row(x, w{, eps -> })", says="eps-fixed"),
        Mutant("weight-forgotten", "rmsnorm_row(x, {w -> torch.ones_like(w)}, eps)", says="no-weight"),
        Mutant("torch-computes", "return {rmsnorm_row -> rmsnorm_ref}", says="no-kernel-launched"),
        Mutant("returns-x-itself", "{return rmsnorm_row(x, w, eps) -> rmsnorm_row(x, w, eps)\n        return x}",
            says="aliases-input"),
        Mutant("writes-over-x",
            "{return rmsnorm_row(x, w, eps) -> y = rmsnorm_row(x, w, eps)\n        x.copy_(y)\n        return y}",
            says="A call of the operator changes one of its inputs."),
        Mutant("a-triton-op", "library.{custom_op -> triton_op}", says="fake-launches", seen="raised"),
        Mutant("returns-the-function", "\n    return {rmsnorm -> rmsnorm_row}", says="not-an-operator"),
        Mutant("no-return-in-the-operator", "{return  -> }rmsnorm_row(x, w, eps)", says="no-tensor", seen="raised"),
        Mutant("returns-nothing", "{    return rmsnorm\n -> }", says="returns-nothing"),
        Mutant("a-fixed-namespace", ('f"{namespace}::rmsnorm"', '"workbook::rmsnorm"'), seen="wrong-values"),
    ],
    "register_library": [
        Mutant("nobody-holds-it", "{HELD[namespace] =  -> }",
            says="The operator is gone: nobody holds its library, so PyTorch closed it. Keep the library in HELD."),
        Mutant("one-library-for-all", 'HELD[{namespace -> "library"}',
            says="After a call for another namespace the first operator is gone. HELD keeps a library for each "
                "namespace: `HELD[namespace]`."),
        Mutant("first-library-stays-open", "{    close_library(namespace)\n -> }", "HELD[{namespace -> len(HELD)}",
            says="already-registered"),
        Mutant("closed-after-the-definition", "{    close_library(namespace)\n -> }", "{HELD[namespace] =  -> }",
            "{ -> close_library(namespace)\n    HELD[namespace] = lib\n    }return getattr", says="already-registered"),
        Mutant("claims-the-namespace-and-stays", "{    close_library(namespace)\n -> }",
            'namespace, "{FRAGMENT -> DEF}', says="already-registered"),
        Mutant("implements-what-is-not-there", 'namespace, "{FRAGMENT -> IMPL}', seen="raised"),
        Mutant("for-every-device", '{DEVICE.upper() -> "CompositeExplicitAutograd"}', says="every-device"),
        Mutant("for-the-other-device", '{DEVICE.upper() -> "CUDA" if DEVICE == "cpu" else "CPU"}',
            says="It is registered for another device than this machine's: DEVICE.upper() is the key."),
        Mutant("composite", '{DEVICE.upper() -> "CompositeImplicitAutograd"}', says="every-device", seen="raised"),
        Mutant("key-in-small-letters", "DEVICE{.upper() -> }", seen="raised"),
        Mutant("never-implemented", '{    lib.impl("rmsnorm", rmsnorm_row, DEVICE.upper())\n -> }',
            says="not-implemented", seen="raised"),
        Mutant("another-name-implemented", 'impl("{rmsnorm -> rms_norm}"', says="not-implemented"),
        Mutant("schema-in-another-order", "Tensor {x, Tensor w -> w, Tensor x}", says="schema-order"),
        Mutant("schema-says-that-x-changes", "rmsnorm(Tensor{ -> (a!)} ", says="mutates-nothing"),
        Mutant("schema-without-eps", "Tensor w{, float eps -> }", seen="wrong-values"),
        Mutant("eps-is-an-int", "Tensor w, {float -> int}", seen="wrong-values"),
        Mutant("schema-returns-nothing", 'eps) -> {Tensor -> ()}"', seen=("raised", "wrong-values")),
        Mutant("another-operator", 'define("{rmsnorm -> rms}(', '.impl("{rmsnorm -> rms}',
            ('f"{namespace}::rmsnorm"', 'f"{namespace}::rms"'), "namespace).{rmsnorm -> rms}", seen="wrong-values"),
        Mutant("no-fake", "{    torch.library.register_fake(name, rmsnorm_fake, lib=lib)\n -> }", says="fake-missing"),
        Mutant("fake-like-x", ", {rmsnorm_fake -> lambda x, w, eps: torch.empty_like(x)}", says="fake-strides"),
        Mutant("fake-with-dtype-of-w",
            ", {rmsnorm_fake -> lambda x, w, eps: torch.empty(x.shape, dtype=w.dtype, device=x.device)}",
            says="fake-dtype-of-w"),
        Mutant("fake-computes", ", {rmsnorm_fake -> rmsnorm_row}", says="fake-launches"),
        Mutant("no-gradient",
            "{    torch.library.register_autograd(name, rmsnorm_backward, setup_context=save_inputs, lib=lib)\n -> }",
            says="no-gradient"),
        Mutant("nobody-saves", "{, setup_context=save_inputs -> }", says="nothing-kept"),
        Mutant("eps-fixed", '", {rmsnorm_row -> lambda x, w, eps: rmsnorm_row(x, w, 1e-5)}', says="eps-fixed"),
        Mutant("torch-computes", '", {rmsnorm_row -> rmsnorm_ref}', says="no-kernel-launched"),
        Mutant("custom-op-again", says="every-device", seen="wrong-values",
            replace='''
def register_library(namespace):
    return register_custom(namespace)


def library_fact(what, x, w, eps, dy, layout):
    return operator_fact(register_library, what, (x, w, eps), dy, layout)
'''),
        Mutant("returns-the-function", "{getattr(torch.ops, namespace).rmsnorm -> rmsnorm_row}",
            says="not-an-operator"),
        Mutant("returns-nothing", "{    return getattr(torch.ops, namespace).rmsnorm -> }", says="returns-nothing"),
        Mutant("returns-the-library", "{getattr(torch.ops, namespace).rmsnorm -> lib}", says="not-an-operator"),
    ],
    "register_triton": [
        Mutant("not-wrapped", "{torch.library.wrap_triton(rmsnorm_kernel) -> rmsnorm_kernel}",
            says="launch-not-wrapped"),
        Mutant("a-closed-box", "library.{triton_op -> custom_op}", says="closed-box"),
        Mutant("a-closed-box-with-a-fake", "library.{triton_op -> custom_op}",
            "{register_autograd -> register_fake(rmsnorm_fake)\n    rmsnorm.register_autograd}", says="closed-box"),
        Mutant("calls-the-wrapper",
            (
                LAUNCH,
                "        return rmsnorm_row(x, w, eps)\n",
            ),
            says="launch-not-wrapped"),
        Mutant("calls-the-wrapper-behind-a-fake",
            (
                LAUNCH,
                "        return rmsnorm_row(x, w, eps)\n",
            ),
            "{register_autograd -> register_fake(rmsnorm_fake)\n    rmsnorm.register_autograd}",
            says="closed-box", seen="launch-not-wrapped"),
        Mutant("custom-op-again", says="closed-box",
            replace='''
def register_triton(namespace):
    return register_custom(namespace)


def triton_fact(what, x, w, eps, dy, layout):
    return operator_fact(register_triton, what, (x, w, eps), dy, layout)
'''),
        Mutant("wrapped-and-torch-computes",
            (
                LAUNCH,
                "        return rmsnorm_ref(x, w, eps)\n",
            ),
            says="no-kernel-launched", seen="raised"),
        Mutant("one-stride-twice", " N, {*x.stride( -> x.stride(0), x.stride(0}",
            says="strided-only", seen=("wrong-values", "reads-outside")),
        Mutant("columns-side-by-side", "N, {*x.stride() -> x.stride(0), 1}",
            says="The columns of x were read as if they lay side by side. Pass both strides of x."),
        Mutant("strides-swapped", " N, {*x.stride( -> x.stride(1), x.stride(0}", seen=("wrong-values", "reads-outside")),
        Mutant("strides-of-y", ", w, y, N, *{x -> y}.", says="strided-only"),
        Mutant("strides-of-a-contiguous-x", "N, {*x.stride() -> N, 1}", says="strided-only"),
        Mutant("result-like-x", "{empty(x.shape, dtype=x.dtype, device=x.device -> empty_like(x}",
            says="The kernel writes row after row, and the result is laid out like the transposed x. Allocate it "
                "contiguous.", seen="strided-only"),
        Mutant("rows-and-columns-swapped", "{M, N -> N, M} = x.shape",
            seen=("out-of-bounds-store", "wrong-values", "reads-outside"), on_gpu=("unwritten",)),
        Mutant("one-program", "rmsnorm_kernel)[({M -> 1},", says="unwritten"),
        Mutant("half-a-row", "(x, w, y, N{ ->  // 2}, *", says="unwritten"),
        Mutant("always-float32", "{dtype=x.dtype, device -> device}", says="fake-dtype", seen="wrong-values"),
        Mutant("dtype-of-w", "shape, dtype={x -> w}.", seen="wrong-values"),
        Mutant("writes-over-x", "{torch.empty(x.shape, dtype=x.dtype, device=x.device) -> x}",
            says="aliases-input", seen="input-changed"),
        Mutant("writes-over-x-and-says-so", "{torch.empty(x.shape, dtype=x.dtype, device=x.device) -> x}",
            'mutates_args=({ -> "x",})', says="mutates-nothing"),
        Mutant("says-that-x-changes", 'mutates_args=({ -> "x",})', says="mutates-nothing"),
        Mutant("eps-fixed", "stride(), {eps -> 1e-5}, ", says="eps-fixed"),
        Mutant("weight-of-ones", "launch(x, {w -> torch.ones_like(w)}, y", says="no-weight"),
        Mutant("no-gradient", "{    rmsnorm.register_autograd(rmsnorm_backward, setup_context=save_inputs)\n -> }",
            says="no-gradient"),
        Mutant("another-name",
            (
                '@torch.library.triton_op(f"{namespace}::rmsnorm", mutates_args=())',
                '@torch.library.triton_op(f"{namespace}::rms_norm", mutates_args=())',
            ),
            seen="wrong-values"),
        Mutant("reads-a-value", "{ ->         if float(x.sum()) != 0:\n            y = y + 0\n}        launch ",
            says="fake-touches-data"),
        Mutant("no-return-in-the-operator", "{        return y\n -> }", says="no-tensor", seen="raised"),
        Mutant("result-without-device", "dtype=x.dtype{, device=x.device -> })", says="fake-device"),
        Mutant("returns-the-function", "\n    return {rmsnorm -> rmsnorm_kernel}", says="not-an-operator"),
        Mutant("w-before-x", "rmsnorm({x: torch.Tensor, w -> w: torch.Tensor, x}", says="schema-order"),
        Mutant("nobody-saves", "{, setup_context=save_inputs -> }", says="nothing-kept"),
        Mutant("returns-nothing", "{    return rmsnorm\n -> }", says="returns-nothing"),
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

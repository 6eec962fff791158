"""What the checks of 30_register_op ask, the right answers, and mistakes that have a name."""

import torch

from tritonbook import DEVICE
from tritonbook.checking import Check, Tolerance, case, tensor
from tritonbook.seeing.operators import OTHER_DEVICE

from .page import rmsnorm_gradients, rmsnorm_ref

SCHEMA = "rmsnorm(Tensor x, Tensor w, float eps) -> Tensor"
CLOSE = Tolerance(4e-3, because="float16 results are rounded once")


def normed(x, w, eps):
    return rmsnorm_ref(x.double(), w.double(), eps).to(x.dtype)


def gradients(x, w, eps, dy):
    dx, dw = rmsnorm_gradients(dy.double(), x.double(), w.double(), eps)
    return {"gradient of x": dx.to(x.dtype), "gradient of w": dw.to(w.dtype)}


def in_a_graph(box, x, w, eps):
    return {"seen as": box, "result": normed(x + 1, w, eps) * 2}


def fake(x, **other):
    """What the fact "fake" says of a contiguous result like x; other: what a wrong one says."""
    right = {
        "shape": list(x.shape),
        "dtype": str(x.dtype),
        "strides": [x.shape[1], 1],
        "devices": [DEVICE, OTHER_DEVICE],
    }
    return right | other


def told(box):
    """The right answer to each question; box: what a graph shows of the operator."""

    def right(what, x, w, eps, dy, layout):
        if what in ("result", "registered again"):
            return normed(x, w, eps)
        if what in ("gradient", "gradient, compiled"):
            return gradients(x, w, eps, dy)
        return {
            "schema": SCHEMA,
            "devices": [DEVICE.upper()],
            "fake": fake(x),
            "input changed": "noticed",
            "in a graph": in_a_graph(box, x, w, eps),
            "five sizes, compiled": "at most two graphs",
            "opcheck": [],
        }[what]

    return right


def asks(note, what, M=6, N=40, eps=0.25, layout="contiguous", x="float32", w="float32"):
    """One case. eps is large, so that it counts."""
    return case(
        note,
        what=what,
        x=tensor(M, N, dtype=x),
        w=tensor(N, dtype=w),
        eps=eps,
        dy=tensor(M, N, dtype=x),
        layout=layout,
    )


# --- mistakes: each is the answer that it would give


def says(what, answer):
    """The answer to one question; to any other one, none that an operator gives."""
    return lambda *asked: answer(*asked[1:]) if asked[0] == what else ("no mistake",)


def word(text):
    return lambda *asked: text


def as_contiguous(x, layout):
    """x as a kernel sees it that reads its memory row by row."""
    return x.t().contiguous().view(x.shape) if layout == "transposed" else x


def side_by_side(x, layout):
    """x as a kernel sees it that has its first stride, and 1 for its second."""
    memory = (x.t() if layout == "transposed" else x).contiguous().flatten()
    first = 1 if layout == "transposed" else x.shape[1]
    rows, columns = torch.arange(x.shape[0]), torch.arange(x.shape[1])
    return memory[rows[:, None] * first + columns]


OBSTACLES = {
    "one-library-for-all": (
        word("its library closed when another opened"),
        "After a call for another namespace the first operator is gone. HELD keeps a library for "
        "each namespace: `HELD[namespace]`.",
    ),
    "returns-nothing": (
        word("nothing was returned"),
        "The function registers, but returns nothing. Return the operator.",
    ),
    "not-an-operator": (
        word("what was returned is no operator"),
        "What it returns is not the operator that PyTorch knows by name.",
    ),
    "library-closed": (
        word("its library is closed"),
        "The operator is gone: nobody holds its library, so PyTorch closed it. Keep the library "
        "in HELD.",
    ),
    "already-registered": (
        word("the name was taken"),
        "A second call with the same namespace fails: the first library is still open. Close it "
        "before you define the name again.",
    ),
    "closed-operator": (
        word("the operator of a closed library was returned"),
        "A second call with the same namespace returns the first operator, and its library is "
        "closed. Close the first one with `close_library`, which also takes it out of torch.ops.",
    ),
    "mutates-nothing": (
        word("its schema says that an input is changed"),
        "The schema says that an input is changed (`mutates_args`, `Tensor(a!)`). None is, and an "
        "operator that changes one has no gradient.",
    ),
    "no-kernel-launched": (
        word("no kernel was launched"),
        "The operator gave a result and launched no kernel.",
    ),
    "input-changed": (
        word("an input was changed"),
        "A call of the operator changes one of its inputs.",
    ),
    "aliases-input": (
        word("an input was returned"),
        "The operator returns its own input. A result must be new memory.",
    ),
    "no-tensor": (
        word("a call returns no tensor"),
        "A call of the operator returns no tensor. Is a `return` missing in it?",
    ),
    "unwritten": (
        word("a part of the result was not written"),
        "A part of the result was never written. Does each row have a program, and does the mask "
        "reach the row's end?",
    ),
    "fake-missing": (
        word("there is no fake"),
        "There is no fake: PyTorch cannot know what the result looks like.",
    ),
    "fake-returns-its-input": (
        word("the fake returns its input"),
        "For a contiguous x the fake returns x itself. A fake result is new, as the real one is.",
    ),
    "fake-touches-data": (
        word("the fake reads data"),
        "The fake reads a value, and a fake tensor has none. It may only allocate.",
    ),
    "no-gradient": (
        word("there is no gradient"),
        "The result has no gradient: no autograd formula is registered for this operator.",
    ),
}

FAKES = {
    "fake-returns-nothing": (
        says("fake", word("NoneType")),
        "The fake returns nothing. Is a `return` missing in it?",
    ),
    "fake-turned": (
        says("fake", lambda x, *rest: fake(x, shape=list(x.shape)[::-1], strides=[x.shape[0], 1])),
        "Rows and columns of the fake are exchanged. The result has the shape of x.",
    ),
    "fake-strides": (
        says("fake", lambda x, *rest: fake(x, strides=[1, x.shape[0]])),
        "For a transposed x the fake is transposed too, and the real result is contiguous.",
    ),
    "fake-dtype": (
        says("fake", lambda x, *rest: fake(x, dtype="torch.float32")),
        "The fake is float32 for a float16 x. Pass it the dtype of x.",
    ),
    "fake-dtype-of-w": (
        says("fake", lambda x, w, *rest: fake(x, dtype=str(w.dtype))),
        "The fake has the dtype of w. The result has that of x.",
    ),
    "fake-device": (
        says("fake", lambda x, *rest: fake(x, devices=["cpu", "cpu"])),
        "The fake is on the CPU wherever x is. Pass it the device of x.",
    ),
    "fake-device-and-dtype": (
        says("fake", lambda x, *rest: fake(x, devices=["cpu", "cpu"], dtype="torch.float32")),
        "The fake is float32 on the CPU, whatever x is. Pass it dtype and device of x.",
    ),
    "fake-this-device": (
        says("fake", lambda x, *rest: fake(x, devices=[DEVICE, DEVICE])),
        "The fake is on this machine's device wherever x is. Pass it the device of x.",
    ),
    "fake-shape-of-w": (
        says("fake", lambda x, w, *rest: fake(x, shape=list(w.shape), strides=[1])),
        "The fake is one row, as w is. The result has the shape of x.",
    ),
    "fake-like-w": (
        says(
            "fake",
            lambda x, w, *rest: fake(x, shape=list(w.shape), strides=[1], dtype=str(w.dtype)),
        ),
        "The fake looks like w. The result has shape and dtype of x.",
    ),
    "fake-fixed-shape": (
        says("fake", lambda x, *rest: fake(x, shape=[6, 40], strides=[40, 1])),
        "The fake has 6 rows of 40 whatever x is. Take the shape of x.",
    ),
    "fixed-sizes": (
        says("five sizes, compiled", word("a graph for each")),
        "A compiled call is compiled again for each number of rows: something turns a size into "
        "a plain number, such as `int(x.shape[0])`. Use `x.shape` as it is.",
    ),
}

SCHEMAS = {
    "schema-order": (
        says("schema", word("rmsnorm(Tensor w, Tensor x, float eps) -> Tensor")),
        "In the schema w comes before x. Callers pass x first.",
    )
}

VALUES = {
    "eps-fixed": (
        says("result", lambda x, w, eps, *rest: normed(x, w, 1e-5)),
        "The result does not depend on eps: a fixed number, or a default, went into the kernel.",
    ),
    "no-weight": (
        says("result", lambda x, w, eps, *rest: normed(x, torch.ones_like(w), eps)),
        "The result lacks the weight.",
    ),
}


def gives(wrong):
    return says("gradient", lambda x, w, eps, dy, layout: wrong(x, w, eps, dy))


def of_w(x, w, eps, dy):
    return {"gradient of w": gradients(x, w, eps, dy)["gradient of w"]}


def dy_last(x, w, eps, dy):
    """rmsnorm_gradients(x, w, dy, eps)."""
    dx, dw = rmsnorm_gradients(x.double(), w.double(), dy.double(), eps)
    return {"gradient of x": dx.to(x.dtype), "gradient of w": dw.to(w.dtype)}


def exchanged(x, w, eps, dy):
    """What comes out when the backward takes x for w and w for x."""
    dx, dw = rmsnorm_gradients(dy.double(), w.double(), x.double(), eps)
    return {"gradient of x": dx.to(x.dtype), "gradient of w": dw.to(w.dtype)}


GRADIENTS = {
    "saved-in-another-order": (
        gives(exchanged),
        "The backward takes x for w and w for x. Saved tensors come back in the order in which "
        "they were saved.",
    ),
    "dy-comes-last": (gives(dy_last), "`rmsnorm_gradients` takes dy first, then x, w and eps."),
    "output-saved": (
        gives(lambda x, w, eps, dy: gradients(normed(x, w, eps), w, eps, dy)),
        "The backward got the result in place of x. Save the input.",
    ),
    "gradient-count": (
        word("the backward does not return one gradient for each input"),
        "The operator has three inputs, so the backward returns three values: None for eps.",
    ),
    "gradient-for-a-number": (
        word("the backward returns a gradient for a number"),
        "eps is a number: the backward returns None for it.",
    ),
    "gradient-shape": (
        word("a gradient has another shape than its input"),
        "A gradient has another shape than its input. Do they come in the order of the inputs?",
    ),
    "nothing-kept": (
        word("the backward looks for something that was not kept"),
        "The backward looks for something on ctx that nobody put there. Is `setup_context=` given, "
        "and does it keep all that the backward needs?",
    ),
    "gradient-without-weight": (
        gives(
            lambda x, w, eps, dy: gradients(x, torch.ones_like(w), eps, dy) | of_w(x, w, eps, dy)
        ),
        "The gradient of x lacks the weight.",
    ),
    "gradient-ignores-dy": (
        gives(lambda x, w, eps, dy: gradients(x, w, eps, torch.ones_like(dy))),
        "The gradients do not depend on dy, the gradient of the result.",
    ),
    "gradient-eps-fixed": (
        gives(lambda x, w, eps, dy: gradients(x, w, 1e-5, dy)),
        "The gradients do not depend on eps. Keep it on ctx and pass it on.",
    ),
    "no-gradient-of-w": (
        gives(lambda x, w, eps, dy: gradients(x, w, eps, dy) | {"gradient of w": None}),
        "There is a gradient of x and none of w.",
    ),
    "no-gradient-of-x": (
        gives(lambda x, w, eps, dy: gradients(x, w, eps, dy) | {"gradient of x": None}),
        "There is a gradient of w and none of x.",
    ),
    "saved-on-ctx": (
        says("input changed", word("not noticed")),
        "x was changed between forward and backward, nobody noticed, and the gradient is wrong. "
        "Save tensors with `ctx.save_for_backward`.",
    ),
    "kernel-in-the-backward": (
        says("gradient, compiled", word("a kernel was launched on fake tensors")),
        "Compiled, the backward launches a kernel on fake tensors. A backward consists of "
        "operators.",
    ),
}

FAKE_LAUNCH = "a kernel was launched on fake tensors"
LAUNCHES_IN_FAKE = {
    "fake-launches": (
        word(FAKE_LAUNCH),
        "The fake launches a kernel, and a fake tensor has no data. It may only allocate.",
    )
}
NOT_WRAPPED = {
    "launch-not-wrapped": (
        word(FAKE_LAUNCH),
        "The compiler ran your function on fake tensors, and it launched a kernel on them. Launch "
        "through `torch.library.wrap_triton(rmsnorm_kernel)`.",
    )
}


def seen_as(box):
    """The right result, and in the graph something else than asked for."""
    return says("in a graph", lambda x, w, eps, *rest: in_a_graph(box, x, w, eps))


CLOSED_BOX = {
    "closed-box": (
        seen_as("one call"),
        "The graph holds one closed call and no kernel. Is this a `triton_op`?",
    ),
    "other-operators": (
        seen_as("other operators"),
        "The graph holds other operators and no kernel.",
    ),
}
OPEN_BOX = {
    "open-box": (
        seen_as("the kernel"),
        "The graph shows the kernel: this is a `triton_op`. Another way is asked for here.",
    ),
    "other-operators": (
        seen_as("other operators"),
        "In the graph the operator is missing: other operators stand in its place.",
    ),
}

DEVICES = {
    "every-device": (
        says("devices", word(["CPU", "CUDA"])),
        "It is registered for every device. A kernel compiled for one must never get tensors of "
        "another: give `impl` this machine's key.",
    ),
    "other-device": (
        says("devices", word(["CUDA" if DEVICE == "cpu" else "CPU"])),
        "It is registered for another device than this machine's: DEVICE.upper() is the key.",
    ),
    "not-implemented": (
        says("devices", word([])),
        "The name is defined, and no device has an implementation.",
    ),
}

STRIDES = {
    "strided-only": (
        says("result", lambda x, w, eps, dy, layout: normed(as_contiguous(x, layout), w, eps)),
        "Right for a contiguous x alone: pass the kernel the strides of x.",
    ),
    "columns-side-by-side": (
        says("result", lambda x, w, eps, dy, layout: normed(side_by_side(x, layout), w, eps)),
        "The columns of x were read as if they lay side by side. Pass both strides of x.",
    ),
    "result-not-contiguous": (
        says("result", lambda x, w, eps, dy, layout: strewn(normed(x, w, eps))),
        "The kernel writes row after row, and the result is laid out like the transposed x. "
        "Allocate it contiguous.",
    ),
}


def strewn(y):
    """A contiguous y in the memory of a transposed tensor."""
    return y.reshape(y.shape[1], y.shape[0]).t()


SMALL_HALF = dict(x="float16", w="bfloat16")
EVERY_WAY = OBSTACLES | SCHEMAS | VALUES | GRADIENTS | FAKES

HIDDEN = [
    asks("half precision", "result", 3, 65, **SMALL_HALF),
    asks("another fake", "fake", 9, 33, layout="transposed", x="bfloat16", w="float16"),
    asks("gradients of a transposed x", "gradient", 5, 33, layout="transposed"),
    asks("another x in a graph", "in a graph", 4, 70, eps=0.5),
]

CUSTOM = [
    asks("its schema", "schema"),
    asks("right values, an eps that counts", "result"),
    asks("the fake of a transposed x", "fake", 5, 33, layout="transposed", **SMALL_HALF),
    asks("right gradients", "gradient"),
    asks("x changed between forward and backward", "input changed"),
    asks("one call in a graph", "in a graph"),
    asks("forward and backward compiled", "gradient, compiled"),
    asks("compiled for five numbers of rows", "five sizes, compiled"),
    asks("torch.library.opcheck", "opcheck"),
    asks("registered twice", "registered again"),
]

LIBRARY = [
    asks("its schema", "schema"),
    asks("for this machine's device alone", "devices"),
    asks("right values, an eps that counts", "result"),
    asks("the fake of a transposed x", "fake", 5, 33, layout="transposed", **SMALL_HALF),
    asks("right gradients", "gradient"),
    asks("one call in a graph", "in a graph"),
    asks("torch.library.opcheck", "opcheck"),
    asks("registered twice", "registered again"),
]

TRITON = [
    asks("its schema", "schema"),
    asks("right values, an eps that counts", "result"),
    asks("a transposed x", "result", 5, 33, layout="transposed", **SMALL_HALF),
    asks("traced on fake tensors", "fake", 5, 33, layout="transposed", **SMALL_HALF),
    asks("right gradients", "gradient"),
    asks("the kernel in a graph", "in a graph"),
    asks("forward and backward compiled", "gradient, compiled"),
    asks("torch.library.opcheck", "opcheck"),
    asks("registered twice", "registered again"),
]


GIVEN = dict(triton=False, tolerance=CLOSE, timeout=120)

CHECKS = {
    "register_custom": Check(
        told("one call"),
        CUSTOM,
        HIDDEN,
        through="custom_fact",
        mistakes=EVERY_WAY | OPEN_BOX | LAUNCHES_IN_FAKE,
        **GIVEN,
    ),
    "register_library": Check(
        told("one call"),
        LIBRARY,
        HIDDEN,
        through="library_fact",
        mistakes=EVERY_WAY | DEVICES | OPEN_BOX | LAUNCHES_IN_FAKE,
        **GIVEN,
    ),
    "register_triton": Check(
        told("the kernel"),
        TRITON,
        HIDDEN,
        through="triton_fact",
        mistakes=EVERY_WAY | STRIDES | CLOSED_BOX | NOT_WRAPPED,
        **GIVEN,
    ),
}

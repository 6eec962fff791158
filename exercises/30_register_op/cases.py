"""What the checks of 30_register_op ask, and the right answers."""

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
            "fake": {
                "shape": list(x.shape),
                "dtype": str(x.dtype),
                "strides": [x.shape[1], 1],
                "devices": [DEVICE, OTHER_DEVICE],
            },
            "input changed": "noticed",
            "in a graph": {"seen as": box, "result": normed(x + 1, w, eps) * 2},
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


SMALL_HALF = dict(x="float16", w="bfloat16")

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
    "register_custom": Check(told("one call"), CUSTOM, HIDDEN, through="custom_fact", **GIVEN),
    "register_library": Check(told("one call"), LIBRARY, HIDDEN, through="library_fact", **GIVEN),
    "register_triton": Check(told("the kernel"), TRITON, HIDDEN, through="triton_fact", **GIVEN),
}

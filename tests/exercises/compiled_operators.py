"""Questions of notebook 30 to compiled kernels without a GPU; the script of one process.

Kernels compile for an H100 and are launched on a driver that runs nothing; after each launch the
formula fills in what the kernel would have written. So everything that PyTorch does with an
operator is real, tracing and compiling included. Prints one JSON object. Start it with
TRITON_INTERPRET=0.
"""

import json
import sys

import torch
import torch.utils._triton

import tritonbook.port.device
from tritonbook.build import matrix
from tritonbook.course import cases, exercises, gaps
from tritonbook.port.compat import fake_gpu, hook_launch

# The tensors lie here; kernels are compiled for the GPU of `fake_gpu`.
tritonbook.port.device.DEVICE = tritonbook.DEVICE = "cpu"
torch.utils._triton.has_triton = lambda: True  # else Dynamo takes kernels for Python functions


def fill_in(call, fn, grid, args, kwargs):
    """Launch, which compiles, and write what `fn` would have written."""
    result = call()
    if fn.__name__ == "rmsnorm_kernel":
        x, w, y = (
            kwargs.get(name, args[i] if i < len(args) else None)
            for i, name in enumerate(("x_ptr", "w_ptr", "y_ptr"))
        )
        root = torch.rsqrt(x.float().square().mean(-1, keepdim=True) + 1e-5)
        y.copy_(x.float() * root * w.float())
    else:
        dy, x, w, dx, dw = (value.double() for value in args[:5])
        root = torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-5)
        normed, weighted = x * root, dy * w
        dx = root * (weighted - normed * (weighted * normed).mean(-1, keepdim=True))
        args[3].copy_(dx)
        args[4].copy_((dy * normed).sum(0))
    return result


def questions(module, key):
    """The questions of a check, hidden ones included: [(says, {question, shape, of, layout})]."""
    asked = cases.call(module.__exercise__, key, module)
    return [(asked.function, c.arguments) for c in (*asked.check.cases, *asked.check.hidden)]


def answers(module, key):
    """The first answer that is not ok, or ok."""
    for says, arguments in questions(module, key):
        code = says(**{name: arguments[name] for name in ("question", "shape", "of", "layout")})
        if code != "ok":
            return code
    return "ok"


def main():
    exercise = exercises.get("30_register_op")
    found = {}
    with fake_gpu(90), hook_launch(fill_in):
        for key in sys.argv[1:]:
            found[f"solution {key}"] = answers(exercises.load(exercise), key)
        for trial in matrix.trials(exercise, "register_triton"):
            if "wrap" in trial.name or "box" in trial.name:
                module = exercises.load(exercise, {trial.key: trial.text})
                found[trial.name] = answers(module, trial.key)
        page = next(c.source for c in exercise.cells if "def seen_by_compiler" in c.source)
        names = {**vars(exercises.load(exercise)), "DEVICE": "cuda"}
        torch.cuda.synchronize = lambda: None
        exec(gaps.solved_text(page).replace("calls=2000", "calls=5"), names)
        found["table"] = {name: seen for name, _, seen in names["rows"]}
    print(json.dumps(found))


if __name__ == "__main__":
    main()

"""The checks of notebook 30 with compiled kernels and without a GPU; the script of one process.

Kernels compile for an H100 and are launched on a driver that runs nothing; after each launch the
formula fills in what the kernel would have written. So everything that PyTorch does with an
operator is real, tracing and compiling included. Prints one JSON object: what each answer's check
says, and the graphs of the page's own table. Start it with TRITON_INTERPRET=0.
"""

import json

import torch
import torch.utils._triton

import tritonbook.port.device
from tritonbook.build import matrix
from tritonbook.course import exercises, page_checks
from tritonbook.port.compat import fake_gpu, hook_launch, launch_arguments
from tritonbook.seeing.operators import graph_of

# The tensors lie here; kernels are compiled for the GPU of `fake_gpu`.
tritonbook.port.device.DEVICE = tritonbook.DEVICE = "cpu"
torch.utils._triton.has_triton = lambda: True  # else Dynamo takes kernels for Python functions
tritonbook.port.device.versions = dict  # it would ask the GPU for its name

WRONG = ("not-wrapped", "a-closed-box-with-a-fake", "calls-the-wrapper")


def fill_in(call, fn, grid, args, kwargs):
    """Launch, which compiles, and write what `fn` would have written."""
    result = call()
    given = launch_arguments(fn, args, kwargs)
    x, w = given["x_ptr"].double(), given["w_ptr"].double()
    root = torch.rsqrt(x.square().mean(-1, keepdim=True) + given["eps"])
    given["y_ptr"].copy_(x * root * w)
    return result


def verdict(module, key):
    report = page_checks.run_page_check(module, key)
    return report.finding.code if report.finding else report.state


def main():
    exercise = exercises.get("30_register_op")
    page = exercises.load(exercise)
    found = {}
    with fake_gpu(90), hook_launch(fill_in):
        for key in exercise.checks():
            found[key] = verdict(page, key)
        for attempt in matrix.attempts(exercise, "register_triton"):
            if attempt.name in WRONG:
                module = exercises.load(exercise, {attempt.key: attempt.text})
                found[attempt.name] = verdict(module, attempt.key)
        x, w = torch.randn(8, 64), torch.ones(64)
        for key in exercise.checks():
            way = getattr(page, key)(f"graph_of_{key}")
            graph = graph_of(lambda x, w, way=way: way(x + 1, w, 1e-5) * 2, x, w)
            found[f"graph of {key}"] = graph
    print(json.dumps(found))


if __name__ == "__main__":
    main()

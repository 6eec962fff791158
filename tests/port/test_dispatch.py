"""The dispatch mode that spares torch's compiler."""

import subprocess
import sys

PROGRAM = """
import sys
import torch
from tritonbook.port.dispatch import DispatchMode

class Names(DispatchMode):
    seen = []
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.seen.append(func.name())
        return func(*args, **(kwargs or {}))

with Names():
    torch.zeros(3) + 1
print("torch._dynamo" in sys.modules, "aten::add.Tensor" in Names.seen)
Names.seen.clear()
with Names():
    doubled = torch.compile(lambda x: x * 2, backend="eager")(torch.ones(3))
    doubled - 1
print(doubled.tolist(), "aten::sub.Tensor" in Names.seen)
"""


def test_sees_every_operator_and_loads_no_compiler():
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["False True", "[2.0, 2.0, 2.0] True"]

"""The child process: runs exported functions in the mode that the notebook's process is not in.

Started as `python -m tritonbook.seeing.worker` with TRITON_INTERPRET set to 0 (compile for a GPU
that need not be there) or 1 (interpret and measure). Reads one JSON request a line, answers with
one JSON line; what the functions print goes to stderr. Ends when its input ends.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
import shutil
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from ..port import source_file
from .arguments import decode


class PretendCuda(TorchFunctionMode):
    """CPU tensors stand for a GPU's: `is_cuda` is true, device="cuda" allocates on the CPU."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = dict(kwargs or {})
        if func == torch.Tensor.is_cuda.__get__:  # a new object at each look: equal, not identical
            return True
        if func is torch.Tensor.cuda:
            return args[0]
        if _is_cuda(kwargs.get("device")):
            kwargs["device"] = "cpu"
        if func is torch.Tensor.to:
            args = tuple("cpu" if _is_cuda(arg) else arg for arg in args)
        return func(*args, **kwargs)


def _serve_operators_on_the_cpu() -> None:
    """What is registered for CUDA must run: there too CPU tensors stand for the GPU's."""
    original = torch.library.Library.impl

    @functools.wraps(original)
    def impl(self: Any, op_name: Any, fn: Any, dispatch_key: str = "", **options: Any) -> Any:
        key = "CPU" if dispatch_key == "CUDA" else dispatch_key
        return original(self, op_name, fn, key, **options)

    torch.library.Library.impl = impl


def _is_cuda(device: Any) -> bool:
    if isinstance(device, torch.device):
        return device.type == "cuda"
    return isinstance(device, str) and device.split(":")[0] == "cuda"


class Loader:
    """Exported source becomes a module from a real file: Triton reads kernels from their file."""

    def __init__(self, folder: Path):
        self.folder = folder

    def __call__(self, text: str, entry: str) -> Any:
        name = "exported_" + hashlib.sha256(text.encode()).hexdigest()[:16]
        path = self.folder / f"{name}.py"
        if not path.exists():
            path.write_text(text, encoding="utf-8")
        return eval(entry, vars(source_file.imported(path, name)))


def _work(request: dict[str, Any], load: Loader) -> dict[str, Any]:
    if request["job"] == "ping":
        return {"pid": os.getpid()}
    sys.path += [place for place in request["path"] if place not in sys.path]
    if request["job"] == "compile":
        from .compile_job import compile_all as job
    else:
        from .meter_job import measure as job

    def call() -> Any:
        with PretendCuda():
            fn = load(request["source"], request["entry"])
            args = [decode(value, load) for value in request["args"]]
            options = {name: decode(value, load) for name, value in request["options"].items()}
            return fn, args, options

    return job(call, request)


def _serve(receive: Any, send: Callable[[str], Any], load: Loader) -> None:
    for line in receive:
        request = json.loads(line)
        try:
            answer = _work(request, load)
        except (Exception, SystemExit) as error:
            answer = {"crash": f"{type(error).__name__}: {error}"}
            traceback.print_exc()
        send(json.dumps({"id": request["id"], **answer}) + "\n")


def _end_with_parent(parent: int, folder: Path) -> None:
    """A function that never returns must not outlive the notebook."""
    while os.getppid() == parent:
        time.sleep(2)
    shutil.rmtree(folder, ignore_errors=True)
    os._exit(1)


def main() -> None:
    """Serve requests from stdin until it is closed. Argument: a folder for exported files."""
    folder = Path(sys.argv[1])
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the notebook's interrupt is not meant for it
    threading.Thread(target=_end_with_parent, args=(os.getppid(), folder), daemon=True).start()
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8", buffering=1)
    os.dup2(2, 1)  # a function's prints must not mix with the answers
    _serve_operators_on_the_cpu()
    _serve(sys.stdin, lambda text: (answers.write(text), answers.flush()), Loader(folder))


if __name__ == "__main__":
    main()

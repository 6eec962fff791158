"""Judgements about GPUs, drivers and what is compiled for them: each a function of a `Machine`."""

from __future__ import annotations

from ..port.pairs import (
    ASSEMBLED,
    OLDEST_DRIVER,
    TESTED_PAIR,
    numbers,
    runs,
    short,
    wheel_for,
)
from .folders import GIGABYTE
from .judgement import Judgement, needed, note, ok, problem
from .machine import Machine

INTERPRET = "export TRITON_INTERPRET=1   # then restart: the interpreter runs every notebook"
COLAB = "For speed, open the notebook on Colab (Runtime > Change runtime type > T4 GPU)."
SLURM = "sbatch --gres=gpu:1 ...   # or: srun --gres=gpu:1 --pty bash"
ASK = "nvidia-smi   # show what it says to whoever runs this machine"
NEWER = "Ask whoever runs this machine for a newer driver."
# For drivers before 525. Triton 3.2 takes the assembler of CUDA 11.8; newer Tritons do not.
OLD_ASSEMBLER = (
    "pip install nvidia-cuda-nvcc-cu11 && export TRITON_PTXAS_PATH=$(python -c "
    "'import nvidia.cuda_nvcc as n; print(n.__path__[0])')/bin/ptxas"
)
GIVEN = {
    "Apptainer": "apptainer exec --nv ...   # --nv brings the node's GPU and driver in",
    "Docker": "docker run --gpus all ...   # needs NVIDIA's container toolkit on the node",
    "Podman": "podman run --device nvidia.com/gpu=all ...",
    "Kubernetes": "resources: {limits: {nvidia.com/gpu: 1}}   # in the pod's description",
}
# What the driver or CUDA says, and what has helped.
HELPED = {
    "version mismatch": "sudo reboot   # the driver was updated while the old one was loaded",
    "Unknown Error": "exit   # and start the container anew: systemd took its GPU away",
    "communicate with the NVIDIA driver": "sudo modprobe nvidia   # else install the driver anew",
    "Error 802": "sudo systemctl start nvidia-fabricmanager   # GPUs with NVSwitch need it",
    "no answer within": "sudo reboot   # the driver hangs; or ask whoever runs this machine",
    "Error 803": "sudo reboot   # driver and libcuda are of two versions",
    "Error 804": "unset LD_LIBRARY_PATH   # a newer libcuda (cuda/compat) than this driver takes",
    "Error 999": "sudo rmmod nvidia_uvm && sudo modprobe nvidia_uvm   # after the machine slept",
}


def gpu(m: Machine) -> Judgement:
    if m.amd and (m.cuda_works or m.amd_driver):
        name = m.gpus[0].name if m.gpus else "AMD GPU"
        return needed(m)(
            f"{name}: the workbook is written for NVIDIA's GPUs; here it runs in the interpreter.",
            COLAB if m.interpreting else INTERPRET,
        )
    if m.cuda_works and m.gpus:
        first = m.gpus[0]
        major, minor = first.capability
        return ok(f"{first.name}, sm_{major}{minor}, {first.memory / GIGABYTE:.0f} GiB.")
    return _not_given(m) or _cpu_torch(m) or _not_visible(m) or _silent(m) or _none(m)


def _cpu_torch(m: Machine) -> Judgement | None:
    seen = m.driver_gpus or m.node_gpus
    if not (seen and m.torch) or m.torch_cuda is not None or m.amd:
        return None
    if not m.driver:
        mend = ASK
    elif wheel := wheel_for(m.driver):
        mend = f"{wheel}   # driver {m.driver} runs it"
    else:
        mend = f"{NEWER} No torch that Triton needs runs with {m.driver}."
    sentence = f"This machine has a GPU ({seen[0]}), but torch {m.torch} is a CPU build."
    return problem(sentence, mend)


def _not_visible(m: Machine) -> Judgement | None:
    """What CUDA_VISIBLE_DEVICES or the lack of a slice hides. CUDA stops at the first bad name."""
    if not (m.driver_gpus or m.node_gpus or m.visible_devices == "NoDevFiles"):
        return None
    name, count = (m.driver_gpus or m.node_gpus or ("GPU",))[0], len(m.driver_gpus or m.node_gpus)
    slices = [each for each in m.identities if each.startswith("MIG-")]
    choose = f"export CUDA_VISIBLE_DEVICES={slices[0] if slices else 'MIG-...'}"
    chosen = (m.visible_devices or "").split(",")[0].strip()
    if m.visible_devices is None:
        if not m.sliced:
            return None
        if slices:
            return problem(
                f"This machine's GPU ({name}) is cut into slices (MIG), and none is chosen.",
                choose,
            )
        return problem(
            f"This machine's GPU ({name}) is in MIG mode, but no slice of it was made.",
            "sudo nvidia-smi mig -cgi 0 -C   # or ask whoever runs this machine",
        )
    if chosen == "NoDevFiles":
        return problem(
            "Slurm gave this job no GPU (CUDA_VISIBLE_DEVICES=NoDevFiles): it asked for none.",
            SLURM,
        )
    said = f"CUDA_VISIBLE_DEVICES={m.visible_devices!r}"
    if chosen in ("", "-1"):
        return problem(f"{said} hides this machine's GPU ({name}).", "unset CUDA_VISIBLE_DEVICES")
    if m.sliced and not chosen.startswith("MIG-"):
        return problem(
            f"{said} names no slice, but this machine's GPU ({name}) is cut into slices (MIG).",
            choose,
        )
    if chosen.isdigit():
        if int(chosen) < count:
            return None
        there = "only 0" if count == 1 else f"0 to {count - 1}"
        return problem(
            f"{said} names a GPU that is not there: this machine has {there}.",
            "export CUDA_VISIBLE_DEVICES=0",
        )
    if any(each.startswith(chosen) for each in m.identities):
        return None
    what = "a slice (MIG)" if chosen.startswith("MIG-") else "a GPU"
    there = [each for each in m.identities if each[:4] == chosen[:4]]
    return problem(
        f"{said} names {what} that is not there.",
        f"export CUDA_VISIBLE_DEVICES={there[0]}" if there else "unset CUDA_VISIBLE_DEVICES",
    )


def _not_given(m: Machine) -> Judgement | None:
    """The node has a GPU, but this job or container was not given it."""
    if m.driver_gpus or not m.node_gpus or "Unknown Error" in m.driver_complaint:
        return None  # or it was, and has lost it
    name = m.node_gpus[0]
    if m.slurm_job and not m.slurm_gpus:
        return problem(
            f"This node has a GPU ({name}), but Slurm job {m.slurm_job} did not ask for one.", SLURM
        )
    if m.container:
        return problem(
            f"This node has a GPU ({name}), but this {m.container} container was not given it.",
            GIVEN[m.container],
        )
    return None


def _silent(m: Machine) -> Judgement | None:
    """The driver is there, but it or CUDA does not start."""
    seen = m.driver_gpus or m.node_gpus
    said = m.torch_says if m.driver_gpus else m.driver_complaint
    if not (seen or said):
        return None
    name = seen[0] if seen else "GPU"
    helped = next((mend for words, mend in HELPED.items() if words in said), ASK)
    if m.driver_gpus and m.driver and m.torch_cuda and not runs(m.driver, m.torch_cuda):
        return note(
            f"The driver sees a GPU ({name}), but is too old for this torch.",
            wheel_for(m.driver) or NEWER,
        )
    if m.driver_gpus:
        said = f"torch cannot use it: {said}" if said else "torch cannot use it"
        return problem(f"The driver sees a GPU ({name}), but {said}.", helped)
    if seen:
        said = said or "nothing"
        return problem(f"This machine has a GPU ({name}), but nvidia-smi says: {said}.", helped)
    return problem(f"The driver answers for no GPU; nvidia-smi says: {said}.", helped)


def _none(m: Machine) -> Judgement:
    if m.amd_driver:
        return note(
            "There is an AMD GPU here, but the workbook is written for NVIDIA's: kernels run in "
            "Triton's interpreter.",
            COLAB,
        )
    if "Microsoft" in m.release and "WSL2" not in m.release:
        return note(
            "This is WSL 1, which has no GPUs: kernels run in Triton's interpreter.",
            "wsl --set-version Ubuntu 2   # in Windows; wsl -l -v lists the names",
        )
    if not m.interpreting:  # `mode` says what is wrong with that
        return note("There is no GPU here.", COLAB)
    return note(
        "No GPU: kernels run in Triton's interpreter, right but slow; speed is not measured.",
        SLURM if m.slurm_job and not m.slurm_gpus else COLAB,
    )


def driver(m: Machine) -> Judgement | None:
    if not m.driver or not m.torch_cuda or m.amd:
        return None
    if not runs(m.driver, m.torch_cuda):
        oldest = OLDEST_DRIVER[m.torch_cuda.split(".")[0]]
        wheel = wheel_for(m.driver)
        return problem(
            f"Driver {m.driver} is too old for CUDA {m.torch_cuda}, which torch was built with "
            f"(it needs {oldest[0]}.{oldest[1]} or newer).",
            f"{wheel}   # or ask for a newer driver" if wheel else NEWER,
        )
    return ok(f"Driver {m.driver} runs CUDA {m.torch_cuda}.")


def capability(m: Machine) -> Judgement | None:
    if not m.gpus or m.amd:
        return None
    name, (major, minor) = m.gpus[0].name, m.gpus[0].capability
    if (major, minor) < (7, 5):
        others = (n for n, each in enumerate(m.gpus) if each.capability >= (7, 5))
        return problem(
            f"{name} is sm_{major}{minor}; the workbook's kernels need sm_75 or newer.",
            next(
                (f"export CUDA_VISIBLE_DEVICES={n}   # {m.gpus[n].name}" for n in others), INTERPRET
            ),
        )
    if m.torch_architectures and not _torch_covers(m, major, minor):
        return problem(
            f"{name} is sm_{major}{minor}, which torch {m.torch} was not built for.",
            TESTED_PAIR,
        )
    if major < 8:
        return note(
            f"{name} is sm_{major}{minor}: every notebook gives right results, but recent Triton "
            "uses no tensor cores on it: speed marks of matrix products and attention are off.",
            "For those notebooks use an A100, L4 or newer.",
        )
    return ok(f"sm_{major}{minor} is new enough for every notebook, with tensor cores.")


def _torch_covers(m: Machine, major: int, minor: int) -> bool:
    """Whether torch's own kernels run: same major version built for it, or newer by PTX."""
    built = [name.split("_") for name in m.torch_architectures if "_" in name]
    for kind, digits in built:
        number = int("".join(c for c in digits if c.isdigit()))
        if kind == "sm" and number // 10 == major and number % 10 <= minor:
            return True
        if kind == "compute" and number <= major * 10 + minor:
            return True
    return False


def assembler(m: Machine) -> Judgement | None:
    """Whether what Triton's ptxas makes is for this GPU, and for a driver like this one."""
    if not m.gpus or m.amd:
        return None
    cuda, known = m.assembler
    known = known or ASSEMBLED.get(short(m.triton), ())
    name = "sm_{}{}".format(*m.gpus[0].capability)
    if known and name not in known and m.gpus[0].capability >= (7, 5):
        newest = numbers(m.triton)[:2] > max(map(numbers, ASSEMBLED))
        return needed(m)(
            f"{m.gpus[0].name} is {name}, which the assembler (ptxas) of Triton {m.triton} does "
            "not know.",
            "pip install --upgrade torch triton" if newest else TESTED_PAIR,
        )
    if cuda.startswith("12.") and m.driver and not runs(m.driver, cuda):
        return needed(m)(
            f"Triton {m.triton} makes programs of CUDA {cuda}, which driver {m.driver} refuses "
            '("device kernel image is invalid").',
            OLD_ASSEMBLER if short(m.triton) == "3.2" else wheel_for(m.driver) or INTERPRET,
        )
    return ok(f"Triton's assembler makes programs for {name}.") if known else None


def libcuda(m: Machine) -> Judgement | None:
    """Triton's launcher is linked with the driver's library."""
    if m.interpreting or m.amd or not (m.gpus or m.driver_gpus):
        return None
    other = m.libcuda_elsewhere
    tell = f"export TRITON_LIBCUDA_PATH={other}" if other else ""
    if not m.libcuda and m.libcuda_named:
        return problem(
            f"TRITON_LIBCUDA_PATH names {m.libcuda_named}, where there is no libcuda.so.1.",
            "unset TRITON_LIBCUDA_PATH" + (f"   # if that is not enough: {tell}" if tell else ""),
        )
    if not m.libcuda:
        return problem(
            "libcuda.so.1 is not found, which Triton's launcher is linked with.",
            tell or "find / -name libcuda.so.1   # then: export TRITON_LIBCUDA_PATH=its/folder",
        )
    folder = m.libcuda.rpartition("/")[0]
    if folder.endswith("stubs"):
        return problem(
            f"{folder} holds CUDA's stub of libcuda.so.1, which is no driver, and is found first.",
            tell or "unset LD_LIBRARY_PATH TRITON_LIBCUDA_PATH",
        )
    if m.libcuda_unlinked:
        return problem(
            f"Triton {m.triton} is linked with libcuda.so, but {folder} has libcuda.so.1 alone.",
            f"mkdir -p ~/.cuda && ln -sf {m.libcuda} ~/.cuda/libcuda.so && ln -sf {m.libcuda} "
            "~/.cuda/libcuda.so.1 && export TRITON_LIBCUDA_PATH=~/.cuda",
        )
    return ok(f"libcuda.so.1: {m.libcuda}.")

"""Every judgement of the doctor, each with a machine made up for it; this machine is not asked."""

import re
from dataclasses import replace

import pytest

from tritonbook.health import gpus, judgements
from tritonbook.health.doctor import COLOURS, SYMBOLS, examine
from tritonbook.health.folders import Folder
from tritonbook.health.machine import Gpu, Machine, Unseen
from tritonbook.port.pairs import OLDEST_DRIVER, runs, wheel_for

LAPTOP = Machine()
A100 = replace(
    LAPTOP,
    torch="2.6.0+cu124",
    triton="3.2.0",
    torch_cuda="12.4",
    torch_architectures=("sm_50", "sm_80", "sm_90"),
    cuda_works=True,
    gpus=(Gpu("NVIDIA A100-SXM4-80GB", (8, 0)),),
    driver="550.54.15",
    driver_gpus=("NVIDIA A100-SXM4-80GB",),
    libcuda="libcuda.so.1",
    interpret_variable=None,
    interpreting=False,
    library_interpreted=False,
)
T4 = replace(A100, gpus=(Gpu("Tesla T4", (7, 5), 15 << 30),), torch_architectures=("sm_75",))
HIDDEN = replace(A100, cuda_works=False, gpus=(), driver_gpus=("NVIDIA L4",))
IDS = ("GPU-1a", "MIG-2b")
A = ("NVIDIA A100",)
CUDA = {"torch": "2.13.0", "torch_cuda": "13.0"}
MISMATCH = "Failed to initialize NVML: Driver/library version mismatch"
AMD = replace(
    LAPTOP, torch="2.9.0", torch_hip="6.4", cuda_works=True, gpus=(Gpu("AMD MI300X", (9, 4)),)
)
NFS = Folder("/home/you/.triton/cache", kind="nfs4")


def row(machine, name, level, word, fix, **changes):
    """The machine with changes; a judgement's name and level; a word of sentence and fix."""
    return replace(machine, **changes), name, level, word, fix


TABLE = {
    "macOS": row(LAPTOP, "platform", "problem", "macOS", "container", system="Darwin"),
    "python-3.9": row(LAPTOP, "platform", "note", "3.9.18", "venv", python="3.9.18"),
    "python-3.14": row(LAPTOP, "platform", "note", "3.14", "venv", python="3.14.0"),
    "no-gpu": row(LAPTOP, "gpu", "note", "interpreter", "Colab"),
    "cpu-torch-on-gpu-box": row(
        LAPTOP,
        "gpu",
        "problem",
        "CPU build",
        "download.pytorch.org",
        driver="550.54",
        driver_gpus=("NVIDIA L4",),
    ),
    "cpu-torch-old-driver": row(
        LAPTOP, "gpu", "problem", "CPU build", "whl/cu118", driver="520.61.05", driver_gpus=("A",)
    ),
    "cpu-torch-new-driver": row(
        LAPTOP, "gpu", "problem", "CPU build", "whl/cu130", driver="580.95.05", driver_gpus=("A",)
    ),
    "cpu-torch-driver-before-all": row(
        LAPTOP, "gpu", "problem", "CPU build", "newer", driver="418.40", driver_gpus=("A",)
    ),
    "index-that-is-missing": row(
        HIDDEN, "gpu", "problem", "there: this machine has only 0", "=0", visible_devices="3"
    ),
    "first-of-two-is-missing": row(
        HIDDEN,
        "gpu",
        "problem",
        "has 0 to 1",
        "=0",
        visible_devices="2,0",
        driver_gpus=("NVIDIA L4",) * 2,
    ),
    "no-name-of-a-gpu": row(
        HIDDEN, "gpu", "problem", "'cuda:0' names a GPU", "unset", visible_devices="cuda:0"
    ),
    "another-machines-gpu": row(
        HIDDEN, "gpu", "problem", "not there", "=GPU-1a", visible_devices="GPU-77", identities=IDS
    ),
    "NoDevFiles": row(HIDDEN, "gpu", "problem", "Slurm", "--gres", visible_devices="NoDevFiles"),
    "no-slice-chosen": row(
        HIDDEN, "gpu", "problem", "none is chosen", "=MIG-2b", sliced=True, identities=IDS
    ),
    "no-slice-made": row(
        HIDDEN, "gpu", "problem", "no slice of it", "mig -cgi", sliced=True, identities=IDS[:1]
    ),
    "slices-by-number": row(
        HIDDEN,
        "gpu",
        "problem",
        "'0' names no slice",
        "=MIG-2b",
        sliced=True,
        identities=IDS,
        visible_devices="0",
    ),
    "another-slice": row(
        HIDDEN,
        "gpu",
        "problem",
        "a slice (MIG) that is not there",
        "=MIG-2b",
        sliced=True,
        identities=IDS,
        visible_devices="MIG-GPU-5/1/0",
    ),
    "apptainer-without-nv": row(
        LAPTOP, "gpu", "problem", "(NVIDIA A100)", "--nv", node_gpus=A, container="Apptainer"
    ),
    "docker-without-gpus": row(
        LAPTOP, "gpu", "problem", "Docker", "--gpus all", node_gpus=A, container="Docker", **CUDA
    ),
    "slurm-without-gres": row(
        LAPTOP, "gpu", "problem", "Slurm job 7", "--gres", node_gpus=A, slurm_job="7", **CUDA
    ),
    "slurm-node-without-gpus": row(LAPTOP, "gpu", "note", "No GPU", "--gres", slurm_job="7"),
    "driver-that-was-updated": row(
        LAPTOP, "gpu", "problem", "mismatch", "reboot", driver_complaint=MISMATCH, **CUDA
    ),
    "a-gpu-that-a-container-lost": row(
        LAPTOP,
        "gpu",
        "problem",
        "Unknown Error",
        "container anew",
        node_gpus=A,
        container="Docker",
        driver_complaint="Failed to initialize NVML: Unknown Error",
        **CUDA,
    ),
    "what-torch-says": row(HIDDEN, "gpu", "problem", "Error 802", "fabric", torch_says="Error 802"),
    "driver-of-another-time": row(HIDDEN, "gpu", "note", "too old", "whl/cu118", driver="470.82"),
    "ROCm": row(AMD, "gpu", "note", "written for NVIDIA", "Colab"),
    "ROCm-compiled": row(
        AMD, "gpu", "problem", "written for NVIDIA", "INTERPRET=1", interpreting=False
    ),
    "AMD-with-a-CPU-torch": row(LAPTOP, "gpu", "note", "AMD GPU", "Colab", amd_driver=True),
    "WSL-1": row(LAPTOP, "gpu", "note", "WSL 1", "wsl", release="4.4.0-19041-Microsoft"),
    "hidden-gpu": row(
        A100,
        "gpu",
        "problem",
        "CUDA_VISIBLE_DEVICES",
        "unset",
        cuda_works=False,
        gpus=(),
        visible_devices="",
    ),
    "gpu-that-torch-cannot-use": row(
        A100, "gpu", "problem", "cannot use it", "nvidia-smi", cuda_works=False, gpus=()
    ),
    "old-driver": row(A100, "driver", "problem", "525.60", "cu118", driver="470.82"),
    "old-driver-cuda13": row(
        A100, "driver", "problem", "580.65", "driver", torch_cuda="13.0", driver="550.54"
    ),
    "newer-than-the-assembler": row(
        A100,
        "assembler",
        "problem",
        "sm_121",
        "triton==3.7",
        gpus=(Gpu("NVIDIA GB10", (12, 1)),),
        triton="3.5.0",
    ),
    "newer-than-the-newest-assembler": row(
        A100,
        "assembler",
        "problem",
        "sm_130",
        "--upgrade",
        gpus=(Gpu("NVIDIA X", (13, 0)),),
        triton="3.9.0",
        assembler=("13.1", ("sm_120",)),
    ),
    "assembler-newer-than-the-driver": row(
        A100,
        "assembler",
        "problem",
        "kernel image is invalid",
        "nvidia-cuda-nvcc-cu11",
        torch_cuda="11.8",
        driver="520.61.05",
        assembler=("12.4", ("sm_80",)),
    ),
    "V100": row(
        A100,
        "capability",
        "problem",
        "sm_75",
        "TRITON_INTERPRET=1",
        gpus=(Gpu("Tesla V100", (7, 0)),),
    ),
    "display-card-first": row(
        A100,
        "capability",
        "problem",
        "sm_35",
        "CUDA_VISIBLE_DEVICES=1",
        gpus=(Gpu("GT 710", (3, 5)), *A100.gpus),
    ),
    "T4": row(T4, "capability", "note", "tensor cores", "A100"),
    "torch-not-built-for-it": row(
        A100, "capability", "problem", "not built", "triton==", gpus=(Gpu("NVIDIA B200", (10, 0)),)
    ),
    "unpaired": row(A100, "pair", "problem", "Triton 3.2", "triton==3.2.*", triton="3.6.0"),
    "unpaired-where-there-are-no-wheels": row(
        LAPTOP, "pair", "note", "Triton 3.7", "Use Linux", triton="3.5.1", system="Windows"
    ),
    "unpaired-interpreter": row(
        LAPTOP, "pair", "note", "Triton 3.7", "triton==3.7.*", triton="3.9.0"
    ),
    "unknown-torch": row(LAPTOP, "pair", "note", "not tested", "pip install", torch="2.99.0"),
    "no-triton": row(LAPTOP, "pair", "problem", "not installed", "pip", triton=""),
    "broken-triton": row(
        LAPTOP, "pair", "problem", "libtriton", "pip", broken=("No libtriton.so.", "pip x")
    ),
    "two-tritons": row(
        A100,
        "pair",
        "problem",
        "pytorch-triton 3.1",
        "pip uninstall -y triton pytorch-triton && pip install 'triton==3.2.*'",
        tritons=("triton 3.2.0", "pytorch-triton 3.1.0"),
    ),
    "compiled-without-a-gpu": row(
        LAPTOP,
        "mode",
        "problem",
        "TRITON_INTERPRET=0",
        "unset",
        interpret_variable="0",
        interpreting=False,
        library_interpreted=False,
    ),
    "variable-set-late": row(
        LAPTOP, "mode", "problem", "after triton", "Restart", library_interpreted=False
    ),
    "variable-removed-late": row(
        A100, "mode", "problem", "removed after", "Restart", library_interpreted=True
    ),
    "interpreter-despite-gpu": row(
        A100,
        "mode",
        "note",
        "there is a GPU",
        "unset",
        interpret_variable="1",
        interpreting=True,
        library_interpreted=True,
    ),
    "no-compiler": row(A100, "compiler", "problem", "C compiler", "gcc", compiler=None),
    "no-compiler-cpu": row(LAPTOP, "compiler", "note", "not here", "gcc", compiler=None),
    "no-header": row(
        A100, "python-header", "problem", "Python.h", "python3.11-dev", python_header=None
    ),
    "no-header-cpu": row(LAPTOP, "python-header", "note", "Python.h", "-dev", python_header=None),
    "no-libcuda": row(A100, "libcuda", "problem", "libcuda", "find /", libcuda=None),
    "libcuda-without-its-other-name": row(
        A100,
        "libcuda",
        "problem",
        "alone",
        "ln -sf /usr/lib/libcuda.so.1",
        libcuda="/usr/lib/libcuda.so.1",
        libcuda_unlinked=True,
    ),
    "cache-on-nfs": row(A100, "cache", "note", "nfs4", "/tmp", cache=NFS),
    "cache-on-lustre": row(
        A100, "cache", "note", "lustre", "TRITON_CACHE_DIR", cache=replace(NFS, kind="lustre")
    ),
    "cache-read-only": row(
        A100,
        "cache",
        "problem",
        "cannot be written",
        "TRITON_CACHE_DIR",
        cache=replace(NFS, writable=False),
    ),
    "cache-noexec": row(
        A100, "cache", "problem", "noexec", '="/var/tmp', cache=Folder("/tmp/c", noexec=True)
    ),
    "nowhere-else": row(
        A100,
        "cache",
        "problem",
        "noexec",
        "Make room, or ask for a folder of your own: /x",
        cache=Folder("/tmp/c", noexec=True),
        other_folders=(Folder("/x", noexec=True),),
    ),
    "read-only-home": row(
        LAPTOP,
        "progress",
        "note",
        "temporary",
        "TRITONBOOK_HOME",
        data=Folder("/home/you/x", writable=False),
    ),
    "full-disk": row(
        LAPTOP, "disk", "problem", "full", 'TMPDIR="/var', temporary=Folder("/tmp", free=1 << 20)
    ),
    "full-disk-of-progress": row(
        LAPTOP, "disk", "problem", "full", "TRITONBOOK_HOME=", data=Folder("/home/x", free=1 << 20)
    ),
    "closed-folder": row(
        LAPTOP,
        "disk",
        "ok",
        "disk are free",
        "",
        data=Folder("/proc/x", writable=False, free=0, refused="No such file or directory"),
    ),
    "tight-disk": row(LAPTOP, "disk", "note", "1.0 GiB", "du", cache=Folder("/c", free=1 << 30)),
}


@pytest.mark.parametrize("case", TABLE)
def test_finding(case):
    """Kills, too: what is not ok and says nothing that mends it; what is told in two sentences."""
    machine, name, level, word, fix = TABLE[case]
    judgements = examine(machine).judgements
    found = judgements[name]
    assert found.level == level, found
    assert word in found.sentence and fix in found.fix, found
    for judgement in judgements.values():
        assert bool(judgement.fix) == (judgement.level != "ok"), judgement
        assert judgement.sentence.endswith(".") and "\n" not in judgement.sentence


@pytest.mark.parametrize("machine", [LAPTOP, A100], ids=["laptop", "A100"])
def test_a_healthy_machine_has_no_problem(machine):
    """Kills: a judgement that cries wolf."""
    found = examine(machine).judgements.items()
    allowed = {"gpu"} if machine is LAPTOP else set()
    assert {name for name, judgement in found if judgement.level != "ok"} <= allowed


@pytest.mark.parametrize("driver", ["450.80.02", "520.61", "525.60.13", "570.86.15", "580.65.06"])
def test_the_wheel_for_a_driver_is_one_that_it_runs(driver):
    """Kills: cu126 for driver 520."""
    index = re.search(r"/whl/cu(\d\d)", wheel_for(driver))[1]
    assert runs(driver, index)
    assert not any(runs(driver, newer) for newer in OLDEST_DRIVER if int(newer) > int(index))


def test_a_judgement_that_fails_says_so_and_the_others_go_on():
    """Kills: a doctor that ends in a traceback, and one that takes the unseen for missing."""
    machine = replace(A100, compiler=Unseen(OSError(5, "Input/output error", "/usr/bin")))
    found = examine(machine).judgements
    assert found["compiler"].level == "note" and found["compiler"].fix
    assert found["compiler"].sentence == (
        "This could not be looked at: /usr/bin: Input/output error."
    )
    assert [each.level for name, each in found.items() if name != "compiler"].count("ok") == 12


def test_every_check_is_provoked_by_the_table():
    provoked = {name for _, name, *_ in TABLE.values()}
    names = {name for machine, *_ in TABLE.values() for name in examine(machine).judgements}
    assert provoked == names and len(names) == len(judgements.CHECKS)


@pytest.mark.parametrize(
    "built, capability, covered",
    [
        (("sm_80",), (8, 6), True),
        (("sm_80",), (9, 0), False),
        (("sm_80", "compute_80"), (9, 0), True),
        (("sm_90a",), (9, 0), True),
        (("sm_75", "sm_120"), (12, 0), True),
        (("sm_75", "sm_100"), (12, 0), False),
    ],
)
def test_which_builds_of_torch_cover_a_gpu(built, capability, covered):
    machine = replace(A100, torch_architectures=built)
    assert gpus._torch_covers(machine, *capability) is covered


def test_the_report_shows_level_word_and_symbol_in_both_forms():
    """Kills, too: the name of a folder that is read as HTML."""
    report = examine(replace(TABLE["no-compiler"][0], cache=Folder("/<b>&", kind="nfs")))
    assert report.problems == 1 and "1 thing to mend" in report.headline
    for form in (report.text(), report._repr_html_()):
        assert f"{SYMBOLS['problem']} problem" in form and "apt-get install gcc" in form
    assert "/&lt;b&gt;&amp;" in report._repr_html_() and "<b>&" not in report._repr_html_()
    assert set(SYMBOLS) == set(COLOURS) and len(set(SYMBOLS.values())) == 3

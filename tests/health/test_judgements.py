"""Every judgement of the doctor, each with a machine made up for it; this machine is not asked."""

from dataclasses import replace

import pytest

from tritonbook.health import judgements
from tritonbook.health.doctor import COLOURS, SYMBOLS, examine
from tritonbook.health.machine import Folder, Gpu, Machine

LAPTOP = Machine()
A100 = replace(
    LAPTOP,
    torch="2.6.0+cu124",
    triton="3.2.0",
    numpy="2.1.0",
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
T4 = replace(
    A100, gpus=(Gpu("Tesla T4", (7, 5), 15 << 30, 14 << 30),), torch_architectures=("sm_75",)
)
NFS = Folder("/home/you/.triton/cache", kind="nfs4")

# machine, judgement's name, level, a word of the sentence, a word of the fix
TABLE = {
    "macOS": (replace(LAPTOP, system="Darwin"), "platform", "problem", "Darwin", "container"),
    "python-3.9": (replace(LAPTOP, python="3.9.18"), "platform", "note", "3.9.18", "venv"),
    "python-3.14": (replace(LAPTOP, python="3.14.0"), "platform", "note", "3.14", "venv"),
    "no-gpu": (LAPTOP, "gpu", "note", "interpreter", "Colab"),
    "cpu-torch-on-gpu-box": (
        replace(LAPTOP, driver="550.54", driver_gpus=("NVIDIA L4",)),
        "gpu",
        "problem",
        "CPU build",
        "download.pytorch.org",
    ),
    "hidden-gpu": (
        replace(A100, cuda_works=False, gpus=(), visible_devices=""),
        "gpu",
        "problem",
        "CUDA_VISIBLE_DEVICES",
        "unset",
    ),
    "gpu-that-torch-cannot-use": (
        replace(A100, cuda_works=False, gpus=()),
        "gpu",
        "problem",
        "cannot use it",
        "init",
    ),
    "old-driver": (replace(A100, driver="470.82"), "driver", "problem", "525.60", "cu118"),
    "old-driver-cuda13": (
        replace(A100, torch_cuda="13.0", driver="550.54"),
        "driver",
        "problem",
        "580.65",
        "driver",
    ),
    "V100": (
        replace(A100, gpus=(Gpu("Tesla V100", (7, 0)),)),
        "capability",
        "problem",
        "sm_75",
        "TRITON_INTERPRET=1",
    ),
    "T4": (T4, "capability", "note", "tensor cores", "A100"),
    "torch-not-built-for-it": (
        replace(A100, gpus=(Gpu("NVIDIA B200", (10, 0)),)),
        "capability",
        "problem",
        "not built",
        "triton==",
    ),
    "triton-too-old-for-it": (
        replace(A100, gpus=(Gpu("NVIDIA B200", (10, 0)),), torch_architectures=("sm_100",)),
        "capability",
        "problem",
        "sm_90 at most",
        "triton==",
    ),
    "two-gpus": (
        replace(A100, gpus=A100.gpus * 2),
        "several-gpus",
        "note",
        "2 GPUs",
        "CUDA_VISIBLE_DEVICES",
    ),
    "full-gpu": (
        replace(A100, gpus=(Gpu("A100", (8, 0), 80 << 30, 1 << 30),)),
        "gpu-memory",
        "note",
        "1.0 of 80",
        "nvidia-smi",
    ),
    "unpaired": (replace(A100, triton="3.6.0"), "pair", "problem", "Triton 3.2", "triton==3.2.*"),
    "unpaired-interpreter": (
        replace(LAPTOP, triton="3.9.0"),
        "pair",
        "note",
        "Triton 3.7",
        "triton==3.7.*",
    ),
    "unknown-torch": (replace(LAPTOP, torch="2.99.0"), "pair", "note", "not tested", "pip install"),
    "no-triton": (replace(LAPTOP, triton=""), "pair", "problem", "not installed", "pip"),
    "variable-set-late": (
        replace(LAPTOP, library_interpreted=False),
        "mode",
        "problem",
        "after triton",
        "Restart",
    ),
    "variable-removed-late": (
        replace(A100, library_interpreted=True),
        "mode",
        "problem",
        "removed after",
        "Restart",
    ),
    "interpreter-despite-gpu": (
        replace(A100, interpret_variable="1", interpreting=True, library_interpreted=True),
        "mode",
        "note",
        "there is a GPU",
        "unset",
    ),
    "numpy-too-new": (
        replace(LAPTOP, triton="3.6.0", torch="2.11.0"),
        "numpy",
        "note",
        "too new",
        "numpy<2.4",
    ),
    "no-numpy": (replace(LAPTOP, numpy=""), "numpy", "problem", "missing", "pip install numpy"),
    "no-compiler": (replace(A100, compiler=None), "compiler", "problem", "C compiler", "gcc"),
    "no-compiler-cpu": (replace(LAPTOP, compiler=None), "compiler", "note", "not here", "gcc"),
    "no-header": (
        replace(A100, python_header=None),
        "python-header",
        "problem",
        "Python.h",
        "python3.11-dev",
    ),
    "no-header-cpu": (
        replace(LAPTOP, python_header=None),
        "python-header",
        "note",
        "Python.h",
        "-dev",
    ),
    "no-libcuda": (replace(A100, libcuda=None), "libcuda", "problem", "libcuda", "--nv"),
    "cache-on-nfs": (replace(A100, cache=NFS), "cache", "note", "nfs4", "TMPDIR"),
    "cache-on-lustre": (
        replace(A100, cache=replace(NFS, kind="lustre")),
        "cache",
        "note",
        "lustre",
        "TRITON_CACHE_DIR",
    ),
    "cache-read-only": (
        replace(A100, cache=replace(NFS, writable=False)),
        "cache",
        "problem",
        "cannot be written",
        "TRITON_CACHE_DIR",
    ),
    "cache-noexec": (
        replace(A100, cache=Folder("/tmp/c", noexec=True)),
        "cache",
        "problem",
        "noexec",
        "TRITON_CACHE_DIR",
    ),
    "read-only-home": (
        replace(LAPTOP, data=Folder("/home/you/x", writable=False)),
        "progress",
        "note",
        "temporary",
        "TRITONBOOK_HOME",
    ),
    "full-disk": (
        replace(LAPTOP, temporary=Folder("/tmp", free=1 << 20)),
        "disk",
        "problem",
        "full",
        "du",
    ),
    "tight-disk": (
        replace(LAPTOP, cache=Folder("/c", free=1 << 30)),
        "disk",
        "note",
        "1.0 GiB",
        "rm",
    ),
}


@pytest.mark.parametrize("case", TABLE)
def test_finding(case):
    machine, name, level, word, fix = TABLE[case]
    found = {f.name: f for f in examine(machine).judgements}[name]
    assert found.level == level, found
    assert word in found.sentence and fix in found.fix, found


@pytest.mark.parametrize("machine", [LAPTOP, A100], ids=["laptop", "A100"])
def test_a_healthy_machine_has_no_problem(machine):
    """Kills: a judgement that cries wolf."""
    levels = {f.name: f.level for f in examine(machine).judgements}
    allowed = {"gpu"} if machine is LAPTOP else set()
    assert {name for name, level in levels.items() if level != "ok"} <= allowed


def test_every_check_is_provoked_by_the_table():
    provoked = {name for _, name, _, _, _ in TABLE.values()}
    names = {f.name for m in (*[row[0] for row in TABLE.values()],) for f in examine(m).judgements}
    assert provoked == names and len(names) == len(judgements.CHECKS)


def test_whatever_is_not_ok_says_how_to_mend_it_in_one_sentence():
    for machine, *_ in TABLE.values():
        for judgement in examine(machine).judgements:
            assert bool(judgement.fix) == (judgement.level != "ok"), judgement
            assert judgement.sentence.endswith(".") and "\n" not in judgement.sentence


@pytest.mark.parametrize("torch, triton", judgements.PAIRS.items())
def test_the_fixed_pairs_are_accepted(torch, triton):
    pair = judgements.pair(replace(A100, torch=f"{torch}.1+cu126", triton=f"{triton}.1"))
    assert pair.level == "ok"


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
    assert judgements._torch_covers(machine, *capability) is covered


def test_the_report_shows_level_word_and_symbol_in_both_forms():
    machine = TABLE["no-compiler"][0]
    report = examine(machine)
    assert not report.healthy and "1 thing to mend" in report.headline
    for form in (report.text(), report._repr_html_()):
        assert f"{SYMBOLS['problem']} problem" in form and "apt-get install gcc" in form
    assert set(SYMBOLS) == set(COLOURS) and len(set(SYMBOLS.values())) == 3


def test_html_is_escaped():
    report = examine(replace(LAPTOP, cache=Folder("/<b>&", kind="nfs")))
    assert "/&lt;b&gt;&amp;" in report._repr_html_() and "<b>&" not in report._repr_html_()

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
NFS = Folder("/home/you/.triton/cache", kind="nfs4")


def row(machine, name, level, word, fix, **changes):
    """The machine with changes; a judgement's name and level; a word of sentence and fix."""
    return replace(machine, **changes), name, level, word, fix


TABLE = {
    "macOS": row(LAPTOP, "platform", "problem", "Darwin", "container", system="Darwin"),
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
        A100, "gpu", "problem", "cannot use it", "init", cuda_works=False, gpus=()
    ),
    "old-driver": row(A100, "driver", "problem", "525.60", "cu118", driver="470.82"),
    "old-driver-cuda13": row(
        A100, "driver", "problem", "580.65", "driver", torch_cuda="13.0", driver="550.54"
    ),
    "V100": row(
        A100,
        "capability",
        "problem",
        "sm_75",
        "TRITON_INTERPRET=1",
        gpus=(Gpu("Tesla V100", (7, 0)),),
    ),
    "T4": row(T4, "capability", "note", "tensor cores", "A100"),
    "torch-not-built-for-it": row(
        A100, "capability", "problem", "not built", "triton==", gpus=(Gpu("NVIDIA B200", (10, 0)),)
    ),
    "unpaired": row(A100, "pair", "problem", "Triton 3.2", "triton==3.2.*", triton="3.6.0"),
    "unpaired-interpreter": row(
        LAPTOP, "pair", "note", "Triton 3.7", "triton==3.7.*", triton="3.9.0"
    ),
    "unknown-torch": row(LAPTOP, "pair", "note", "not tested", "pip install", torch="2.99.0"),
    "no-triton": row(LAPTOP, "pair", "problem", "not installed", "pip", triton=""),
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
    "no-libcuda": row(A100, "libcuda", "problem", "libcuda", "--nv", libcuda=None),
    "cache-on-nfs": row(A100, "cache", "note", "nfs4", "TMPDIR", cache=NFS),
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
        A100, "cache", "problem", "noexec", "TRITON_CACHE_DIR", cache=Folder("/tmp/c", noexec=True)
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
        LAPTOP, "disk", "problem", "full", "du", temporary=Folder("/tmp", free=1 << 20)
    ),
    "tight-disk": row(LAPTOP, "disk", "note", "1.0 GiB", "rm", cache=Folder("/c", free=1 << 30)),
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
    assert judgements._torch_covers(machine, *capability) is covered


def test_the_report_shows_level_word_and_symbol_in_both_forms():
    """Kills, too: the name of a folder that is read as HTML."""
    report = examine(replace(TABLE["no-compiler"][0], cache=Folder("/<b>&", kind="nfs")))
    assert report.problems == 1 and "1 thing to mend" in report.headline
    for form in (report.text(), report._repr_html_()):
        assert f"{SYMBOLS['problem']} problem" in form and "apt-get install gcc" in form
    assert "/&lt;b&gt;&amp;" in report._repr_html_() and "<b>&" not in report._repr_html_()
    assert set(SYMBOLS) == set(COLOURS) and len(set(SYMBOLS.values())) == 3

"""The job scripts as text; tests/container runs them."""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[2] / "singularity"
JOBS = sorted(FOLDER.glob("*.sbatch"))
SHELL = [*JOBS, *sorted(FOLDER.glob("*.sh")), FOLDER / "submit"]


def test_all_the_jobs_are_there():
    assert [path.stem for path in JOBS] == ["check", "grade", "jupyter"]


@pytest.mark.parametrize("path", SHELL, ids=lambda path: path.name)
def test_bash_can_read_it(path):
    subprocess.run(["bash", "-n", path], check=True)


@pytest.mark.skipif(not shutil.which("shellcheck"), reason="shellcheck is not installed")
def test_shellcheck_has_nothing_to_say():
    done = subprocess.run(
        ["shellcheck", "-x", *(path.name for path in SHELL)],
        cwd=FOLDER,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("path", JOBS, ids=lambda path: path.name)
def test_slurm_reads_every_request(path):
    """Slurm stops at the first command: a request after it is ignored without a word."""
    lines = path.read_text().splitlines()
    assert lines[0] == "#!/bin/bash"
    command = next(i for i, line in enumerate(lines) if line and not line.startswith("#"))
    requests = [i for i, line in enumerate(lines) if line.startswith("#SBATCH")]
    assert requests and max(requests) < command
    text = "\n".join(lines)
    for wanted in ("--gres=gpu:1", "--time=", "--mem=", "--output="):
        assert f"#SBATCH {wanted}" in text


@pytest.mark.parametrize("path", SHELL, ids=lambda path: path.name)
def test_nothing_is_fetched_at_run_time(path):
    assert not re.search(
        r"\b(?:curl|wget|pip|conda|git|apt-get)\b|https?://(?!127)", path.read_text()
    )


@pytest.mark.parametrize("path", SHELL, ids=lambda path: path.name)
def test_no_secret_on_a_command_line(path):
    """Everybody on the node can read command lines: kills --token=..., --env JUPYTER_TOKEN=..."""
    assert not re.search(r"token=|JUPYTER_TOKEN=", path.read_text(), re.IGNORECASE)


@pytest.fixture
def submit(tmp_path):
    """singularity/submit, or a job for bash, in a copy of its folder, with an sbatch and an
    apptainer that print what they are given."""
    copy = tmp_path / "singularity"
    shutil.copytree(FOLDER, copy, ignore=shutil.ignore_patterns("site.env"))
    for name in ("sbatch", "apptainer"):
        (tmp_path / name).write_text('#!/bin/sh\nprintf "%s\\n" "$@" "image=$WORKBOOK_IMAGE"\n')
        (tmp_path / name).chmod(0o755)

    def go(*arguments, job="", site="", **variables):
        (copy / "site.env").write_text(site)
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("WORKBOOK_", "SLURM_"))}
        environment = {**kept, "PATH": f"{tmp_path}:{os.environ['PATH']}", **variables}
        command = [*(["bash", copy / job] if job else [copy / "submit"]), *arguments]
        return subprocess.run(
            command, env=environment, cwd=tmp_path, capture_output=True, text=True
        )

    return go


SITE = """\
# ours
WORKBOOK_PARTITION=a100
WORKBOOK_ACCOUNT=course 7
WORKBOOK_GRES=gpu:a100:1
WORKBOOK_MINUTES=90
WORKBOOK_MEMORY_GB=24

WORKBOOK_IMAGE=/shared/workbook.sif"""


def test_a_sites_settings_become_options_of_sbatch(submit, tmp_path):
    """Kills: a value cut at its blank; the last line without its end; settings that a job loses."""
    said = submit("--hold", "check", "a.ipynb", "--only", "add", site=SITE).stdout.splitlines()
    script = str(tmp_path / "singularity" / "check.sbatch")
    assert said == [
        *("--partition=a100", "--account=course 7", "--gres=gpu:a100:1", "--time=90", "--mem=24G"),
        *("--hold", script, "a.ipynb", "--only", "add", "image=/shared/workbook.sif"),
    ]


def test_the_environment_goes_before_the_file_and_no_file_is_no_fault(submit, tmp_path):
    said = submit("jupyter", site=SITE, WORKBOOK_PARTITION="short", WORKBOOK_GRES="").stdout
    assert "--partition=short\n" in said and "--gres" not in said
    assert submit("jupyter").stdout.splitlines()[0].endswith("/singularity/jupyter.sbatch")


def test_the_slurm_runner_gets_the_same_settings(submit):
    """`singularity/submit settings > COURSE/slurm.json`."""
    found = json.loads(submit("settings", site=SITE).stdout)
    assert found == {
        "partition": "a100",
        "account": "course 7",
        "gres": "gpu:a100:1",
        "minutes": 90,
        "memory_gb": 24,
    }
    assert json.loads(submit("settings").stdout) == {}


@pytest.mark.parametrize(
    "arguments, site, sentence",
    [
        ((), "", "Name a job: singularity/submit jupyter, check, grade or settings."),
        (("lab",), "", "Name a job"),
        (("check",), "WORKBOOK_QUEUE=a", "line 1: 'WORKBOOK_QUEUE=a' is no setting; known: WORK"),
        (("check",), "\nexport WORKBOOK_QOS=a", "line 2: 'export WORKBOOK_QOS=a' is no setting"),
        (("check",), 'WORKBOOK_QOS="a"', "the value of WORKBOOK_QOS is taken as it is; no quotes"),
        (("check",), "WORKBOOK_QOS=$(reboot)", "is taken as it is"),
        (("check",), "WORKBOOK_MINUTES=2:00:00", "WORKBOOK_MINUTES is '2:00:00'; write a whole"),
    ],
)
def test_a_slip_in_the_settings_gets_one_sentence_and_status_2(submit, arguments, site, sentence):
    """Kills: a misspelt name that is dropped in silence; a file that is run."""
    done = submit(*arguments, site=site)
    assert done.returncode == 2 and done.stdout == ""
    assert sentence in done.stderr and len(done.stderr.splitlines()) == 1


def test_the_example_names_every_setting_and_each_is_understood(submit):
    example = (FOLDER / "site.env.example").read_text()
    filled = re.sub(r"(?m)^#(WORKBOOK_)", r"\1", example)
    known = re.search(r"site_names=\((.*)\)", (FOLDER / "site.sh").read_text())[1].split()
    assert re.findall(r"(?m)^WORKBOOK_(\w+)=", filled) == known
    assert submit("jupyter", site=filled).returncode == 0
    assert submit("jupyter", site=example).returncode == 0


@pytest.mark.parametrize("path", JOBS, ids=lambda path: path.name)
def test_every_job_reads_the_sites_settings(path, submit):
    """Kills: an image that `sbatch` alone, without `submit`, never hears of."""
    done = submit("x", job=path.name, site="WORKBOOK_IMAGE=/no/image/of/ours\n")
    assert done.returncode == 2 and "There is no image /no/image/of/ours" in done.stderr

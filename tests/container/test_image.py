"""The definition file, built and used by the real Apptainer, as an ordinary user would."""

import json
import os
import re
import signal
import subprocess
import time

import definition_file
import pytest
import real_apptainer
from real_apptainer import build, definition_here, ran
from worked_in_checkout import PRIVATE

pytestmark = pytest.mark.container
OFFLINE = ("--cleanenv", "--no-home", "--net", "--network", "none")
# What a module that is loaded and a batch system may have set in a user's shell.
USERS_SHELL = {
    "PYTHONPATH": "/apps/python/site-packages",
    "PYTHONHOME": "/apps/python",
    "TMPDIR": "/scratch/of/the/job",
}


def labels(image):
    said = json.loads(ran("inspect", "--json", "--labels", image))
    return said["data"]["attributes"]["labels"]


def test_the_image_says_what_is_in_it(image):
    """Kills: a label with an unfilled variable; a help or a script that got lost."""
    found = labels(image)
    for line in definition_file.filled(definition_file.sections()["labels"]).splitlines():
        if line.strip():
            name, value = line.split(None, 1)
            assert found[name] == value
    assert "apptainer run --nv workbook.sif doctor" in ran("inspect", "--helpfile", image)
    assert "jupyter lab" in ran("inspect", "--runscript", image)


def test_nobodys_grades_are_in_the_image(image):
    """Kills: %files that take along a gradebook, submissions and the secret of a class."""
    if os.environ.get("WORKBOOK_ROOT"):
        pytest.skip("this image was not built from the checkout with private files")
    inside = image / "opt" / "workbook"
    assert [name for name in PRIVATE if (inside / name).exists()] == []
    assert (inside / "autograde/source/01_vector_add/01_vector_add.ipynb").exists()
    assert (inside / "notebooks/01_vector_add.ipynb").exists()


def test_build_arguments_name_another_pair(tool, tmp_path):
    """Kills: an argument that reaches the labels but not what is installed, or neither.

    Of %post only the lines that choose the versions: the other pair is 5 GB.
    """
    found = definition_file.sections(definition_here(tmp_path))
    (choosing,) = re.findall(r"(?ms)^    pins=.*?^    fi$", found["post"])
    parts = [found["header"]] + [f"%{name}\n{found[name]}" for name in ("arguments", "labels")]
    parts += ["%files\n    constraints.txt /opt/workbook/constraints.txt\n"]
    parts += [f"%post\n    set -eu\n{choosing}\n"]
    source = tmp_path / "choosing.def"
    source.write_text("\n".join(parts))
    pair = ("--build-arg", "TORCH=2.6.0", "--build-arg", "TRITON=3.2.0")
    target = tmp_path / "older"
    build(target, "--sandbox", *pair, source=source, cwd=real_apptainer.ROOT)
    found = labels(target)
    assert (found["workbook.torch"], found["workbook.triton"]) == ("2.6.0", "3.2.0")
    pins = (target / "opt/workbook/constraints.txt").read_text().splitlines()
    assert {"torch==2.6.0", "triton==3.2.0"} <= set(pins)
    assert not [pin for pin in pins if pin.startswith("sympy==")]


def test_its_test_needs_no_network_and_no_home(image):
    """Kills: a file of the build's machine, or of a home, that %test leans on."""
    said = ran("test", *OFFLINE, image)
    assert "4 of 4 checks passed" in said


def test_doctor_finds_nothing_to_mend(image):
    """Kills: a host's PYTHONPATH, or a TMPDIR that the image does not have, in the image."""
    said = ran("run", "--nv", image, "doctor", **USERS_SHELL)
    assert "problem" not in said and "Traceback" not in said
    assert re.search(r"ok\s+cache\s+Triton's cache: /tmp/triton-1000", said)


@pytest.mark.parametrize("arguments", [(), OFFLINE])
def test_nothing_of_the_image_can_be_written(image, arguments):
    """Kills: a sandbox folder that its owner changes for everybody by running it."""
    script = "touch /opt/workbook/x /opt/venv/x /etc/x; echo $?"
    said = ran("exec", *arguments, image, "sh", "-c", script)
    assert said.count("Read-only file system") == 3


def test_run_without_arguments_is_jupyterlab(image, tmp_path):
    """Kills: a run script that needs what only the job scripts set."""
    command = ["apptainer", "run", "--cleanenv", "--home", f"{tmp_path}:/tmp/home", image]
    log = tmp_path / "log"
    with log.open("w") as out:
        server = subprocess.Popen(
            command,
            env=real_apptainer.environment(),
            stdout=out,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        end = time.monotonic() + 60
        while not re.search(r"http://\S+/lab\?token=", log.read_text()):
            assert time.monotonic() < end and server.poll() is None, log.read_text()
            time.sleep(0.3)
    finally:
        os.killpg(server.pid, signal.SIGKILL)
        server.wait()


def test_a_sif_file_is_mounted_and_read_only(sif):
    """Kills: an image that works as a folder and not as the one file that a site hands out."""
    assert labels(sif)["workbook.triton"]
    said = ran("run", sif, "doctor")
    assert "temporary sandbox" not in said  # mounted, not unpacked
    assert "Kernels are interpreted" in said and "problem" not in said
    script = "touch /opt/workbook/x; ls /opt/workbook/notebooks"
    said = ran("exec", sif, "sh", "-c", script)
    assert "Read-only file system" in said and "01_vector_add.ipynb" in said

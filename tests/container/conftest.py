import os
import shutil
import tempfile
from pathlib import Path

import psutil
import pytest
import real_apptainer
import worked_in_checkout


@pytest.fixture(scope="session")
def tool():
    """The folder that holds the real `apptainer`, prepared once."""
    try:
        return real_apptainer.prepare()
    except real_apptainer.NotToBeHad as reason:
        pytest.skip(f"no Apptainer: {reason}")


@pytest.fixture(scope="session")
def room():
    """A folder on a disk, for images; gone at the end, when no container may run on in one."""
    folder = Path(tempfile.mkdtemp(prefix="workbook-images-", dir="/var/tmp"))
    folder.chmod(0o755)
    yield folder
    left = [process for process in psutil.process_iter() if runs_in(folder, process)]
    shutil.rmtree(folder)
    assert left == []


def runs_in(folder, process):
    """Whether a process is in a container whose image lies in `folder`."""
    try:
        return process.environ().get("APPTAINER_CONTAINER", "").startswith(f"{folder}/")
    except psutil.Error:
        return False


@pytest.fixture(scope="session")
def image(tool, room):
    """A sandbox folder built by `apptainer build` from the definition, %test included.

    WORKBOOK_ROOT names one made before; the tests of the build itself then say nothing.
    """
    made = os.environ.get("WORKBOOK_ROOT")
    if made:
        return Path(made)
    target = room / "image"
    checkout = worked_in_checkout.make(room / "checkout")
    said = real_apptainer.build(
        target, "--sandbox", source=real_apptainer.definition_here(room), cwd=checkout
    )
    assert "4 of 4 checks passed" in said  # %test's last line
    return target


@pytest.fixture(scope="session")
def sif(tool, room, image):
    """The same as a .sif file, packed fast rather than small."""
    target = room / "workbook.sif"
    packing = "--mksquashfs-args=-comp zstd -Xcompression-level 1"
    real_apptainer.build(target, packing, source=image, cwd=room)
    return target

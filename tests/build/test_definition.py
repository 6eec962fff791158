"""The container's definition file as text; tests/container builds it with the real Apptainer."""

import subprocess

import definition_file
import pytest

PARTS = definition_file.sections()
SHELL = ("post", "environment", "runscript", "test")


def test_no_section_has_a_name_that_apptainer_drops_without_a_word():
    """Kills: %enviroment."""
    assert set(PARTS) == {"header", "arguments", "labels", "help", "files", *SHELL}


@pytest.mark.parametrize("name", SHELL)
def test_sh_can_read_it(name):
    """Kills: an open quote, a variable without a default, a build that goes on after an error."""
    text = definition_file.filled(PARTS[name])
    subprocess.run(["sh", "-n"], input=text, text=True, check=True)
    assert name not in ("post", "test") or text.strip().startswith("set -eu")


def test_every_file_to_be_copied_is_there():
    assert [
        name for name in definition_file.copied() if not (definition_file.ROOT / name).exists()
    ] == []

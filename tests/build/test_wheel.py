"""An installed copy carries the exercises, which `reference` and `mine` read on Colab."""

from __future__ import annotations

import shutil
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BUILD = "import sys, setuptools.build_meta as build; print(build.build_wheel(sys.argv[1]))"


@pytest.mark.slow
def test_the_wheel_carries_the_exercises(tmp_path: Path, python):
    """Kills: a wheel of code alone, or one in which no mistake has a name."""
    pytest.importorskip("setuptools", minversion="77", reason="pip builds with its own setuptools")
    checkout = tmp_path / "checkout"
    checkout.mkdir()
    ignore = shutil.ignore_patterns("__pycache__", "source", "exchange")
    for name in ("tritonbook", "exercises", "autograde", "benchmarks"):
        shutil.copytree(ROOT / name, checkout / name, ignore=ignore)
    for name in ("pyproject.toml", "setup.py", "MANIFEST.in", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, checkout)
    done = python.run("-c", BUILD, tmp_path, cwd=checkout)
    assert done.returncode == 0, done.stderr
    (wheel,) = tmp_path.glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    inside = "tritonbook/_exercises/"
    packed = {name.removeprefix(inside) for name in names if name.startswith(inside)}
    course = ROOT / "exercises"
    paths = [path for kind in ("py", "po") for path in course.glob(f"*/*.{kind}")]
    assert packed == {path.relative_to(course).as_posix() for path in paths}
    assert "tritonbook/locale/zh_CN/LC_MESSAGES/checking.po" in names

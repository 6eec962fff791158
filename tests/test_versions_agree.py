"""One set of versions: pyproject, constraints, environment.yml, container, Makefile, Colab cell."""

import json
import re
from pathlib import Path

import definition_file
import pytest
import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import Version

import tritonbook
from tritonbook.port.pairs import PAIRS, PYTHONS, TESTED_PAIR

ROOT = Path(__file__).resolve().parents[1]
PYPROJECT = (ROOT / "pyproject.toml").read_text()
ENVIRONMENT = yaml.safe_load((ROOT / "environment.yml").read_text())


def block(name):
    """The strings of a list in pyproject.toml; Python 3.10 has no TOML reader."""
    text = re.search(rf"(?ms)^{name} = \[(.*?)\]\s*$", PYPROJECT)[1]
    return re.findall(r'"([^"]+)"', re.sub(r"(?m)#.*$", "", text))


def pins(python="3.11"):
    """Exact versions of constraints.txt for one Python, by canonical name."""
    found = {}
    for line in (ROOT / "constraints.txt").read_text().splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        wanted = Requirement(line)
        if wanted.marker and not wanted.marker.evaluate({"python_version": python}):
            continue
        name = canonicalize_name(wanted.name)
        assert name not in found, f"{name} is pinned twice for Python {python}"
        (exact,) = wanted.specifier
        assert exact.operator == "==", line
        found[name] = Version(exact.version)
    return found


def minor(version):
    return ".".join(str(version).split(".")[:2])


EXTRAS = ("lab", "grade", "author", "test", "site")
VERSION = re.search(r'(?m)^version = "(.+)"$', PYPROJECT)[1]


@pytest.mark.parametrize("python", ["3.10", "3.11", "3.12", "3.13"])
def test_every_requirement_is_pinned_inside_its_range(python):
    pinned = pins(python)
    for text in [*block("dependencies"), *(r for extra in EXTRAS for r in block(extra))]:
        wanted = Requirement(text)
        if wanted.marker and not wanted.marker.evaluate({"python_version": python}):
            continue
        assert pinned[canonicalize_name(wanted.name)] in wanted.specifier, text


def test_torch_and_triton_are_pinned_as_a_pair():
    pinned = pins()
    assert PAIRS[minor(pinned["torch"])] == minor(pinned["triton"])
    assert f"torch=={minor(pinned['torch'])}.*" in TESTED_PAIR
    assert f"triton=={minor(pinned['triton'])}.*" in TESTED_PAIR


def test_the_supported_range_is_the_range_of_known_pairs():
    ranges = {r.name: r.specifier for r in map(Requirement, block("dependencies"))}
    for torch, triton in PAIRS.items():
        assert Version(torch) in ranges["torch"] and Version(triton) in ranges["triton"]
    newest = list(PAIRS.items())[-1]
    for name, version in zip(("torch", "triton"), newest, strict=True):
        major, last = version.split(".")
        assert Version(f"{major}.{int(last) + 1}") not in ranges[name]


def test_python_versions_agree():
    wanted = SpecifierSet(re.search(r'requires-python = "(.+)"', PYPROJECT)[1])
    low, high = (".".join(map(str, version)) for version in PYTHONS)
    assert low in wanted and high in wanted
    assert f"3.{PYTHONS[0][1] - 1}" not in wanted and f"3.{PYTHONS[1][1] + 1}" not in wanted
    (python,) = [d for d in ENVIRONMENT["dependencies"] if str(d).startswith("python=")]
    assert python.partition("=")[2] in wanted


def test_environment_yml_installs_what_make_installs():
    (pip,) = [d["pip"] for d in ENVIRONMENT["dependencies"] if isinstance(d, dict)]
    assert pip == ["-c constraints.txt", f"-e .[{','.join(EXTRAS)}]"]
    makefile = (ROOT / "Makefile").read_text()
    assert f"-c constraints.txt -e '.[{','.join(EXTRAS)}]'" in makefile


def test_the_container_installs_the_pinned_pair():
    pinned, defaults = pins(), definition_file.arguments()
    assert defaults["TORCH"] == str(pinned["torch"])
    assert defaults["TRITON"] == str(pinned["triton"])
    assert "constraints.txt" in definition_file.copied()
    assert f"org.opencontainers.image.version {VERSION}" in definition_file.sections()["labels"]


def test_the_containers_other_pair_is_a_pair():
    header = definition_file.sections()["header"]
    torch, triton = re.search(r"--build-arg TORCH=(\S+) --build-arg TRITON=(\S+)", header).groups()
    assert PAIRS[minor(torch)] == minor(triton)


def test_package_and_changelog_carry_the_version():
    assert tritonbook.__version__ == VERSION
    assert re.search(rf"(?m)^## {re.escape(VERSION)}\b", (ROOT / "CHANGELOG.md").read_text())


def test_the_colab_cell_installs_this_version_of_this_repository():
    repository = re.search(r'(?m)^Repository = "(.+)"$', PYPROJECT)[1]
    notebooks = sorted((ROOT / "notebooks").glob("*.ipynb"))
    assert notebooks
    for path in notebooks:
        cells = json.loads(path.read_text())["cells"]
        setup = next("".join(c["source"]) for c in cells if "tritonbook @" in "".join(c["source"]))
        assert f"{repository}/archive/refs/tags/v{VERSION}.zip" in setup, path.name


def test_the_readme_names_the_tested_pair():
    pinned = pins()
    for name in ("README.md", "README.zh-CN.md"):
        readme = (ROOT / name).read_text()
        assert f"torch {minor(pinned['torch'])}" in readme
        assert f"Triton {minor(pinned['triton'])}" in readme

"""One command everywhere: on a server, before a commit, at home. And rooms without circles."""

import ast
from graphlib import TopologicalSorter
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[1]
WORKFLOWS = {"ci": [".ci/run"], "nightly": ["make test-all"], "site": ["make site"]}


def test_there_are_no_other_workflows():
    found = sorted(path.stem for path in (ROOT / ".github" / "workflows").iterdir())
    assert found == sorted(WORKFLOWS)


@pytest.mark.parametrize(("name", "wanted"), WORKFLOWS.items())
def test_a_workflow_runs_one_command_of_the_checkout(name, wanted):
    """Kills: a step that fails on a server and can be tried nowhere else."""
    text = (ROOT / ".github" / "workflows" / f"{name}.yml").read_text()
    (job,) = yaml.safe_load(text)["jobs"].values()
    assert [step["run"] for step in job["steps"] if "run" in step] == wanted
    rest = [step["uses"].partition("@")[0] for step in job["steps"] if "run" not in step]
    published = ["actions/upload-pages-artifact", "actions/deploy-pages"] if name == "site" else []
    assert rest[0] == "actions/checkout" and rest[1:] in ([], ["actions/cache"], published)


def test_a_commit_is_checked_as_make_check_does():
    """Kills: a hook with checks of its own, which pass where `make check` fails."""
    (source,) = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"]
    (hook,) = source["hooks"]
    assert (source["repo"], hook["entry"], hook["pass_filenames"]) == ("local", "make check", False)


def _room(parts):
    """A folder of a package, or a file at its top."""
    return ".".join(parts[:2])


def _imported(path, parts, types=False):
    """What a file imports, here or later. types: for types alone, too."""
    waiting = [ast.parse(path.read_text())]
    while waiting:
        node = waiting.pop()
        if not types and isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            continue
        waiting += ast.iter_child_nodes(node)
        if isinstance(node, ast.ImportFrom) and (node.level or node.module):
            base = list(parts[: len(parts) - node.level]) if node.level else []
            base += node.module.split(".") if node.module else []
            yield from ([*base, alias.name] for alias in node.names)


@pytest.mark.parametrize("package", ["tritonbook", "autograde"])
def test_rooms_have_no_circles(package):
    """Kills: a check that asks the course, whose pages ask the check."""
    uses: dict[str, set[str]] = {}
    for path in (ROOT / package).rglob("*.py"):
        parts = path.relative_to(ROOT).with_suffix("").parts
        if parts == (package, "__init__") or "_exercises" in parts:
            continue
        found = {_room(name) for name in _imported(path, parts) if name[0] == package}
        known = {r for r in found if (ROOT / r.replace(".", "/")).exists()}
        known |= {r for r in found if (ROOT / f"{r.replace('.', '/')}.py").exists()}
        uses.setdefault(_room(parts), set()).update(known - {_room(parts)})
    assert len(list(TopologicalSorter(uses).static_order())) > 2


@pytest.mark.parametrize("package", ["tritonbook", "autograde", "benchmarks"])
def test_files_have_no_circles(package):
    """Kills: two files of one room that each need the other, if only for their types."""
    uses: dict[str, set[str]] = {}
    for path in (ROOT / package).rglob("*.py"):
        parts = path.relative_to(ROOT).with_suffix("").parts
        if parts[-1] == "__init__" or "_exercises" in parts:
            continue
        found = {".".join(name[:n]) for name in _imported(path, parts, types=True) for n in (2, 3)}
        known = {each for each in found if (ROOT / f"{each.replace('.', '/')}.py").is_file()}
        uses[".".join(parts)] = known - {".".join(parts)}
    assert len(list(TopologicalSorter(uses).static_order())) > 2

"""What runs on a server, and before a commit, is what anybody runs at home."""

from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[1]
WORKFLOWS = {"ci": [".ci/run"], "nightly": ["make test-all"]}


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
    assert rest == ["actions/checkout"]


def test_a_commit_is_checked_as_make_check_does():
    """Kills: a hook with checks of its own, which pass where `make check` fails."""
    (source,) = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"]
    (hook,) = source["hooks"]
    assert (source["repo"], hook["entry"], hook["pass_filenames"]) == ("local", "make check", False)

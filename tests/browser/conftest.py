"""A JupyterLab, a Chromium, and pages that know how to drive a notebook.

One server serves everything: the learner's notebooks and, for the instructor, a course folder with
nbgrader's settings. Screenshots go to tests/browser/out/ to be looked at; no test reads them.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from one_node_slurm import free_port

from autograde.classroom import demo
from autograde.classroom.demo import ROOT
from tritonbook import lab as learner
from tritonbook.course import desk
from tritonbook.course.exercises import Exercise

HERE = Path(__file__).parent
OUT = HERE / "out"
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("chrome")
SMALL = HERE.parent / "autograde" / "exercises" / "90_doubling" / "page.py"
# No network: a page that asks for anything but this machine gets no answer.
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--proxy-server=direct://",
    "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
]
SETTINGS = {
    "@jupyterlab/apputils-extension:notification": {"fetchNews": "false", "checkForUpdates": False}
}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.browser)


@dataclass(frozen=True)
class Lab:
    """A running JupyterLab: where it answers and the folder it shows."""

    url: str
    folder: Path

    def address(self, path: str) -> str:
        return f"{self.url}/lab/tree/{path}?reset"

    def notebook(self, slug: str, name: str) -> str:
        """Copy a learner's notebook under another name; returns its path for `address`."""
        shutil.copy(ROOT / "notebooks" / f"{slug}.ipynb", self.folder / f"{name}.ipynb")
        return f"{name}.ipynb"


@pytest.fixture(scope="session")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """JupyterLab in a folder of its own, with nobody's settings, progress or history."""
    if CHROMIUM is None:
        pytest.skip("no Chromium on this machine (Debian: apt-get install chromium)")
    place = tmp_path_factory.mktemp("lab")
    course = demo.prepare(place, [Exercise(SMALL)])
    config = place / "config"
    (config / "labconfig").mkdir(parents=True)
    (config / "labconfig" / "default_setting_overrides.json").write_text(json.dumps(SETTINGS))
    command = [sys.executable, "-m", "jupyterlab", "--allow-root", f"--ServerApp.root_dir={course}"]
    found = own_place(place)
    with serving(command, found, course, place / "lab.log") as lab:
        yield lab


@pytest.fixture(scope="session")
def learners_lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """What `make lab` opens: a learner's own copy of the notebooks, without instructor's menus."""
    if CHROMIUM is None:
        pytest.skip("no Chromium on this machine (Debian: apt-get install chromium)")
    place = tmp_path_factory.mktemp("learner")
    desk.lay_out(place / "work")
    found = learner.environment(own_place(place))
    with serving(learner.command(place / "work"), found, place, place / "lab.log") as lab:
        yield Lab(lab.url, place / "work")


def own_place(place: Path) -> dict[str, str]:
    """An environment with nobody's settings, progress or history."""
    bin_folder = Path(sys.executable).parent
    environment = os.environ | {
        "PATH": f"{bin_folder}{os.pathsep}{os.environ['PATH']}",
        "JUPYTER_CONFIG_DIR": str(place / "config"),
        "JUPYTER_DATA_DIR": str(place / "data"),
        "JUPYTER_RUNTIME_DIR": str(place / "runtime"),
        "IPYTHONDIR": str(place / "ipython"),
        "TRITONBOOK_HOME": str(place / "home"),
        "OMP_NUM_THREADS": "1",
    }
    environment.pop("TRITONBOOK_PROGRESS", None)
    return environment


@contextlib.contextmanager
def serving(command: list[str], found: dict[str, str], folder: Path, log: Path) -> Iterator[Lab]:
    """A JupyterLab that answers until the block is left. found: its environment."""
    port = free_port()
    with log.open("w") as out:
        server = subprocess.Popen(
            [*command, "--no-browser", "--ip=127.0.0.1", f"--port={port}"]
            + ["--ServerApp.port_retries=0", "--IdentityProvider.token="]
            + ["--ServerApp.disable_check_xsrf=True"],
            cwd=folder,
            env=found,
            stdout=out,
            stderr=subprocess.STDOUT,
        )
        try:
            _wait_for(port, server, log)
            yield Lab(f"http://127.0.0.1:{port}", folder)
        finally:
            server.terminate()
            try:
                server.wait(120)
            except subprocess.TimeoutExpired:
                server.kill()


def _wait_for(port: int, server: subprocess.Popen, log: Path) -> None:
    end = time.monotonic() + 300
    while time.monotonic() < end and server.poll() is None:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.2)
    raise RuntimeError(f"JupyterLab did not start:\n{log.read_text()[-3000:]}")


@pytest.fixture(scope="session")
def chromium() -> Iterator[object]:
    """One headless Chromium for the session."""
    if CHROMIUM is None:
        pytest.skip("no Chromium on this machine (Debian: apt-get install chromium)")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def page(chromium, request) -> Iterator[object]:
    """A fresh page; a picture of it is kept when the test fails."""
    OUT.mkdir(exist_ok=True)
    context = chromium.new_context(viewport={"width": 1280, "height": 900})
    context.set_default_timeout(120_000)
    opened = context.new_page()
    yield opened
    if getattr(request.node, "failed", False):
        opened.screenshot(path=OUT / f"failed_{request.node.name}.png")
    context.close()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item):
    report = yield
    if report.when == "call":
        item.failed = report.failed
    return report

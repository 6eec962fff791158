"""What tests of the course share."""

import pytest

from tritonbook.course import records


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    """The folder of each test's own progress file; nothing was said yet of where it lies."""
    monkeypatch.setenv("TRITONBOOK_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("TRITONBOOK_PROGRESS", raising=False)
    records._say_once.cache_clear()
    return tmp_path / "home"

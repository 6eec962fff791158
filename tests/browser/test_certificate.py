"""The page to hand in, as a browser shows and prints it."""

from __future__ import annotations

import re
from typing import Any

from tritonbook.course import certify, records
from tritonbook.course.exercises import exercises

from .conftest import OUT
from .driving import pale_words, shot


def test_a_whole_course_fits_on_two_sheets(page: Any, tmp_path: Any, monkeypatch: Any) -> None:
    """Kills: a page that asks for the network, or prints on a stack of paper."""
    monkeypatch.setenv("TRITONBOOK_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("TRITONBOOK_PROGRESS", raising=False)
    for exercise in exercises():
        for key in exercise.checks():
            records.record(key, "passed", exercise.module_text())
    certify.write(tmp_path / "c.html", "Ada Lovelace")
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto((tmp_path / "c.html").as_uri())
    assert len(asked) == 1
    assert pale_words(page.locator("body")) == []
    shot(page, "certificate")
    printed = page.pdf(path=OUT / "certificate.pdf", prefer_css_page_size=True)
    assert 1 <= len(re.findall(rb"/Type\s*/Page\b", printed)) <= 2

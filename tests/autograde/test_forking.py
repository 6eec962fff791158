"""The process that others are forked from, once all is loaded there."""

from __future__ import annotations

import platform
from typing import Any

import pytest

LOADED = """
import gc, re
gc.disable()
kept = [[number] for number in range(1 << 20)]  # 80 MB in small pieces
from autograde.walls import forking
forking.settle()
huge = re.search(r"AnonHugePages: +(\\d+)", open("/proc/self/smaps_rollup").read())
print(gc.isenabled(), gc.get_freeze_count() > len(kept), int(huge[1]) > 40_000, sum(map(len, kept)))
"""


@pytest.mark.skipif(
    platform.machine() != "x86_64" or tuple(map(int, platform.release().split(".")[:2])) < (6, 1),
    reason="Linux before 6.1, or pages of another size",
)
def test_what_is_loaded_lies_in_huge_pages(python: Any) -> None:
    """Kills: 40,000 entries of a table copied for each process of each answer; garbage that is
    looked for in what never goes, which copies the pages themselves."""
    done = python.run("-c", LOADED)
    assert done.stdout == f"True True True {1 << 20}\n", done.stderr

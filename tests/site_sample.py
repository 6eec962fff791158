"""The site in little: three pages of the course, one of them in Chinese too."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SLUGS = ("00_start_here", "01_vector_add", "41_flash_attention")


def built(place: Path) -> Path:
    """Build it below `place`, of a checkout like this one. No warning, no link that leads
    nowhere."""
    root = place / "checkout"
    (root / "notebooks" / "zh").mkdir(parents=True)
    for path in (*ROOT.iterdir(), *(ROOT / "notebooks").glob("*.ipynb")):
        if path.name != "notebooks" and not path.name.startswith("."):
            (root / path.relative_to(ROOT)).symlink_to(path)
    chinese = f"notebooks/zh/{SLUGS[1]}.ipynb"
    (root / chinese).symlink_to(ROOT / chinese)
    command = [sys.executable, "site/build.py", *SLUGS, "--root", root, "--target", place / "built"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return place / "built" / "html"

"""The site in little: three pages of the course, one of them in Chinese too."""

from __future__ import annotations

import json
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
    book = json.loads((ROOT / "notebooks" / f"{SLUGS[1]}.ipynb").read_text())
    text = next(cell for cell in book["cells"] if cell["id"] == "text-1")
    text["source"] = "## 想法\n\n向量加法。"
    hints = next(cell for cell in book["cells"] if cell["id"] == "hint-add")
    hints["source"] = "".join(hints["source"]).replace("Hints for", "提示")
    (root / "notebooks" / "zh" / f"{SLUGS[1]}.ipynb").write_text(json.dumps(book))
    command = [sys.executable, "site/build.py", *SLUGS, "--root", root, "--target", place / "built"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return place / "built" / "html"

"""The parts of the container's definition file, as far as tests ask for them."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DEFINITION = ROOT / "singularity" / "workbook.def"


def sections(path=DEFINITION):
    """{name: text} in the file's order; what stands before the first section is called `header`."""
    parts = re.split(r"(?m)^%(\w+).*\n", path.read_text(encoding="utf-8"))
    names = parts[1::2]
    assert len(set(names)) == len(names), "a section is there twice"
    return {"header": parts[0], **dict(zip(names, parts[2::2], strict=True))}


def arguments():
    """Template variables and their defaults."""
    return dict(line.strip().split("=", 1) for line in sections()["arguments"].splitlines() if line)


def filled(text):
    """The text with its template variables filled in. Raises KeyError for one without a default."""
    return re.sub(r"\{\{\s*(\w+)\s*\}\}", lambda found: arguments()[found[1]], text)


def copied():
    """The sources of %files."""
    return [line.split()[0] for line in sections()["files"].splitlines() if line.strip()]

"""Where the workbook is published, and its version: read from pyproject.toml alone."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Release:
    """The repository's address and the tag that generated notebooks point to."""

    repository: str
    version: str

    @property
    def tag(self) -> str:
        return f"v{self.version}"

    @property
    def archive(self) -> str:
        """What pip installs on Colab: the tagged sources, fetched without git."""
        return f"{self.repository}/archive/refs/tags/{self.tag}.zip"

    @property
    def site(self) -> str:
        """Where `make site` is published: the repository's GitHub Pages."""
        owner, name = self._name.split("/")
        return f"https://{owner}.github.io/{name}/"

    def colab(self, path: str) -> str:
        """The address that opens a notebook of this release in Colab."""
        return f"https://colab.research.google.com/github/{self._blob(path)}"

    def kaggle(self, path: str) -> str:
        """The address that copies it into a notebook on Kaggle."""
        return f"https://kaggle.com/kernels/welcome?src=https://github.com/{self._blob(path)}"

    def modelscope(self, path: str) -> str:
        """The address that opens it in ModelScope, which Chinese learners reach."""
        return f"https://modelscope.cn/notebook/share/github/{self._blob(path)}"

    def cnb(self, path: str) -> str:
        """The page of a notebook in the copy on CNB, whose Workspace button starts `.cnb.yml`."""
        return f"https://cnb.cool/{self._name}/-/blob/{self.tag}/{path}"

    @property
    def _name(self) -> str:
        """OWNER/NAME, the same wherever there is a copy."""
        return self.repository.removeprefix("https://github.com/")

    def _blob(self, path: str) -> str:
        return f"{self._name}/blob/{self.tag}/{path}"


def read_release(root: Path) -> Release:
    """Read pyproject.toml (by pattern: Python 3.10 has no TOML reader)."""
    text = (root / "pyproject.toml").read_text(encoding="utf-8")
    found = []
    for key in ("Repository", "version"):
        match = re.search(rf'^{key} = "([^"]+)"$', text, flags=re.MULTILINE)
        if not match:
            raise ValueError(f'pyproject.toml has no line {key} = "..."; add it')
        found.append(match[1].rstrip("/"))
    return Release(*found)

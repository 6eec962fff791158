"""`nbgrader collect` without following links: `nbgrader_config.py` puts this in place of its own.

Stock nbgrader copies what a link points to, with the instructor's rights: a link to `source/` hands
in the solutions, and one to the gradebook hands it out with the feedback. A pipe ends its run.
"""

from __future__ import annotations

import os
import shutil
import stat
from pathlib import Path
from typing import Any

from nbgrader.exchange.default import ExchangeCollect
from nbgrader.utils import ignore_patterns


class Collect(ExchangeCollect):
    """Copies plain files and folders; a line of the log names what else lay there."""

    def do_copy(self, src: str, dest: str, log: Any = None) -> None:
        if os.path.islink(src):
            self.log.warning("%s is a link, which is not followed: nothing collected", src)
            return
        size, largest = self.get_size(src), 1000 * self.coursedir.max_dir_size
        if size > largest:
            self.log.error(
                "%s has %d bytes, more than %d, so nothing was collected: raise "
                "c.CourseDirectory.max_dir_size in nbgrader_config.py, and collect again",
                *(src, size, largest),
            )
            return
        unwanted = ignore_patterns(
            exclude=self.coursedir.ignore,
            include=self.coursedir.include,
            max_file_size=self.coursedir.max_file_size,
            log=self.log,
        )
        try:
            shutil.copytree(
                src,
                dest,
                symlinks=True,
                ignore=lambda folder, names: {*unwanted(folder, names), *self._odd(folder, names)},
                copy_function=_copy_plain,
            )
        except OSError as problem:  # a student's file that cannot be read ends no collection
            self.log.warning("Not all of %s was collected, ask for it again: %s", src, problem)

    def _odd(self, folder: str, names: list[str]) -> list[str]:
        odd = []
        for name in names:
            mode = os.lstat(os.path.join(folder, name)).st_mode
            if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
                self.log.warning("%s is no plain file: not collected", os.path.join(folder, name))
                odd.append(name)
        return odd


def _copy_plain(src: str, dst: str) -> None:
    """Copy a file that must not have become a link since it was looked at."""
    file = os.open(src, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    with os.fdopen(file, "rb") as source, Path(dst).open("wb") as target:
        shutil.copyfileobj(source, target)
        times = os.fstat(file)
    os.utime(dst, ns=(times.st_atime_ns, times.st_mtime_ns))

"""The one thing pyproject.toml cannot say: an installed copy carries exercises/ as package data.

`tritonbook.reference` and `mine` load solutions from there where there is no checkout (Colab), and
a failed check the mistakes that it looks for its cause among.
"""

import shutil
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py


class BuildWithExercises(build_py):
    def run(self):
        super().run()
        if not self.editable_mode:  # an editable install reads the checkout's own folder
            target = Path(self.build_lib, "tritonbook", "_exercises")
            shutil.rmtree(target, ignore_errors=True)
            others = shutil.ignore_patterns("__pycache__", "*.csv", "*.txt")
            shutil.copytree("exercises", target, ignore=others)


setup(cmdclass={"build_py": BuildWithExercises})

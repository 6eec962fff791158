"""The arguments and options that commands of `autograde` share."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from ..walls import sandbox

Assignment = Annotated[str, typer.Argument(help="The assignment's name, such as 01_vector_add.")]
Root = Annotated[Path, typer.Option("--course", help="The nbgrader course folder.")]
Workers = Annotated[int, typer.Option(help="Items that run at once.", min=1)]
Level = Annotated[
    str, typer.Option("--sandbox", help="auto, or one of: " + ", ".join(sandbox.LEVELS))
]
Image = Annotated[Path | None, typer.Option(help="Container image for --sandbox apptainer.")]
Force = Annotated[bool, typer.Option("--force", help="Run hidden tests without any walls.")]
CallSeconds = Annotated[
    float, typer.Option(help="Limit of one call of a student's function.", min=1, max=86400)
]
WallSeconds = Annotated[
    float, typer.Option(help="Limit of one exercise, all cases together.", min=1, max=86400)
]
Where = Annotated[str, typer.Option("--runner", help="local: this machine; slurm: jobs.")]
Changes = Annotated[
    list[str], typer.Option("--slurm", help="A Slurm setting, NAME=VALUE, on top of slurm.json.")
]
Students = Annotated[
    list[str], typer.Option("--student", help="Only this student's; may be given again.")
]
Keys = Annotated[
    list[str], typer.Option("--exercise", help="Only this exercise; may be given again.")
]
HERE = Path(".")
CORES = os.cpu_count() or 1

"""The sample class is made from the exercise: right, or wrong, as each sample says."""

from __future__ import annotations

import ast

from autograde.classroom.samples import sample_class
from tritonbook.course.exercises import Exercise


def test_the_variant_is_applied(exercise: Exercise) -> None:
    """Kills: the honest variant that is the solution again."""
    samples = {sample.student: sample for sample in sample_class(exercise)}
    assert "BLOCK_SIZE=32" in samples["s2_other_blocks"].answers["double"]
    assert "BLOCK_SIZE=64" in samples["s1_right"].answers["double"]


def test_torch_instead_takes_tuning_knobs(exercise: Exercise) -> None:
    """Kills: a stand-in that fails on an unknown argument before it can be found out."""
    names: dict = {"double_ref": lambda x: 2 * x}
    samples = {sample.student: sample for sample in sample_class(exercise)}
    text = samples["s5_torch"].answers["double"]
    exec(ast.unparse(ast.parse(text).body[-1]), names)
    assert names["double"](3, block=7) == 6

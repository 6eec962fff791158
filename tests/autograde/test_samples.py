"""The sample class is made from the exercise: right, or wrong, as each sample says."""

from __future__ import annotations

import ast

from autograde.classroom.samples import sample_class
from tritonbook.course.exercises import Exercise


def test_samples_differ_from_the_solution_as_they_say(exercise: Exercise) -> None:
    """Kills: the honest variant that is the solution again; a stand-in that fails on an unknown
    argument, a tuning knob, before it can be found out."""
    samples = {sample.student: sample for sample in sample_class(exercise)}
    assert "BLOCK_SIZE=32" in samples["s2_other_blocks"].answers["double"]
    assert "BLOCK_SIZE=64" in samples["s1_right"].answers["double"]
    names: dict = {"double_ref": lambda x: 2 * x}
    text = samples["s5_torch"].answers["double"]
    exec(ast.unparse(ast.parse(text).body[-1]), names)
    assert names["double"](3, block=7) == 6

"""What tests of several wings share."""

import json

import pytest


def _cell(name, source, points=None):
    grader = {"grade_id": name, "solution": name.startswith("answer")}
    grader |= {"grade": points is not None, "points": points}
    metadata = {"nbgrader": grader} if name.startswith(("answer", "check")) else {}
    return {
        "cell_type": "code",
        "id": name,
        "metadata": metadata,
        "source": source,
        "outputs": [],
        "execution_count": None,
    }


@pytest.fixture
def small_notebook(tmp_path):
    """Write a.ipynb: set-up, the learner's own cells, one answer, its check of 3 points.

    The answer and the check are plain Python, so that no kernel is compiled; both can be replaced.
    """

    def write(
        *own,
        answer="def double(x):\n    return 2 * x",
        check="check(double, lambda x: x + x, [case('c', x=tensor(9))], key='double', triton=0)",
    ):
        cells = [_cell("setup", "from tritonbook import case, check, tensor\nimport torch")]
        cells += [_cell(f"own{i}", source) for i, source in enumerate(own)]
        cells.append(_cell("answer-double", answer))
        cells.append({"cell_type": "markdown", "id": "t", "metadata": {}, "source": "# text"})
        cells.append(_cell("check-double", check, 3))
        path = tmp_path / "a.ipynb"
        content = {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
        path.write_text(json.dumps(content))
        return path

    return write

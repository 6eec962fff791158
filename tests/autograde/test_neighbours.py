import json

import pytest

from autograde.classroom import neighbours


@pytest.mark.slow
def test_a_fault_costs_its_own_exercise_only(tmp_path, capsys):
    # Kills: a crash that ends the other exercises; points for the answer that crashed.
    target = tmp_path / "figures.json"
    assert neighbours.main(["10", "--submissions", "2", "--json", str(target)]) == 0
    figures = json.loads(target.read_text())
    assert figures["neighbours_spared"] == figures["submissions"] == 2
    assert sum(figures["faulting_answer"].values()) == 2
    assert all(name.startswith("FAIL (") for name in figures["faulting_answer"])
    assert "neighbours keep their points in 2 of 2" in capsys.readouterr().out


@pytest.mark.slow
def test_a_grader_that_scores_the_fault_fails(monkeypatch, capsys):
    # Kills: a table that says all is well whatever the grades are.
    right = "def {name}(x, w, eps=1e-6):\n    return x * 0\n"
    monkeypatch.setattr(neighbours, "FAULT", right)
    monkeypatch.setattr(neighbours, "solutions", lambda exercise: _solved_twice(exercise))
    assert neighbours.main(["10", "--submissions", "1"]) == 1


def _solved_twice(exercise):
    """The second answer is wrong as well: nobody keeps points."""
    from autograde.classroom.rehearse import solutions

    found = solutions(exercise)
    return {
        key: "def broken(:" if number else text for number, (key, text) in enumerate(found.items())
    }


@pytest.mark.parametrize("words", [["nothing"], ["10", "--submissions", "0"]])
def test_bad_input_is_one_sentence(words, capsys):
    with pytest.raises(SystemExit) as stopped:
        neighbours.main(words)
    assert stopped.value.code == 2
    assert len(capsys.readouterr().err.strip().splitlines()) == 1

"""Wrong answers as edits that cannot rot unnoticed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tritonbook.build import template
from tritonbook.course.exercises import Exercise
from tritonbook.course.mutants import Mutant, MutantError, Variant, usual, wrong_answers

ANSWER = "a = 1\nb = 2\nb = 2 + a"


def test_edits_apply_in_order():
    mutant = Mutant("m", ("a = 1", "a = 3"), "a = {3 -> 4}\nb = 2\n", seen="wrong-values")
    assert mutant.apply(ANSWER) == "a = 4\nb = 2\nb = 2 + a"
    assert mutant.codes == ("wrong-values",)
    assert Mutant("m", replace="z").apply(ANSWER) == "z"
    assert Variant("v", ("a = 1", "a = 0")).apply(ANSWER).startswith("a = 0")


FUNCTION = '@jit\ndef kernel(): ...\n\n\ndef own(x, n=1):\n    """Doc."""\n    return x\n'
BELOW = "\n\n@kept\ndef below():\n    return own(1)\n"


def test_what_lies_between_two_quotes_is_left_out():
    """Kills: all up to the last place that ends so; an anchor that goes with what is changed."""
    mutant = Mutant("m", "a = 1 … b = {2 … 2 + a -> 5}")
    assert mutant.apply(ANSWER) == "a = 1\nb = 5"
    assert Mutant("m", "{a = … = -> c}").apply(ANSWER) == "c 2\nb = 2 + a"
    assert Mutant("m", "{a = … 2 -> c}\nb").apply(ANSWER) == "c\nb = 2 + a"


def test_another_body_or_text_keeps_what_stands_below():
    """Kills: a kernel that stays; a decorator that goes; a function that is there twice."""
    body = Mutant("m", body="y = x\nreturn y")
    assert body.apply(FUNCTION, "own") == "def own(x, n=1):\n    y = x\n    return y"
    assert body.apply(FUNCTION + BELOW, "own").endswith("return y\n" + BELOW.rstrip())
    other = "def own(x):\n    return 2"
    text = Mutant("m", replace=other).apply(FUNCTION + BELOW, "own")
    assert text == other + "\n" + BELOW.rstrip()
    both = other + "\ndef below():\n    return 3"
    assert Mutant("m", replace=both).apply(FUNCTION + BELOW, "own") == both


def test_edits_fit_the_function_to_other_kernels():
    """Kills: an old kernel that stays; a decorator that goes; edits that see the old text."""
    answer = FUNCTION.replace("def own", "@kept\ndef own") + BELOW
    mutant = Variant("v", "return {x -> one(x) + two(x)}", kernels="def one(): ...\n")
    text = mutant.apply(answer, "own")
    kept = (
        answer[answer.index("@kept") :].rstrip().replace("return x\n", "return one(x) + two(x)\n")
    )
    assert text == f"def one(): ...\n\n\n{kept}"
    alone = Variant("v", kernels="def one(): ...\n").apply(answer, "own")
    assert alone.startswith("def one(): ...\n\n\n@kept\ndef own(x, n=1):")


@pytest.mark.parametrize(
    ("mutant", "problem"),
    [
        (Mutant("gone", ("c = 3", "")), "'gone': the text 'c = 3' is in the answer 0 times"),
        (Mutant("twice", ("b = 2", "")), "'twice': the text 'b = 2' is in the answer 2 times"),
        (Mutant("same", ("a = 1", "a = 1")), "'same': the edits change nothing"),
        (Mutant("empty"), "'empty': give edits"),
        (
            Mutant("behind", "2 + a … {a = 1 -> }"),
            "do not come behind '2 \\+ a' in the answer",
        ),
        (Mutant("two", "b = … {a -> }"), "'two': the text 'b =' is in the answer 2 times"),
        (Mutant("of", body="return 1"), "'of': the answer has no function ''"),
        (Mutant("under", kernels="k = 1"), "'under': the answer has no function ''"),
        (Mutant("three", kernels="k = 1", body="pass"), "'three': give edits"),
        (Mutant("bare", "a = 1"), "'bare': 'a = 1' has no {old -> new}"),
        (Mutant("both", ("a = 1", ""), replace="z"), "'both': give edits"),
    ],
)
def test_a_stale_mutant_is_an_error(mutant: Mutant, problem: str):
    """Kills: an edit that silently changes nothing, so that the solution itself is judged."""
    with pytest.raises(MutantError, match=problem):
        mutant.apply(ANSWER)


@pytest.fixture
def files(tmp_path: Path) -> tuple[Exercise, Path]:
    path, _, wrong = template.write_new(tmp_path, "17_twice")
    return Exercise(path), wrong


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        (
            'MUTANTS = {\n    "twice"',
            'MUTANTS = {\n    "thrice"',
            "no answer with the key 'thrice'",
        ),
        ('Mutant("squared"', 'Mutant("not-doubled"', "the name 'not-doubled' is used twice"),
        ('Mutant("squared"', 'Mutant("no-return"', "the name 'no-return' is used twice"),
        ('Variant("sum", ', 'Mutant("sum", ', "is not a Variant"),
    ],
)
def test_a_wrong_table_names_the_file(files, old: str, new: str, problem: str):
    exercise, path = files
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
    with pytest.raises(MutantError, match=f"17_twice/wrong.py.*{problem}"):
        wrong_answers(exercise)


def test_what_a_mutant_is_told(files):
    """Kills: a sentence that is lost, or told under another's name; findings that may come besides
    taken for its own."""
    exercise, path = files
    (exercise.path.parents[1] / "shared").mkdir()
    (exercise.path.parents[1] / "shared" / "says.py").write_text(
        'SAYS = {"two": "2.", "far": "F."}'
    )
    path.write_text(
        "from tritonbook.course.mutants import Mutant\nSAYS = {'one': 'Once.', 'two': 'Twice.'}\n"
        "EDIT = 'offs{, x -> , -x}'\nMUTANTS = {'twice': [Mutant('own', EDIT, says='This.'),\n"
        "Mutant('one', EDIT), Mutant('other', EDIT, says='two', seen='nan'),\n"
        "Mutant('shared', EDIT, says='far'), Mutant('general', EDIT, seen=('race', 'nan'))]}\n"
    )
    told = {m.name: (m.codes, m.says) for m in wrong_answers(exercise).mutants["twice"]}
    assert told == {
        "own": (("own",), "This."),
        "one": (("one",), "Once."),
        "other": (("two", "nan"), "Twice."),
        "shared": (("far",), "F."),
        "general": (("race", "nan"), None),
    }


@pytest.mark.parametrize(
    ("text", "problem"),
    [("MUTANTS = {", "SyntaxError"), ("import no_such_thing", "ModuleNotFoundError")],
)
def test_a_file_that_is_no_python_is_named(files, text: str, problem: str):
    """Kills: a traceback of the build, in which the file is one name among many."""
    exercise, path = files
    path.write_text(text)
    with pytest.raises(MutantError, match=rf"17_twice/wrong.py: it cannot be read \({problem}"):
        wrong_answers(exercise)


def test_a_shared_sentence_is_taken_by_a_name_that_says_so(files):
    """Kills: another page's sentence, because a new mutant happens to be called like it."""
    exercise, wrong = files
    says = wrong.parents[1] / "shared" / "says.py"
    says.parent.mkdir()
    says.write_text('SAYS = {"squared": "Of another page.", "idle": "Of a third one."}')
    text = wrong.read_text()
    own = next(m for m in wrong_answers(exercise).mutants["twice"] if m.name == "squared")
    wrong.write_text(text.replace(repr(own.says).replace("'", '"'), "None"))
    with pytest.raises(MutantError, match="'squared' is the name of a sentence that pages share"):
        wrong_answers(exercise)
    wrong.write_text(wrong.read_text() + '\nSHARED = "squared"\n')
    told = {m.name: m.says for m in wrong_answers(exercise).mutants["twice"]}
    assert told["squared"] == "Of another page."
    wrong.write_text(wrong.read_text().replace('"squared"\n', '"squared idle"\n'))
    with pytest.raises(MutantError, match="no mutant takes the sentence 'idle'"):
        wrong_answers(exercise)


def test_the_usual_mistakes_are_made_where_the_answer_has_room_for_them():
    """Kills: an edit that leaves a mask behind, a name that is left out and comes all the same."""
    answer = "    x = tl.load(p + o, mask=m, other=0.0)\n    tl.store(q + o, f(x), mask=m)\n"
    made = {each.name: each.replace for each in usual().mutants(answer)}
    assert made == {
        "no-load-masks": answer.replace(", mask=m, other=0.0", ""),
        "no-store-mask": answer.replace("f(x), mask=m", "f(x)"),
    }
    (left,) = usual(but=("no-load-masks",)).mutants(answer)
    assert left.name == "no-store-mask"
    with pytest.raises(MutantError, match="knows no 'mask'; but= takes some of no-load-masks"):
        usual(but=("mask",))


def test_usual_mistakes_without_room_are_named(files):
    """Kills: a mistake that an author believes to be tried, and is not."""
    exercise, wrong = files
    assert wrong_answers(exercise).left_out == {}
    page = exercise.path.read_text()
    exercise.path.write_text(page.replace("torch.empty_like(x)", "x.new_empty(x.shape)"))
    changed = Exercise(exercise.path)
    assert wrong_answers(changed).left_out == {"twice": ["always-float32", "writes-into-x"]}
    wrong.write_text(wrong.read_text().replace("usual()", 'usual(but=("always-float32",))'))
    assert wrong_answers(changed).left_out == {"twice": ["writes-into-x"]}

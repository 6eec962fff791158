"""Page 22: what a wrong tuner is told, and how few configs a call has to time."""

import pytest

from tritonbook.build.matrix import Attempt
from tritonbook.course.exercises import get, load
from tritonbook.course.mutants import wrong_answers
from tritonbook.port.compat import SHARED_MEMORY_LIMIT

# What the card must say; the kill matrix knows the code alone, and it is the same for all of them.
SAID = {
    "matmul_tuned": {
        "key-without-k": "misses K",
        "empty-key": "misses M, N and K",
        "key-in-small-letters": "names m, n and k: the kernel has no such argument",
        "key-with-a-name-that-is-none": "names dtype: the kernel has no such argument",
        "key-with-a-pointer": "names the tensor a_ptr",
        "a-new-tuner-each-time": "makes a new tuner",
        "a-new-tuner-in-the-wrapper": "tunes again",
        "never-pruned": "early_prune",
        "one-config": "the whole table",
        "not-tuned-at-all": "nothing was timed",
    },
    "scale_inplace_tuned": {
        "nothing-restored": "put back",
        "reset-for-restored": "restore_value",
        "empty-key": "misses n_elements",
    },
}


@pytest.mark.page("22_autotune")
@pytest.mark.parametrize(("key", "name"), [(key, name) for key in SAID for name in SAID[key]])
def test_a_wrong_tuner_is_told_what_is_wrong_with_it(key, name, worker):
    """Kills: an assertion of another's, or one that says less than it knows."""
    exercise = get("22_autotune")
    wrong = wrong_answers(exercise)
    (mutant,) = [each for each in wrong.mutants[key] if each.name == name]
    text = wrong.text(key, mutant)
    said = worker.ask(Attempt(exercise, key, "mutant", name, (), text), None, 60.0)
    assert SAID[key][name] in said.message


@pytest.mark.parametrize("arch", [80, 89, 90])
@pytest.mark.parametrize("element_size", [2, 4])
@pytest.mark.parametrize(("M", "N"), [(8192, 8192), (1024, 1024), (100, 100), (16, 8192), (1, 1)])
def test_a_first_call_times_few_configs(M, N, element_size, arch):
    """Each one is compiled, a second or two. Kills: a table that grew, a rule that keeps all."""
    page = load(get("22_autotune"))
    rows = tuple(config.all_kwargs() for config in page.CONFIGS)
    kept = page.prune(rows, M, N, element_size, SHARED_MEMORY_LIMIT[arch])
    assert 1 <= len(kept) <= 6
